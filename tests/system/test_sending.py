"""With network.unixDatagram the doorman performs every send; programs must not notice.

The cases are in sending.py: each says inside what it says outside."""

import pathlib
import shutil
import subprocess

import pytest

from judging import as_person
from sending import CASES

PROGRAM = pathlib.Path(__file__).with_name("sending.py")
WITH_DATAGRAMS = {"extends": ["preset:dev"], "network": {"unixDatagram": True}}


@pytest.fixture
def program(person):
    shutil.copy(PROGRAM, person.home / "sending.py")
    person.own(person.home / "sending.py")
    return person.home / "sending.py"


def say(person, program, name, *words):
    """What a case says in a new directory of the project."""
    place = person.directory(person.project / name)
    answer = subprocess.run([*words, "/usr/bin/python3", program, name.split(".")[0]], cwd=place,
                            env=person.environment, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
                            capture_output=True, **as_person(person))
    return answer.returncode, answer.stdout, answer.stderr


@pytest.mark.parametrize("name", CASES)
def test_sending_is_inside_as_it_is_outside(person, program, name):
    policy = person.file(person.base / "policy.json", WITH_DATAGRAMS)
    outside = say(person, program, f"{name}.outside")
    assert outside[0] == 0 and outside[1] and not outside[2], outside
    inside = say(person, program, f"{name}.inside", person.binaries / "cloche", "run", "--settings", policy,
                 "--allow-read", program, "--")
    assert inside == outside


def test_without_leave_there_are_no_datagram_sockets(person):
    script = """
import socket
for make in (socket.socket, socket.socketpair):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            make(socket.AF_UNIX, kind)
            print("made")
        except OSError as error:
            print(error.strerror)
"""
    answer = person.cloche("run", "--", "/usr/bin/python3", "-c", script)
    assert answer.stdout.splitlines() == ["made", "Permission denied", "Permission denied"] * 2, answer
    policy = person.file(person.base / "policy.json", WITH_DATAGRAMS)
    answer = person.cloche("run", "--settings", policy, "--", "/usr/bin/python3", "-c", script)
    assert answer.stdout.splitlines()[:3] == ["made"] * 3, answer


def test_memory_of_the_doorman_is_never_lent_to_the_network(person):
    """MSG_ZEROCOPY would send from there after the call has ended."""
    script = """
import errno, socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.setsockopt(socket.SOL_SOCKET, 60, 1)
try:
    print(client.sendmsg([b"x" * 20000], [], 0x4000000))
except OSError as error:
    print(errno.errorcode[error.errno])
print(client.sendmsg([b"x" * 20000]))
"""
    policy = person.file(person.base / "policy.json", WITH_DATAGRAMS)
    answer = person.cloche("run", "--settings", policy, "--", "/usr/bin/python3", "-c", script)
    assert answer.stdout.split() == ["ENOBUFS", "20000"], answer


def test_hundreds_of_waiting_senders_hold_nobody_up(person):
    """There are bounds; what is beyond them fails, and whoever could end the waits is served."""
    script = """
import os, socket, threading, time
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
try:
    while True:
        left.sendmsg([b"x"], [], socket.MSG_DONTWAIT)
except BlockingIOError:
    pass
failed = []
def send():
    try:
        left.sendmsg([b"x"])
    except BlockingIOError:
        failed.append(1)
for _ in range(300):
    threading.Thread(target=send, daemon=True).start()
time.sleep(1)
with open("made meanwhile", "w") as file:
    print("made", 0 < len(failed) < 100, flush=True)
os._exit(0)
"""
    policy = person.file(person.base / "policy.json", WITH_DATAGRAMS)
    answer = person.cloche("run", "--settings", policy, "--", "/usr/bin/python3", "-c", script)
    assert answer.stdout == "made True\n", answer
