"""Sockets, shared memory, keys and processes of the host (section C, 41-48 and 52-55).

Sockets by path (40, 47, 48, 50) are in test_sockets_by_path.py, races (49, 51) in test_races.py.
"""

import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from attacking import OK, HostSocket, unchanged

# What listens where on a desktop, and the variable that leads there. T is a
# directory of the test below the place named.
HOST_SOCKETS = {
    "c41 session bus": ("/run/user", "bus", "DBUS_SESSION_BUS_ADDRESS", "unix:path={path}"),
    "c41 system bus": ("/run", "dbus/system_bus_socket", "DBUS_SYSTEM_BUS_ADDRESS", "unix:path={path}"),
    "c42 systemd": ("/run", "systemd/private", None, None),
    "c42 user manager": ("/run/user", "systemd/private", "XDG_RUNTIME_DIR", "{directory}"),
    "c43 ssh-agent": ("/tmp", "ssh-x/agent.1", "SSH_AUTH_SOCK", "{path}"),
    "c43 gpg-agent": ("/run/user", "gnupg/S.gpg-agent", "GPG_AGENT_INFO", "{path}:1:1"),
    "c44 tmux": ("/tmp", "tmux-1/default", "TMUX", "{path},1,0"),
    "c44 screen": ("/run", "screen/S-x/1.x", "STY", "1.x"),
    "c44 emacs": ("/run/user", "emacs/server", "EMACS_SOCKET_NAME", "{path}"),
    "c44 vs code": ("/run/user", "vscode-ipc-x.sock", "VSCODE_IPC_HOOK_CLI", "{path}"),
    "c44 kitty": ("/tmp", "kitty", "KITTY_LISTEN_ON", "unix:{path}"),
    "c45 x11": ("/tmp", ".X11-unix/X9", "DISPLAY", ":9"),
    "c45 wayland": ("/run/user", "wayland-9", "WAYLAND_DISPLAY", "wayland-9"),
    "c43 agent in /var/tmp": ("/var/tmp", "agent", "SSH_AUTH_SOCK", "{path}"),
}


@contextlib.contextmanager
def place_of_the_host(jail, directory):
    if not os.access(directory, os.W_OK):
        made = directory == "/run/user" and os.access("/run", os.W_OK) and not os.path.exists(directory)
        if not made:
            pytest.skip(f"only root can put a socket into {directory}")
        os.mkdir(directory, 0o755)
    path = pathlib.Path(tempfile.mkdtemp(prefix="cloche-attack-", dir=directory))
    jail.person.own(path)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.mark.parametrize("case", HOST_SOCKETS)
def test_c41_to_c45_a_socket_of_the_desktop_is_out_of_reach(jail, secret, case):
    above, name, variable, value = HOST_SOCKETS[case]
    with place_of_the_host(jail, above) as directory:
        path = directory / name
        jail.person.directory(path.parent)
        with HostSocket(str(path), secret) as server:
            path.chmod(0o777)
            if variable:
                jail.person.environment[variable] = value.format(path=path, directory=directory)
            answer = jail.run(jail.attacker, "connect", path, "--", "connect-to-own", "/tmp/own")
            assert answer.stdout.splitlines()[0] in ("= ENOENT", "= ECONNREFUSED", "= EACCES", "= EPERM"), answer
            # Without namespaces there are no unix sockets at all.
            assert answer.stdout.splitlines()[-1] == ("= ok" if jail.has_namespaces else "= EPERM")
            if variable:
                assert jail.run("printenv", variable).returncode == 1
            assert server.visitors == 0
            assert jail.attack_outside("connect", path).shown == secret
    assert jail.never_told(secret)


def test_c43_the_agents_socket_in_the_home_is_absent(jail, secret):
    path = jail.person.directory(jail.person.home / ".gnupg") / "S.gpg-agent"
    with HostSocket(str(path), secret) as server:
        path.chmod(0o777)
        assert jail.attack("connect", path).verdict in ("ENOENT", "EACCES", "EPERM")
        assert server.visitors == 0
        assert jail.attack_outside("connect", path).shown == secret
    assert jail.never_told(secret)


@pytest.mark.parametrize("network", ["none", "host"])
@pytest.mark.parametrize("name", ["@/tmp/.X11-unix/X{}", "@cloche-attack-{}"])
def test_c45_c46_abstract_sockets_of_the_host_are_out_of_reach(jail, secret, network, name):
    """In the host's network it is Landlock alone that holds this."""
    name = name.format(secrets.token_hex(8))
    policy = jail.policy(network={"mode": network})
    with HostSocket("\0" + name[1:], secret) as server:
        found = jail.attacks(["connect", name], ["connect-to-own", f"@own-{secrets.token_hex(8)}"], policy=policy)
        assert found[0].verdict in ("ECONNREFUSED", "EPERM")
        assert found[1].verdict == ("ok" if jail.has_namespaces else "EPERM")
        assert server.visitors == 0
        assert jail.attack_outside("connect", name).shown == secret
    assert jail.never_told(secret)


@pytest.mark.parametrize("way", ["send-to", "send-to-from-pair"])
def test_c47_c48_no_datagram_reaches_a_socket_of_the_host(jail, secret, way):
    """Even where the command can see the socket: in its own project."""
    path = jail.person.project / "datagrams"
    with HostSocket(str(path), secret, socket.SOCK_DGRAM) as server:
        path.chmod(0o777)
        server.socket.setblocking(False)
        assert jail.attack(way, path, "smuggled").verdict in ("EACCES", "EPERM")
        with pytest.raises(BlockingIOError):
            server.socket.recv(100)
        assert jail.attack_outside(way, path, "seen") == OK
        assert server.socket.recv(100) == b"seen"
    assert jail.attack("connect-to-own", "stream").verdict == ("ok" if jail.has_namespaces else "EPERM")


# 52, 53


def test_c52_shared_memory_of_the_host_is_out_of_reach(jail, secret):
    key = secrets.randbelow(2**30) + 1
    assert jail.attack_outside("make-shared-memory", key, secret) == OK
    try:
        found = jail.attacks(["read-shared-memory", key], ["remove-shared-memory", key],
                             ["make-shared-memory", key, "own"], ["read-shared-memory", key])
        if jail.has_namespaces:
            assert found == [("ENOENT", ""), ("ENOENT", ""), OK, ("ok", "own")]
        else:
            assert {outcome.verdict for outcome in found} == {"EPERM"}
        assert jail.attack_outside("read-shared-memory", key).shown == secret
    finally:
        jail.attack_outside("remove-shared-memory", key)
    assert jail.never_told(secret)


def test_c52_message_queues_of_the_host_are_out_of_reach(jail, secret):
    name = f"/cloche-attack-{secrets.token_hex(8)}"
    assert jail.attack_outside("make-queue", name, secret) == OK
    try:
        found = jail.attacks(["read-queue", name], ["remove-queue", name])
        assert {outcome.verdict for outcome in found} <= {"ENOENT", "EPERM", "EACCES"}
        assert jail.attack_outside("read-queue", name).shown == secret
    finally:
        jail.attack_outside("remove-queue", name)
    assert jail.never_told(secret)


def test_c53_the_users_kernel_keys_are_out_of_reach(jail, secret):
    name = f"cloche-attack-{secrets.token_hex(8)}"
    assert jail.attack_outside("add-key", name, secret) == OK
    try:
        found = jail.attacks(["read-key", name], ["add-key", f"{name}-own", "x"], ["remove-key", name],
                             ["call", "request_key", "@user", f"@{name}", "0", "0"])
        assert {outcome.verdict for outcome in found} == {"EPERM"}
        assert jail.attack_outside("read-key", name).shown == secret
    finally:
        jail.attack_outside("remove-key", name)
    assert jail.never_told(secret)


# 54, 55


@pytest.fixture
def victim(jail, secret):
    """A process of the same user: its pid, and where its secret is."""
    with subprocess.Popen([jail.attacker, "guard-secret", secret], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, start_new_session=True, **jail.identity()) as process:
        pid, address, length = process.stdout.readline().split()
        yield process, int(pid), address, length
        process.stdin.close()


def test_c54_a_process_of_the_host_is_neither_traced_nor_read_nor_killed(jail, secret, victim):
    process, pid, address, length = victim
    ways = [["trace", pid], ["read-memory", pid, address, length], ["write-memory", pid, address],
            ["read-memory-file", pid, address, length], ["take-descriptor", pid, 0], ["signal-by-descriptor", pid, 0],
            ["signal", pid, 0]]
    found = jail.attacks(*ways, ["signal", pid, 9], ["signal", -pid, 9], ["signal-by-descriptor", pid, 9])
    assert {outcome.verdict for outcome in found} <= {"ESRCH", "ENOENT", "EPERM", "EINVAL", "EACCES"}, found
    assert process.poll() is None
    assert jail.never_told(secret)
    outside = jail.attacks_outside(*ways)
    assert [outcome.verdict for outcome in outside] == ["ok"] * 7
    assert outside[1].shown == secret
    assert jail.attack("trace-child") == OK


def states_after(jail, *command):
    """The states of two processes of one process group, after a third one ran `command`."""
    script = 'sleep 20 & echo $!; "$@" >/dev/null 2>&1 & wait'
    with subprocess.Popen(["sh", "-c", script, "sh", *map(str, command)], stdout=subprocess.PIPE, text=True,
                          cwd=jail.person.project, env=jail.person.environment, start_new_session=True,
                          **jail.identity()) as shell:
        try:
            neighbour = int(shell.stdout.readline())
            time.sleep(0.4)
            return [state_of(pid) for pid in (shell.pid, neighbour)]
        finally:
            os.killpg(shell.pid, signal.SIGKILL)


def state_of(pid):
    """S: it lives and is not stopped, whether it sleeps or runs at this moment."""
    state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    return "S" if state in "RSD" else state


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_c54_signals_to_everybody_and_to_the_process_group_stay_inside(jail, number):
    """The run is in its caller's process group, so that job control works."""
    for target in (-1, 0):
        command = jail.command(jail.attacker, "signal", target, int(number))
        assert states_after(jail, jail.person.binaries / "cloche", *command) == ["S", "S"]
    assert states_after(jail, jail.attacker, "signal", "0", int(signal.SIGSTOP)) == ["T", "T"]


def test_c55_memory_of_pid_1_is_neither_read_nor_written(jail):
    found = jail.attacks(["trace", 1], ["read-memory", 1, "0x400000", 16], ["write-memory", 1, "0x400000"],
                         ["read-memory-file", 1, "0x400000", 16], ["take-descriptor", 1, 0], ["signal", 1, 9],
                         ["signal", 1, 19], ["trace-child"])
    assert {outcome.verdict for outcome in found[:5]} <= {"EPERM", "EACCES"}, found
    # Signals to pid 1 are dropped by the kernel: the run goes on.
    assert found[7] == OK


def test_c55_a_mapping_that_cannot_be_written_is_not_patched_through_proc(jail):
    readable = jail.person.file(jail.person.home / ".gitconfig", "original" * 600)
    jail.person.file("own", "original" * 600)
    with unchanged(readable):
        found = jail.attacks(["patch-mapping", readable, "evil"], ["patch-mapping", "/usr/bin/env", "evil"],
                             ["write-mapping", readable, "evil"], ["write-mapping", "own", "fine"])
    assert "ok" not in {outcome.verdict for outcome in found[:3]}
    assert found[3] == OK
    assert (jail.person.project / "own").read_text().startswith("fine")
