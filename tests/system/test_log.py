"""cloche log: what stands in a log, read back."""

import datetime
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import termios
import time

import pytest

from judging import PATIENCE, as_person, wait_until
from logging_back import OTHER_RUN, RUN, chained, end, event, lines, start

HINT = "--allow-write /etc/x"
TWO_RUNS = [
    start(), event(hint=HINT, errno="EROFS", program="/usr/bin/sh", rule={"file": "built-in", "path": "filesystem.allowWrite"}),
    event("net.connect", "reached.test:443", verdict="allowed", op="connect", count=3, bytes={"out": 10, "in": 5000}),
    event("exec.later", "/home/ada/shop/bin/tool", verdict="observed", op="create", reason="a new executable"),
    end(),
    start("npm test", "/srv/other", run=OTHER_RUN, time="2026-11-15T09:00:00Z"),
    event("net.dns", "evil.test", run=OTHER_RUN, time="2026-11-15T09:00:01Z", op="resolve", hint="--allow-domain evil.test"),
]


def default_log(person, text):
    return person.file(person.home / ".local/state/cloche/violations.jsonl", text)


def log(person, *options, **keywords):
    answer = person.cloche("log", *options, environment={"TZ": "UTC0", **keywords.pop("environment", {})}, **keywords)
    assert answer.returncode == keywords.get("status", 0), answer
    return answer


def objects(person, *options):
    return [json.loads(line)["object"] for line in log(person, "--json", *options).stdout.splitlines()]


def test_the_table_says_what_who_which_rule_and_what_would_allow_it(person):
    default_log(person, lines(*TWO_RUNS))
    answer = log(person)
    assert answer.stderr == ""
    shown = answer.stdout.splitlines()
    assert shown[0] == f"2026-11-15 08:30:00  make all  /home/ada/shop  run {RUN}"
    assert shown[1].split() == ["08:30:00", "fs.write", "/etc/x", "sh", "EROFS"]
    assert [line.strip() for line in shown[2:4]] == ["by built-in: filesystem.allowWrite", f"to allow: {HINT}"]
    assert shown[4].split() == ["08:30:00", "exec.later", "/home/ada/shop/bin/tool", "observed"]
    assert "reached.test" not in answer.stdout
    assert shown[6] == f"2026-11-15 09:00:00  npm test  /srv/other  run {OTHER_RUN}"
    assert "\x1b" not in answer.stdout


def test_without_a_log_it_says_so(person):
    answer = log(person)
    assert (answer.stdout, answer.stderr) == (
        "", f"cloche: there is no log yet: nothing was written to {person.home}/.local/state/cloche/violations.jsonl\n")


def test_the_state_directory_is_the_users_choice(person):
    person.file(person.home / "state/cloche/violations.jsonl", lines(*TWO_RUNS))
    assert "make all" in log(person, environment={"XDG_STATE_HOME": str(person.home / "state")}).stdout


@pytest.mark.parametrize("options, expected", [
    ([], ["/etc/x", "/home/ada/shop/bin/tool", "evil.test"]),
    (["--denied"], ["/etc/x", "evil.test"]),
    (["--all"], ["make all", "/etc/x", "reached.test:443", "/home/ada/shop/bin/tool", "make all", "npm test", "evil.test"]),
    (["--kind", "fs"], ["/etc/x"]),
    (["--kind", "net.dns,exec.later"], ["/home/ada/shop/bin/tool", "evil.test"]),
    (["--all", "--kind=net"], ["reached.test:443", "evil.test"]),
    (["--since", "2026-11-15 08:45"], ["evil.test"]),
    (["--until", "2026-11-15T08:45:00Z", "--denied"], ["/etc/x"]),
    (["--since", "3000w"], ["/etc/x", "/home/ada/shop/bin/tool", "evil.test"]),
    (["--project", "/srv"], ["evil.test"]),
    (["-C", "/home/ada/sho"], []),
    (["--command", "npm"], ["evil.test"]),
    (["--run", "1a2b"], ["/etc/x", "/home/ada/shop/bin/tool"]),
    (["--run", "nothing"], []),
])
def test_filters(person, options, expected):
    default_log(person, lines(*TWO_RUNS))
    assert objects(person, *options) == expected


def test_relative_times_count_from_now(person):
    now = datetime.datetime.now(datetime.timezone.utc)
    moments = [now - datetime.timedelta(hours=hours) for hours in (5, 1)]
    default_log(person, lines(*(event(object_=f"/{number}", time=moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
                                for number, moment in enumerate(moments))))
    assert objects(person, "--since", "2h") == ["/1"]
    assert objects(person, "--until", "2h") == ["/0"]
    assert objects(person, "--since", "1d") == ["/0", "/1"]


def test_a_relative_project_is_relative_to_where_we_are(person):
    default_log(person, lines(start(project=str(person.project)), event()))
    assert objects(person, "--project", ".") == ["/etc/x"]
    assert objects(person, "--project", "below") == []


@pytest.mark.parametrize("options", [["--since", "soon"], ["--kind", "files"], ["--nonsense"], ["--denied", "--all"],
                                     ["--html", "x", "--follow"], ["--verify", "--json"], ["a", "b"], ["--since"]])
def test_what_makes_no_sense_is_said(person, options):
    answer = person.cloche("log", *options)
    assert answer.returncode == 2 and answer.stdout == "" and answer.stderr.startswith("cloche: log: "), answer


def test_repeats_are_shown_once_with_their_count(person):
    default_log(person, lines(start(), event(count=1), event(object_="/etc/y", count=1), event(count=40, folded=True), end()))
    rows = [line.split() for line in log(person).stdout.splitlines()[1:]]
    assert rows == [["08:30:00", "fs.write", "/etc/x", "×40"], ["08:30:00", "fs.write", "/etc/y"]]


def test_rotated_files_are_read_oldest_first(person):
    path = default_log(person, lines(event(object_="/new")))
    for age in (1, 2, 5):
        person.file(f"{path}.{age}", lines(event(object_=f"/old{age}")))
    person.file(f"{path}.6", lines(event(object_="/too old")))
    assert objects(person) == ["/old5", "/old2", "/old1", "/new"]


def test_lines_that_are_no_events_are_counted_and_passed_over(person):
    good = lines(event())
    text = 'x\n{"half":\n' + good + '"' * 70000 + "\n" + '{"time":5}\n' + good.replace("/etc/x", "/etc/y") + good[:-20]
    default_log(person, text)
    answer = log(person, "--json")
    assert [json.loads(line)["object"] for line in answer.stdout.splitlines()] == ["/etc/x", "/etc/y"]
    assert answer.stderr == "cloche: 5 lines were passed over: not an event, cut off or too long\n"


def test_a_huge_file_of_nothing_costs_little_memory(person):
    path = default_log(person, b"")
    with path.open("wb") as file:
        file.truncate(400 << 20)  # one line of 400 MB
    answer = subprocess.run(["sh", "-c", f"ulimit -v 300000; exec {person.binaries}/cloche log --json"], cwd=person.project,
                            env=person.environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
                            **as_person(person))
    assert answer.returncode == 0 and "1 line was passed over" in answer.stderr, answer


HOSTILE = "/x\x1b]0;owned\x07\x1b[2J\r\n\u202egnp.exe\u2028\x9b31m\x7f"


def raw_hostile():
    """As no writer of ours would put it: the very characters, where JSON lets them stand."""
    raw = lines(start(command=HOSTILE, project=HOSTILE), event(object_=HOSTILE, hint=HOSTILE, program=HOSTILE, reason=HOSTILE,
                                                               rule={"file": HOSTILE, "path": HOSTILE}))
    return raw.replace("\\u2028", "\u2028").replace("\\u202e", "\u202e").replace("\\u009b", "\u009b")


@pytest.mark.parametrize("options", [[], ["--json"], ["--all"], ["--html", "-"], ["--all", "--json"]])
def test_hostile_names_cannot_drive_a_terminal(person, options):
    default_log(person, raw_hostile())
    answer = log(person, *options)
    assert "gnp.exe" in answer.stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", answer.stdout + answer.stderr)
    if not options:
        assert len(answer.stdout.splitlines()) == 5


def on_a_terminal(person, columns, *options, **environment):
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, columns))
    process = subprocess.Popen([person.binaries / "cloche", "log", *options], cwd=person.project, stdin=child, stdout=child,
                               stderr=child, env={**person.environment, "TERM": "xterm", "TZ": "UTC0", **environment},
                               **as_person(person))
    os.close(child)
    seen = b""
    while select.select([parent], [], [], PATIENCE)[0]:
        try:
            new = os.read(parent, 65536)
        except OSError:
            break
        if not new:
            break
        seen += new
    os.close(parent)
    assert process.wait(PATIENCE) == 0
    return seen.decode().replace("\r\n", "\n")


def test_on_a_terminal_it_is_coloured_and_fits(person):
    default_log(person, lines(start("make " + "all " * 60), event(object_="/etc" + "/deep" * 60, reason="so " * 80, hint=HINT)))
    for columns in (60, 80, 132):
        seen = on_a_terminal(person, columns)
        assert "\x1b[31mfs.write" in seen
        plain = re.sub("\x1b\\[[0-9;]*m", "", seen)
        assert max(map(len, plain.splitlines())) <= columns and HINT in plain, plain
    assert "\x1b" not in on_a_terminal(person, 80, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(person, 80, TERM="dumb")
    assert "\x1b[31m" in on_a_terminal(person, 80, NO_COLOR="")


class Follower:
    def __init__(self, person, path, *options):
        self.process = subprocess.Popen([person.binaries / "cloche", "log", "--follow", "--json", *options, path],
                                        cwd=person.project, env=person.environment, stdout=subprocess.PIPE, bufsize=0,
                                        **as_person(person))
        self.seen = b""

    def next(self):
        while b"\n" not in self.seen:
            assert select.select([self.process.stdout], [], [], PATIENCE)[0], "nothing came"
            new = self.process.stdout.read(65536)
            assert new, "it ended"
            self.seen += new
        line, _, self.seen = self.seen.partition(b"\n")
        return json.loads(line)["object"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_follow_shows_what_comes_through_rotations(person):
    path = default_log(person, lines(start(), event(object_="/before")))
    with Follower(person, path, "--since", "3000w", "--project", "/home/ada") as follower:
        assert follower.next() == "/before"
        append(path, lines(event(object_="/one")))
        assert follower.next() == "/one"
        half = lines(event(object_="/two"))
        append(path, half[:30])
        time.sleep(0.6)
        append(path, half[30:])
        assert follower.next() == "/two"
        for number in (1, 2):  # twice, faster than it looks
            append(path, lines(event(object_=f"/last{number}")))
            if number == 2:
                pathlib.Path(f"{path}.1").rename(f"{path}.2")
            path.rename(f"{path}.1")
            path.write_text(lines(event(object_=f"/first{number}")))
        assert [follower.next() for _ in range(4)] == ["/last1", "/first1", "/last2", "/first2"]
        append(path, lines(event(object_="/end")))
        assert follower.next() == "/end"


def test_follow_begins_with_what_is_new_and_waits_for_a_log(person):
    path = person.home / "not-there-yet"
    with Follower(person, path) as follower:
        time.sleep(0.4)
        person.file(path, lines(event(object_="/first")))
        assert follower.next() == "/first"
    with Follower(person, path) as follower:
        time.sleep(0.4)
        append(path, lines(event(object_="/second")))
        assert follower.next() == "/second"


def test_follow_ends_when_nobody_reads(person):
    path = default_log(person, lines(event()))
    with Follower(person, path) as follower:
        follower.process.stdout.close()
        assert wait_until(lambda: follower.process.poll() is not None)


class TestVerify:
    EVENTS = [event(object_=f"/{number}") for number in range(6)]

    def test_an_unbroken_chain_is_said_with_its_last_value(self, person):
        text, last = chained(*self.EVENTS)
        path = default_log(person, text)
        assert log(person, "--verify").stdout == f"{path}: unbroken, 6 lines, the last is {last}\n"

    @pytest.mark.parametrize("spoil", [
        lambda lines: lines[:3] + [lines[3].replace("/3", "/9")] + lines[4:],
        lambda lines: lines[:3] + lines[4:],
        lambda lines: lines[:3] + [lines[4], lines[3]] + lines[5:],
        lambda lines: lines[:3] + [lines[0]] + lines[3:],
    ], ids=["changed", "removed", "exchanged", "put in"])
    def test_the_first_broken_line_is_named(self, person, spoil):
        text, _ = chained(*self.EVENTS)
        path = default_log(person, "".join(spoil(text.splitlines(keepends=True))))
        answer = person.cloche("log", "--verify")
        assert answer.returncode == 1 and answer.stdout.startswith(f"{path}: line 4: the chain is broken"), answer

    def test_the_chain_goes_through_rotated_files(self, person):
        old, last = chained(*self.EVENTS[:3])
        new, _ = chained(*self.EVENTS[3:], before=last)
        path = default_log(person, new)
        answer = person.cloche("log", "--verify")
        assert answer.returncode == 1 and f"{path}: line 1:" in answer.stdout, "its beginning is missing"
        person.file(f"{path}.1", old)
        assert "unbroken, 6 lines" in log(person, "--verify").stdout
        person.file(f"{path}.1", old.replace("/1", "/7"))
        answer = person.cloche("log", "--verify")
        assert answer.returncode == 1 and f"{path}.1: line 2:" in answer.stdout

    def test_what_was_rotated_away_is_said(self, person):
        _, last = chained(*self.EVENTS[:3])
        old, last = chained(event(), before=last)
        path = default_log(person, chained(*self.EVENTS[3:], before=last)[0])
        person.file(f"{path}.5", old)
        answer = log(person, "--verify")
        assert "unbroken, 4 lines" in answer.stdout and "rotated away" in answer.stderr

    def test_lines_outside_the_chain_are_told(self, person):
        text, _ = chained(*self.EVENTS)
        default_log(person, text + lines(event()))
        answer = log(person, "--verify")
        assert "unbroken, 6 lines" in answer.stdout and "1 lines stand outside" in answer.stderr

    def test_a_log_without_a_chain_is_not_called_unbroken(self, person):
        default_log(person, lines(*self.EVENTS))
        assert person.cloche("log", "--verify").returncode == 1


def test_a_page_is_written_for_the_last_run_or_the_one_named(person):
    default_log(person, lines(*TWO_RUNS))
    answer = log(person, "--html", "page.html")
    page = person.project / "page.html"
    assert page.stat().st_mode & 0o777 == 0o600
    assert "evil.test" in page.read_text() and "make all" not in page.read_text()
    assert answer.stderr == f"cloche: wrote page.html: run {OTHER_RUN}, npm test\n"
    assert "make all" in log(person, "--html", "-", "--run", "1a").stdout
    assert "make all" in log(person, "--html", "-", "--project", "/home/ada").stdout
    assert person.cloche("log", "--html", "-", "--run", "zz").returncode == 1
    assert person.cloche("log", "--html", "/nowhere/page.html").returncode == 1


def test_a_device_is_not_a_log(person):
    answer = person.cloche("log", "/dev/zero")
    assert answer.returncode == 1 and "not a regular file" in answer.stderr


class TestRealRuns:
    """What runs really write is what is read back."""

    def denied(self, person, *options, policy=None):
        settings = ["-s", person.file(person.home / "policy.json", policy)] if policy else []
        answer = person.cloche("run", *settings, *options, "sh", "-c", "touch denied denied denied; true")
        assert answer.returncode == 0, answer

    def test_a_denial_is_in_the_log_with_its_hint(self, person):
        self.denied(person, "-p", "readonly")
        answer = log(person, "--all")
        assert answer.stderr == "" and f"{person.project}".replace(str(person.home), "~") in answer.stdout.splitlines()[0]
        assert re.search(r"fs.write +~/project/denied +touch +\w+ ×3\n", answer.stdout), answer.stdout
        assert f"to allow: --allow-write {person.project}" in answer.stdout
        assert "ended with status 0 after " in answer.stdout
        assert objects(person, "--denied", "--project", ".", "--command", "touch denied", "--since", "1h")
        assert "/denied" in log(person, "--html", "-").stdout

    def test_a_real_chain_of_many_runs_is_unbroken_until_it_is_touched(self, person):
        policy = {"extends": ["preset:readonly"], "violation": {"chain": True}}
        settings = person.file(person.home / "concurrent.json", policy)
        runs = [start_run(person, settings) for _ in range(4)]
        assert [run.wait(PATIENCE) for run in runs] == [0] * 4
        self.denied(person, policy=policy)
        assert ": unbroken, " in log(person, "--verify").stdout
        path = person.home / ".local/state/cloche/violations.jsonl"
        path.write_text(path.read_text().replace("/denied", "/Denied", 1))
        assert person.cloche("log", "--verify").returncode == 1

    def test_the_log_of_the_policy_in_force_is_read(self, person):
        policy = {"extends": ["preset:readonly"], "violation": {"violationLogPath": "~/elsewhere.jsonl"}}
        person.file(person.home / ".config/cloche/policy.json", policy)
        self.denied(person)
        assert (person.home / "elsewhere.jsonl").exists()
        assert "/denied" in log(person).stdout


def start_run(person, settings):
    return subprocess.Popen([person.binaries / "cloche", "run", "-q", "-s", settings, "sh", "-c",
                             "touch denied1 denied2 denied3; true"], cwd=person.project,
                            env=person.environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_person(person))
