"""cloche run at a terminal: job control, keys, settings, pipelines, and attacks on
whoever sits there (attacks.md section D).

Everything is driven through real pseudo terminals, by typing. `Terminal` has the
command on the terminal itself; `shell` is an interactive bash on it, with the
terminal's echo off, so that what appears is what was printed.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import textwrap
import time
import uuid

import pytest

import judging
from judging import wait_until
from terminals import Terminal

PATIENCE = 20
INTERRUPT, SUSPEND = "\x03", "\x1a"
SHELL = ("bash", "--norc", "--noprofile", "--noediting", "-i")


def processes(mark):
    """Host pids of processes that have `mark` among their arguments, with their state. The doorman is no part of the
    job, and neither stops nor goes on with it."""
    found = {}
    for pid in judging.job(mark):
        with contextlib.suppress(OSError):
            found[pid] = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return found


@pytest.fixture
def shell(terminal):
    opened = terminal(*SHELL)
    opened.says("PS1=; PS2=; stty -echo; echo re''ady", "ready\r\n")
    return opened


@pytest.fixture
def mark():
    """An argument for `sleep` that no other process has."""
    return f"3{uuid.uuid4().int % 10**12}"


def running(mark, count=1):
    """Are there so many processes, the last of them past execve(2)?"""

    def started():
        found = processes(mark)
        return len(found) >= count and pathlib.Path(f"/proc/{max(found)}/comm").read_text() == "sleep\n"

    return wait_until(started)


def states(mark):
    return set(processes(mark).values())


def interrupt(shell, mark):
    """The key also discards what is typed behind it, until it has done its work."""
    shell.type(INTERRUPT)
    assert wait_until(lambda: not processes(mark))


# Keys


def test_interrupt_key_reaches_the_command_once(person, terminal):
    script = "trap 'n=$((n+1)); echo hit=$n.' INT; echo ready; while [ ! -e enough ]; do sleep 0.05; done; echo all=$n."
    screen = terminal(person.binaries / "cloche", "run", "sh", "-c", script)
    screen.expect("ready")
    for count in ("1", "2"):
        screen.type(INTERRUPT)
        screen.expect("hit=")
        assert screen.expect(".") == count
    person.file("enough")
    screen.expect("all=")
    assert screen.expect(".") == "2"


@pytest.mark.parametrize("redirection", ["", "2>log", "</dev/null >log 2>&1"])
def test_interrupt_key_ends_the_command_and_the_rest_of_the_job(shell, mark, redirection):
    shell.type(f"sleep {mark} | $cloche run sleep {mark} {redirection} | sleep {mark}\n")
    assert running(mark, 5)  # three sleeps, cloche and pid 1
    interrupt(shell, mark)
    shell.says("echo status=$?.", "status=130.")


def test_what_was_denied_is_said_of_an_interrupted_command_too(person, shell, mark):
    told = person.base / "events.jsonl"
    os.chown(person.base, person.uid, person.uid)
    shell.type(f"$cloche run --events {told} sh -c 'echo >.envrc; mkdir new; echo >new/.envrc; sleep {mark}' 2>log\n")
    assert running(mark)
    interrupt(shell, mark)
    shell.says("echo status=$?.", "status=130.")
    said = (person.project / "log").read_text()
    assert "cloche: denied:" in said and "may run outside of it later" in said
    end = json.loads(told.read_text().splitlines()[-1])
    assert (end["op"], end["status"], end["denied"]) == ("end", 130, 1)


def test_interrupt_key_ends_a_script_that_runs_one_command_after_another(person, shell, mark):
    person.file("script", f"for i in 1 2 3; do $cloche run sleep {mark}; done; echo wrong''ly\n")
    shell.type("bash script\n")
    assert running(mark, 3)
    interrupt(shell, mark)
    assert "wrongly" not in shell.says("echo status=$?.", "status=130.")


@pytest.mark.parametrize("redirection", ["", "2>log", "</dev/null >log 2>&1"])
def test_suspend_key_stops_the_job_and_it_can_be_continued(shell, mark, redirection):
    shell.type(f"$cloche run sleep {mark} {redirection}\n")
    assert running(mark, 3)
    for _ in range(3):
        shell.type(SUSPEND)
        shell.expect("Stopped")
        command = max(processes(mark))
        assert processes(mark)[command] == "T"
        shell.says("fg", "cloche run")
        assert wait_until(lambda: states(mark) == {"S"})
    interrupt(shell, mark)
    shell.says("echo status=$?.", "status=130.")


@pytest.mark.parametrize("redirection", ["", "</dev/null >log 2>&1"])
def test_keys_work_at_any_moment_of_the_start(shell, mark, redirection):
    def cloche_has_the_terminal():
        try:
            return pathlib.Path(f"/proc/{shell.foreground()}/comm").read_text() == "cloche\n"
        except OSError:
            return False

    for moment in range(20):
        shell.type(f"$cloche run sleep {mark} {redirection}\n")
        assert wait_until(cloche_has_the_terminal)
        time.sleep(moment * 0.0003)
        shell.type(SUSPEND)
        shell.expect("Stopped")
        shell.says("fg", "cloche run")
        assert wait_until(cloche_has_the_terminal)
        interrupt(shell, mark)
        shell.says("echo status=$?.", "status=130.")


def test_stopped_job_goes_on_in_the_background(person, shell):
    # Not a shell: one that is about to start a program with vfork(2) cannot be stopped, cloche or not.
    person.file("wait.py", "import os, time\nprint('ready.', flush=True)\nwhile not os.path.exists('go'):\n"
                           "    time.sleep(0.05)\nprint('went-on.')\n")
    shell.says("$cloche run python3 wait.py", "ready.")
    shell.type(SUSPEND)
    shell.expect("Stopped")
    shell.says("bg; echo prompt.", "prompt.")
    person.file("go")
    shell.expect("went-on.")
    shell.says("wait; echo status=$?.", "status=0.")


def test_job_in_the_background_is_stopped_and_continued_by_signal(shell, mark):
    shell.type(f"$cloche run sleep {mark} &\n")
    assert running(mark, 3)
    for _ in range(5):
        shell.says("kill -TSTP %1; echo sent.", "sent.")
        shell.says("while ! jobs | grep -q Stopped; do sleep 0.05; done; echo stopped.", "stopped.")
        assert processes(mark)[max(processes(mark))] == "T"
        shell.says("kill -CONT %1; echo sent.", "sent.")
        assert wait_until(lambda: states(mark) == {"S"})
    shell.says("kill %1; wait %1; echo status=$?.", f"status={128 + signal.SIGTERM}.")


def test_whole_job_is_stopped_and_continued_from_outside(shell, mark):
    shell.type(f"$cloche run sleep {mark}\n")
    assert running(mark, 3)
    for _ in range(5):
        os.killpg(shell.foreground(), signal.SIGSTOP)
        assert wait_until(lambda: states(mark) == {"T"})
        shell.expect("Stopped")
        shell.says("fg", "cloche run")
        assert wait_until(lambda: states(mark) == {"S"})
    interrupt(shell, mark)
    shell.says("echo status=$?.", "status=130.")


def test_command_that_stops_itself_stops_the_job(shell):
    """As editors do on Ctrl-Z: they catch it, tidy the screen, then stop."""
    shell.says("$cloche run sh -c 'kill -TSTP $$; echo continued.'", "Stopped")
    shell.says("fg", "continued.")


def test_command_that_stops_where_nobody_could_continue_it_goes_on(person, terminal):
    """The kernel does not stop orphaned process groups, nor should cloche."""
    screen = terminal(person.binaries / "cloche", "run", "bash", "-c", "set -m; kill -TSTP $$; echo went-on.")
    screen.expect("went-on.")


@pytest.mark.parametrize("way", ["TSTP", "STOP"])
def test_time_limit_holds_for_a_command_that_stops_itself(shell, mark, way):
    """cloche stops with it, and then keeps no time; what the command left running went on."""
    left = f"sleep {mark} & kill -{way} $$"
    shell.says(f"$cloche run --timeout 2 sh -c '{left}'", "Stopped")
    assert wait_until(lambda: processes(mark))
    shell.expect("killed after 2 seconds")
    assert not processes(mark)
    shell.says("wait %1; echo status=$?.", "status=137.")
    shell.says(f"$cloche run --timeout 60 sh -c '{left}; echo continued.'", "Stopped")
    shell.says("fg", "continued.")


def test_time_limit_ends_a_stopped_command_that_nobody_continues(person, shell, mark):
    """A script waits for cloche's end, and never for its stop."""
    person.file("script", f"$cloche run --timeout 1 sh -c 'sleep {mark} & kill -STOP $$'; echo status=$?.\n")
    shell.says("sh script", "status=137.")
    assert not processes(mark)


# A shell inside


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_interactive_shell_has_job_control(person, terminal, mark, name):
    if not shutil.which(name):
        pytest.skip(f"there is no {name}")
    quiet = {"bash": SHELL[1:], "zsh": ("-f", "-i", "+Z"), "fish": ("--no-config",)}[name]
    shell = terminal(person.binaries / "cloche", "run", name, *quiet)
    assert "job control" not in shell.says("echo re''ady", "ready\r\n")
    shell.type(f"sleep {mark}\n")
    assert running(mark)
    shell.type(SUSPEND)
    assert wait_until(lambda: states(mark) == {"T"})
    shell.says("bg; echo in-back''ground", "in-background")
    assert wait_until(lambda: states(mark) == {"S"})
    shell.type("fg\n")
    assert wait_until(lambda: all(os.getpgid(pid) == shell.foreground() for pid in processes(mark)))
    interrupt(shell, mark)
    shell.says("echo al''ive", "alive")
    shell.type("exit\n")


def test_shell_inside_stops_and_goes_on_with_job_control(shell, mark):
    shell.says("$cloche run bash --norc --noprofile --noediting -i", "bash-")
    shell.says("PS1=; echo inside", "inside")
    for _ in range(2):
        shell.says("suspend", "Stopped")
        shell.says("echo ${cloche:+outside}.", "outside.")
        shell.says("fg", "cloche run")
        shell.says("unset cloche; echo inside.", "inside.")
    shell.type(f"sleep {mark}\n")
    assert running(mark)
    interrupt(shell, mark)
    shell.says("echo status=$?.", "status=130.")
    shell.says("exit 3", "exit")
    shell.says("echo status=$?.", "status=3.")


def test_terminal_is_handed_back_to_a_caller_without_job_control(person, terminal):
    """A shell inside takes the terminal, and cannot give it back: it does not see the group it took it from."""
    person.file("script", "$cloche run bash --norc --noprofile --noediting -i\nread line; echo got=$line.\n")
    shell = terminal("sh", "script")
    group = shell.pid
    shell.says("PS1=; echo ready''.", "ready.")
    assert shell.foreground() != group, "the shell inside never took the terminal: this test would prove nothing"
    shell.type("exit\n")
    assert wait_until(lambda: shell.foreground() == group)
    shell.says("on", "got=on.")


def test_shell_started_in_the_background_does_not_take_the_terminal(shell):
    group = shell.foreground()
    shell.type("$cloche run bash --norc --noprofile --noediting -i &\n")
    shell.says("while ! jobs | grep -q Stopped; do sleep 0.05; done; echo stopped.", "stopped.")
    assert shell.foreground() == group
    shell.says("fg", "cloche run")
    shell.says("unset cloche; echo ${cloche:-inside}.", "inside.")
    shell.says("exit 4", "exit")
    shell.says("echo status=$?.", "status=4.")


# The background


def test_command_in_the_background_waits_for_the_terminal_when_it_reads(shell):
    shell.says("$cloche run sh -c 'read line; echo got=$line.' & echo prompt.", "prompt.")
    shell.says("while ! jobs | grep -q Stopped; do sleep 0.05; done; echo stopped.", "stopped.")
    shell.says("fg", "cloche run")
    shell.says("on", "got=on.")
    shell.says("echo status=$?.", "status=0.")


def test_command_in_the_background_waits_when_it_changes_the_terminal(shell):
    before = shell.settings()
    shell.says("$cloche run sh -c 'stty raw; echo changed.; kill $$' & echo prompt.", "prompt.")
    shell.says("while ! jobs | grep -q Stopped; do sleep 0.05; done; echo stopped.", "stopped.")
    assert shell.settings() == before
    shell.says("fg", "changed.")
    shell.says("echo status=$?.", "status=143.")
    assert shell.settings() == before


def test_command_brought_to_the_foreground_while_it_runs_can_read(person, shell):
    shell.says("$cloche run sh -c 'while [ ! -e go ]; do sleep 0.05; done; read line; echo got=$line.' & echo on.", "on.")
    shell.says("fg", "cloche run")
    person.file("go")
    shell.says("on", "got=on.")


def test_command_in_the_background_ends_by_itself(shell):
    shell.says("$cloche run echo from''-inside & wait; echo status=$?.", "status=0.")


def test_hangup_reaches_the_command_unless_it_is_ignored(person, terminal, mark):
    for prefix, survives in (("", False), ("nohup ", True)):
        shell = Terminal(person, SHELL)
        shell.says("PS1=; echo re''ady", "ready\r\n")
        shell.type(f"{prefix}$cloche run sleep {mark} >out 2>&1\n")
        assert running(mark, 3)
        command = max(processes(mark))
        shell.close()
        if survives:
            assert not wait_until(lambda: command not in processes(mark), 0.3)
            os.kill(command, signal.SIGTERM)
        assert wait_until(lambda: not processes(mark))


# Pipelines


def test_pipelines_work(shell):
    shell.says("printf 'a\\nb\\n' | $cloche run cat | tr a-z A-Z", "A\r\nB\r\n")
    shell.says("yes | $cloche run cat | head -1", "y\r\n")


@pytest.mark.parametrize("redirection", ["", "2>&1", "</dev/null 2>&1"])
def test_pager_behind_cloche_has_the_keyboard(shell, redirection):
    shell.resize(10, 40)
    shell.says(f"$cloche run seq 500 {redirection} | less; echo less=$?.", ":")
    shell.type("G")
    shell.expect("500")
    shell.type("q")
    shell.expect("less=0.")


# What the command sees of the terminal


def test_new_window_size_is_seen(person, terminal):
    screen = terminal(person.binaries / "cloche", "run", "sh", "-c",
                      "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done")
    screen.expect("ready")
    screen.resize(33, 77)
    screen.expect("33 77")


def test_new_window_size_is_seen_by_a_shell_inside(person, terminal):
    shell = terminal(person.binaries / "cloche", "run", *SHELL)
    shell.says("trap 'stty size' WINCH; echo re''ady", "ready\r\n")
    shell.resize(34, 78)
    shell.says("true", "34 78")


def test_terminal_has_its_names(person, terminal):
    screen = terminal(person.binaries / "cloche", "run", "sh", "-c", "echo one >/dev/tty; echo two >/dev/stderr; "
                      "echo three >/proc/self/fd/1; echo four >$(tty); tty; stty -a <$(tty) | head -1; read line </dev/tty; "
                      "echo $line.")
    for word in ("one", "two", "three", "four", "/dev/", "speed"):
        screen.expect(word)
    screen.says("typed", "typed.")


def test_command_without_a_terminal_among_its_descriptors_has_none(person, shell):
    look = "python3 -c 'open(\"/dev/tty\", \"r+b\", 0).write(b\"reached.\")'"
    shell.says(f"$cloche run {look} </dev/null >log 2>&1; echo status=$?.", "status=1.")
    assert "No such device or address" in (person.project / "log").read_text()
    shell.says(f"$cloche run {look} </dev/null >log; echo status=$?.", "status=0.")
    shell.says(f"{look} </dev/null >log 2>&1; echo status=$?.", "reached.")


def test_editor_pager_and_multiplexer_work_inside(person, terminal):
    person.file("text", "".join(f"line {n}\n" for n in range(1, 301)))
    shell = terminal(person.binaries / "cloche", "run", *SHELL)
    shell.resize(24, 80)
    shell.says("PS1=; stty -echo; echo re''ady", "ready\r\n")
    shell.says("less text; echo less=$?.", "line 23")
    shell.type("G")
    shell.expect("line 300")
    shell.type("q")
    shell.expect("less=0.")
    if shutil.which("vim"):
        shell.says("vim -u NONE -N text; echo vim=$?.", "line 1")
        shell.type("Goadded\x1b:wq\n")
        shell.expect("vim=0.")
        assert (person.project / "text").read_text().endswith("line 300\nadded\n")
    if shutil.which("tmux"):
        shell.says("tmux -f /dev/null new-session 'echo in-t''mux; read line; echo $line >typed'", "in-tmux")
        shell.says("through", "[exited]")
        assert (person.project / "typed").read_text() == "through\n"
    shell.says("stty -a | grep -c -- -echo; echo still-here.", "still-here.")


def test_session_in_tmux_outside(person):
    """The whole by keys, as in the terminal most people have open all day."""
    if not shutil.which("tmux"):
        pytest.skip("there is no tmux")
    socket = person.directory("tmux") / "socket"

    def tmux(*arguments):
        return person.call(shutil.which("tmux"), "-f", "/dev/null", "-S", socket, *arguments).stdout

    def shows(text):
        return wait_until(lambda: text in tmux("capture-pane", "-p"))

    tmux("new-session", "-d", "-x", "80", "-y", "24", f"{person.binaries}/cloche run {' '.join(SHELL)}")
    try:
        assert shows("bash-")
        tmux("send-keys", "PS1='inside> '", "Enter")
        assert shows("\ninside>")
        tmux("send-keys", "cat", "Enter")
        assert shows("inside> cat\n")
        tmux("send-keys", "typed", "Enter")
        assert shows("typed\ntyped")
        tmux("send-keys", "C-z")
        assert shows("Stopped")
        tmux("send-keys", "fg", "Enter")
        assert shows("fg\ncat")
        tmux("send-keys", "again", "Enter")
        assert shows("again\nagain")
        tmux("send-keys", "C-c")
        tmux("send-keys", "echo $((6*7)); stty size", "Enter")
        assert shows("42")
        tmux("resize-window", "-x", "70", "-y", "20")
        tmux("send-keys", "stty size", "Enter")
        assert shows("20 70")
    finally:
        tmux("kill-server")


# The terminal is afterwards what it was before


RAW = "stty raw -echo"


@pytest.mark.parametrize("ending, status", [("kill -KILL $$", 137), ("kill -TERM $$", 143), ("sh -c \"kill \\$\\$\"", 143)])
def test_settings_are_restored_when_the_command_was_killed(person, terminal, ending, status):
    person.file("script", f"stty -a >before; \"$@\" sh -c '{RAW}; touch changed; {ending}'; echo $? >status; "
                          "stty -a >after; touch done; read line\n")
    for wrapper, same in (([person.binaries / "cloche", "run"], True), (["env"], False)):
        screen = terminal("sh", "script", *wrapper)
        assert wait_until((person.project / "done").exists)
        assert (person.project / "changed").exists()
        assert (person.project / "status").read_text() == f"{status}\n"
        before, after = ((person.project / name).read_text() for name in ("before", "after"))
        assert (before == after) == same, screen.seen
        for name in ("done", "changed"):
            (person.project / name).unlink()


def test_settings_a_command_made_on_purpose_stay(shell):
    assert "-ixon" not in shell.says("stty -a; echo listed.", "listed.").split()
    assert "-ixon" in shell.says("$cloche run stty -ixon; stty -a; echo listed.", "listed.").split()


def test_settings_are_restored_when_the_command_is_killed_from_outside(person, shell, mark):
    before = shell.settings()
    shell.type(f"$cloche run sh -c '{RAW}; exec sleep {mark}'\n")
    assert wait_until(lambda: shell.settings() != before) and running(mark)
    os.kill(max(processes(mark)), signal.SIGKILL)
    shell.says("echo status=$?.", "status=137.")
    assert shell.settings() == before


def test_settings_are_restored_when_the_time_is_up(person, terminal):
    person.file("script", f"$cloche run --timeout 1 sh -c '{RAW}; sleep 60'; touch done; read line\n")
    screen = terminal("sh", "script")
    before = screen.settings()
    assert wait_until(lambda: screen.settings() != before)
    assert wait_until((person.project / "done").exists)
    assert screen.settings() == before


def test_settings_somebody_else_made_meanwhile_are_left_alone(person, shell):
    """In the background a run has no say about the terminal."""
    shell.says("$cloche run sh -c 'while [ ! -e go ]; do sleep 0.05; done' & stty -ixon; echo on.", "on.")
    person.file("go")
    shell.says("wait; stty -a", "-ixon")


def test_halted_output_and_exclusive_use_do_not_last(person, shell):
    program = person.file("halt.py", textwrap.dedent("""
        import fcntl, termios
        fcntl.ioctl(0, termios.TIOCEXCL)
        termios.tcflow(0, termios.TCOOFF)
    """))
    shell.says(f"$cloche run python3 {program}; echo status=$?.", "status=0.")
    shell.says("cat </dev/null >/dev/tty; echo status=$?.", "status=0.")


# Without namespaces


@pytest.fixture
def landlock_shell(shell, person):
    """The same shell, in which $confined runs a command with the other backend."""
    probe = person.call("cloche", "run", "-q", "--backend", "landlock", "true")
    if probe.returncode:
        pytest.skip(f"the backend landlock cannot run here: {probe.stderr}")
    shell.says('confined="$cloche run -q --backend landlock"; echo defined.', "defined.")
    return shell


def test_keys_work_without_namespaces(landlock_shell, mark):
    shell = landlock_shell
    shell.type(f"$confined sleep {mark}\n")
    assert running(mark, 3)
    for _ in range(3):
        shell.type(SUSPEND)
        shell.expect("Stopped")
        assert processes(mark)[max(processes(mark))] == "T"
        shell.says("fg", "confined sleep")
        assert wait_until(lambda: states(mark) == {"S"})
    interrupt(shell, mark)
    shell.says("echo status=$?.", "status=130.")


def test_shell_inside_works_without_namespaces(landlock_shell, mark):
    shell = landlock_shell
    shell.says("$confined bash --norc --noprofile --noediting -i", "bash-")
    shell.says("PS1=; echo inside", "inside")
    shell.type(f"sleep {mark}\n")
    assert running(mark)
    shell.type(SUSPEND)
    shell.expect("Stopped")
    shell.says("fg", "sleep")
    assert wait_until(lambda: all(os.getpgid(pid) == shell.foreground() for pid in processes(mark)))
    interrupt(shell, mark)
    shell.says("exit 5", "exit")
    shell.says("echo status=$?.", "status=5.")


def test_command_in_the_background_reads_later_without_namespaces(landlock_shell):
    shell = landlock_shell
    shell.says("$confined sh -c 'read line; echo got=$line.' & echo prompt.", "prompt.")
    shell.says("while ! jobs | grep -q Stopped; do sleep 0.05; done; echo stopped.", "stopped.")
    shell.says("fg", "confined sh")
    shell.says("on", "got=on.")


def test_nothing_is_typed_without_namespaces(landlock_shell, person):
    if not IOCTL:
        pytest.skip("the number of ioctl on this machine is not in this test")
    shell = landlock_shell
    program = person.file("typist.py", TYPIST % (IOCTL, IOCTL, IOCTL))
    shell.says(f"$confined python3 {program}", "refused=")
    assert shell.expect(".") == str(4 * (2 * 12 + 2 + 2))
    shell.says("echo after.", "after.")
    shell.says("echo after.", "after.")
    assert not (person.project / "typed").exists()


# Attacks


TYPIST = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
own = [os.open("/dev/tty", os.O_RDWR), 0, 1, 2]
refused = 0
for fd in own:
    for request in (0x5412, 0xdeadbeef00005412):
        for character in b"touch typed\\n":
            byte = ctypes.create_string_buffer(bytes([character]))
            if libc.syscall(%d, fd, ctypes.c_ulong(request), byte) < 0:
                refused += ctypes.get_errno() == 1
    for request in (0x541c, 0xdeadbeef0000541c):
        if libc.syscall(%d, fd, ctypes.c_ulong(request), ctypes.create_string_buffer(b"\\3" * 64)) < 0:
            refused += ctypes.get_errno() == 1
    for request in (0x5423, 0xdeadbeef00005423):
        if libc.syscall(%d, fd, ctypes.c_ulong(request), ctypes.byref(ctypes.c_int(0))) < 0:
            refused += ctypes.get_errno() == 1
print(f"refused={refused}.")
"""


def kernel_lets_programs_type():
    """Newer kernels can be told not to."""
    setting = pathlib.Path("/proc/sys/dev/tty/legacy_tiocsti")
    return not setting.exists() or setting.read_text() == "1\n"


IOCTL = {"x86_64": 16, "aarch64": 29}.get(os.uname().machine)


@pytest.mark.skipif(not IOCTL, reason="the number of ioctl on this machine is not in this test")
def test_nothing_is_typed_into_the_shell_outside(person, shell):
    program = person.file("typist.py", TYPIST % (IOCTL, IOCTL, IOCTL))
    shell.says(f"$cloche run python3 {program}", "refused=")
    assert shell.expect(".") == str(4 * (2 * 12 + 2 + 2))
    shell.says("echo after.", "after.")
    shell.says("echo after.", "after.")
    assert not (person.project / "typed").exists()
    if kernel_lets_programs_type():
        shell.says(f"python3 {program}", "refused=")
        assert wait_until((person.project / "typed").exists), "the attack does not work outside either"


def test_what_the_command_leaves_running_cannot_use_the_terminal(person, shell, mark):
    """It is dead before the shell has the terminal again (60)."""
    thief = f"setsid sh -c 'while read line; do echo stolen=$line.; done; sleep {mark}' <&3 & sleep {mark} &"
    shell.says(f"$cloche run bash -c \"exec 3<&0; {thief} echo started.\"; echo ended.", "ended.")
    assert not processes(mark)
    assert "stolen" not in shell.says("echo mine.", "mine.")


def test_group_of_the_caller_cannot_be_signalled_or_slowed(person, shell, mark):
    """The command may share the caller's process group, and 0 names one's own group."""
    person.file("hit.py", "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                          "os.kill(0, signal.SIGTERM)\nprint('hit.')\n")
    shell.says(f"sleep {mark} | $cloche run python3 hit.py {mark}-hit", "hit.")
    assert wait_until(lambda: not processes(f"{mark}-hit"))
    assert running(mark)
    interrupt(shell, mark)
    shell.says('echo "${PIPESTATUS[*]}."', "130 0.")
