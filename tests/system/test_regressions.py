"""Holes that were found once, each named after what could be done through it.

As everywhere, each denial stands beside the same thing allowed."""

import errno
import json
import os

import pytest

PYTHON = "/usr/bin/python3"


# Variables


def test_secrets_in_unusual_spelling_do_not_arrive(person):
    secrets = ["PRIVATE_KEY", "password", "Api_Key", "apiKey", "my_Token", "TOKENS", "GITHUB_PAT", "OPENAI_KEY",
               "STRIPE_KEY", "JWT", "AUTH", "DATABASE_URI"]
    ordinary = ["KEYBOARD", "MONKEY", "AUTHOR", "GIT_AUTHOR_NAME", "SSH_CLIENT", "LESSKEY", "MAX_TOKENS"]
    answer = person.cloche("run", PYTHON, "-c", "import json, os; print(json.dumps(list(os.environ)))",
                           environment=dict.fromkeys(secrets + ordinary, "x"))
    arrived = json.loads(answer.stdout)
    assert [name for name in secrets if name in arrived] == []
    assert [name for name in ordinary if name not in arrived] == []


# Messages


def test_name_of_a_command_cannot_forge_a_second_message_or_hide(person):
    answer = person.cloche("run", "./no\ncloche: all is well\u202e\u009b[2J", environment={"LANG": "C.UTF-8"})
    assert answer.returncode == 127
    assert len(answer.stderr.splitlines()) == 1
    assert not {"\u202e", "\u009b", "\x1b"} & set(answer.stderr)
    assert "no?cloche: all is well" in answer.stderr
    answer = person.cloche("run", "./grüße")
    assert "./grüße" in answer.stderr


def test_name_in_a_policy_cannot_forge_a_second_message(person):
    policy = person.file("../policy\ncloche: fine.json", {"filesystem": {"tmpp\ncloche: fine": 1}})
    answer = person.cloche("run", "--settings", policy, "true")
    assert answer.returncode == 125
    assert [line for line in answer.stderr.splitlines() if line.startswith("cloche: fine")] == []
    assert "tmpp" in answer.stderr


def test_reports_can_be_switched_off(person):
    nothing = {"violation": {"logViolations": False, "enableDetection": False, "watch": "off"}, "ignoreViolations": {}}
    answer = person.cloche("run", "--settings", person.file("policy.json", nothing), "true")
    assert (answer.returncode, answer.stderr) == (0, "")
    of_srt = {"network": {"allowedDomains": [], "deniedDomains": []},
              "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}, "ignoreViolations": {"npm": ["x"]}}
    answer = person.srt("--settings", person.file("srt.json", of_srt), "true")
    assert answer.returncode == 0, answer.stderr


# What is left behind

LEAVE_SET_ID = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
def chmod(name, mode):
    open(name, "w").close()
    try:
        os.chmod(name, mode)
    except PermissionError:
        pass
    return os.stat(name).st_mode & 0o6000
def fchmod(name, mode):
    with open(name, "w") as file:
        try:
            os.fchmod(file.fileno(), mode)
        except PermissionError:
            pass
    return os.stat(name).st_mode & 0o6000
def fchmodat2(name, mode):
    open(name, "w").close()
    libc.syscall(452, -100, name.encode(), mode, 0)
    return os.stat(name).st_mode & 0o6000
def made(way):
    def attempt(name, mode):
        try:
            way(name, mode)
        except PermissionError:
            return 0
        return os.stat(name).st_mode & 0o6000
    return attempt
def openat2(name, mode):
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)
    libc.syscall(437, -100, name.encode(), how, ctypes.sizeof(how))
    return os.stat(name).st_mode & 0o6000 if os.path.exists(name) else 0
os.umask(0)
ways = {"chmod": chmod, "fchmod": fchmod, "fchmodat2": fchmodat2, "mknod": made(lambda n, m: os.mknod(n, m | 0o100000)),
        "open": made(lambda n, m: os.close(os.open(n, os.O_CREAT | os.O_WRONLY, m))), "openat2": openat2}
print(json.dumps({w: {b: f("%s-%o" % (w, b), 0o755 | b) for b in (0o4000, 0o2000)} for w, f in ways.items()}))
"""


def test_no_set_uid_program_is_left_in_the_project(person):
    inside = json.loads(person.cloche("run", PYTHON, "-c", LEAVE_SET_ID, cwd=person.directory("project/inside")).stdout)
    outside = json.loads(person.call(PYTHON, "-c", LEAVE_SET_ID,
                                     cwd=person.directory("project/outside")).stdout)
    everything = {"chmod", "fchmod", "fchmodat2", "mknod", "open", "openat2"}
    left = {bit: {way for way in inside if inside[way][bit]} for bit in ("2048", "1024")}
    assert {way for way in outside if outside[way]["2048"]} == everything
    assert left["2048"] <= ({"open", "openat2"} if person.uid else set())
    assert left["1024"] == (everything if person.uid else set())
    programs = [path for path in (person.project / "inside").iterdir() if path.stat().st_mode & 0o4000]
    assert [path for path in programs if path.stat().st_size] == []


# Neighbours

# Of whom: 0 the process, 1 its group, 2 its user.
RENICE = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call, *arguments):
    return ctypes.get_errno() if libc.syscall(call, *arguments) < 0 else 0
ioprio_set, setpriority = (251, 141) if os.uname().machine == "x86_64" else (30, 140)
idle = 3 << 13
print(json.dumps([[attempt(setpriority, int(whose), 0, 9), attempt(ioprio_set, int(whose) + 1, 0, idle)]
                  for whose in sys.argv[1:]]))
"""


def test_priority_of_the_callers_process_group_is_not_changed(person):
    program = person.file("renice.py", RENICE)

    def try_it(*words):
        answer = person.call("/usr/bin/setsid", "--wait", "sh", "-c", 'nice; "$@"; nice', "sh", *words)
        before, done, after = answer.stdout.splitlines()
        return int(after) - int(before), json.loads(done)

    refused, done = [errno.EPERM, errno.EPERM], [0, 0]
    assert try_it(person.binaries / "cloche", "run", PYTHON, program, "1", "2", "0") == (0, [refused, refused, done])
    # Never by user here: that would be everything of root's on this machine.
    assert try_it(PYTHON, program, "1") == (9, [done])


# What is handed over

CHANGE = """
import ctypes, json, os, sys
fd = int(sys.argv[1])
def attempt(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
        return "done"
    except OSError as problem:
        return os.strerror(problem.errno)
name = f"/proc/self/fd/{fd}"
print(json.dumps([attempt(os.fchmod, fd, 0o666), attempt(os.chmod, name, 0o666), attempt(os.utime, fd, (1, 1)),
                  attempt(os.setxattr, fd, "user.mark", b"x"), attempt(os.truncate, name, 0),
                  attempt(os.close, os.open(name, os.O_RDONLY)),
                  attempt(os.open, name, os.O_RDONLY | os.O_TRUNC), attempt(os.open, name, os.O_RDWR)]),
      file=sys.stderr)
"""


def change(person, *command, **keywords):
    """What can be done to standard input, by what `command` starts."""
    answer = person.call(*command, PYTHON, "-c", CHANGE, "0", **keywords)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stderr)


@pytest.mark.parametrize("where", ["../notes", "notes"])
def test_file_handed_over_for_reading_is_not_changed(person, where):
    path = person.file(where, "original")
    path.chmod(0o600)
    before = path.stat()
    with path.open() as file:
        done = change(person, "cloche", "run", stdin=file)
    assert done == [os.strerror(errno.EROFS)] * 5 + ["done"] + [os.strerror(errno.EROFS)] * 2
    after = path.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == \
        (before.st_mode, before.st_mtime_ns, before.st_ctime_ns)
    assert (path.read_text(), os.listxattr(path)) == ("original", [])
    with path.open() as file:
        assert change(person, "/usr/bin/env", stdin=file) == ["done"] * 8
    assert path.read_text() == ""


def test_file_handed_over_is_read_on_from_where_the_caller_was_and_back(person):
    person.file("lines", "1\n2\n3\n4\n5\n")
    script = 'read a; "$0" run sh -c "read b; echo inside \\$b"; read c; echo $a $c; "$0" run cat'
    answer = person.call("/bin/sh", "-c", f"({script}) < lines", person.binaries / "cloche")
    assert answer.stdout == "inside 2\n1 3\n4\n5\n"


def test_file_without_a_name_can_be_handed_over(person):
    path = person.file("gone", "content")
    with path.open() as file:
        path.unlink()
        assert person.cloche("run", "cat", stdin=file).stdout == "content"


def test_file_handed_over_for_writing_is_written(person):
    with person.file("../out", "").open("w") as out, person.file("../log", "").open("a") as log:
        answer = person.cloche("run", "sh", "-c", "echo out; echo log >&2; echo more > /dev/stdout", stdout=out,
                               stderr=log)
    assert answer.returncode == 0
    assert ((person.home / "out").read_text(), (person.home / "log").read_text()) == ("more\n", "log\n")


def test_device_handed_over_keeps_its_mode(person):
    before = os.stat("/dev/null").st_mode
    with open("/dev/null", "r+b", buffering=0) as null:
        answer = person.cloche("run", PYTHON, "-c", f"""
import errno, os
os.write(0, b"x"), os.read(0, 1)
try:
    os.fchmod(0, {before & 0o7777})
except OSError as problem:
    print(errno.errorcode[problem.errno])""", stdin=null)
    assert (answer.stdout, os.stat("/dev/null").st_mode) == ("EROFS\n", before)


def test_terminal_handed_over_keeps_its_mode(person):
    primary, secondary = os.openpty()
    try:
        os.fchown(secondary, person.uid, -1) if os.geteuid() == 0 else None
        os.fchmod(secondary, 0o620)
        code = "import os; os.write(0, b'here'); os.fchmod(0, 0o666)"
        answer = person.cloche("run", PYTHON, "-c", code, stdin=secondary)
        assert os.read(primary, 100) == b"here"
        assert (answer.returncode, "Read-only" in answer.stderr) == (1, True)
        assert os.fstat(secondary).st_mode & 0o7777 == 0o620
        assert person.call(PYTHON, "-c", code, stdin=secondary).returncode == 0
        assert os.fstat(secondary).st_mode & 0o7777 == 0o666
    finally:
        os.close(primary)
        os.close(secondary)
