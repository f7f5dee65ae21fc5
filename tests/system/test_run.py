"""cloche run: the command's life, from its start to its end.

Statuses, signals, what the command inherits, and that nothing of it is left
afterwards. What it may touch is test_jail.py's subject, how it shares the
terminal test_terminal.py's.
"""

import os
import pathlib
import signal
import subprocess
import time
import uuid

import pytest

from judging import as_person, job, processes, start, wait_until

PATIENCE = 20


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
    assert "cannot run ./data: Permission denied: it is not executable; chmod +x it" in answer.stderr
    person.directory(person.project / "directory")
    answer = person.cloche("run", "./directory")
    assert answer.returncode == 126
    assert "cannot run ./directory: Permission denied: it is a directory\n" in answer.stderr
    # Executable, and refused by other means: nobody is led astray.
    person.file("foreign", "\x7fELF, but not really\n").chmod(0o711)
    assert "it is not executable" not in person.cloche("run", "./foreign").stderr


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


def test_closed_standard_descriptors_stay_useless_and_nothing_else_takes_their_place(person):
    cloche = person.binaries / "cloche"
    look = "links=$(readlink /proc/$$/fd/0 /proc/$$/fd/1); echo $links >&2; echo lost || echo unwritable >&2; read line || echo unread >&2"
    done = subprocess.run(["sh", "-c", 'exec "$0" run sh -c "$1" <&- >&-', cloche, look], cwd=person.project,
                          env=person.environment, capture_output=True, text=True, timeout=PATIENCE,
                          **as_person(person))
    lines = [line for line in done.stderr.splitlines() if not line.startswith("sh: ")]
    assert (done.returncode, lines) == (0, ["/dev/null /dev/null", "unwritable", "unread"])


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
    assert not processes(mark, whole=True)


# Signals


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "TERM", "WINCH", "CONT",
                                  "VTALRM", "PROF", "IO", "PWR", "URG", "RTMIN", "RTMAX"])
def test_signal_sent_to_cloche_reaches_the_command(person, name):
    script = f"trap 'echo got; exit 7' {name}; echo ready; while :; do sleep 0.05; done"
    process = start(person, "run", "sh", "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, f"SIG{name}"))
    output, _ = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("got\n", 7)


def test_signal_sent_to_cloche_is_not_for_the_commands_children(person):
    script = "sh -c 'trap \"echo child\" USR1; while :; do sleep 0.05; done' & child=$!; trap 'echo got; sleep 0.3; " \
             "kill -9 $child; exit 0' USR1; sleep 0.3; echo ready; while :; do sleep 0.05; done"
    process = start(person, "run", "sh", "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.communicate(timeout=PATIENCE)[0] == "got\n"


def test_signal_sent_to_the_process_group_reaches_the_command_and_its_children_once(person):
    child = "trap 'echo child' TERM; echo; while :; do sleep 0.05; done"
    script = f"trap 'echo got' TERM; sh -c \"{child}\" & child=$!; read line; kill -9 $child; exit 0"
    process = start(person, "run", "bash", "-c", script, stdin=subprocess.PIPE, preexec_fn=os.setpgrp)
    assert process.stdout.readline() == "\n"
    os.killpg(process.pid, signal.SIGTERM)
    assert sorted([process.stdout.readline(), process.stdout.readline()]) == ["child\n", "got\n"]
    assert process.communicate("\n", timeout=PATIENCE)[0] == ""
    assert process.returncode == 0


def test_alarm_the_caller_has_set_ends_the_command(person):
    """A program's run time is often bounded so: alarm(2), then execve(2)."""
    process = start(person, "run", "sleep", "60", preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 0.3))
    assert process.wait(PATIENCE) == 128 + signal.SIGALRM


def test_stop_and_continue_without_a_terminal(person, mark):
    process = start(person, "run", "sleep", mark, preexec_fn=os.setpgrp)
    assert wait_until(lambda: len(job(mark)) == 3)
    command = max(job(mark))
    state = lambda pid: pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    for _ in range(3):
        process.send_signal(signal.SIGTSTP)
        assert wait_until(lambda: (state(command), state(process.pid)) == ("T", "T"))
        process.send_signal(signal.SIGCONT)
        assert wait_until(lambda: (state(command), state(process.pid)) == ("S", "S"))
    process.terminate()
    assert process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_command_that_stops_and_goes_on_without_a_terminal_is_left_to_itself(person):
    answer = person.cloche("run", "sh", "-c", "(sleep 0.2; kill -CONT $$) & kill -STOP $$; echo went on")
    assert answer.stdout == "went on\n"


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


def test_ignored_child_signal_does_no_harm(person):
    script = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(["/usr/bin/python3", "-c", script, person.binaries / "cloche", "run", "sh", "-c", "exit 6"],
                          cwd=person.project, env=person.environment, timeout=PATIENCE, **as_person(person))
    assert done.returncode == 6


@pytest.mark.parametrize("blocked", [set(), {signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGTTOU}])
def test_blocked_signals_are_the_callers(person, blocked):
    look = "import signal; print(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))"
    process = start(person, "run", "/usr/bin/python3", "-c", look,
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, blocked))
    assert process.communicate(timeout=PATIENCE)[0] == f"{sorted(map(int, blocked))}\n"


# Nothing survives


def test_what_the_command_leaves_behind_is_killed_before_the_status_is_reported(person, mark):
    escape = f"setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' </dev/null >/dev/null 2>&1 & sleep 0.2; echo started"
    process = start(person, "run", "sh", "-c", f"{escape}; read line", stdin=subprocess.PIPE)
    assert process.stdout.readline() == "started\n"
    assert processes(mark, whole=True), "the background process never ran: this test would prove nothing"
    process.communicate("\n", timeout=PATIENCE)
    assert process.returncode == 0
    assert not processes(mark, whole=True)


def test_killing_cloche_ends_everything_within_a_second(person, mark):
    process = start(person, "run", "sh", "-c", f"setsid sleep {mark} & sleep {mark} & echo started; wait")
    assert process.stdout.readline() == "started\n"
    assert wait_until(lambda: len(processes(mark, whole=True)) == 2)
    process.kill()
    process.wait(PATIENCE)
    assert wait_until(lambda: not processes(mark, whole=True), 1)


def test_killing_pid_1_from_outside_ends_the_run_and_is_said(person, mark):
    process = start(person, "run", "sleep", mark)
    assert wait_until(lambda: len(job(mark)) == 3)  # cloche, pid 1 and the command
    pid_1 = next(pid for pid in job(mark) if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
                 .split()[1] == str(process.pid))
    os.kill(pid_1, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGKILL
    assert "killed" in errors
    assert not processes(mark, whole=True)


def test_a_run_leaves_no_mount_no_file_and_no_process(person, mark):
    def surroundings():
        return pathlib.Path("/proc/self/mountinfo").read_text(), sorted(person.base.rglob("*"))

    places = [f"{directory}/{mark}" for directory in ("/tmp", "/var/tmp", "/dev/shm", "/run")]
    mounts, files = surroundings()
    answer = person.cloche("run", "sh", "-c", f"touch made {' '.join(places)}; ls {' '.join(places)}")
    assert sorted(answer.stdout.split()) == sorted(places), answer.stderr
    assert surroundings() == (mounts, sorted([*files, person.project / "made"]))
    assert not any(map(os.path.exists, places))
    assert not processes(mark, whole=True)


def test_a_killed_run_leaves_the_tree_as_it_was(person, mark):
    person.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    tree = lambda: sorted((str(path), path.lstat().st_mode, path.lstat().st_ino) for path in person.base.rglob("*"))
    before = tree()
    process = start(person, "run", "sh", "-c", f"echo started; exec sleep {mark}")
    assert process.stdout.readline() == "started\n"
    assert tree() == before
    process.kill()
    process.wait(PATIENCE)
    assert wait_until(lambda: not processes(mark, whole=True), 1)
    assert tree() == before


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

    for limits in ("ulimit -Sn 200", "ulimit -n 200"):  # each is made, attached and closed in its turn
        answer = run(limits)
        assert answer.stdout == "200\n"
        assert "Permission denied" in answer.stderr
    answer = run("ulimit -n 60")
    assert answer.returncode == 125
    assert "open files" in answer.stderr and answer.stdout == ""
