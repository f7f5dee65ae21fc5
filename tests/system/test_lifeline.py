"""A run that must not outlive whoever started it: --lifeline-fd."""

import os
import subprocess
import uuid

import pytest

from judging import PATIENCE, processes, start, wait_until

MARKED = "setsid sleep 1000 & echo ready; trap '' TERM INT HUP; exec -a %s sleep 1000"


@pytest.fixture
def mark():
    return f"mark-{uuid.uuid4().hex}"


@pytest.mark.parametrize("backend", ["namespaces", "landlock"])
def test_run_ends_when_the_other_end_of_its_lifeline_is_closed(person, mark, backend):
    ours, theirs = os.pipe()
    run = start(person, "run", "--backend", backend, "--allow-degraded", "protected-names", "--lifeline-fd", str(ours),
                "bash", "-c", MARKED % mark, pass_fds=[ours])  # fmt: skip
    os.close(ours)
    assert run.stdout.readline() == "ready\n"
    assert wait_until(lambda: len(processes(mark)) > 0)
    os.close(theirs)
    assert run.wait(PATIENCE) == 137
    assert processes(mark) == []


def test_command_neither_sees_nor_can_hold_the_lifeline(person):
    ours, theirs = os.pipe()
    listed = start(person, "run", "--lifeline-fd", str(ours), "sh", "-c", "ls /proc/self/fd | sort -n | tr '\\n' ' '",
                   pass_fds=[ours, theirs])  # fmt: skip
    seen, _ = listed.communicate(timeout=PATIENCE)
    os.close(ours)
    os.close(theirs)
    assert seen.split()[:3] == ["0", "1", "2"] and len(seen.split()) <= 4


def test_run_with_a_lifeline_that_holds_ends_as_its_command_does(person):
    ours, theirs = os.pipe()
    run = start(person, "run", "--lifeline-fd", str(ours), "sh", "-c", "exit 7", pass_fds=[ours])
    os.write(theirs, b"what is written there does not matter")
    assert run.wait(PATIENCE) == 7
    os.close(ours)
    os.close(theirs)


def test_only_a_pipe_or_a_socket_can_be_one(person):
    with open("/dev/null", "rb") as null:
        run = start(person, "run", "--lifeline-fd", str(null.fileno()), "true", pass_fds=[null.fileno()],
                    stderr=subprocess.PIPE)  # fmt: skip
        _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 125 and "neither a pipe nor a socket" in said
    run = start(person, "run", "--lifeline-fd", "73", "true", stderr=subprocess.PIPE)
    _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 125 and "--lifeline-fd 73 cannot be used: Bad file descriptor" in said
