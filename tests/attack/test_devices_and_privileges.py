"""Devices, places shared with the host, set-id programs, and what the second lock
alone would not hold (section A, 22-26).

That doctor names the Landlock rights a kernel lacks (22) is tests/system/test_doctor.py's
subject."""

import glob
import os
import pathlib
import secrets
import shutil
import stat
import struct
import tempfile
import threading
import time

import pytest

from attacking import OK, unchanged

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such files")
OTHER_USER = 60444
CAP_SYS_ADMIN = 21
USUAL_DEVICES = {"core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
                 "urandom", "zero"}


@pytest.fixture(params=["bound", "of the root mount"])
def readable(request, jail):
    """A file that may be read and not written: below $HOME, where it is bound, or elsewhere."""
    if request.param == "bound":
        yield jail.person.file(jail.person.home / "work/file", "original")
        return
    if os.geteuid() != 0:
        pytest.skip("only root can make a file outside of homes")
    directory = jail.person.own(pathlib.Path(tempfile.mkdtemp(prefix="cloche-attack-", dir="/var/lib")))
    directory.chmod(0o755)
    yield jail.person.file(directory / "file", "original")
    shutil.rmtree(directory)


def other_than(uid):
    return 0 if uid else OTHER_USER


# 22


def test_a22_ways_to_change_a_file_that_are_not_called_writing(jail, readable):
    """Landlock does not speak of these, or not on every kernel."""
    os.utime(readable, (1000, 1000))
    ways = [["truncate", "X"], ["open-truncating", "X"], ["patch-mapping", "X", "evil"], ["write-mapping", "X", "evil"]]
    jail.person.file("own", "original")
    with unchanged(readable):
        found = jail.attacks(*[[str(readable) if word == "X" else word for word in way] for way in ways],
                             options=["--allow-read", readable.parent])
    assert "ok" not in {outcome.verdict for outcome in found}, list(zip(ways, found))
    assert jail.attacks(["write", "own", "x"], ["write-mapping", "own", "changed"], ["truncate", "own"]) == [OK] * 3


@pytest.mark.admitted(landlock="files can be changed everywhere")
def test_a22_modes_times_and_attributes_of_files_that_are_read_only(jail, readable):
    ways = [["chmod", "X", "0777"], ["chmod-by-descriptor", "X", "0777"], ["change-times-by-descriptor", "X"],
            ["change-attribute-by-descriptor", "X"]]
    jail.person.file("own", "original")
    with unchanged(readable):
        found = jail.attacks(*[[str(readable) if word == "X" else word for word in way] for way in ways],
                             options=["--allow-read", readable.parent])
    assert "ok" not in {outcome.verdict for outcome in found}, list(zip(ways, found))
    found = jail.attacks(*[["own" if word == "X" else word for word in way] for way in ways])
    assert {outcome.verdict for outcome in found} <= {"ok", "EOPNOTSUPP"} and OK in found


def test_a22_a_fifo_on_a_read_only_mount_carries_nothing_out(jail):
    """The mount lets a fifo be written; Landlock does not."""
    pipes = {}
    for directory in (jail.person.directory(jail.person.home / "work"), jail.person.project):
        path = directory / "fifo"
        os.mkfifo(path)
        jail.person.own(path)
        pipes[path] = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    outside, inside = pipes
    try:
        found = jail.attacks(["write-fifo", outside, "smuggled"], ["write-fifo", inside, "allowed"],
                             options=["--allow-read", outside.parent])
        assert [os.read(fd, 100) for fd in pipes.values()] == [b"", b"allowed"]
    finally:
        for fd in pipes.values():
            os.close(fd)
    assert found[0].verdict in ("EACCES", "EROFS")
    assert found[1] == OK


# 23


def test_a23_dev_holds_the_usual_nodes_and_nothing_can_be_added(jail):
    listed = set(jail.attack("list", "/dev").shown.split()) - {".", ".."}
    assert listed == (USUAL_DEVICES if jail.has_namespaces else set())
    assert len(os.listdir("/dev")) > len(listed)
    hardware = [path for path in ("/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/vda", "/dev/sda", "/dev/mem",
                                  "/dev/net/tun", "/dev/loop-control") if os.path.exists(path)]
    found = jail.attacks(*[["read", path] for path in hardware], ["mknod", "/dev/new"], ["mknod", "made"],
                         ["create", "/dev/new", "x"], ["unlink", "/dev/null"], ["rename", "/dev/null", "/dev/zero"])
    assert "ok" not in {outcome.verdict for outcome in found}
    assert jail.attacks(["write", "/dev/null", "x"], ["open-to-write", "/dev/zero"]) == [OK, OK]


def test_a23_the_hosts_device_files_keep_their_modes(jail):
    """They are the host's own inodes, and uid 0 owns them."""
    null = pathlib.Path("/dev/null")
    mode = null.stat().st_mode
    try:
        found = jail.attacks(["chmod", "/dev/null", "0600"], ["chmod-by-descriptor", "/dev/null", "0600"],
                             ["change-attribute-by-descriptor", "/dev/null"])
        assert null.stat().st_mode == mode
    finally:
        if jail.person.uid == 0:
            null.chmod(stat.S_IMODE(mode))
    assert "ok" not in {outcome.verdict for outcome in found}
    jail.person.file("own")
    # Without namespaces root changes no mode at all.
    assert jail.attack("chmod", "own", "0600").verdict == ("ok" if jail.has_namespaces or jail.person.uid else "EPERM")


@AS_ROOT
@pytest.mark.admitted(landlock="device files outside /dev can be used")
@pytest.mark.parametrize("kind, number", [(stat.S_IFCHR, (1, 5)), (stat.S_IFBLK, (7, 0))], ids=["character", "block"])
def test_a23_a_device_file_somewhere_else_is_dead(jail, kind, number):
    device = jail.person.project / "device"
    os.mknod(device, kind | 0o666, os.makedev(*number))
    device.chmod(0o666)
    jail.person.own(device)
    assert jail.attack("open-to-write", "device").verdict == "EACCES"
    assert jail.attack_outside("open-to-write", "device").verdict in ("ok", "ENXIO")


# 24


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/dev/shm"])
def test_a24_shared_places_of_the_host_are_not_shared(jail, secret, place):
    planted = pathlib.Path(place) / f"cloche-attack-{secrets.token_hex(8)}"
    made = planted.with_suffix(".made")
    planted.write_text(secret)
    planted.chmod(0o666)
    try:
        with unchanged(planted):
            found = jail.attacks(["read", planted], ["write", planted, "x"], ["create", made, "x"], ["read", made])
        assert not made.exists()
        if jail.has_namespaces:
            assert found == [("ENOENT", ""), ("ENOENT", ""), OK, ("ok", "x")]
        else:
            assert [outcome.verdict for outcome in found] == ["EACCES", "EACCES", "EACCES", "ENOENT"]
            assert jail.run("sh", "-c", "echo x >$TMPDIR/made && cat $TMPDIR/made").stdout == "x\n"
        assert jail.attack_outside("read", planted).shown == secret
        assert jail.never_told(secret)
    finally:
        planted.unlink()


def test_a24_two_runs_at_once_share_no_tmp(jail, secret):
    """The first leaves a file in its own places and waits; the second looks for it."""
    if not jail.has_namespaces:
        pytest.skip("without namespaces these places cannot be written at all, as tested above")
    name = secrets.token_hex(8)
    places = [f"{place}/{name}" for place in ("/tmp", "/var/tmp", "/dev/shm")]
    words = [word for place in places for word in ("create", place, secret, "--")]
    words += ["create", "ready", "x", "--", "wait-for", "go"]
    first = threading.Thread(target=jail.run, args=(jail.attacker, *words))
    first.start()
    end = time.monotonic() + 20
    while not (jail.person.project / "ready").exists() and time.monotonic() < end:
        time.sleep(0.01)
    found = jail.attacks(*[["read", place] for place in places], ["read", "ready"])
    jail.person.file("go")
    first.join()
    assert [outcome.verdict for outcome in found] == ["ENOENT", "ENOENT", "ENOENT", "ok"]
    assert jail.never_told(secret)


# 25


@AS_ROOT
@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6755], ids=["user", "group", "both"])
def test_a25_a_set_id_program_gains_nothing(jail, bits):
    program = jail.person.project / "become"
    shutil.copy(jail.attacker, program)
    other = other_than(jail.person.uid)
    os.chown(program, other, other)
    program.chmod(bits)
    user, group = (other if bits & bit else jail.person.uid for bit in (0o4000, 0o2000))
    assert jail.attack_outside("identity", program=program).shown.startswith(f"uid {user} gid {group} ")
    answer = jail.run("./become", "identity")
    assert answer.stdout.startswith(f"uid {jail.person.uid} gid {jail.person.uid} "), answer
    assert "CapEff:0000000000000000" in answer.stdout


@AS_ROOT
def test_a25_file_capabilities_give_nothing(jail):
    program = jail.person.project / "capable"
    shutil.copy(jail.attacker, program)
    program.chmod(0o755)
    revision_2_effective = 0x02000001
    os.setxattr(program, "security.capability", struct.pack("<5I", revision_2_effective, 1 << CAP_SYS_ADMIN, 0, 0, 0))
    outside = jail.attack_outside("identity", program=program).shown
    assert int(outside.split("CapEff:")[1].split()[0], 16) & 1 << CAP_SYS_ADMIN
    answer = jail.run("./capable", "identity")
    # Such a program may also refuse to start.
    assert answer.returncode == 126 or "CapEff:0000000000000000" in answer.stdout, answer


def test_a25_nobody_has_a_capability_or_gets_one(jail):
    found = jail.attacks(["identity"], ["become", other_than(jail.person.uid)], ["become", jail.person.uid])
    for word in ("CapPrm:0000000000000000", "CapEff:0000000000000000", "CapAmb:0000000000000000", "NoNewPrivs:1"):
        assert word in found[0].shown
    assert found[1].verdict in ("EPERM", "EINVAL")
    assert found[2] == OK


def test_a25_every_mount_ignores_set_id_bits(jail):
    if not jail.has_namespaces:
        pytest.skip("there are no mounts of its own; no_new_privs alone holds this")
    mounts = jail.run("cat", "/proc/self/mountinfo").stdout.splitlines()
    assert len(mounts) > 5
    assert [line for line in mounts if "nosuid" not in line.split()[5]] == []


# 26


def test_a26_a_hidden_program_does_not_run_by_way_of_the_loader(jail):
    """Programs are hidden by hiding their files: what cannot be read cannot be loaded or copied."""
    loader = next(iter(glob.glob("/lib64/ld-linux-*") + glob.glob("/lib/ld-linux-*")), None)
    jail.person.directory(jail.person.project / "free")
    for name in ("hidden", "open"):
        shutil.copy("/bin/echo", jail.person.project / name)
        jail.person.own(jail.person.project / name)
    options = ["--deny-read", "hidden"]
    commands = [["./hidden", "ran"], [loader, "./hidden", "ran"], ["sh", "-c", "cp hidden free/copy && free/copy ran"],
                ["sh", "-c", "ln hidden free/link && free/link ran"], ["sh", "-c", "exec ./hidden ran"]]
    for command in commands:
        answer = jail.run(*command, options=options)
        assert answer.returncode != 0 and answer.stdout == "", command
    for command in commands[:3]:
        answer = jail.run(*[word.replace("hidden", "open") for word in command], options=options)
        assert answer.stdout == "ran\n", answer
