"""Ways out of the mounts: other processes' roots, inherited descriptors, namespaces of
one's own, the mount calls (section A, 9-13; H 109).

The doorman asked to open /proc/1/mem or the like (105) is in test_protected_names.py.
"""

import errno
import os
import socket
import subprocess

import pytest

from attacking import OK, joined, unchanged

NEW_NAMESPACES = {"mounts": 0x20000, "cgroup": 0x2000000, "names": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
                  "pid": 0x20000000, "network": 0x40000000}
NEW_TIME_NAMESPACE = 0x80
MOUNT_CALLS = ["mount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "move_mount", "fsopen", "fsconfig",
               "fsmount", "fspick", "mount_setattr", "open_tree_attr"]


@pytest.fixture
def nested(jail):
    """A policy that lets the command make namespaces of its own."""
    return jail.policy(allowNestedUserNamespaces=True)


@pytest.fixture
def bystander(jail, secret):
    """A process of the same user on the host that holds the secret in its environment and open files."""
    held = jail.person.file(jail.person.home / "held", secret)
    with held.open() as file:
        process = subprocess.Popen(["sleep", "60"], stdin=file, cwd=jail.person.home, env={"SECRET_TOKEN": secret},
                                   **jail.identity())
    yield process.pid
    process.kill()
    process.wait()


# 9


def test_a09_no_process_of_the_host_is_reached_through_proc(jail, secret, bystander):
    ways = [["read", f"/proc/{bystander}/environ"], ["read", f"/proc/{bystander}/fd/0"],
            ["read", f"/proc/{bystander}/cwd/held"], ["read", f"/proc/{bystander}/root{jail.person.home}/held"],
            ["read", f"/proc/{bystander}/maps"]]
    found = jail.attacks(*ways)
    assert {outcome.verdict for outcome in found} <= {"ENOENT", "EACCES"}
    assert jail.never_told(secret)
    assert [outcome.verdict for outcome in jail.attacks_outside(*ways)] == ["ok"] * len(ways)


def test_a09_pid_1_of_the_run_shows_neither_its_root_nor_its_environment(jail, secret):
    """It was cloche a moment ago, and knows what was held back."""
    key = jail.person.file(jail.person.home / ".ssh/id_ed25519", secret)
    ways = [["read", "/proc/1/environ"], ["read", "/proc/1/maps"], ["list", "/proc/1/fdinfo"], ["read", "/proc/1/io"],
            ["read", "/proc/1/fd/0"], ["read", f"/proc/1/root{key}"],
            ["read", f"/proc/1/task/1/root{key}"], ["read", "/proc/1/auxv"], ["open-to-write", "/proc/1/mem"],
            ["enter-namespace", "/proc/1/ns/mnt"]]
    found = jail.attacks(*ways, environment={"MY_TOKEN": secret})
    assert "ok" not in {outcome.verdict for outcome in found}, list(zip(ways, found))
    assert jail.never_told(secret)
    own = [["read", "/proc/self/environ"], ["read", "/proc/self/maps"], ["list", "/proc/self/fd"]]
    assert {outcome.verdict for outcome in jail.attacks(*own)} == {"ok"}


@pytest.mark.admitted(landlock="the host's processes")
def test_a09_every_process_in_proc_is_the_runs_own(jail):
    listed = [int(name) for name in jail.attack("list", "/proc").shown.split() if name.isdigit()]
    assert listed[0] == 1 and len(listed) == 2
    assert str(os.getpid()) in jail.attack_outside("list", "/proc").shown.split()


# 10


def test_a10_descriptors_the_caller_left_open_are_not_inherited(jail, secret):
    key = jail.person.file(jail.person.home / ".ssh/id_ed25519", secret)
    directory = os.open(key.parent, os.O_RDONLY)
    place = os.open(key.parent, os.O_PATH)
    file = os.open(key, os.O_RDWR)
    far = os.dup2(file, 777)
    given = (directory, place, file, far)
    ways = [["descriptors"], *(["read-below", fd, "id_ed25519"] for fd in (directory, place)),
            *(["read", f"/dev/fd/{fd}"] for fd in (file, far)), *(["write-again", fd, "x"] for fd in (file, far))]
    try:
        with unchanged(key):
            found = jail.attacks(*ways, pass_fds=given)
        outside = jail.attacks_outside(*ways, pass_fds=given)
    finally:
        for fd in given:
            os.close(fd)
    assert found[0].shown.split() == ["0", "1", "2"]
    assert "ok" not in {outcome.verdict for outcome in found[1:]}
    assert jail.never_told(secret)
    assert {outcome.verdict for outcome in outside} == {"ok"}


# For Python inside: what is at the end of a descriptor that came over the unix stream with the number in $1.
RECEIVE = """
import os, socket, sys
with socket.socket(fileno=int(sys.argv[1])) as stream:
    _, (directory,), _, _ = socket.recv_fds(stream, 1, 1)
for name in ("id_ed25519", "../project/open"):
    try: print(os.read(os.open(name, os.O_RDONLY, dir_fd=directory), 100).decode())
    except OSError as problem: print(problem.errno)
"""


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH])
def test_a11_a_directory_is_refused_however_it_is_named(jail, secret, flags):
    key = jail.person.file(jail.person.home / ".ssh/id_ed25519", secret)
    directory = os.open(key.parent, flags)
    ways = [["read-below", directory, "id_ed25519"], ["read-below", directory, "../.ssh/id_ed25519"]]
    words = jail.command(jail.attacker, *joined(ways), options=("--pass-fd", str(directory)))
    answer = jail.person.cloche(*words, pass_fds=[directory])
    standard = jail.person.cloche(*jail.command(jail.attacker, "read-below", "0", "id_ed25519"), stdin=directory)
    for each in (answer, standard):
        assert each.returncode == 125 and "is a directory" in each.stderr and secret not in each.stdout + each.stderr
    assert {outcome.verdict for outcome in jail.attacks_outside(*ways, pass_fds=[directory])} == {"ok"}
    os.close(directory)


def test_a11_a_directory_would_have_led_around_the_mounts(jail, secret):
    """What is refused above is worth refusing: handed over by somebody whom the user lets the command talk to, it shows
    what the mounts hide. The second lock holds where reading is its matter."""
    key = jail.person.file(jail.person.home / ".ssh/id_ed25519", secret)
    jail.person.file("open", "to be seen")
    directory = os.open(key.parent, os.O_PATH)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(ours, [b"x"], [directory])
        answer = jail.run("/usr/bin/python3", "-c", RECEIVE, str(theirs.fileno()), options=("--pass-fd", str(theirs.fileno())),
                          pass_fds=[theirs.fileno()])
    os.close(directory)
    hidden, seen = answer.stdout.split("\n")[:2]
    assert seen == "to be seen"
    assert hidden == (secret if jail.has_namespaces else str(errno.EACCES))


# Disconnects descriptor 0, and connects it to the port in $1.
RECONNECT = """
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None)
elsewhere = struct.pack("=H", socket.AF_INET) + struct.pack("!H", int(sys.argv[1])) + socket.inet_aton("127.0.0.1") + bytes(8)
libc.connect(0, bytes(16), 16)
print(libc.connect(0, elsewhere, 16))
"""


def test_a10_a_connection_handed_in_is_not_connected_to_somebody_else(jail):
    """A socket of the host's network stays one, inside of whatever network."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        words = ("/usr/bin/python3", "-c", RECONNECT, str(other.getsockname()[1]))
        other.settimeout(0)
        with socket.create_connection(server.getsockname()) as given:
            answer = jail.run(*words, stdin=given)
        assert answer.returncode == 125 and "socket of the host's network" in answer.stderr
        with pytest.raises(BlockingIOError):
            other.accept()
        with socket.create_connection(server.getsockname()) as given:
            answer = jail.run(*words, stdin=given, policy=jail.policy(network={"mode": "host"}))
        assert answer.stdout == "0\n"
        other.accept()[0].close()


def test_a10_a_file_handed_in_for_reading_is_not_opened_again_for_writing(jail):
    given = jail.person.file(jail.person.home / "given", "original")
    with unchanged(given), given.open() as file:
        found = jail.attacks(["read", "/dev/stdin"], ["write-again", 0, "x"], ["open-truncating", "/proc/self/fd/0"],
                             ["truncate", "/proc/self/fd/0"], stdin=file)
    assert found[0] == ("ok", "original")
    assert "ok" not in {outcome.verdict for outcome in found[1:]}, found
    with given.open("a") as file:
        jail.run(jail.attacker, "truncate", "/proc/self/fd/2", "--", "write-again", "2", "more", stderr=file)
    assert given.read_text() == "more"
    with given.open() as file:
        assert jail.attack_outside("write-again", 0, "x", stdin=file) == OK


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH], ids=["opened", "O_PATH"])
def test_a10_a_directory_handed_in_as_stdin_does_not_lead_around_the_mounts(jail, secret, flags):
    jail.person.file(jail.person.home / ".ssh/id_ed25519", secret)
    outside = jail.person.file(jail.person.home / "work/file", "original")
    fd = os.open(jail.person.home, flags)
    try:
        with unchanged(outside.parent):
            answer = jail.run(jail.attacker, "read-below", "0", ".ssh/id_ed25519", "--", "read",
                              "/proc/self/fd/0/.ssh/id_ed25519", "--", "chmod", "/proc/self/fd/0/work/file", "0777",
                              stdin=fd)
        assert jail.attack_outside("read-below", 0, ".ssh/id_ed25519", stdin=fd).shown == secret
    finally:
        os.close(fd)
    assert answer.returncode == 125 or "= ok" not in answer.stdout
    assert jail.never_told(secret)


# 11, 12, 13


@pytest.mark.parametrize("call", ["unshare", "clone"])
def test_a11_a12_no_namespace_of_ones_own(jail, call):
    user = NEW_NAMESPACES["user"]
    ways = [[call, hex(flag)] for kind in NEW_NAMESPACES.values() for flag in (kind | user, kind)]
    assert {outcome.verdict for outcome in jail.attacks(*ways)} == {"EPERM"}
    for kind in NEW_NAMESPACES.values():
        assert jail.nested([call, hex(kind | user)]) == [OK]


def test_a12_clone3_whose_flags_no_filter_sees_does_not_exist(jail):
    flags = hex(NEW_NAMESPACES["user"])
    assert jail.attacks(["clone3", flags], ["clone3", "0"], ["clone", "0"]) == [("ENOSYS", ""), ("ENOSYS", ""), OK]
    assert jail.nested(["clone3", flags]) == [OK]
    assert jail.attack("clone3", hex(NEW_TIME_NAMESPACE)).verdict == "ENOSYS"
    assert jail.attack("unshare", hex(NEW_TIME_NAMESPACE)).verdict == "EPERM"


@pytest.mark.refused(landlock="allowNestedUserNamespaces")
def test_a11_a12_masks_cannot_be_taken_off_even_with_namespaces_of_ones_own(jail, secret, nested):
    """The command is root of its own namespaces, and holds a descriptor from before."""
    project = jail.person.project
    jail.person.file("vault/key", secret)
    jail.person.file(jail.person.home / ".ssh/id", secret)
    jail.person.directory(project / "place")
    home_key = jail.person.home / ".ssh/id"
    found = jail.attacks(
        ["hold", project], ["nest"],
        ["unmount", "vault"], ["read", "vault/key"],
        ["bind", project, "place"], ["read", "place/vault/key"],
        ["bind-whole", project, "place"], ["unmount", "place/vault"], ["read", "place/vault/key"],
        ["read-below-mounts", project, "vault/key"], ["move-mount", "vault", "place"],
        ["unmount", jail.person.home], ["read", home_key], ["unmount", project], ["read-held", "vault/key"],
        ["unmount", "/"], ["read-held", "vault/key"], ["read", home_key],
        options=["--deny-read", "vault"], policy=nested)
    assert found[:2] == [OK, OK]
    assert "ok" not in {outcome.verdict for outcome in found if outcome.shown}
    assert "ok" not in {found[i].verdict for i in (2, 3, 5, 7, 8, 9, 12, 14, 16, 17)}, found
    assert jail.never_told(secret)
    # What it mounted itself, it may take off again.
    assert jail.attacks(["nest"], ["new-tmpfs", "place"], ["unmount", "place"], policy=nested) == [OK, OK, OK]


@pytest.mark.parametrize("value", [0, -1])
def test_a13_no_mount_call_whatever_its_arguments(jail, value):
    found = jail.attacks(*[["call", call, *[value] * 5] for call in MOUNT_CALLS])
    assert [outcome.verdict for outcome in found] == ["EPERM"] * len(MOUNT_CALLS)


def test_a13_mount_calls_do_nothing_here_and_work_where_they_are_allowed(jail):
    place = jail.person.directory(jail.person.project / "place")
    ways = [["bind", "/usr", place], ["new-tmpfs", place], ["new-tmpfs-by-descriptor"],
            ["unmount", jail.person.project], ["make-writable", "/"], ["remount-writable", "/"],
            ["chroot", place], ["pivot-root", place]]
    found = jail.attacks(*ways)
    assert {outcome.verdict for outcome in found} == {"EPERM"}
    assert jail.nested(["nest"], *ways[:3]) == [OK] * 4


@pytest.mark.refused(landlock="allowNestedUserNamespaces")
def test_h109_another_name_for_a_protected_directory_is_protected_too(jail, nested):
    """A bind of .git on a place without a protected name, in mounts of one's own."""
    jail.person.file(".git/hooks/pre-commit", "original")
    jail.person.file(".git/config", "original")
    jail.person.file(".git/index", "original")
    jail.person.directory(jail.person.project / "place")
    git = jail.person.project / ".git"
    ways = [["bind", ".git", "place"], ["bind-whole", ".git", "place"], ["make-writable", ".git/hooks"],
            ["remount-writable", ".git/hooks"], ["make-writable", "place/hooks"], ["remount-writable", "place/hooks"],
            ["unmount", ".git/hooks"], ["unmount", "place/hooks"], ["unmount", ".git/config"],
            ["create", ".git/hooks/post-checkout", "evil"], ["create", "place/hooks/post-checkout", "evil"],
            ["write", ".git/config", "evil"], ["write", "place/config", "evil"], ["write", ".git/index", "x"]]
    with unchanged(git / "hooks", git / "config"):
        found = jail.attacks(["nest"], *ways, policy=nested)
    assert found[0] == OK and found[14] == OK
    assert "ok" not in {outcome.verdict for outcome in found[3:14]}, list(zip(ways, found[1:]))
    with unchanged(git / "hooks", git / "config"):
        found = jail.attacks(["nest"], *ways[:2], *ways[9:13])
    assert "ok" not in {outcome.verdict for outcome in found}
