"""Whoever reads what is hidden is refused as ever, and told of: which path, which
program. Masks look the same whether they tell or not, and nothing depends on
their telling."""

import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

from judging import processes, start, wait_until, where_mounted

PYTHON = "/usr/bin/python3"

pytestmark = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="there is no /dev/fuse to use")


@pytest.fixture
def hiding(person):
    """A project with a hidden file, a hidden directory, and files to see."""
    person.file("secret", "the secret\n")
    person.file("vault/key", "the key\n")
    person.file("plain", "plain\n")
    return person


def policy(person):
    return person.file("../policy.json", {"extends": ["preset:dev"],
                                          "filesystem": {"denyRead": [str(person.project / "secret"),
                                                                      str(person.project / "vault")]}})


def told(person, running):
    """(operation, path, program) of each read that is told of, in order, and what the run came to."""
    events = person.file("../events.json", "")
    answer = running("run", "--events", events, "-s", policy(person))
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    return [(line["op"], line["object"], line["program"]) for line in lines
            if line["kind"] == "fs.read" and "folded" not in line], answer


def run(person, *command, **keywords):
    return told(person, lambda *options: person.cloche(*options, *command, **keywords))


def run_without_device(person, *command, given=()):
    """Where no mask can tell."""
    covered = "mount --bind /dev/null /dev/fuse"
    return told(person, lambda *options: where_mounted(person, covered, *options, *given, *command))


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can cover /dev/fuse")


PROBES = {
    "file": ("open('secret')", "open", "secret"),
    "listing": ("os.listdir('vault')", "open", "vault"),
    "executing": ("os.execv('secret', ['x'])", "execve", "secret"),
    "executing-below": ("os.execv('vault/key', ['x'])", "lookup", "vault/key"),
    "below": ("open('vault/key')", "lookup", "vault/key"),
    "status-below": ("os.stat('vault/key')", "lookup", "vault/key"),
    "entering": ("os.chdir('vault')", "access", "vault"),
    "walking-through": ("os.stat('vault/deep/b/c')", "lookup", "vault/deep"),
    "by-link": ("open('link')", "lookup", "vault/key"),
    "newline": ("open('vault/a\\nb')", "lookup", "vault/a\\nb"),
}


@pytest.mark.parametrize("probe", PROBES)
def test_each_way_to_read_what_is_hidden_is_refused_and_told_once(hiding, probe):
    code, operation, path = PROBES[probe]
    hiding.link("link", "vault/key")
    hiding.file("vault/deep/b/c")
    hiding.file("vault/a\nb")
    seen, answer = run(hiding, PYTHON, "-c", f"""
import os
try:
    {code}
except PermissionError:
    print("refused")
print(open("plain").read(), os.listdir(".") != [])
""")
    assert answer.stdout == "refused\nplain\n True\n", answer.stderr
    assert seen == [(operation, str(hiding.project / path), os.path.realpath(PYTHON))]


def test_looking_for_what_is_nowhere_is_not_told_of(hiding):
    seen, answer = run(hiding, "sh", "-c", "cat vault/none; cat vault/key")
    assert answer.stderr.count("Permission denied") == 2
    assert [path for _, path, _ in seen] == [str(hiding.project / "vault/key")]


def test_the_event_names_process_rule_and_hint(hiding):
    events = hiding.file("../events.json", "")
    answer = hiding.cloche("run", "--events", events, "-s", policy(hiding), "sh", "-c", "echo $$; cat secret; true")
    event, = [each for each in map(json.loads, events.read_text().splitlines()) if each["kind"] == "fs.read"]
    assert event["errno"] == "EACCES" and event["verdict"] == "denied"
    assert event["parent"]["program"] == os.path.realpath("/bin/sh")
    # Numbers are the host's, and those inside are others.
    assert event["parent"]["pid"] > int(answer.stdout) and event["pid"] > event["parent"]["pid"]
    assert event["rule"]["path"] == "filesystem.denyRead[0]"
    assert event["hint"] == f"--allow-read {hiding.project / 'secret'}"
    allowed = hiding.cloche("run", "-s", policy(hiding), *event["hint"].split(), "cat", "secret")
    assert allowed.stdout == "the secret\n"
    assert "reads were not watched" not in answer.stderr


def test_many_masks_tell_each_its_own_name(hiding):
    names = [f"hidden-{number}" for number in range(60)]
    for name in names:
        hiding.file(name)
    rules = {"extends": ["preset:dev"], "filesystem": {"denyRead": [str(hiding.project / name) for name in names]}}
    settings, events = hiding.file("../many.json", rules), hiding.file("../events.json", "")
    answer = hiding.cloche("run", "--events", events, "-s", settings, "sh", "-c", "for f in hidden-*; do cat $f; done; cat plain")
    assert answer.stdout == "plain\n" and answer.stderr.count("Permission denied") == len(names)
    told_of = [each["object"] for each in map(json.loads, events.read_text().splitlines()) if each["kind"] == "fs.read"]
    assert sorted(told_of) == sorted(str(hiding.project / name) for name in names)


def test_looking_from_outside_is_not_told_of(hiding):
    work = "ls -la >/dev/null; find . -maxdepth 1 -type f >/dev/null; stat secret vault >/dev/null; df >/dev/null; test -e secret"
    seen, answer = run(hiding, "sh", "-c", f"for i in 1 2 3; do {work}; done; echo done")
    assert answer.stdout == "done\n" and seen == [], answer.stderr


@only_root
def test_a_mask_that_tells_looks_like_one_that_does_not(hiding):
    code = """
import json, os, stat
def attempt(what, *arguments):
    try:
        return repr(what(*arguments))
    except OSError as error:
        return error.errno
seen = {}
for name in ("secret", "vault"):
    status = os.lstat(name)
    seen[name] = [oct(status.st_mode), status.st_uid, status.st_gid, status.st_nlink]
    for mode in (os.F_OK, os.R_OK, os.X_OK):
        seen[name].append(os.access(name, mode))
    seen[name] += [attempt(os.rename, name, "x"), attempt(os.unlink, name), attempt(os.rmdir, name),
                   attempt(os.chmod, name, 0o777), attempt(os.truncate, name, 0), attempt(os.open, name, os.O_RDONLY),
                   attempt(os.execv, name, ["x"])]
seen["in"] = [attempt(os.mkdir, "vault/new"), attempt(os.unlink, "vault/key"), attempt(os.symlink, "a", "vault/a"),
              attempt(os.listdir, "vault")]
seen["size"] = os.lstat("secret").st_size
print(json.dumps(seen))
"""
    seen, telling = run(hiding, PYTHON, "-c", code)
    unseen, silent = run_without_device(hiding, PYTHON, "-c", code)
    assert json.loads(telling.stdout) == json.loads(silent.stdout)
    assert seen and not unseen


def test_thousands_of_refused_reads_are_told_once(hiding):
    code = """
refused = 0
for i in range(5000):
    try:
        open("secret")
    except PermissionError:
        refused += 1
print(refused)
"""
    seen, answer = run(hiding, PYTHON, "-c", code, timeout=120)
    assert answer.stdout == "5000\n", answer.stderr
    assert len(seen) == 1


READ_FOR_EVER = """
import os
for i in range(4):
    os.fork()
print("begun", flush=True)
while True:
    try:
        open("secret")
    except OSError:
        pass
"""


def test_nothing_is_left_of_a_run_that_is_killed_while_everybody_reads(hiding):
    run = start(hiding, "run", "--timeout", "60", "-s", policy(hiding), PYTHON, "-c", READ_FOR_EVER, str(hiding.project))
    try:
        for _ in range(16):
            assert run.stdout.readline() == "begun\n"
        assert len(processes(str(hiding.project))) > 16
    finally:
        run.kill()
    run.communicate(timeout=30)
    assert wait_until(lambda: not processes(str(hiding.project)))


def test_the_limit_of_time_holds_while_everybody_reads(hiding):
    run = start(hiding, "run", "-s", policy(hiding), "--timeout", "1", PYTHON, "-c", READ_FOR_EVER, str(hiding.project))
    run.communicate(timeout=30)
    assert run.returncode == 128 + signal.SIGKILL
    assert wait_until(lambda: not processes(str(hiding.project)))


def test_who_reads_while_cloche_is_stopped_waits_and_is_refused_then(hiding):
    code = "print('begun', flush=True); input()\ntry:\n  open('secret')\nexcept PermissionError:\n  print('refused')"
    run = start(hiding, "run", "-s", policy(hiding), PYTHON, "-c", code, stdin=subprocess.PIPE)
    assert run.stdout.readline() == "begun\n"
    os.kill(run.pid, signal.SIGSTOP)
    run.stdin.write("\n")
    run.stdin.flush()
    time.sleep(0.2)
    os.kill(run.pid, signal.SIGCONT)
    out, _ = run.communicate(timeout=30)
    assert out == "refused\n"


@only_root
def test_without_a_usable_device_what_is_hidden_stays_so(hiding):
    command = ["sh", "-c", "cat secret vault/key; ls vault; cat plain; grep -c 'fuse ro' /proc/mounts"]
    seen, answer = run_without_device(hiding, *command)
    assert answer.stdout == "plain\n0\n", answer.stderr
    assert answer.stderr.count("Permission denied") == 3
    assert seen == []
    assert len(run(hiding, *command)[0]) == 3


@only_root
@pytest.mark.parametrize("end, given, said", [("false", [], 1), ("true", [], 0), ("true", ["-v"], 1)])
def test_it_is_said_once_where_reads_are_not_watched_to_who_may_miss_one(hiding, end, given, said):
    """With a failure to explain, or to who wants to know all; and not without a denial."""
    _, answer = run_without_device(hiding, "sh", "-c", f"cat secret; touch .bashrc; {end}", given=given)
    assert answer.stderr.count("reads were not watched") == said
    _, answer = run_without_device(hiding, "sh", "-c", f"cat secret; {end}", given=given)
    assert "not watched" not in answer.stderr


def test_a_home_of_which_a_part_is_shown_is_named_as_not_watched(hiding):
    hiding.file(hiding.home / ".ssh/id_rsa", "secret")
    hiding.file(".env", "secret")  # hidden by the preset, and watched
    script = "cat ~/.ssh/id_rsa; touch .bashrc"
    answer = hiding.cloche("run", "sh", "-c", script)
    place, said = re.search("reads of what is hidden in (.*) were not watched; to watch them: (.*)", answer.stderr).groups()
    assert hiding.home.is_relative_to(place)
    answer = hiding.cloche("run", *shlex.split(said), "sh", "-c", script)
    assert f"read {hiding.home}/.ssh/id_rsa, by cat" in answer.stderr and "not watched" not in answer.stderr
