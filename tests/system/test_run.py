"""cloche run: the command's life, from its start to its end.

Statuses, signals, the terminal, what the command inherits, and that nothing of
it is left afterwards. What it may touch is test_jail.py's subject.
"""

import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import uuid

import pytest

PATIENCE = 20


def as_person(person):
    return {} if os.geteuid() else {"user": person.uid, "group": person.uid, "extra_groups": []}


def start(person, *arguments, **keywords):
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords}
    return subprocess.Popen([person.binaries / "cloche", *arguments], cwd=person.project, env=person.environment,
                            text=True, **options, **as_person(person))


def sleepers(mark):
    """Host pids of processes that were started with `mark` among their arguments."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def mark():
    """An argument for `sleep` that no other process has."""
    return f"3{uuid.uuid4().int % 10**12}"


# Statuses


@pytest.mark.parametrize("status", [0, 1, 42, 125, 255])
def test_status_is_the_commands_own(person, status):
    answer = person.cloche("run", "sh", "-c", f"echo out; echo err >&2; exit {status}")
    assert (answer.returncode, answer.stdout, answer.stderr) == (status, "out\n", "err\n")


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "USR1"])
def test_death_by_signal_is_128_and_its_number(person, name):
    answer = person.cloche("run", "sh", "-c", f"kill -{name} $$; sleep 5")
    assert answer.returncode == 128 + getattr(signal, f"SIG{name}")


def test_unknown_command_is_127_and_named(person):
    answer = person.cloche("run", "no-such-command-here")
    assert answer.returncode == 127
    assert answer.stderr.startswith("cloche: cannot run no-such-command-here: no such command")


def test_command_that_exists_but_is_hidden_is_127(person):
    person.file("../tool", "#!/bin/sh\necho ran\n").chmod(0o755)
    assert person.cloche("run", "../tool").returncode == 127
    assert person.cloche("run", "--allow-read", "../tool", "../tool").stdout == "ran\n"


def test_file_that_is_not_executable_is_126_and_named(person):
    person.file("data", "text\n")
    answer = person.cloche("run", "./data")
    assert answer.returncode == 126
    assert "cannot run ./data: Permission denied" in answer.stderr


def test_missing_interpreter_is_127_and_blamed(person):
    person.file("script", "#!/no/such/interpreter\n").chmod(0o755)
    answer = person.cloche("run", "./script")
    assert answer.returncode == 127
    assert "interpreter" in answer.stderr


def test_script_without_interpreter_line_is_run_by_the_shell(person):
    person.file("script", 'echo "$0 $1"\n').chmod(0o755)
    assert person.cloche("run", "./script", "one").stdout == "./script one\n"


def test_command_is_looked_up_in_the_path_of_the_sandbox(person):
    person.file("tools/hello", "#!/bin/sh\necho hello\n").chmod(0o755)
    path = f"{person.project}/tools:/usr/bin:/bin"
    assert person.cloche("run", "hello").returncode == 127
    assert person.cloche("run", "--env", f"PATH={path}", "hello").stdout == "hello\n"


def test_hidden_working_directory_is_refused_before_anything_runs(person):
    hidden = person.directory("project/hidden")
    made = person.project / "made"
    answer = person.cloche("run", "-C", person.project, "--deny-read", hidden, "touch", made, cwd=hidden)
    assert answer.returncode == 125
    assert "working directory" in answer.stderr and str(hidden) in answer.stderr
    assert not made.exists()
    answer = person.cloche("run", "-C", person.project, "touch", made, cwd=hidden)
    assert answer.returncode == 0 and made.exists()


def test_arguments_arrive_byte_for_byte(person):
    arguments = ["a b", "", "*", "$HOME", "new\nline", "--", "-c", "\udcff"]
    answer = person.cloche("run", "printf", "%s|", *arguments)
    assert answer.stdout == "".join(f"{argument}|" for argument in arguments)


def test_standard_input_and_output_are_the_callers(person):
    answer = person.cloche("run", "tr", "a-z", "A-Z", stdin=None, input="through\n")
    assert answer.stdout == "THROUGH\n"


def test_closed_standard_descriptors_do_no_harm(person):
    cloche = person.binaries / "cloche"
    answer = person.call("cloche", "run", "true")
    assert answer.returncode == 0
    done = subprocess.run(["sh", "-c", f'exec "{cloche}" run sh -c "cat; echo done >&2" <&- >&-'], cwd=person.project,
                          env=person.environment, capture_output=True, text=True, timeout=PATIENCE,
                          **as_person(person))
    assert (done.returncode, done.stderr) == (0, "done\n")


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_directory_as_standard_descriptor_is_refused(person, descriptor):
    """It would lead around every mount: openat(0, "../..")."""
    directory = os.open(person.home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        made = person.project / "made"
        answer = person.cloche("run", "touch", made, **{("stdin", "stdout", "stderr")[descriptor]: directory})
        assert answer.returncode == 125
        assert not made.exists()
    finally:
        os.close(directory)


# Time


def test_timeout_kills_and_says_so(person, mark):
    before = time.monotonic()
    answer = person.cloche("run", "--timeout", "1", "sh", "-c", f"sleep {mark} & sleep {mark}")
    assert answer.returncode == 128 + signal.SIGKILL
    assert 0.9 < time.monotonic() - before < PATIENCE
    assert "killed after 1 second" in answer.stderr
    assert not sleepers(mark)


# Signals


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH"])
def test_signal_sent_to_cloche_reaches_the_command(person, name):
    script = f"trap 'echo got; exit 7' {name}; echo ready; while :; do sleep 0.05; done"
    process = start(person, "run", "sh", "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, f"SIG{name}"))
    output, _ = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("got\n", 7)


def test_signal_that_kills_the_command_gives_its_status(person):
    process = start(person, "run", "sh", "-c", "echo ready; exec sleep 60")
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_ignored_signals_stay_ignored_and_the_mask_is_the_callers(person):
    script = "grep -E '^Sig(Ign|Blk)' /proc/self/status"
    wrapper = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]

    def status(command):
        return subprocess.run([*wrapper, *command], cwd=person.project, env=person.environment, capture_output=True,
                              text=True, timeout=PATIENCE, **as_person(person)).stdout

    plain = status(["sh", "-c", script])
    assert int(plain.split()[-1], 16) & 1 << (signal.SIGHUP - 1)
    assert status([person.binaries / "cloche", "run", "sh", "-c", script]) == plain


# Nothing survives


def test_what_the_command_leaves_behind_is_killed_before_the_status_is_reported(person, mark):
    escape = f"setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' </dev/null >/dev/null 2>&1 & sleep 0.2; echo started"
    process = start(person, "run", "sh", "-c", f"{escape}; read line", stdin=subprocess.PIPE)
    assert process.stdout.readline() == "started\n"
    assert sleepers(mark), "the background process never ran: this test would prove nothing"
    process.communicate("\n", timeout=PATIENCE)
    assert process.returncode == 0
    assert not sleepers(mark)


def test_killing_cloche_ends_everything_within_a_second(person, mark):
    process = start(person, "run", "sh", "-c", f"setsid sleep {mark} & sleep {mark} & echo started; wait")
    assert process.stdout.readline() == "started\n"
    assert wait_until(lambda: len(sleepers(mark)) == 2)
    process.kill()
    process.wait(PATIENCE)
    assert wait_until(lambda: not sleepers(mark), 1)


def test_killing_pid_1_from_outside_ends_the_run_and_is_said(person, mark):
    process = start(person, "run", "sleep", mark)
    assert wait_until(lambda: len(sleepers(mark)) == 3)  # cloche, pid 1 and the command
    pid_1 = next(pid for pid in sleepers(mark) if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
                 .split()[1] == str(process.pid))
    os.kill(pid_1, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGKILL
    assert "killed" in errors
    assert not sleepers(mark)


def test_a_run_leaves_no_mount_no_file_and_no_process(person, mark):
    def surroundings():
        return pathlib.Path("/proc/self/mountinfo").read_text(), sorted(person.base.rglob("*"))

    places = [f"{directory}/{mark}" for directory in ("/tmp", "/var/tmp", "/dev/shm", "/run")]
    mounts, files = surroundings()
    answer = person.cloche("run", "sh", "-c", f"touch made {' '.join(places)}; ls {' '.join(places)}")
    assert sorted(answer.stdout.split()) == sorted(places), answer.stderr
    assert surroundings() == (mounts, sorted([*files, person.project / "made"]))
    assert not any(map(os.path.exists, places))
    assert not sleepers(mark)


def test_a_killed_run_leaves_the_tree_as_it_was(person, mark):
    person.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    tree = lambda: sorted((str(path), path.lstat().st_mode, path.lstat().st_ino) for path in person.base.rglob("*"))
    before = tree()
    process = start(person, "run", "sh", "-c", f"echo started; exec sleep {mark}")
    assert process.stdout.readline() == "started\n"
    assert tree() == before
    process.kill()
    process.wait(PATIENCE)
    assert wait_until(lambda: not sleepers(mark), 1)
    assert tree() == before


# The terminal


class Terminal:
    """A session of its own on a pseudo terminal, with `command` in the foreground."""

    def __init__(self, person, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                if os.geteuid() == 0:
                    os.fchown(0, person.uid, -1)
                    os.setgroups([])
                    os.setgid(person.uid)
                    os.setuid(person.uid)
                os.chdir(person.project)
                os.execvpe(command[0], [str(word) for word in command], {**person.environment, "TERM": "dumb"})
            finally:
                os._exit(99)
        self.seen = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text):
        """Reads on until `text` appears; returns what came before it."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            readable, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert readable, f"{text!r} did not appear in {self.seen!r}"
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                data = b""
            assert data, f"the terminal was closed before {text!r} appeared in {self.seen!r}"
            self.seen += data.decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

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


@pytest.fixture
def terminal(person):
    opened = []

    def open_terminal(*command):
        opened.append(Terminal(person, command))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


def test_interrupt_key_reaches_the_command_once(person, terminal):
    script = "n=0; trap 'n=$((n+1))' INT; echo ready; sleep 0.3; sleep 0.3; sleep 0.3; echo count=$n."
    screen = terminal(person.binaries / "cloche", "run", "sh", "-c", script)
    screen.expect("ready")
    screen.type("\x03")
    assert screen.expect("count=") is not None
    assert screen.expect(".") == "1"


def test_suspend_key_stops_the_job_and_it_can_be_continued(person, terminal):
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type(f"PS1=; {person.binaries}/cloche run sh -c 'echo re''ady; read line; echo got=$line.'\n")
    shell.expect("ready")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("fg\n")
    shell.expect("cloche run")
    shell.type("on\n")
    shell.expect("got=on.")
    shell.type("exit\n")


def test_command_that_stops_itself_stops_the_job(person, terminal):
    """As editors do on Ctrl-Z: they catch it, tidy the screen, then stop."""
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type(f"PS1=; {person.binaries}/cloche run sh -c 'kill -TSTP $$; echo conti''nued.'\n")
    shell.expect("Stopped")
    shell.type("fg\n")
    shell.expect("continued.")
    shell.type("exit\n")


def test_background_job_that_reads_the_terminal_is_stopped_and_can_be_brought_back(person, terminal):
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type(f"PS1=; {person.binaries}/cloche run sh -c 'read line; echo got=$line.' & sleep 0.5; jobs\n")
    shell.expect("Stopped")
    shell.type("fg\n")
    shell.expect("cloche run")
    shell.type("on\n")
    shell.expect("got=on.")
    shell.type("exit\n")


def test_command_stopped_and_continued_from_inside_ends_as_usual(person):
    script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; echo continued; exit 4"
    answer = person.cloche("run", "sh", "-c", script)
    assert (answer.stdout, answer.returncode) == ("continued\n", 4)


def test_ignored_child_signal_does_no_harm(person):
    script = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(["/usr/bin/python3", "-c", script, person.binaries / "cloche", "run", "sh", "-c", "exit 6"],
                          cwd=person.project, env=person.environment, timeout=PATIENCE, **as_person(person))
    assert done.returncode == 6


def test_interactive_shell_has_job_control(person, terminal):
    shell = terminal(person.binaries / "cloche", "run", "bash", "--norc", "--noprofile", "-i")
    shell.type("PS1=; echo re''ady\n")
    shell.expect("ready")
    assert "no job control" not in shell.seen
    shell.type("sleep 100\n")
    time.sleep(0.3)
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("kill %1; echo al''ive\n")
    shell.expect("alive")
    shell.type("exit 3\n")


def test_new_window_size_is_seen(person, terminal):
    screen = terminal(person.binaries / "cloche", "run", "sh", "-c",
                      "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done")
    screen.expect("ready")
    fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    screen.expect("33 77")


def test_terminal_can_be_written_through_its_names(person, terminal):
    screen = terminal(person.binaries / "cloche", "run", "sh", "-c",
                      "echo one >/dev/tty; echo two >/dev/stderr; echo three >/proc/self/fd/1")
    for word in ("one", "two", "three"):
        screen.expect(word)


def test_killed_command_leaves_the_terminal_usable(person, terminal):
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type(f"PS1=; {person.binaries}/cloche run sh -c 'stty -echo -icanon; kill -9 $$'; echo re''stored\n")
    shell.expect("restored")
    shell.type("stty -a | tr ' ' '\\n' | grep echo$; echo li''sted\n")
    assert "-echo" not in shell.expect("listed").split()
    shell.type("exit\n")


def test_mode_that_a_command_set_on_purpose_stays(person, terminal):
    shell = terminal("sh")
    shell.type(f"PS1=; {person.binaries}/cloche run stty -echo; stty -a; echo li''sted\n")
    assert "-echo" in shell.expect("listed").split()
    shell.type("exit\n")


def test_terminal_is_taken_back_from_a_shell_that_was_killed(person, terminal):
    """Else the next program that reads from it would be stopped."""
    inner = f"{person.binaries}/cloche run bash --norc --noprofile -ic \"kill -9 \\$\\$\""
    shell = terminal("sh", "-c", f"{inner}; echo back; read line; echo got=$line.")
    shell.expect("back")
    shell.type("on\n")
    shell.expect("got=on.")


# What the command is given


def test_descriptors_beyond_the_standard_three_are_closed(person):
    look = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"
    reader, writer = os.pipe()
    try:
        plain = subprocess.run(["/usr/bin/python3", "-c", look], pass_fds=[writer], capture_output=True, text=True)
        assert str(writer) in plain.stdout
        answer = person.cloche("run", "/usr/bin/python3", "-c", look, pass_fds=[writer])
        assert answer.stdout == "[0, 1, 2, 3]\n"  # 3 is the listing itself
    finally:
        os.close(reader)
        os.close(writer)


def test_umask_and_limits_are_the_callers(person):
    done = subprocess.run(["sh", "-c", f'umask 027; ulimit -n 200; "{person.binaries}/cloche" run '
                           'sh -c "umask; ulimit -n; ulimit -Hc; touch made"'], cwd=person.project,
                          env=person.environment, capture_output=True, text=True, timeout=PATIENCE,
                          **as_person(person))
    assert done.stdout.split()[:2] == ["0027", "200"], done.stderr
    assert (person.project / "made").stat().st_mode & 0o777 == 0o640


def test_environment_is_the_plans_and_nothing_else(person):
    answer = person.cloche("run", "--env", "ADDED=yes", "env", environment={"SOME_TOKEN": "secret", "PLAIN": "here"})
    lines = answer.stdout.splitlines()
    assert "ADDED=yes" in lines and "PLAIN=here" in lines
    assert "secret" not in answer.stdout


def test_policy_of_a_thousand_masks_runs_where_few_files_may_be_open(person):
    names = [f"secret-{number}" for number in range(1000)]
    for name in names:
        person.file(name, "")
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "filesystem": {"denyRead": names}})

    def run(limits):
        words = f'{limits}; exec "{person.binaries}/cloche" run --settings {policy} sh -c "ulimit -Sn; cat secret-999"'
        return subprocess.run(["sh", "-c", words], cwd=person.project, env=person.environment, capture_output=True,
                              text=True, timeout=PATIENCE,
                              **as_person(person))

    answer = run("ulimit -Sn 200")
    assert answer.stdout == "200\n"
    assert "Permission denied" in answer.stderr
    answer = run("ulimit -n 200")
    assert answer.returncode == 125
    assert "open files" in answer.stderr and answer.stdout == ""
