"""Whoever reads what is hidden is refused as ever, and told of: which path, which
program. Masks look the same whether they tell or not, and nothing depends on
their telling."""

import json
import os
import re
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


def run(person, *command, **keywords):
    return person.cloche("run", "-v", "-s", policy(person), *command, **keywords)


def run_without_device(person, *command):
    """Where no mask can tell."""
    return where_mounted(person, "mount --bind /dev/null /dev/fuse", "run", "-v", "-s", policy(person), *command)


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can cover /dev/fuse")


def told(answer):
    """(path, program) of each read that was told of, in order."""
    return re.findall(r"^cloche: fs\.read: denied (.*) by (\S+): ", answer.stderr, re.M)


PROBES = {
    "file": ("open('secret')", "secret"),
    "file for writing too": ("os.open('secret', os.O_RDONLY | os.O_NONBLOCK)", "secret"),
    "listing": ("os.listdir('vault')", "vault"),
    "below": ("open('vault/key')", "vault/key"),
    "status below": ("os.stat('vault/key')", "vault/key"),
    "what is not there": ("os.stat('vault/none')", "vault/none"),
    "entering": ("os.chdir('vault')", "vault"),
    "walking through": ("os.stat('vault/a/b/c')", "vault/a"),
    "by link": ("open('link')", "vault/key"),
}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.replace(" ", "-"))
def test_each_way_to_read_what_is_hidden_is_refused_and_told_once(hiding, probe):
    code, path = PROBES[probe]
    hiding.link("link", "vault/key")
    answer = run(hiding, PYTHON, "-c", f"""
import os
try:
    {code}
except PermissionError:
    print("refused")
print(open("plain").read(), os.listdir(".") != [])
""")
    assert answer.stdout == "refused\nplain\n True\n", answer.stderr
    assert told(answer) == [(str(hiding.project / path), os.path.realpath(PYTHON))]


def test_looking_from_outside_is_not_told_of_and_not_slow(hiding):
    work = "ls -la >/dev/null; find . -maxdepth 1 -type f >/dev/null; stat secret vault >/dev/null; df >/dev/null; test -e secret"
    answer = run(hiding, "sh", "-c", f"for i in 1 2 3; do {work}; done; echo done")
    assert answer.stdout == "done\n" and told(answer) == [], answer.stderr


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
    telling, silent = run(hiding, PYTHON, "-c", code), run_without_device(hiding, PYTHON, "-c", code)
    assert json.loads(telling.stdout) == json.loads(silent.stdout)
    assert told(telling) and not told(silent)


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
    answer = run(hiding, PYTHON, "-c", code, timeout=120)
    assert answer.stdout == "5000\n", answer.stderr
    assert len(told(answer)) == 1


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
    answer = run_without_device(hiding, *command)
    assert answer.stdout == "plain\n0\n", answer.stderr
    assert answer.stderr.count("Permission denied") == 3
    assert told(answer) == []
    assert len(told(run(hiding, *command))) == 3
