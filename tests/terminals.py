"""Pseudo terminals that tests type on."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

PATIENCE = 20


class Terminal:
    """A session of its own on a pseudo terminal, with `command` in the foreground."""

    def __init__(self, person, command):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                if os.geteuid() == 0:
                    os.fchown(0, person.uid, -1)
                    os.setgroups([])
                    os.setgid(person.uid)
                    os.setuid(person.uid)
                os.chdir(person.project)
                environment = {**person.environment, "TERM": "xterm", "cloche": str(person.binaries / "cloche")}
                os.execvpe(command[0], [str(word) for word in command], environment)
            finally:
                os._exit(99)
        os.set_inheritable(self.fd, False)

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text):
        """Reads on until `text` appears; returns what came before it."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            readable, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert readable, f"{text!r} did not appear in {self.seen!r}"
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            assert data, f"the terminal was closed before {text!r} appeared in {self.seen!r}"
            self.seen += data.decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def says(self, command, text):
        """Types a line, and waits for what it makes appear."""
        self.type(command + "\n")
        return self.expect(text)

    def settings(self):
        return termios.tcgetattr(self.fd)

    def foreground(self):
        """The process group that has the terminal."""
        return struct.unpack("i", fcntl.ioctl(self.fd, termios.TIOCGPGRP, b"\0" * 4))[0]

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self):
        os.close(self.fd)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("what ran on the terminal did not end with it")
