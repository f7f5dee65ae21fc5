"""Attacks on the kernel's surface, its own files, and on what all share (section E; H 104,
110).

The doorman's part is elsewhere: 68 and 69 in test_doorman_itself.py.
"""

import os
import pathlib
import platform
import resource
import secrets
import signal
import subprocess
import time

import pytest

from attacking import OK, outcomes_of
from judging import processes, wait_until

HIGH_BITS = [0, 1 << 32, 1 << 63]
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_RXRPC, AF_ALG, AF_VSOCK = 1, 2, 10, 16, 17, 33, 38, 40
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET = 1, 2, 3, 5
NETLINK_ROUTE, NETLINK_XFRM, NETLINK_AUDIT, NETLINK_GENERIC = 0, 6, 9, 16
NEW_USER = 0x10000000
X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="other doors into the kernel are x86's")


@pytest.fixture
def unfiltered(jail):
    return jail.policy(seccomp={"enabled": False})


# 61, 62, 63


@pytest.mark.parametrize("call", ["io_uring_setup", "io_uring_enter", "io_uring_register"])
def test_e61_io_uring_which_no_filter_sees_does_not_exist(jail, unfiltered, call):
    words = ["call", call, "0", "0", "0", "0"]
    assert jail.attack(*words).verdict == "ENOSYS"
    outside = jail.attack_outside(*words)
    assert outside.verdict != "ENOSYS" or not pathlib.Path("/proc/sys/kernel/io_uring_disabled").exists()
    # Where there is no other lock, this one stays.
    assert jail.attack(*words, policy=unfiltered) == (outside if jail.has_namespaces else ("ENOSYS", ""))


@X86_64
def test_e62_the_32_bit_door_is_shut(jail, unfiltered):
    assert jail.attacks(["call-by-int80"], ["call", "getpid"]) == [("EPERM", ""), OK]
    outside = jail.attack_outside("call-by-int80")
    assert outside.verdict in ("ok", "ENOSYS")
    assert jail.attack("call-by-int80", policy=unfiltered) == (outside if jail.has_namespaces else ("EPERM", ""))


@X86_64
@pytest.mark.parametrize("call", ["getpid", "ioctl", "unshare", "mount"])
def test_e63_the_x32_numbers_do_not_exist(jail, call):
    """Where the kernel has them they are other names for the same calls."""
    assert jail.attacks(["call-by-x32", call, "0", "0x5412"], ["call", "getpid"]) == [("ENOSYS", ""), OK]


# 64, 65, 67


@pytest.mark.parametrize("high", HIGH_BITS, ids=hex)
def test_e64_upper_halves_of_arguments_hide_nothing(jail, high):
    """The kernel takes 32 bits of each of these."""
    found = jail.attacks(["clone", high | NEW_USER], ["call", "socket", high | AF_PACKET, SOCK_RAW, 0],
                         ["call", "socket", AF_UNIX, high | SOCK_DGRAM, 0],
                         ["call", "socketpair", AF_UNIX, high | SOCK_DGRAM, 0, "@12345678"],
                         ["call", "socket", AF_NETLINK, SOCK_RAW, high | NETLINK_XFRM],
                         ["call", "personality", high | 0x400000])
    assert "ok" not in {outcome.verdict for outcome in found}
    if jail.has_namespaces:
        assert [outcome.verdict for outcome in found] == ["EPERM", "EAFNOSUPPORT", "EACCES", "EACCES",
                                                          "EPROTONOSUPPORT", "EPERM"]
        assert jail.attack("call", "socket", high | AF_INET, SOCK_STREAM, 0) == OK
    assert jail.attack("clone", high) == OK


@pytest.mark.parametrize("kind", [SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET])
def test_e65_e67_families_that_leave_the_machine_or_open_the_kernel_are_refused(jail, kind):
    families = [family for family in range(50) if family not in (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)]
    assert {AF_PACKET, AF_VSOCK, AF_ALG, AF_RXRPC} < set(families)
    found = jail.attacks(*[["call", "socket", family, kind, 0] for family in families])
    assert {outcome.verdict for outcome in found} <= {"EAFNOSUPPORT", "EACCES", "EPERM"}


@pytest.mark.admitted(landlock="there are no unix sockets")
def test_e65_e67_ordinary_families_work_and_the_others_would(jail, unfiltered):
    ordinary = [[AF_INET, SOCK_STREAM, 0], [AF_INET6, SOCK_DGRAM, 0], [AF_NETLINK, SOCK_RAW, NETLINK_ROUTE],
                [AF_UNIX, SOCK_STREAM, 0]]
    netlink = [[AF_NETLINK, SOCK_RAW, kind] for kind in (NETLINK_XFRM, NETLINK_AUDIT, NETLINK_GENERIC, 2, 4, 12)]
    found = jail.attacks(*[["call", "socket", *words] for words in ordinary + netlink])
    assert [outcome.verdict for outcome in found] == ["ok"] * 4 + ["EPROTONOSUPPORT"] * 6
    found = jail.attacks(*[["call", "socket", *words] for words in netlink], policy=unfiltered)
    assert OK in found


# 66

# Arguments with which the call would fail otherwise, or do no harm.
REFUSED_CALLS = {"bpf": [-1], "perf_event_open": ["@", 0, -1, -1, -1], "userfaultfd": [-1], "kexec_load": [0, -1],
                 "kexec_file_load": [-1], "init_module": [0, 0, 0], "finit_module": [-1], "delete_module": ["@no-such"],
                 "add_key": [0], "request_key": [0], "keyctl": [-1], "reboot": [0], "swapon": ["@/no-such"],
                 "acct": ["@/no-such"], "syslog": [-1], "quotactl": [-1]}


@pytest.mark.parametrize("call", REFUSED_CALLS)
def test_e66_a_call_no_build_needs_is_refused_whatever_its_arguments(jail, call):
    found = jail.attacks(["call", call, *REFUSED_CALLS[call]], ["call", call], ["call", call, *[-1] * 6])
    assert {outcome.verdict for outcome in found} == {"EPERM"}


def test_e66_some_of_these_calls_would_pass_without_the_filter(jail, unfiltered):
    """Many are root's alone anyway. These show that it is the filter that refused."""
    calls = [["call", call, *REFUSED_CALLS[call]] for call in ("userfaultfd", "add_key", "request_key", "keyctl",
                                                               "perf_event_open")]
    found = jail.attacks(*calls, policy=unfiltered) if jail.has_namespaces else jail.attacks_outside(*calls)
    assert any(outcome.verdict != "EPERM" for outcome in found), found


def test_e66_personalities_that_weaken_memory_protection_are_refused(jail):
    read_implies_exec, map_page_zero, no_randomness = 0x400000, 0x100000, 0x40000
    found = jail.attacks(*[["call", "personality", value] for value in
                           (read_implies_exec, map_page_zero, no_randomness)])
    assert [outcome.verdict for outcome in found] == ["EPERM", "EPERM", "ok"]
    assert jail.attack_outside("call", "personality", read_implies_exec) == OK


# 70, 74


@pytest.fixture
def mark():
    return f"cloche-attack-{secrets.token_hex(8)}"


def test_e74_what_the_command_leaves_behind_does_not_outlive_it(jail, mark):
    """A grandchild in a session of its own, which ignores every signal that can be ignored."""
    assert jail.attacks(["linger", mark, "ready"], ["wait-for", "ready"]) == [OK, OK]
    assert processes(mark) == []
    (jail.person.project / "ready").unlink()
    try:
        assert jail.attacks_outside(["linger", mark, "ready"], ["wait-for", "ready"]) == [OK, OK]
        assert len(processes(mark)) == 1
    finally:
        for pid in processes(mark):
            os.kill(pid, 9)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_e70_e74_when_cloche_dies_everything_inside_dies(jail, mark, number):
    command = jail.command(jail.attacker, "linger", mark, "ready", "--", "wait-for", f"never-{mark}")

    def heed():
        """The suite itself may have been started with the signal ignored."""
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)

    with subprocess.Popen([jail.person.binaries / "cloche", *command], cwd=jail.person.project, preexec_fn=heed,
                          env=jail.person.environment, **jail.identity()) as run:
        try:
            end = time.monotonic() + 20
            while not (jail.person.project / "ready").exists() and time.monotonic() < end:
                time.sleep(0.01)
            assert len(processes(mark)) >= 3
            run.send_signal(number)
            assert wait_until(lambda: not processes(mark), 1.0)
        finally:
            run.kill()


def test_e70_cloche_is_not_addressable_from_inside(jail):
    """The supervisor, pid 1 and whoever else belongs to the run are called by the numbers they have on the host."""
    script = f'echo x >made; echo ready; read words; {jail.attacker} $words >outcomes; exit 42'
    with subprocess.Popen([jail.person.binaries / "cloche", *jail.command("sh", "-c", script, options=["-q"])],
                          cwd=jail.person.project, env=jail.person.environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, **jail.identity()) as run:
        try:
            assert run.stdout.readline() == "ready\n"
            children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="ascii").split()
            # With namespaces pid 1 and the doorman, who has seen to the file; without them the process between.
            assert len(children) == (2 if jail.has_namespaces else 1)
            targets = [run.pid, *children]
            outside = jail.attacks_outside(*[["signal", pid, 0] for pid in targets[:1]])
            assert outside == [OK], "whoever is not inside could"
            words = [f"signal {pid} {number}" for pid in targets for number in (0, 9, 19)]
            words += [f"signal-by-descriptor {pid} 9" for pid in targets] + [f"trace {pid}" for pid in targets]
            said, _ = run.communicate(" -- ".join(words) + "\n", timeout=30)
        finally:
            run.kill()
    assert run.returncode == 42
    found = outcomes_of((jail.person.project / "outcomes").read_text())
    assert len(found) == len(words) and "ok" not in {outcome.verdict for outcome in found}, found


# 71


@pytest.mark.parametrize("limits, attack, excess", [
    ({"processes": 20}, ["multiply", 200], lambda answer: int(answer.stdout.split()[0]) > 20),
    ({"memory": "64M"}, ["fill-memory", 512], lambda answer: answer.stdout.endswith("= ok\n")),
], ids=["processes", "memory"])
def test_e71_a_limit_holds_or_the_run_is_refused_by_name(jail, limits, attack, excess):
    answer = jail.run(jail.attacker, *map(str, attack), policy=jail.policy(limits=limits))
    if answer.returncode == 125:
        assert f"limits.{next(iter(limits))}" in answer.stderr
        assert answer.stdout == ""
    else:
        assert not excess(answer), answer
    free = jail.run(jail.attacker, *map(str, attack))
    assert excess(free), free


def test_e71_files_and_descriptors_are_limited(jail):
    policy = jail.policy(limits={"fileSize": "64K", "openFiles": 32})
    answer = jail.run("sh", "-c", "head -c 1000000 /dev/zero >big; ulimit -n", policy=policy)
    assert (jail.person.project / "big").stat().st_size == 65536
    assert answer.stdout == "32\n"
    jail.run("sh", "-c", "head -c 1000000 /dev/zero >big")
    assert (jail.person.project / "big").stat().st_size == 1000000


def test_e71_a_fork_bomb_ends_with_the_time_it_was_given(jail, mark):
    start = time.monotonic()
    bomb = f"for i in $(seq 50); do sleep 60 & {jail.attacker} linger {mark} ready & done; sleep 60"
    answer = jail.run("sh", "-c", bomb, options=["--timeout", "1"])
    assert (jail.person.project / "ready").exists()
    assert time.monotonic() - start < 10
    assert answer.returncode == 137
    assert wait_until(lambda: not processes(mark), 1.0)


# 72, 110


def test_e72_h110_no_core_is_dumped_and_no_handler_called(jail):
    """1 and not 0: a handler behind a pipe is called at 0 too."""
    unlimited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))} if os.geteuid() == 0 else {}
    found = jail.attacks(["core-limit"], ["raise-core-limit"], ["core-limit"], **unlimited)
    assert [found[0].shown, found[2].shown] == ["1 1 ", "1 1 "]
    assert found[1].verdict == "EPERM"
    before = set(os.listdir(jail.person.project))
    assert jail.run(jail.attacker, "crash", **unlimited).returncode == 134
    assert set(os.listdir(jail.person.project)) == before
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8")
    if not pattern.startswith("core") or not unlimited:
        return
    outside = subprocess.run([jail.attacker, "crash"], cwd=jail.person.project, check=False, stderr=subprocess.DEVNULL,
                             **{**jail.identity(), **unlimited})
    assert outside.returncode == -6
    assert set(os.listdir(jail.person.project)) != before


# 73, 104

WALK = """
import os
for top in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/scsi", "/proc/acpi", "/proc/driver", 
            "/sys/kernel", "/sys/fs", "/sys/power", "/sys/module", "/sys/firmware", "/sys/class",
            "/sys/block", "/sys/bus"):
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                print(path)
            except OSError:
                pass
for path in ("/proc/sysrq-trigger", "/proc/self/comm"):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print(path)
    except OSError:
        pass
"""


def test_e73_h104_nothing_of_the_kernels_own_files_can_be_opened_for_writing(jail):
    """Nothing is written, so that a broken wall does no harm."""
    found = jail.run("/usr/bin/python3", "-c", WALK).stdout.split()
    assert found == (["/proc/self/comm"] if jail.has_namespaces else [])


@pytest.mark.parametrize("path", ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
                                  "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent",
                                  "/sys/fs/cgroup/cgroup.procs", "/proc/sys/vm/panic_on_oom"])
def test_e73_h104_a_door_to_the_host_that_root_could_write_is_shut(jail, path):
    """Where it exists. A root without capabilities passes the check of a sysctl, which asks for the user id."""
    verdict = jail.attack("open-to-write", path).verdict
    assert verdict in ("EROFS", "EACCES", "ENOENT", "EPERM")
    if jail.person.uid == 0 and os.path.exists(path) and path.startswith("/proc/sys/"):
        assert jail.attack_outside("open-to-write", path) == OK


@pytest.mark.admitted(landlock="tables of the kernel in /proc can be seen")
def test_e73_kernel_secrets_are_not_read(jail):
    hidden = ["/proc/kallsyms", "/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/sys/kernel/debug",
              "/sys/kernel/security", "/sys/firmware"]
    found = jail.attacks(*[["list" if path.startswith("/sys") else "read", path] for path in hidden],
                         ["read", "/proc/meminfo"])
    assert {outcome.verdict for outcome in found[:-1]} <= {"EACCES", "ENOENT", "EPERM"}
    assert found[-1].verdict == "ok"
    assert jail.attack_outside("read", "/proc/kallsyms").verdict == "ok"
