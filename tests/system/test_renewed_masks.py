"""When the host replaces what is hidden, or a directory above it, its mask goes with the old one. What is there now
is hidden again at once, and told of. That it is in sight for a moment SECURITY.md says."""

import ctypes
import json
import os
import pathlib
import signal
import subprocess

import pytest

from judging import as_person, outside, processes, start, wait_until

PYTHON = "/usr/bin/python3"
LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
LOOKED_AT = "what is hidden is looked at five times a second instead"
QUEUE = pathlib.Path("/proc/sys/fs/inotify/max_queued_events")

# Reads what each line names until it is refused, or for as many seconds as the line says, and tells which.
READER = """
import os, sys, time
print("begun", flush=True)
for line in sys.stdin:
    seconds, name = line[:-1].split()
    end = time.monotonic() + int(seconds)
    verdict = "seen"
    while verdict == "seen":
        try:
            os.listdir(name) if os.path.isdir(name) else open(name).read()
        except PermissionError:
            verdict = "hidden"
        except OSError as problem:
            verdict = str(problem)
        if time.monotonic() > end:
            break
    print(verdict, flush=True)
"""


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


class Reader:
    """A run in which a program reads what it is told to."""

    def __init__(self, person, *options, before=(), awaited=(), program=READER, policy=None):
        person.file("secret", "the secret\n")
        person.file("conf/deep/key", "the key\n")
        person.file("vault/key", "the key\n")
        person.file("plain", "plain\n")
        names = ["secret", "conf/deep/key", "vault"]
        settings = person.file("../policy.json", {"extends": ["preset:dev"], **(policy or {}), "filesystem": {
            **(policy or {}).get("filesystem", {}),
            "denyRead": [str(person.project / name) for name in (*names, *awaited)]}})
        self.person = person
        self.events = person.file("../events.json", "")
        words = ["run", *options, "--events", self.events, "-s", settings, "--", PYTHON, "-c", program]
        if before:
            self.run = subprocess.Popen([*before, person.binaries / "cloche", *words], cwd=person.project,
                                        env=person.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **as_person(person))
        else:
            self.run = start(person, *words, stdin=subprocess.PIPE)
        assert self.run.stdout.readline() == "begun\n", self.run.communicate()[1]
        for name in names:
            assert self.read(name) == "hidden"
        assert self.read("plain", 0) == "seen"

    def read(self, name, seconds=20):
        self.run.stdin.write(f"{seconds} {name}\n")
        self.run.stdin.flush()
        return self.run.stdout.readline()[:-1]

    def end(self):
        """What it said on stderr, and the paths that were hidden again, with how often."""
        _, said = self.run.communicate(timeout=60)
        renewed = {}
        for line in map(json.loads, self.events.read_text().splitlines()):
            if line.get("op") == "mask":
                assert line["kind"] == "fs.read" and line["verdict"] == "observed" and line["rule"]["path"]
                renewed[line["object"]] = line["count"]
        return said, renewed


@pytest.fixture
def run(person):
    """Makes them."""
    made = []

    def make(*arguments, **keywords):
        made.append(Reader(person, *arguments, **keywords))
        return made[-1]

    yield make
    for reader in made:
        reader.run.kill()
        reader.run.communicate()


@pytest.fixture
def reader(run):
    return run()


def exchange(person, one, other):
    names = [os.fsencode(person.project / name) for name in (one, other)]
    assert LIBC.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0


CHANGES = {
    "renamed over": ("secret", "echo new >.s; mv .s secret"),
    "deleted and made anew": ("secret", "rm secret; echo new >secret"),
    "moved away and made anew": ("secret", "mv secret old; echo new >secret"),
    "a link instead": ("secret", "ln -sfn plain secret"),
    "a directory instead": ("secret", "rm -r secret; mkdir secret"),
    "linked from elsewhere": ("secret", "ln -f plain secret"),
    "the directory above moved": ("conf/deep/key", "cp -r conf/deep x; mv conf/deep conf/old; mv x conf/deep"),
    "two above moved, then made step by step": ("conf/deep/key", "mv conf old; mkdir -p conf/deep; echo new >conf/deep/key"),
    "above deleted and made anew": ("conf/deep/key", "rm -r conf; mkdir conf; mkdir conf/deep; echo new >conf/deep/key"),
    "a hidden directory moved away": ("vault", "mv vault old; mkdir vault; echo new >vault/key"),
    "a file instead of a hidden directory": ("vault", "rm -r vault; echo new >vault"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_host_puts_in_the_place_of_something_hidden_is_hidden_and_told(reader, change):
    name, script = CHANGES[change]
    for _ in range(3):
        outside(reader.person, f"rm -rf old conf/old; {script}")
        assert reader.read(name) == "hidden"
    outside(reader.person, "echo new >x; mv x plain")
    assert reader.read("plain", 0) == "seen"
    said, renewed = reader.end()
    assert list(renewed) == [str(reader.person.project / name)]
    assert "not hidden all the time" in said and f"{reader.person.project / name}: replaced on the host" in said
    assert LOOKED_AT not in said


EXECUTES = READER.replace("open(name).read()", "os.execv(name, [name]) if name == 'secret' else open(name).read()")


def test_who_executes_what_was_hidden_again_is_told_of(run):
    """Renewed masks have the flags of the first ones: where nothing can be executed, nobody is asked about it."""
    assert EXECUTES != READER
    executor = run(program=EXECUTES)

    def told():
        lines = map(json.loads, executor.events.read_text().splitlines())
        return sum(line["count"] for line in lines
                   if line.get("op") == "execve" and line["object"] == str(executor.person.project / "secret"))

    before = told()
    assert before > 0
    outside(executor.person, "cp /bin/true .s; mv .s secret")
    assert executor.read("secret") == "hidden"
    executor.end()
    assert told() > before


def test_what_was_hidden_stays_hidden_under_its_new_name(reader):
    outside(reader.person, "mv secret elsewhere; mv vault below; mv conf there")
    for name in ("elsewhere", "below", "there/deep/key"):
        assert reader.read(name) == "hidden"
    assert reader.end()[1] == {}


def test_a_file_exchanged_with_another_is_hidden(reader):
    exchange(reader.person, "secret", "plain")
    assert reader.read("secret") == "hidden"
    assert list(reader.end()[1]) == [str(reader.person.project / "secret")]


SPIN = """
import os
print("begun", flush=True)
seen, refused = set(), 0
while not os.path.exists("done"):
    try:
        seen.add(open("secret").read())
    except PermissionError:
        refused += 1
    except OSError:
        pass
print(len(seen), refused)
"""


def replaced_while_somebody_reads(person, *options):
    """How many of 500 contents a reader in a loop has seen, and how often it was refused."""
    spinning = start(person, "run", *options, "-s", person.home / "policy.json", "--", PYTHON, "-c", SPIN)
    assert spinning.stdout.readline() == "begun\n"
    for number in range(500):
        person.file("next", f"{number}\n").rename(person.project / "secret")
    person.file("done")
    return map(int, spinning.communicate(timeout=120)[0].split())


def test_it_ends_hidden_however_often_and_fast_it_is_replaced_while_somebody_reads(reader):
    """What is seen meanwhile depends on the moment. SECURITY.md says so."""
    seen, refused = replaced_while_somebody_reads(reader.person)
    assert seen <= 500 and refused > 0
    assert reader.read("secret") == "hidden"
    renewed = reader.end()[1][str(reader.person.project / "secret")]
    assert 1 <= renewed <= 500


def test_nothing_is_ever_seen_where_the_doorman_performs_every_open(person, run):
    run().end()
    seen, refused = replaced_while_somebody_reads(person, "--deny-read", "**/*.pem")
    assert seen == 0 and refused > 0


def test_hiding_again_survives_more_changes_than_the_kernel_keeps(reader):
    """As many as the command likes to make."""
    person = reader.person
    init, = [int(pid) for pid in pathlib.Path(f"/proc/{reader.run.pid}/task/{reader.run.pid}/children").read_text().split()
             if pathlib.Path(f"/proc/{pid}/comm").read_text() == "cloche\n"]
    os.kill(init, signal.SIGSTOP)
    try:
        there, back = person.file("a"), person.project / "b"
        for _ in range(int(QUEUE.read_text()) // 2 + 10):
            there.rename(back).rename(there)
        outside(person, "echo new >x; mv x secret")
    finally:
        os.kill(init, signal.SIGCONT)
    assert reader.read("secret") == "hidden"
    assert list(reader.end()[1]) == [str(person.project / "secret")]


MADE = {"later": "echo new >later", "not/yet/there": "mkdir not; mkdir not/yet; echo new >not/yet/there",
        "moved": "mkdir x; echo new >x/key; mv x moved", "linked": "ln -s plain linked"}


def test_what_comes_into_being_where_the_policy_hides_it_is_hidden_and_told(run):
    reader = run(awaited=MADE)
    for name, script in MADE.items():
        outside(reader.person, script)
        assert reader.read(name) == "hidden"
        assert reader.read("plain", 0) == "seen"
    said, renewed = reader.end()
    assert set(renewed) == {str(reader.person.project / name) for name in MADE}
    assert "not hidden all the time" not in said  # the doorman, who is told of paths to come, let nobody open it


def test_what_a_preset_hides_is_hidden_when_it_comes_where_the_directory_is_shown(person, run):
    tools = person.directory(person.home / ".cargo")
    reader = run()
    for name in ("credentials.toml", "env"):
        person.file(tools / name, "new\n")
    assert reader.read(tools / "credentials.toml") == "hidden"
    assert reader.read(tools / "env", 0) == "seen"
    # A secret that appears in a home of which only parts are shown is not there at all.
    person.file(person.home / ".netrc", "new\n")
    assert "No such file" in reader.read(person.home / ".netrc", 0)
    said, renewed = reader.end()
    assert list(renewed) == [str(tools / "credentials.toml")]
    assert "credentials.toml: came into being while the command ran" in said


def test_explain_says_when_it_is_hidden(person):
    tools = person.directory(person.home / ".cargo")
    answer = person.cloche("explain", f"read:{tools / 'credentials.toml'}").stdout
    assert answer.startswith("unheld") and "hidden a moment after it comes into being" in answer
    person.file(tools / "credentials.toml")
    answer = person.cloche("explain", f"read:{tools / 'credentials.toml'}").stdout
    assert answer.startswith("denied") and "held by mount" in answer


def test_a_link_above_leads_no_mask_astray_and_is_told(reader):
    person = reader.person
    person.file("other/deep/key", "another\n")
    outside(person, "mv conf old; ln -s other conf; echo new >x; mv x secret")
    assert reader.read("secret") == "hidden"
    assert reader.read("other/deep/key", 0) == "seen"
    outside(person, "rm conf; mkdir -p conf/deep; echo new >conf/deep/key")
    assert reader.read("conf/deep/key") == "hidden"
    said = reader.end()[0]
    assert f"{person.project / 'conf/deep/key'}: not hidden any more: a directory above it is a link now" in said
    assert f"{person.project / 'secret'}: not hidden any more" not in said


def test_what_is_allowed_by_its_own_name_stays_in_sight_when_it_comes(person, run):
    tools = person.directory(person.home / ".cargo")
    reader = run("--allow-read", tools / "credentials.toml")
    for name in ("credentials.toml", "credentials"):
        person.file(tools / name, "new\n")
    assert reader.read(tools / "credentials") == "hidden"
    assert reader.read(tools / "credentials.toml", 0) == "seen"


def with_limit(name, most):
    """In a user namespace of its own, so that nobody else is short of them."""
    return ["unshare", "--user", "--map-root-user", "sh", "-ec", f'echo {most} >/proc/sys/user/{name}; exec "$@"', "sh"]


# With 0 nothing is watched, with 3 a part of it.
@pytest.mark.parametrize("name, most", [("max_inotify_instances", 0), ("max_inotify_watches", 0), ("max_inotify_watches", 3)])
def test_where_changes_are_not_told_places_are_looked_at_from_time_to_time(person, name, most):
    """A user has so many inotify instances and watches, and may have as many runs."""
    reader = Reader(person, before=with_limit(name, most))
    try:
        for _ in range(2):
            outside(person, "echo new >x; mv x secret; rm -r conf; mkdir -p conf/deep; echo new >conf/deep/key")
            assert reader.read("secret") == "hidden"
            assert reader.read("conf/deep/key") == "hidden"
        said, renewed = reader.end()
        assert set(renewed) == {str(person.project / name) for name in ("secret", "conf/deep/key")}
        assert said.count(LOOKED_AT) == 1
    finally:
        reader.run.kill()


# Takes every watch that there is, and that anybody gives back. The file `full` tells that there is none left.
GREEDY = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
mine = libc.inotify_init()
def take():
    number = 0
    while True:
        if libc.inotify_add_watch(mine, b"/tmp/%d" % number, 0x100) >= 0:
            number += 1
        elif not os.path.exists("full"):
            open("full", "w").close()
def begin():
    while not os.path.exists("begin"):
        time.sleep(0.01)
    for number in range(1000):
        open("/tmp/%d" % number, "w").close()
    take()
threading.Thread(target=begin, daemon=True).start()
""" + READER


def test_a_command_that_takes_all_watches_loses_no_mask(person):
    """The host moves a directory above a mask meanwhile, so that pid 1 has to watch others."""
    reader = Reader(person, before=with_limit("max_inotify_watches", 500), program=GREEDY)
    try:
        person.file("begin")
        assert wait_until((person.project / "full").exists)
        for _ in range(5):
            outside(person, "mv conf x; sleep 0.05; mv x conf; sleep 0.05")
        outside(person, "echo new >x; mv x secret; rm -r conf; mkdir -p conf/deep; echo new >conf/deep/key")
        assert reader.read("secret") == "hidden"
        assert reader.read("conf/deep/key") == "hidden"
        assert reader.read("plain", 0) == "seen"
        assert set(reader.end()[1]) == {str(person.project / name) for name in ("secret", "conf/deep/key")}
    finally:
        reader.run.kill()


def test_hidden_again_in_a_tree_that_shows_only_what_is_listed(run):
    reader = run(policy={"extends": ["preset:strict"], "filesystem": {"allowWrite": ["."]}}, awaited=["later"])
    outside(reader.person, "echo new >x; mv x secret; rm -r vault; mkdir vault; echo new >later")
    for name in ("secret", "vault", "later"):
        assert reader.read(name) == "hidden"
    assert reader.read("plain", 0) == "seen"
    said, renewed = reader.end()
    assert reader.run.returncode == 0, said
    assert set(renewed) == {str(reader.person.project / name) for name in ("secret", "vault", "later")}


def test_a_mask_that_nobody_renews_is_lost(reader):
    """The positive control of all the others: pid 1 is stopped meanwhile."""
    (first,) = [pid for pid in children_of(reader.run.pid) if name_of(pid) == "cloche"]
    os.kill(first, signal.SIGSTOP)
    outside(reader.person, "echo new >x; mv x secret")
    assert reader.read("secret", 1) == "seen"
    os.kill(first, signal.SIGCONT)
    assert reader.read("secret") == "hidden"


def test_nothing_is_left_of_a_run_that_hides_again(reader):
    outside(reader.person, "echo new >x; mv x secret")
    assert reader.read("secret") == "hidden"
    reader.run.kill()
    reader.run.communicate()
    assert wait_until(lambda: not processes(str(reader.person.project)))
    assert outside(reader.person, "cat secret; rm secret; ls -A") == "new\nconf\nplain\nvault\n"
