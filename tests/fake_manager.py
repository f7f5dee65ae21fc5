"""Stands in for a service manager: listens on a socket, speaks SASL and D-Bus, writes down what it is asked for and
answers as its conduct has it.

    refuses     answers every request with an error
    old         does not know OOMPolicy for scopes, as older ones; else as `liar`
    liar        says that the scope is made, and makes none
    silent      hears the request and says nothing
    mute        says nothing from the beginning
    hangs up    when it is asked
    garbage     answers with bytes that are no message
    huge        answers with the beginning of a message that never ends
    babbles     says other things without end
    gives       makes the cgroup below `parent`, delegates it to who asks, and removes it when it is empty
"""

import contextlib
import os
import pathlib
import socket
import struct
import threading
import time

from judging import wait_until

ERROR = "org.freedesktop.DBus.Error.AccessDenied"
MANAGER = "org.freedesktop.systemd1.Manager"
CONTROLLERS = "+memory +pids"


def padded(content, size):
    return content + bytes(-len(content) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def message(kind, fields, body=b""):
    """`fields`: (number, type, value)."""
    header = b""
    for number, kind_of_value, value in fields:
        header = padded(header, 8) + bytes((number, 1)) + kind_of_value.encode() + b"\0"
        if kind_of_value == "u":
            header = padded(header, 4) + struct.pack("<I", value)
        elif kind_of_value == "g":
            header += bytes((len(value),)) + value.encode() + b"\0"
        else:
            header = padded(header, 4) + text(value)
    fixed = struct.pack("<BBBBIII", ord("l"), kind, 1, 1, len(body), 7, len(header))
    return padded(fixed + header, 8) + body


class Reader:
    """Values by their signature, little-endian."""

    def __init__(self, content, at=0):
        self.content, self.at = content, at

    def number(self, form):
        size = struct.calcsize(form)
        self.skip(size)
        self.at += size
        return struct.unpack_from(form, self.content, self.at - size)[0]

    def skip(self, alignment):
        end = self.at + -self.at % alignment
        assert not any(self.content[self.at:end]), "padding holds something"
        self.at = end

    def string(self, form):
        length = self.number(form)
        value = self.content[self.at:self.at + length]
        self.at += length + 1
        assert self.content[self.at - 1] == 0
        return value.decode()

    def value(self, signature):
        """The value of the first type, and the signature of the rest."""
        kind, rest = signature[0], signature[1:]
        if kind in "ybutx":
            return self.number({"y": "B", "b": "<I", "u": "<I", "t": "<Q", "x": "<q"}[kind]), rest
        if kind in "sog":
            return self.string("B" if kind == "g" else "<I"), rest
        if kind == "v":
            return self.value(self.string("B"))[0], rest
        if kind == "(":
            self.skip(8)
            values = []
            while rest[0] != ")":
                value, rest = self.value(rest)
                values.append(value)
            return tuple(values), rest[1:]
        assert kind == "a"
        length = self.number("<I")
        self.skip(8 if rest[0] in "(txd" else 1 if rest[0] == "y" else 4)
        end, values = self.at + length, []
        while self.at < end:
            values.append(self.value(rest)[0])
        assert self.at == end
        return values, self.after(rest)

    def after(self, signature):
        """What follows the first type of a signature."""
        if signature[0] == "a":
            return self.after(signature[1:])
        if signature[0] != "(":
            return signature[1:]
        depth = 0
        for at, sign in enumerate(signature):
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if depth == 0:
                return signature[at + 1:]
        raise AssertionError(signature)

    def values(self, signature):
        found = []
        while signature:
            value, signature = self.value(signature)
            found.append(value)
        return found


class FakeManager:
    def __init__(self, path, uid, conduct, parent=None):
        self.path, self.uid, self.conduct, self.parent = pathlib.Path(path), uid, conduct, parent
        self.calls = []   # (destination, member, signature, values)
        self.heard = 0    # connections
        self.uid_said = None
        self.ended = False
        self.threads = []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        os.chown(self.path, uid, uid)
        self.path.chmod(0o600)
        # Who listened is who the socket says is at the other end.
        os.seteuid(uid)
        self.listener.listen()
        os.seteuid(0)
        self.start(self.serve)

    def start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def close(self):
        self.ended = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(5)
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    def serve(self):
        while not self.ended:
            with contextlib.suppress(OSError):
                connection, _ = self.listener.accept()
                self.heard += 1
                self.start(self.talk, connection)

    def asked(self):
        return [values for _, member, _, values in self.calls if member == "StartTransientUnit"]

    def talk(self, connection):
        with connection, contextlib.suppress(OSError, EOFError):
            self.pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            if self.conduct == "mute":
                connection.recv(1000)
                connection.recv(1000)
                return
            first = connection.recv(1000)
            assert first.startswith(b"\0AUTH EXTERNAL ") and first.endswith(b"\r\n")
            self.uid_said = int(bytes.fromhex(first.split()[2].decode()))
            connection.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            received = b""
            while b"BEGIN\r\n" not in received:
                received += self.more(connection)
            received = received.partition(b"BEGIN\r\n")[2]
            while True:
                while len(received) < 16 or len(received) < self.whole(received):
                    received += self.more(connection)
                length = self.whole(received)
                self.answer(connection, received[:length])
                received = received[length:]

    @staticmethod
    def more(connection):
        received = connection.recv(10000)
        if not received:
            raise EOFError
        return received

    @staticmethod
    def whole(content):
        body, _, fields = struct.unpack_from("<III", content, 4)
        return 16 + fields + -fields % 8 + body

    def answer(self, connection, content):
        body_length, serial, fields = struct.unpack_from("<III", content, 4)
        assert content[:4] == b"l\1\0\1"
        header = dict(Reader(content, 12).values("a(yv)")[0])
        signature = header.get(8, "")
        member = header[3]
        values = Reader(content[len(content) - body_length:]).values(signature)
        self.calls.append((header.get(6), member, signature, values))
        if member == "Hello":
            connection.sendall(message(2, [(5, "u", serial), (8, "g", "s")], text(":1.7")) +
                               message(4, [(1, "o", "/org/freedesktop/DBus"), (2, "s", "org.freedesktop.DBus"),
                                           (3, "s", "NameAcquired"), (8, "g", "s")], text(":1.7")))
            return
        assert (member, header[1], header[2]) == ("StartTransientUnit", "/org/freedesktop/systemd1", MANAGER)
        self.react(connection, serial, values)

    def react(self, connection, serial, values):
        name, properties = values[0], dict(values[2])
        if self.conduct == "refuses" or (self.conduct == "old" and "OOMPolicy" in properties):
            connection.sendall(message(3, [(4, "s", ERROR), (5, "u", serial), (8, "g", "s")], text("no")))
        elif self.conduct == "hangs up":
            raise EOFError
        elif self.conduct == "garbage":
            connection.sendall(b"\xff" * 300)
        elif self.conduct == "huge":
            connection.sendall(struct.pack("<BBBBIII", ord("l"), 2, 1, 1, 0x7fffffff, 7, 0x7fffffff) + bytes(1000))
        elif self.conduct == "babbles":
            while not self.ended:
                connection.sendall(self.job_removed("other.scope", "done"))
        elif self.conduct in ("old", "liar", "gives"):
            if self.conduct == "gives":
                self.give(name)
            done = message(2, [(5, "u", serial), (8, "g", "o")], text("/org/freedesktop/systemd1/job/1"))
            connection.sendall(done + self.job_removed(name, "done"))

    @staticmethod
    def job_removed(unit, result):
        body = struct.pack("<I", 1) + text("/org/freedesktop/systemd1/job/1")
        body = padded(body, 4) + text(unit)
        body = padded(body, 4) + text(result)
        return message(4, [(1, "o", "/org/freedesktop/systemd1"), (2, "s", MANAGER), (3, "s", "JobRemoved"),
                           (8, "g", "uoss")], body)

    # What a manager does, on a machine with cgroups of version 2.

    def give(self, name):
        scope = self.parent / name
        scope.mkdir()
        for path in (scope, scope / "cgroup.procs", scope / "cgroup.subtree_control"):
            os.chown(path, self.uid, self.uid)
        (scope / "cgroup.procs").write_text(str(self.pid))
        self.start(self.remove_when_empty, scope)

    def remove_when_empty(self, scope):
        wait_until(lambda: "populated 0" in (scope / "cgroup.events").read_text(), 120)
        time.sleep(0.02)
        for path in sorted(scope.glob("**/"), key=lambda path: -len(path.parts)):
            path.rmdir()
