"""Attacks on the terminal cloche was started from (section D, 56-60)."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import time

import pytest

from attacking import OK, PATIENCE, outcomes_of

TIOCSTI, TIOCLINUX, FIONREAD = 0x5412, 0x541C, 0x541B
HIGH_BITS = [0, 1 << 32, 0xDEADBEEF << 32, 1 << 63]


class Terminal:
    """A terminal of which a shell of the person would be master."""

    def __init__(self, jail):
        self.jail = jail
        self.master, self.slave = pty.openpty()
        jail.person.own(os.ttyname(self.slave))
        modes = termios.tcgetattr(self.slave)
        modes[1] &= ~termios.OPOST
        modes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        os.set_blocking(self.master, False)

    def close(self):
        os.close(self.master)
        os.close(self.slave)

    def run(self, *command):
        """Runs a command with this as its controlling terminal; what it wrote."""
        def control():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen([str(word) for word in command], stdin=self.slave, stdout=self.slave,
                                   stderr=self.slave, start_new_session=True, preexec_fn=control,
                                   cwd=self.jail.person.project, env=self.jail.person.environment,
                                   **self.jail.identity())
        written = b""
        end = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < end:
            written += self.read()
            time.sleep(0.005)
        process.kill()
        process.wait()
        return written + self.read()

    def read(self):
        try:
            return os.read(self.master, 65536)
        except (BlockingIOError, OSError):
            return b""

    def attack(self, *words):
        command = self.jail.command(self.jail.attacker, *map(str, words), options=["-q"])
        return outcomes_of(self.run(self.jail.person.binaries / "cloche", *command).decode(errors="replace"))

    def attack_outside(self, *words):
        return outcomes_of(self.run(self.jail.attacker, *words).decode(errors="replace"))

    def typed(self):
        """How many bytes wait to be read by the shell."""
        return struct.unpack("i", fcntl.ioctl(self.slave, FIONREAD, bytes(4)))[0]


@pytest.fixture
def terminal(jail):
    made = Terminal(jail)
    yield made
    made.close()


@pytest.mark.parametrize("high", HIGH_BITS, ids=hex)
def test_d56_d58_no_keystroke_is_pushed_into_the_terminal(terminal, high):
    """The kernel reads 32 bits of the request; a filter that reads 64 is talked past."""
    words = ["call", "ioctl", 0, high | TIOCSTI, "@x"]
    found = terminal.attack(*words, "--", "call", "ioctl", 1, high | TIOCSTI, "@x")
    assert [outcome.verdict for outcome in found] == ["EPERM", "EPERM"]
    assert terminal.typed() == 0
    outside = terminal.attack_outside(*words)
    # Linux from 6.2 can refuse this to everybody.
    assert (outside == [OK] and terminal.typed() == 1) or outside[0].verdict == "EIO"


@pytest.mark.parametrize("high", HIGH_BITS, ids=hex)
def test_d57_d58_the_consoles_paste_is_refused(terminal, high):
    words = ["call", "ioctl", 0, high | TIOCLINUX, "@\x03"]
    assert terminal.attack(*words)[0].verdict == "EPERM"
    # A pseudo terminal does not know the request; the filter must not depend on that.
    assert terminal.attack_outside(*words)[0].verdict != "EPERM"


def test_d58_requests_that_do_no_harm_pass_whatever_their_upper_half(terminal):
    get_window_size = 0x5413
    found = terminal.attack("call", "ioctl", 0, get_window_size, "@12345678", "--",
                            "call", "ioctl", 0, 1 << 32 | get_window_size, "@12345678")
    assert found == [OK, OK]


def test_d59_what_the_command_writes_reaches_the_terminal_as_it_is(terminal):
    """No filter stands between: the terminal must be one that can be trusted with output (SECURITY.md)."""
    written = b"\x1b]52;c;ZXZpbA==\x07\x1b[5n\x1bP$q\"p\x1b\\plain"
    terminal.jail.person.file("output", written)
    command = terminal.jail.command("cat", "output", options=["-q"])
    assert terminal.run(terminal.jail.person.binaries / "cloche", *command) == written


def test_d60_a_killed_command_does_not_leave_the_terminal_raw(terminal):
    before = termios.tcgetattr(terminal.slave)
    script = "stty raw -echo -isig; kill -9 $$"
    terminal.run(terminal.jail.person.binaries / "cloche", *terminal.jail.command("sh", "-c", script))
    assert termios.tcgetattr(terminal.slave) == before
    terminal.run("sh", "-c", script)
    assert termios.tcgetattr(terminal.slave) != before


def test_d60_the_terminal_is_given_back_by_a_command_that_took_it(terminal):
    """The command makes a process group of its own the terminal's, and dies."""
    take = "import os, signal; signal.signal(signal.SIGTTOU, signal.SIG_IGN); os.setpgid(0, 0); " \
           "os.tcsetpgrp(0, os.getpid()); os.kill(os.getpid(), 9)"
    script = '"$@"; stty echo && echo still ours'
    jail = terminal.jail
    command = jail.command("/usr/bin/python3", "-c", take)
    assert b"still ours" in terminal.run("sh", "-c", script, "sh", jail.person.binaries / "cloche", *command)


def test_d60_other_terminals_are_out_of_reach(terminal):
    """The slave is the user's own; its name means nothing inside."""
    other, slave = pty.openpty()
    try:
        name = os.ttyname(slave)
        terminal.jail.person.own(name)
        os.set_blocking(other, False)
        terminal.jail.attack("write", name, "shown to the user")
        with pytest.raises(BlockingIOError):
            os.read(other, 100)
        assert terminal.jail.attack_outside("write", name, "seen") == OK
        assert os.read(other, 100) == b"seen"
    finally:
        os.close(other)
        os.close(slave)
