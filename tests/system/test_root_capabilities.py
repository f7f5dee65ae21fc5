"""rootCapabilities: files lets root's command past the modes of files, and past
nothing else: what is hidden stays hidden, what is read-only stays so."""

import errno
import json
import os
import socket

import pytest

from judging import ATTEMPT

PYTHON = "/usr/bin/python3"
KEPT = {0: "CHOWN", 1: "DAC_OVERRIDE", 3: "FOWNER", 4: "FSETID", 6: "SETGID", 7: "SETUID"}
OTHER = 4711

PRELUDE = ATTEMPT + """
import ctypes, errno, json, os, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    return 0 if getattr(libc, name)(*arguments) >= 0 else ctypes.get_errno()
def read(path):
    with open(path, "rb") as file:
        return file.read()
def write(path):
    with open(path, "r+b") as file:
        file.write(b"changed")
def say(*things):
    print(json.dumps(things))
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="is about a run by root")


def inside(person, code, kept=True, **policy):
    policy = {"extends": ["preset:dev"], "rootCapabilities": "files" if kept else "none", **policy}
    answer = person.cloche("run", "--settings", person.file("../policy.json", policy), PYTHON, "-c", PRELUDE + code)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.fixture
def root(person):
    if person.uid != 0:
        pytest.skip("is about a run by root")
    return person


def test_ordinary_user_is_refused(person):
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "rootCapabilities": "files"})
    answer = person.cloche("run", "--settings", policy, "touch", "made")
    assert (person.project / "made").exists() == (person.uid == 0)
    if person.uid != 0:
        assert answer.returncode == 125
        assert "rootCapabilities" in answer.stderr


def test_landlock_alone_refuses_it(person):
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "rootCapabilities": "files"})
    answer = person.cloche("run", "--backend", "landlock", "--settings", policy, "touch", "made")
    assert answer.returncode == 125
    assert "rootCapabilities" in answer.stderr
    assert not (person.project / "made").exists()


@needs_root
def test_exactly_these_capabilities_are_kept_through_execve(root):
    code = """
status = subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True, text=True).stdout
sets = dict(line.split(":") for line in status.splitlines() if line.startswith("Cap"))
say(*[int(sets[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")])
"""
    wanted = sum(1 << number for number in KEPT)
    assert inside(root, code) == [wanted, wanted, 0, 0]
    assert inside(root, code, kept=False) == [0, 0, 0, 0]


@needs_root
def test_files_of_others_can_be_changed_given_away_and_used_as_their_owner(root):
    for name in ("theirs", "given"):
        path = root.file(name, "original")
        os.chmod(path, 0o600)
        os.chown(path, OTHER, OTHER)
    code = f"""
say(attempt(write, "theirs"), attempt(os.chown, "given", {OTHER + 1}, {OTHER + 1}), attempt(os.setgroups, []),
    attempt(os.setresgid, {OTHER}, {OTHER}, {OTHER}), attempt(os.setresuid, {OTHER}, {OTHER}, {OTHER}))
"""
    assert all(inside(root, code, kept=False))
    assert (root.project / "theirs").read_text() == "original"
    assert inside(root, code) == [0] * 5
    assert (root.project / "theirs").read_text() == "changedl"
    assert (root.project / "given").stat().st_uid == OTHER + 1


@needs_root
def test_hidden_files_and_directories_stay_hidden(root):
    secret = root.file("secret", "the secret")
    root.file("vault/key", "the key")
    root.file("plain", "shown")
    code = f"""
secret = {str(secret)!r}
held = os.open(secret, os.O_PATH)
say(attempt(read, secret), attempt(read, f"/proc/self/fd/{{held}}"), attempt(write, secret),
    attempt(os.chmod, secret, 0o666), attempt(os.chown, secret, 0, 0), attempt(os.unlink, secret),
    attempt(os.rename, secret, "elsewhere"), attempt(os.link, secret, "linked"),
    attempt(socket.socket(socket.AF_UNIX).connect, secret), attempt(os.truncate, secret, 0))
"""
    denied = {"filesystem": {"denyRead": [str(secret), str(root.project / "vault")]}}
    assert 0 not in inside(root, code, **denied)
    listing = """
say(attempt(read, "vault/key"), os.listdir("vault"), attempt(os.mkdir, "vault/new"), attempt(os.chmod, "vault", 0o777),
    attempt(os.rename, "vault", "moved"), read("plain").decode())
"""
    assert inside(root, listing, **denied) == [
        errno.ENOENT, [], errno.EROFS, errno.EROFS, errno.EACCES, "shown"]  # fmt: skip
    assert secret.read_text() == "the secret"
    assert (root.project / "vault" / "key").read_text() == "the key"


@needs_root
def test_what_is_read_only_stays_so(root):
    outside = root.file("../outside", "original")
    held = root.file("held", "original")
    free = root.file("free", "original")
    code = f"""
outside, held, free = {str(outside)!r}, {str(held)!r}, {str(free)!r}
say([attempt(write, held), attempt(os.chmod, held, 0o777), attempt(os.chown, held, 1, 1), attempt(os.utime, held),
     attempt(os.unlink, held), attempt(os.setxattr, held, "user.x", b"1"),
     attempt(write, "/etc/passwd"), attempt(os.chown, "/etc/passwd", 1, 1), attempt(os.chmod, "/dev/null", 0o777),
     attempt(write, "/proc/sys/kernel/core_pattern"), attempt(write, "/proc/sysrq-trigger"),
     attempt(write, "/sys/kernel/profiling")],
    attempt(write, free))
"""
    denials, allowed = inside(root, code, filesystem={"denyWrite": [str(held)], "allowRead": [str(outside)]})
    assert 0 not in denials
    assert allowed == 0
    assert held.read_text() == outside.read_text() == "original"
    assert oct(os.stat("/dev/null").st_mode & 0o777) == "0o666"


@needs_root
def test_nothing_beyond_files_is_gained(root):
    code = """
say(call("mount", b"none", b"/tmp", b"tmpfs", 0, None), call("umount2", b"/proc", 2),
    call("unshare", 0x10000000), call("sethostname", b"x", 1), call("chroot", b"/tmp"),
    attempt(os.mknod, "device", 0o60666, os.makedev(8, 0)), attempt(read, "/proc/1/environ"),
    attempt(os.listdir, "/proc/1/root"), attempt(os.open, "/proc/1/mem", os.O_RDWR), call("ptrace", 16, 1, 0, 0),
    attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1))
"""
    assert 0 not in inside(root, code)
    assert not (root.project / "device").exists()


@needs_root
def test_hidden_socket_of_the_host_cannot_be_reached_through_its_mask(root):
    path = root.project / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        code = f"say(attempt(socket.socket(socket.AF_UNIX).connect, {str(path)!r}))"
        assert inside(root, code, filesystem={"denyRead": [str(path)]}) != [0]
