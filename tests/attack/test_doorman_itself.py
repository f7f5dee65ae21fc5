"""Attacks on the doorman as a process (E 68-70; H 105, 109): floods, waiting crowds, signals, its death.

It is found from outside: a process of cloche's that has threads, which neither the supervisor nor pid 1 inside has."""

import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest

from attacking import OK, PATIENCE, unchanged
from judging import wait_until

CAP_SYS_PTRACE = 1 << 19


@pytest.fixture
def backend():
    return "namespaces"


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def threads_of(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


class Running:
    """A run that says "ready" and then does what it is told by a file."""

    def __init__(self, jail, script):
        self.jail = jail
        command = jail.command("bash", "-c", f"echo ready; {script}")
        # Else bash asks who its user is, and with that for a socket.
        environment = {**jail.person.environment, "SHELL": "/bin/bash"}
        self.process = subprocess.Popen([jail.person.binaries / "cloche", *command], cwd=jail.person.project,
                                        env=environment, stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **jail.identity())
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def family(self, pid=None):
        pid = pid or self.process.pid
        found = [pid]
        with contextlib.suppress(OSError):  # some are gone by now
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                for child in (task / "children").read_text(encoding="ascii").split():
                    found += self.family(int(child))
        return found

    def doorman(self):
        """Once it has settled in."""
        binary = os.readlink(f"/proc/{self.process.pid}/exe")
        found = []

        def settled():
            found[:] = [pid for pid in self.family() if program_of(pid) == binary and threads_of(pid) > 1]
            return found

        wait_until(settled)
        assert len(found) == 1, found
        return found[0]

    def unsettled_doorman(self):
        """The one that is neither the supervisor nor in its namespaces like pid 1."""
        outside = os.readlink(f"/proc/{self.process.pid}/ns/user")
        found = [pid for pid in self.family() if pid != self.process.pid and threads_of(pid) == 1
                 and os.readlink(f"/proc/{pid}/ns/user") == outside]
        assert len(found) == 1, found
        return found[0]


def status_of(task):
    lines = (task / "status").read_text(encoding="ascii").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_e69_a_killed_doorman_ends_the_run_and_lets_nothing_through(jail):
    project = jail.person.project
    with Running(jail, "while sleep 0.02; do echo x >made; echo evil >.bashrc; done 2>/dev/null") as run:
        time.sleep(0.3)
        assert (project / "made").exists()
        os.kill(run.doorman(), signal.SIGKILL)
        said, complaints = run.process.communicate(timeout=PATIENCE)
    assert run.process.returncode not in (0, None) and "cloche:" in complaints, (said, complaints)
    assert not (project / ".bashrc").exists()


def test_e69_a_doorman_that_does_not_answer_ends_the_run_and_opens_nothing(jail):
    """Stopped by the host. Another one, stopped where nobody asks anything of it, does no harm."""
    project = jail.person.project
    # The last call comes when it is stopped already: it may have taken up all that came before.
    several = ("for i in 1 2 3 4; do while sleep 0.02; do echo evil >.bashrc; done 2>/dev/null & done; "
               "(sleep 5; echo evil >.bashrc) 2>/dev/null & wait")
    with Running(jail, several) as run, Running(jail, "echo x >made; echo asked; sleep 12; echo still there") as other:
        assert other.process.stdout.readline() == "asked\n"
        stopped = [run.doorman(), other.doorman()]
        for doorman in stopped:
            os.kill(doorman, signal.SIGSTOP)
        said, complaints = run.process.communicate(timeout=PATIENCE)
        calm, _ = other.process.communicate(timeout=PATIENCE)
    assert run.process.returncode not in (0, None)
    assert "cloche: the doorman does not answer" in complaints, complaints
    assert (calm, other.process.returncode) == ("still there\n", 0)
    assert not (project / ".bashrc").exists()
    assert not [pid for pid in stopped if os.path.exists(f"/proc/{pid}/fd/0")], "both are gone"


def test_h105_the_doorman_holds_no_capability_but_to_read_arguments_and_stands_under_a_filter(jail):
    with Running(jail, "echo x >made; echo asked; sleep 20") as run:
        assert run.process.stdout.readline() == "asked\n"
        threads = pathlib.Path(f"/proc/{run.doorman()}/task")

        def all_have_begun():  # the one that starts the others lays its capability down by itself
            return [status_of(task)["CapEff"] for task in threads.iterdir()].count(f"{CAP_SYS_PTRACE:016x}") <= 2

        wait_until(all_have_begun)
        tasks = [status_of(task) for task in threads.iterdir()]
        held = [int(task["CapEff"], 16) for task in tasks]
        # The reader has it, and the thread that starts the others; those who perform have none.
        assert set(held) == {0, CAP_SYS_PTRACE} and held.count(CAP_SYS_PTRACE) <= 2, held
        assert {task["Seccomp"] for task in tasks} == {"2"} and {task["NoNewPrivs"] for task in tasks} == {"1"}


def test_h105_where_only_a_terminal_and_null_are_asked_for_the_doorman_holds_nothing_and_enters_nothing(jail):
    """As bash does when it begins, and as many commands of agents do. What the command has got is what it has outside.
    The next call is answered by one who has settled in."""
    project = jail.person.project
    look = ("exec 5>/dev/null 6>>/dev/null 7<>/dev/null && for n in 5 6 7; do echo x >&$n && readlink /proc/self/fd/$n && "
            "while read -r key value; do [ $key = flags: ] && echo $value; done </proc/self/fdinfo/$n; done; "
            "(: >/dev/tty) 2>/dev/null; echo $?; ")
    script = "echo; until [ -e go ]; do sleep 0.02; done; echo x >made; echo evil >.bashrc; cat made; sleep 20"
    outside = subprocess.run(["setsid", "bash", "-c", look], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert outside.count("/dev/null\n") == 3 and outside.endswith("\n1\n")
    with Running(jail, look + script) as run:
        assert "".join(iter(run.process.stdout.readline, "\n")) == outside
        waiting = run.unsettled_doorman()
        status = status_of(pathlib.Path(f"/proc/{waiting}"))
        assert (int(status["CapEff"], 16), int(status["CapPrm"], 16), status["NoNewPrivs"]) == (0, 0, "1")
        (project / "go").touch()
        assert run.process.stdout.readline() == "x\n"
        assert run.doorman() == waiting
    assert not (project / ".bashrc").exists()


def test_e69_who_has_used_up_all_processes_waits_for_the_doorman_and_is_served(jail):
    """Its threads are processes to that limit, and the first call that it needs them for comes when there are none left."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (100, 100))

    # Whose end nobody has to wait for: they make room two seconds later.
    script = ("import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
              "os.open('/dev/null', os.O_WRONLY)\nleft = 0\ntry:\n"
              "    for left in range(150, 0, -1):\n        if os.fork() == 0:\n            time.sleep(2)\n            os._exit(0)\n"
              "except OSError:\n    pass\nopen('made', 'w').write('x')\n"
              "try:\n    open('.bashrc', 'w')\nexcept PermissionError:\n    print('some could not be made:', left > 1)")
    answer = jail.run("python3", "-Sc", script, preexec_fn=limit)
    assert answer.stdout == f"some could not be made: {jail.person.uid != 0}\n", answer
    assert (jail.person.project / "made").read_text(encoding="ascii") == "x"
    assert not (jail.person.project / ".bashrc").exists()


def test_e69_a_file_without_a_name_on_a_device_is_an_error_and_no_more(jail):
    """As outside. The doorman's own library would have it die of that, for want of a mode."""
    script = ("import errno, os\nos.mkfifo('fifo')\nopen('plain', 'w').close()\n"
              "for path in '/dev/null', '/dev/zero', 'fifo', 'plain':\n    for flags in os.O_WRONLY, os.O_RDWR:\n"
              "        try: os.open(path, flags | os.O_TMPFILE, 0o600)\n"
              "        except OSError as error: print(errno.errorcode[error.errno])\n"
              "open('made', 'w').write('still served')")
    answer = jail.run("python3", "-Sc", script)
    assert answer.stdout == "ENOTDIR\n" * 8, answer
    assert (jail.person.project / "made").read_text(encoding="ascii") == "still served"


def test_a_set_id_mode_is_refused_and_told_of_whatever_the_name_and_whenever_it_comes(jail):
    """Also for /dev/null, where nothing would come of it, and as the first call of a run."""
    script = ("import errno, os\nfor mode in 0o4666, 0o666:\n"
              "    try: os.open('/dev/null', os.O_WRONLY | os.O_CREAT, mode)\n"
              "    except OSError as error: print(errno.errorcode[error.errno])\n    else: print('opened')")
    answer = jail.run("python3", "-Sc", script)
    assert answer.stdout == "EPERM\nopened\n" and "system call openat" in answer.stderr, answer


def test_e69_a_doorman_whom_nobody_can_ask_any_more_takes_no_time(jail):
    """The supervisor, stopped, does not end it: it would be asked by nobody, for ever, and be told so at once."""
    def seconds_of(pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    for script in ("sleep 0.3", "echo x >made; sleep 0.3"):
        with Running(jail, script) as run:
            found = [pid for pid in run.family() if pid != run.process.pid]
            os.kill(run.process.pid, signal.SIGSTOP)
            time.sleep(0.6)
            left = [pid for pid in found if os.path.exists(f"/proc/{pid}")]
            before = {pid: seconds_of(pid) for pid in left}
            time.sleep(0.7)
            assert left and max(seconds_of(pid) - before[pid] for pid in left) < 0.2
            os.kill(run.process.pid, signal.SIGCONT)
            run.process.communicate(timeout=PATIENCE)


def test_h105_the_doorman_is_not_seen_inside(jail):
    answer = jail.run("bash", "-c", "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done")
    lines = [line for line in answer.stdout.splitlines() if line.strip()]
    assert len([line for line in lines if "cloche" in line]) <= 1, lines
    script = ("import os\nfor pid in range(2, 400):\n    for rest in ('mem', 'fd/3', 'cwd/x', 'root/x'):\n"
              "        if pid == os.getpid() or not os.path.exists(f'/proc/{pid}'): continue\n"
              "        try: os.open(f'/proc/{pid}/{rest}', os.O_WRONLY | os.O_CREAT); print('opened', pid, rest)\n"
              "        except OSError: pass\nprint('done')")
    assert jail.run("python3", "-c", script).stdout == "done\n"


# The last is what a login has on many systems: each who waits may take three or four of them.
@pytest.mark.parametrize("waiting, descriptors", [(10, None), (150, None), (230, 1024)])
def test_e69_callers_that_wait_hold_nobody_up(jail, waiting, descriptors):
    def limit():
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    started = time.monotonic()
    found = jail.attacks(["wait-in-fifo", "fifo", waiting], ["create", "made", "fine"], ["mkdir", "dir"],
                         ["rename", "made", "dir/made"], ["create", ".bashrc", "evil"],
                         ["create-in-crowd", "dir/crowd", 8], preexec_fn=limit)
    assert found[:4] == [OK] * 4 and found[4].verdict in ("EACCES", "EPERM", "EROFS"), found
    assert found[5].shown == "0"
    # And they are gone with the run, at once.
    assert time.monotonic() - started < PATIENCE


def test_e69_a_flood_of_calls_is_answered_to_the_last(jail):
    jail.person.directory(jail.person.project / "deep")
    with unchanged(jail.person.project / "deep"):
        found = jail.attacks(["create-in-crowd", "file", 200], ["create", "deep/.bashrc", "evil"])
    assert found[0].shown == "0" and found[1].verdict in ("EACCES", "EPERM", "EROFS")
    assert os.listdir(jail.person.project) == ["deep"]


def test_e68_signals_do_not_make_calls_fail_that_nobody_has_to_judge(jail):
    assert jail.attack("work-in-rain", 300).shown == "0"


def test_h109_namespaces_of_its_own_are_not_had_together_with_the_doorman(jail):
    """A mount namespace of the command's could show .git under another name."""
    policy = jail.person.file(jail.person.base / "policy.json", jail.policy(allowNestedUserNamespaces=True))
    answer = jail.person.cloche("run", "--settings", policy, "true")
    assert answer.returncode == 125 and "allowNestedUserNamespaces" in answer.stderr, answer
    assert jail.run("true").returncode == 0


def test_two_runs_in_one_directory_do_not_wait_for_each_other(jail):
    """One that holds a lock for long must not hold up the other: here both work at once."""
    with Running(jail, "while :; do echo x >one; mv one two; mkdir d; mv d e; rmdir e; done 2>/dev/null"):
        started = time.monotonic()
        found = jail.attacks(*[["create", f"f{number}", "x"] for number in range(100)],
                             *[["rename", f"f{number}", f"g{number}"] for number in range(100)])
        assert set(found) == {OK} and time.monotonic() - started < PATIENCE
