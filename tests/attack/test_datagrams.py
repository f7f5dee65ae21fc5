"""Datagrams under supervision, network.unixDatagram (section C, 47-49).

Where they are sent is no argument that a filter sees, so the doorman performs every
send. What the host's socket got is judged from outside."""

import socket

import pytest

from attacking import OK

# Without namespaces nobody supervises.
needs_doorman = pytest.mark.refused(landlock="unixDatagram")

RACE_MILLISECONDS = 2000


def supervised(jail, **network):
    return jail.policy(network={"unixDatagram": True, **network})


class HostSocket:
    """A datagram socket of the host, in the project, where the command can see it."""

    def __init__(self, jail):
        self.path = jail.person.project / "host"

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.path.chmod(0o777)
        self.socket.setblocking(False)
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.path.unlink()

    def received(self):
        found = []
        try:
            while True:
                found.append(self.socket.recv(100).decode())
        except BlockingIOError:
            return found


@needs_doorman
def test_c49_no_exchange_under_a_send_reaches_a_socket_of_the_host(jail):
    race = ["race-sends", "own", "host", "link", RACE_MILLISECONDS]
    with HostSocket(jail) as host:
        found = jail.attack(*race, policy=supervised(jail))
        assert found == ("ok", "some received, some refused\n")
        assert host.received() == []
        # The same where it may be reached.
        (jail.person.project / "own").unlink()
        policy = supervised(jail, allowUnixSockets=[str(host.path)])
        assert jail.attack(*race, policy=policy).verdict == "ok"
        assert "smuggled" in host.received()


SENDS = {
    "sendto": "sender.sendto(b'sent', name)",
    "sendmsg": "sender.sendmsg([b'sent'], [], 0, name)",
    "sendmmsg": "several(sender, name)",
    "sendmsg with a descriptor": "sender.sendmsg([b'sent'], [(1, 1, array.array('i', [0]))], 0, name)",
    "connect and send": "sender.connect(name); sender.send(b'sent')",
    "connect and sendmsg": "sender.connect(name); sender.sendmsg([b'sent'])",
}

SCRIPT = """
import array, ctypes, errno, os, socket, struct

def several(sender, name):
    address = struct.pack("H", socket.AF_UNIX) + name.encode() + bytes(1)
    part = struct.pack("PL", ctypes.addressof(text), 4)
    message = struct.pack("PIPLPLIII", ctypes.cast(address, ctypes.c_void_p).value, len(address),
                          ctypes.cast(part, ctypes.c_void_p).value, 1, 0, 0, 0, 0, 0)
    if ctypes.CDLL(None, use_errno=True).sendmmsg(sender.fileno(), message, 1, 0) != 1:
        raise OSError(ctypes.get_errno(), "")

text = ctypes.create_string_buffer(b"sent")
own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
own.bind("own")
for name in ("host", "./host", os.path.abspath("host"), "link", "/proc/self/cwd/host", "own"):
    for make in (socket.socket, lambda *kind: socket.socketpair(*kind)[0]):
        sender = make(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            SEND
            print("sent")
        except OSError as error:
            print(errno.errorcode[error.errno])
    if name == "own":
        print(own.recv(9) + own.recv(9))
"""


@needs_doorman
@pytest.mark.parametrize("way", SENDS)
def test_c47_c48_only_sockets_that_are_named_are_reached(jail, way):
    program = jail.person.file("program.py", SCRIPT.replace("SEND", SENDS[way]))
    jail.person.link("link", "host")
    own = ["sent", "sent", "b'sentsent'"]
    with HostSocket(jail) as host:
        answer = jail.run("/usr/bin/python3", program, policy=supervised(jail))
        assert answer.stdout.splitlines() == ["EACCES"] * 10 + own, answer
        assert host.received() == []
        (jail.person.project / "own").unlink()
        policy = supervised(jail, allowUnixSockets=[str(host.path)])
        answer = jail.run("/usr/bin/python3", program, policy=policy)
        assert answer.stdout.splitlines() == ["sent"] * 10 + own, answer
        assert host.received() == ["sent"] * 10


PIDFD_SCRIPT = """
import ctypes, errno, fcntl, socket, struct

SO_PASSPIDFD, SO_PEERPIDFD, SCM_PIDFD = 76, 77, 4
MADV_COLD = 20  # of the few that every kernel lets be said of another process
library = ctypes.CDLL(None, use_errno=True)

def call(*words):
    return "ok" if library.syscall(*words) >= 0 else errno.errorcode[ctypes.get_errno()]

left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
try:
    right.setsockopt(socket.SOL_SOCKET, SO_PASSPIDFD, 1)
except OSError:
    print("no pidfds here")
left.sendmsg([b"x"])
doorman = [struct.unpack("i", data)[0] for _, kind, data in right.recvmsg(9, 100)[1] if kind == SCM_PIDFD]
for fd in doorman:
    pidfd_send_signal, pidfd_getfd, setns, process_madvise = 424, 438, 308, 440
    print("signal", call(pidfd_send_signal, fd, 0, None, 0), call(pidfd_send_signal, fd, 9, None, 0))
    print("descriptors", {call(pidfd_getfd, fd, number, 0) for number in range(32)})
    print("memory", call(process_madvise, fd, None, 0, MADV_COLD, 0))
    for number in range(1, 11):
        try:
            print("namespace", fcntl.ioctl(fd, 0xFF00 | number))
        except OSError:
            pass
left.sendmsg([b"still there"])
print(right.recvmsg(20)[0])
"""


@needs_doorman
def test_c54_who_performs_a_send_cannot_be_attacked_by_its_pidfd(jail):
    """A receiver can ask for a pidfd of the sender, and that is the doorman."""
    program = jail.person.file("program.py", PIDFD_SCRIPT)
    answer = jail.run("/usr/bin/python3", program, policy=supervised(jail))
    lines = answer.stdout.splitlines()
    if lines[0] == "no pidfds here":
        pytest.skip("this kernel gives no pidfds of senders")
    assert lines == ["signal EINVAL EINVAL", "descriptors {'EPERM'}", "memory EACCES", "b'still there'"], answer


def test_c47_nothing_is_sent_without_leave(jail):
    """Where nothing asks for supervision there is nothing to supervise."""
    with HostSocket(jail) as host:
        for way in ("send-to", "send-to-from-pair"):
            assert jail.attack(way, host.path, "smuggled").verdict in ("EACCES", "EPERM")
        assert host.received() == []
        assert jail.attack_outside("send-to", host.path, "seen") == OK
        assert host.received() == ["seen"]
