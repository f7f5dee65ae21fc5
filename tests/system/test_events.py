"""What a run tells of itself: judged by the lines that stand outside afterwards, never by what the command says."""

import hashlib
import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import time

import pytest
from flooding import check_flood, check_time_out
from judging import as_person

ORDER = ["time", "run", "kind", "op", "object", "verdict", "errno", "pid", "program", "parent", "protocol", "port",
         "reason", "rule", "hint", "count", "folded", "bytes", "ms"]


def lines_of(path):
    text = path.read_bytes().decode("utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def outside(person):
    """A directory that the person may write and a run may not; $OUT in commands."""
    place = person.directory(person.base / "out")
    person.file(place / "old", "old\n")
    person.environment["OUT"] = str(place)
    return place


class Watched:
    """A run whose events go to a file beside the project."""

    def __init__(self, person):
        self.person = person
        self.out = outside(person)
        self.file = person.base / "events.jsonl"
        self.log = person.home / ".local/state/cloche/violations.jsonl"

    def run(self, *arguments, options=(), **keywords):
        self.file.unlink(missing_ok=True)
        self.answer = self.person.cloche("run", "--events", self.file, "--allow-read", self.out, *options, "--", *arguments,
                                         **keywords)
        self.lines = lines_of(self.file) if self.file.exists() else []
        return self.events()

    def shell(self, text, options=(), **keywords):
        return self.run("/bin/sh", "-c", text, options=options, **keywords)

    def events(self, **wanted):
        """The events of the last run, each once."""
        return [line for line in self.lines if line["kind"] != "run" and "folded" not in line
                and all(line.get(key) == value for key, value in wanted.items())]


@pytest.fixture
def watched(person):
    return Watched(person)


def python(text):
    return ["/usr/bin/python3", "-c", text]


# ---- lines ----

def test_a_run_without_denials_says_nothing_and_touches_no_log(watched):
    events = watched.shell("echo fine > made; cat made; ls /usr > /dev/null")
    assert (watched.answer.returncode, watched.answer.stdout, watched.answer.stderr) == (0, "fine\n", "")
    assert events == []
    assert [line["op"] for line in watched.lines] == ["start", "end"]
    assert not watched.log.exists()
    assert not watched.log.parent.exists()


def test_a_denied_write_is_one_line_with_who_why_and_what_would_allow_it(watched):
    events = watched.shell("echo x >> $OUT/old; exit 3")
    assert len(events) == 1, events
    event = events[0]
    assert [key for key in ORDER if key in event] == list(event), "keys come in one order"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])
    assert re.fullmatch(r"[0-9a-f]{16}", event["run"])
    (explained,) = watched.person.explain("--allow-read", watched.out, f"write:{watched.out}/old")["answers"]
    wanted = {"kind": "fs.write", "object": f"{watched.out}/old", "verdict": "denied", "count": 1,
              "rule": {key: explained["rule"][key] for key in ("file", "path")},
              "hint": explained["hint"]["option"]}
    assert wanted.items() <= event.items() and event["reason"].startswith(explained["why"]), event
    assert event["op"] in ("openat", "open") and event["errno"] in ("EROFS", "EACCES")
    assert event["program"] == os.path.realpath("/bin/sh")
    start, end = watched.lines[0], watched.lines[-1]
    assert (start["kind"], start["op"], start["object"]) == ("run", "start", "/bin/sh -c 'echo x >> $OUT/old; exit 3'")
    assert (start["project"], start["policy"]) == (str(watched.person.project), ["preset:dev"])
    assert (end["op"], end["status"], end["denied"]) == ("end", 3, 1)
    assert {line["run"] for line in watched.lines} == {event["run"]}
    assert lines_of(watched.log) == watched.lines, "the log has the same lines"


def test_the_hint_allows_what_was_denied_and_then_nothing_is_told(watched):
    place = watched.out
    command = f"echo x > {place}/file"
    (event,) = watched.shell(command)
    assert not (place / "file").exists()
    assert event["hint"] == f"--allow-write {place}"
    assert watched.shell(command, options=event["hint"].split()) == []
    assert (place / "file").read_text() == "x\n"
    assert watched.answer.stderr == ""


def test_a_protected_name_is_told_with_the_line_of_policy_that_lifts_it(watched):
    (event,) = watched.shell("echo x > .envrc")
    assert (event["kind"], event["object"]) == ("fs.write", str(watched.person.project / ".envrc"))
    assert event["rule"]["path"] == "protected names"
    assert watched.shell("echo x > .envrc", options=shlex.split(event["hint"])) == []
    assert (watched.person.project / ".envrc").read_text() == "x\n"


def test_repeats_are_folded_into_one_line_with_their_number(watched):
    events = watched.run(*python("""
import os
for i in range(500):
    try: os.open(os.environ["OUT"] + "/nothing", os.O_CREAT | os.O_WRONLY)
    except OSError: pass
"""))
    assert [event["count"] for event in events] == [1]
    (folded,) = [line for line in watched.lines if line.get("folded")]
    assert (folded["count"], folded["object"]) == (500, f"{watched.out}/nothing")
    assert watched.lines[-1]["denied"] == 500
    assert f"write {watched.out}/nothing, 500 times" in watched.answer.stderr


def test_allowed_operations_give_no_event(watched):
    events = watched.run(*python("""
import os
for i in range(3000):
    with open("file", "w") as f: f.write("x")
    os.rename("file", "other"); os.unlink("other"); os.mkdir("d"); os.rmdir("d"); os.stat("/etc/passwd")
"""), timeout=120)
    assert watched.answer.returncode == 0, watched.answer.stderr
    assert (events, watched.answer.stderr) == ([], "")


# ---- who can write what ----

HOSTILE = [b"new\nline{\"kind\":\"run\"}", b"\x1b[2Jclear", "bidi\u202eexe.txt".encode(), b"\xff\xfe\x80", b"back\\slash\"",
           b"x" * 255]


def test_hostile_names_stay_one_line_of_json_and_reach_no_terminal(watched):
    place = watched.out
    events = watched.run(*python(f"""
import os
for name in {HOSTILE!r}:
    try: os.open({os.fsencode(place)!r} + b"/" + name, os.O_CREAT | os.O_WRONLY)
    except OSError: pass
"""))
    shown = [event["object"].removeprefix(f"{place}/") for event in events]
    assert shown == ["new\\nline{\"kind\":\"run\"}", "\\x1b[2Jclear", "bidi\\xe2\\x80\\xaeexe.txt", "\\xff\\xfe\\x80",
                     "back\\\\slash\"", "x" * 255]
    text = watched.answer.stderr + watched.file.read_text() + watched.log.read_text()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\udc80-\udcff]", text)
    assert all(line.startswith("cloche: ") for line in watched.answer.stderr.splitlines())


def test_a_command_can_neither_forge_nor_suppress_an_event(watched):
    forged = json.dumps({"kind": "fs.write", "object": "/forged", "verdict": "allowed"})
    events = watched.run(*python(f"""
import os
lines = {forged!r} + "\\n"
places = [{str(watched.file)!r}, {str(watched.log)!r}] + ["/proc/self/fd/%d" % fd for fd in range(3, 50)]
for fd in range(3, 50):
    try: os.write(fd, lines.encode())
    except OSError: pass
for place in places:
    for flags in (os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT):
        try:
            fd = os.open(place, flags)
            os.write(fd, lines.encode()); os.close(fd)
        except OSError: pass
    for change in (os.unlink, lambda p: os.rename(p, p + ".x"), lambda p: os.truncate(p, 0)):
        try: change(place)
        except OSError: pass
for parent in ("/proc/%d/fd" % os.getppid(), "/proc/1/fd"):
    try: print(os.listdir(parent))
    except OSError: pass
os.closerange(0, 100)
try: os.open(os.environ["OUT"] + "/suppressed", os.O_CREAT | os.O_WRONLY)
except OSError: pass
os.kill(os.getpid(), 9)
"""))
    assert watched.answer.returncode == 137
    assert not any(event["object"] == "/forged" for event in events)
    assert [event["count"] for event in watched.events(object=f"{watched.out}/suppressed")] == [1]
    assert [line["op"] for line in watched.lines if line["kind"] == "run"] == ["start", "end"]
    assert lines_of(watched.log)[-1]["status"] == 137


def test_events_in_the_project_are_out_of_the_commands_reach(person):
    out = outside(person)
    answer = person.cloche("run", "--events", "events.jsonl", "--allow-read", out, "--", "/bin/sh", "-c",
                           "echo forged >> events.jsonl; rm -f events.jsonl; mv events.jsonl x; echo y > $OUT/x; echo w > works")
    events = [line for line in lines_of(person.project / "events.jsonl") if line["kind"] != "run"]
    assert f"{out}/x" in [event["object"] for event in events], answer
    assert (person.project / "works").exists()
    assert "forged" not in (person.project / "events.jsonl").read_text().replace(answer.args[-1], "")


@pytest.mark.parametrize("target", ["fd:1", "fd:2", "fd:x", "fd:99", "/dev/null", "/nowhere/x", ""])
def test_a_place_for_events_that_cannot_be_used_is_refused(person, target):
    answer = person.cloche("run", "--events", target, "touch", "made")
    assert (answer.returncode, (person.project / "made").exists()) == (125, False)
    assert "--events" in answer.stderr


def test_what_the_command_is_given_as_output_is_refused_for_events(person):
    with open(person.base / "both", "wb") as both:
        answer = person.cloche("run", "--events", f"fd:{both.fileno()}", "touch", "made", stdout=both,
                               pass_fds=[both.fileno()])
    assert (answer.returncode, (person.project / "made").exists()) == (125, False)


def test_events_can_be_read_along_from_a_descriptor(person):
    out = outside(person)
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen([person.binaries / "cloche", "run", "--events", f"fd:{theirs.fileno()}", "sh", "-c",
                                 "echo x > $OUT/x; sleep 20"], cwd=person.project, env=person.environment,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()],
                                **as_person(person)) as running:
        theirs.close()
        ours.settimeout(20)
        stream = ours.makefile("rb")
        start, event = json.loads(stream.readline()), json.loads(stream.readline())
        assert running.poll() is None, "told while it runs"
        running.send_signal(signal.SIGTERM)
        end = json.loads(stream.readline())
        assert stream.readline() == b""
        running.communicate()
    assert (start["op"], event["object"], end["op"], end["status"]) == ("start", f"{out}/x", "end", 143)


def test_a_reader_that_is_gone_does_not_end_the_run(person):
    outside(person)
    read, write = os.pipe()
    os.close(read)
    answer = person.cloche("run", "--events", f"fd:{write}", "sh", "-c", "echo x > $OUT/x; echo done > made; exit 4",
                           pass_fds=[write])
    os.close(write)
    assert (answer.returncode, (person.project / "made").read_text()) == (4, "done\n")
    assert "--events" in answer.stderr


def test_a_reader_that_is_stuck_does_not_hold_the_run_for_ever(person):
    outside(person)
    read, write = os.pipe()
    started = time.monotonic()
    answer = person.cloche("run", "--events", f"fd:{write}", *python("""
import os
for i in range(400):
    try: os.open(os.environ["OUT"] + "/nothing-%d" % i, os.O_CREAT | os.O_WRONLY)
    except OSError: pass
os.mkdir("made")
"""), pass_fds=[write])
    os.close(write)
    os.close(read)
    assert (answer.returncode, (person.project / "made").is_dir()) == (0, True), answer
    assert time.monotonic() - started < 45
    assert "lines were not written to --events" in answer.stderr


# ---- the log ----

def test_the_log_is_the_users_alone(watched):
    watched.shell("echo x > $OUT/x")
    assert stat.S_IMODE(watched.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(watched.log.parent.stat().st_mode) == 0o700
    assert watched.log.stat().st_uid == watched.person.uid


def test_many_runs_at_once_write_whole_lines_into_one_log(watched):
    person = watched.person
    script = "for i in 1 2 3 4 5 6 7 8 9; do echo x > $OUT/$0-$i; done"
    running = [subprocess.Popen([person.binaries / "cloche", "run", "sh", "-c", script, f"run{number}"], cwd=person.project,
                                env=person.environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                **as_person(person)) for number in range(8)]
    assert [process.wait(60) for process in running] == [2] * 8
    lines = lines_of(watched.log)
    assert len([line for line in lines if line["kind"] == "fs.write"]) == 8 * 9
    assert len({line["run"] for line in lines}) == 8


def test_the_log_is_rotated_and_bounded(watched):
    person = watched.person
    person.directory(watched.log.parent)
    full = "{}\n" * (4 * 1024 * 1024 // 3 + 1)
    for turn in range(8):
        watched.log.write_text(f'{{"turn":{turn}}}\n{full}')
        watched.log.chmod(0o600)
        person.own(watched.log)
        watched.shell("echo x > $OUT/x")
    names = sorted(path.name for path in watched.log.parent.iterdir())
    assert names == ["violations.jsonl"] + [f"violations.jsonl.{number}" for number in range(1, 6)] + ["violations.jsonl.lock"]
    oldest = watched.log.with_name("violations.jsonl.5").read_text()[:20]
    assert oldest.startswith('{"turn":3}')
    assert [line["kind"] for line in lines_of(watched.log)] == ["run", "fs.write", "run"]


def test_a_chain_of_lines_answers_for_each_other_and_no_command_can_hold_it_up(watched):
    person = watched.person
    chained = settings(watched, violation={"chain": True})
    hold = f"exec 9< {watched.log}; flock -n 9; echo held; echo x > $OUT/two; sleep 0.1"
    watched.shell("echo x > $OUT/one", options=chained)
    watched.shell(hold, options=[*chained, "--allow-read", watched.log.parent])
    assert "held" in watched.answer.stdout
    assert "not in the log" not in watched.answer.stderr
    value = ""
    lines = watched.log.read_text().splitlines()
    assert len(lines) >= 6
    for line in lines:
        body, _, rest = line.rpartition(',"chain":"')
        value = hashlib.sha256((value + body + "}").encode()).hexdigest()
        assert rest == value + '"}'
    assert person.cloche("run", "true").returncode == 0
    assert watched.log.read_text().splitlines() == lines


@pytest.mark.parametrize("whose", ["somebody else's", "everybody's"])
def test_a_log_that_others_can_write_is_not_used(watched, whose):
    watched.person.directory(watched.log.parent)
    watched.log.write_text("")
    if whose == "everybody's":
        watched.person.own(watched.log)
        watched.log.chmod(0o666)
    else:
        os.chown(watched.log, watched.person.uid + 1, -1)
        watched.log.chmod(0o666)
    watched.shell("echo x > $OUT/x")
    assert "lines are not in the log" in watched.answer.stderr
    assert watched.log.read_text() == ""


def test_a_log_that_is_a_link_is_not_followed(watched):
    watched.person.directory(watched.log.parent)
    watched.log.symlink_to(watched.person.home / "elsewhere")
    watched.shell("echo x > $OUT/x")
    assert "lines are not in the log" in watched.answer.stderr
    assert not (watched.person.home / "elsewhere").exists()


def settings(watched, **keys):
    return ["--settings", watched.person.file("../policy.json", {"extends": ["preset:dev"], **keys})]


def test_the_log_can_be_elsewhere_but_not_where_the_command_may_write(watched):
    place = watched.person.base / "logs" / "mine.jsonl"
    os.chown(watched.person.base, watched.person.uid, watched.person.uid)
    watched.shell("echo x > $OUT/x", options=settings(watched, violation={"violationLogPath": str(place)}))
    assert [line["kind"] for line in lines_of(place)] == ["run", "fs.write", "run"]
    assert not watched.log.exists()
    watched.shell("touch made", options=settings(watched, violation={"violationLogPath": "./log.jsonl"}))
    assert watched.answer.returncode == 125
    assert "may write" in watched.answer.stderr
    assert not (watched.person.project / "made").exists()


@pytest.mark.parametrize("violation", [{"logViolations": False}, {"enableDetection": False}])
def test_a_policy_that_wants_no_log_gets_none(watched, violation):
    events = watched.shell("echo x > $OUT/x", options=settings(watched, violation=violation))
    assert watched.answer.returncode == 2
    assert not watched.log.exists()
    assert len(events) == (0 if "enableDetection" in violation else 1)
    assert ("denied" in watched.answer.stderr) == ("enableDetection" not in violation)


def test_with_watch_off_files_give_no_event_and_stay_denied(watched):
    events = watched.shell("echo x > $OUT/x; echo y > .envrc", options=settings(watched, violation={"watch": "off"}))
    assert (watched.answer.returncode, events) == (2, [])
    assert not (watched.person.project / ".envrc").exists()


def test_ignored_violations_are_told_nowhere_and_stay_denied(watched):
    ignore = {"sh": ["/out/one", "~/two"], "*": [f"openat {watched.out}/three"], "npm": ["/out/four"]}
    script = "; ".join(f"echo x > {place}" for place in ("$OUT/one", "~/two", "$OUT/three", "$OUT/four"))
    events = watched.shell(script, options=settings(watched, ignoreViolations=ignore))
    assert [event["object"] for event in events] == [f"{watched.out}/four"]
    assert not (watched.person.home / "two").exists()
    assert {line["object"] for line in lines_of(watched.log) if line["kind"] != "run"} == {f"{watched.out}/four"}
    assert "/four" in watched.answer.stderr.split("cloche: denied")[1]
    assert "/one" not in watched.answer.stderr.split("cloche: denied")[1]


# ---- the summary ----

def test_the_summary_is_short_and_quiet_silences_it(watched):
    watched.person.directory(watched.out / "below")
    script = "exec 2>/dev/null; for i in 1 2 3 4 5 6 7 8 9; do echo x > $OUT/file$i; echo x > $OUT/below/file$i; done; " \
             "echo x > .envrc"
    watched.shell(script)
    told = watched.answer.stderr.splitlines()
    assert told[0] == "cloche: denied, 19 times in all:"
    assert len(told) <= 10, told
    assert f"cloche:   write {watched.out}/file1 and 8 others in {watched.out}, 9 times, by " in watched.answer.stderr
    assert "\x1b" not in watched.answer.stderr
    quiet = watched.person.cloche("run", "-q", "sh", "-c", script)
    assert quiet.stderr == ""


def test_colours_are_for_terminals_that_want_them(person):
    out = outside(person)

    def told(**environment):
        leader, follower = os.openpty()
        answer = person.cloche("run", "sh", "-c", "exec 2>/dev/null; echo x > $OUT/x", stderr=follower,
                               environment={"TERM": "xterm", **environment})
        os.close(follower)
        text = os.read(leader, 65536).decode()
        os.close(leader)
        assert answer.returncode == 2 and "write" in text
        return text

    assert f"\x1b[31mwrite\x1b[0m {out}/x" in told()
    assert "\x1b" not in told(NO_COLOR="1")
    assert "\x1b" not in told(TERM="dumb")
    assert "\x1b" not in told(TERM="")


def test_srt_says_nothing_of_its_own(person):
    policy = person.file("srt.json", {"network": {"allowedDomains": [], "deniedDomains": []},
                                      "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}})
    answer = person.srt("--settings", policy, "-c", "(echo x > $OUT/x) 2>/dev/null; echo y > made")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert (person.project / "made").exists()


# ---- what runs later ----

def test_what_a_run_made_that_may_run_later_is_listed(watched):
    person = watched.person
    person.directory(person.project / "bin")
    script = """
        mkdir new && git init -q new/harmless && git init -q new/hooked && git init -q new/set
        echo exit > new/hooked/.git/hooks/pre-commit
        git -C new/set config core.fsmonitor ./x
        git clone -q new/harmless new/clone
        echo x > new/.envrc
        echo gone > new/.bashrc && rm new/.bashrc
        printf '#!/bin/sh\\n' > bin/tool && chmod +x bin/tool && echo data > bin/data
        echo '{"scripts": {"postinstall": "x"}}' > package.json
        mkdir plain && echo '{"scripts": {"test": "x"}}' > plain/package.json
        mkdir -p node_modules/x && echo '{"scripts": {"postinstall": "x"}}' > node_modules/x/package.json
        mkdir other && echo x > other/file
    """
    path = f"{person.project}/bin:{person.environment['PATH']}"
    events = watched.shell(script, environment={"PATH": path})
    assert watched.answer.returncode == 0, watched.answer.stderr
    assert {event["verdict"] for event in events} == {"observed"}
    assert {event["kind"] for event in events} == {"exec.later"}
    found = {os.path.relpath(event["object"], person.project) for event in events}
    assert found == {"new/hooked/.git/hooks/pre-commit", "new/set/.git/config", "new/.envrc", "bin/tool", "package.json"}
    assert "core.fsmonitor" in watched.answer.stderr


# ---- every output ----

NAMES = [b"new\nline", b"\x1b]0;owned\x07\x1b[2J", "\u202egnp.exe\u2066\u2028".encode(), b"\xff\x9b31m\x7f", "\u009b31m".encode(),
         b"\"'><script>alert(1)", b"<sandbox_violations>", b"it's `x` $(y)"]
PLAIN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")


def test_no_output_carries_what_a_name_would_do_to_its_reader(watched):
    """Of everything that can be named: what is written, hidden, a socket, made to be run later, a program, the command, and a
    path as long as there can be."""
    person = watched.person
    os.makedirs(os.fsencode(person.project) + b"/vault")
    for name in NAMES:
        with open(os.fsencode(person.project) + b"/vault/" + name, "wb"):
            pass
    for path in (person.project / "vault").iterdir():
        person.own(path)
    events = watched.run(*python(f"""
import os, shutil, socket, subprocess
def attempt(function, *arguments):
    try: return function(*arguments)
    except OSError: pass
out = os.environb[b"OUT"]
for name in {NAMES!r}:
    attempt(os.open, out + b"/" + name, os.O_CREAT | os.O_WRONLY)
    attempt(os.open, b"vault/" + name, os.O_RDONLY)
    attempt(socket.socket(socket.AF_UNIX).connect, b"\\0" + name)
    attempt(socket.socket(socket.AF_UNIX).connect, out + b"/" + name)
    os.makedirs(b"new/" + name); open(b"new/" + name + b"/.envrc", "w")
    program = b"./" + name
    shutil.copy("/bin/mkdir", program); subprocess.run([program, out + b"/by"], stderr=subprocess.DEVNULL)
    os.unlink(program)
for _ in range(15):
    os.mkdir("long" * 60); os.chdir("long" * 60)
open(".envrc", "w")
"""), "\x1b[2J\u202e", options=settings(watched, filesystem={"denyRead": ["vault"], "allowWrite": ["."]}))
    assert len(events) > 5 * len(NAMES) - 8, [event["object"] for event in events]
    outputs = {"summary": watched.answer.stderr, "events": watched.file.read_text(), "log": watched.log.read_text()}
    for words in (["log"], ["log", "--json"], ["log", "--html", "page.html"], ["annotate", "--events", watched.file]):
        answer = person.cloche(*words)
        assert answer.returncode == 0, answer
        outputs[" ".join(map(str, words))] = answer.stdout + answer.stderr
    outputs["page"] = (person.project / "page.html").read_text()
    assert "<script" not in outputs["page"] and outputs[f"annotate --events {watched.file}"].count("<sandbox_violations>") == 1
    assert {name: sorted(set(PLAIN.findall(text))) for name, text in outputs.items() if PLAIN.search(text)} == {}
    assert all(("long" * 60 + "/") * 15 in outputs[name] for name in ("events", "log", "log --json", "page"))
    assert len(outputs["summary"]) < 8192


# ---- limits and floods ----

LIMITS = {
    "limits.wallSeconds": (["--timeout", "1"], ["sleep", "30"], "--timeout 2"),
    "limits.memory": (["--memory", "50M"], ["/usr/bin/python3", "-c", "'x' * 200_000_000"], "--memory 100M"),
    "limits.fileSize": (["file size"], ["sh", "-c", "head -c 2000000 /dev/zero > big"], "in {}: {{\"limits\": {{\"fileSize\": 2048}}}}"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_that_was_hit_is_an_event(watched, name):
    options, command, hint = LIMITS[name]
    if name == "limits.fileSize":
        options = settings(watched, limits={"fileSize": 1024})
        hint = hint.format(options[1])
    events = watched.run(*command, options=options)
    assert [(event["kind"], event["object"], event["hint"]) for event in events] == [("limit", name, hint)]
    given = name != "limits.fileSize"
    assert events[0]["rule"] == ({"file": "command line", "path": options[0]} if given
                                 else {"file": str(options[1]), "path": name})
    assert watched.answer.stderr.count(name) == 1, "said once"


def test_a_flood_is_bounded_and_answers_meanwhile(person):
    """Thirty thousand denials of as many names; a million are in `make test-clients`, for the minutes they take."""
    check_flood(person, 30000, 0.1)


def test_a_flood_ends_when_its_time_is_up(person):
    check_time_out(person)
