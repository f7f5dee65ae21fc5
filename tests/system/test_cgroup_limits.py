"""Limits of a run that a cgroup holds: the kernel stops what goes over them, cloche
names which it was, and the run's cgroup goes with the run.

The test hands a cgroup of its own (version 2, with the controllers memory and pids)
down to the person who runs cloche, as a service manager does."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

from judging import PATIENCE, processes, wait_until
from test_limits import FORKS

PYTHON = "/usr/bin/python3"
MEGABYTE = 1 << 20
MOUNTED = pathlib.Path("/sys/fs/cgroup")
NEEDED = {"memory", "pids"}


def controllers():
    try:
        return set((MOUNTED / "cgroup.controllers").read_text().split())
    except OSError:
        return set()


pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a cgroup down to somebody"),
              pytest.mark.skipif(not NEEDED <= controllers(), reason="memory and pids are not controllers of version 2 here")]


def end_all(cgroup):
    for _ in range(100):
        members = (cgroup / "cgroup.procs").read_text().split()
        if not members:
            return
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(member), signal.SIGKILL)
        time.sleep(0.05)


class Delegated:
    """A cgroup that belongs to a person, and one in it for the calls of cloche."""

    def __init__(self, person):
        self.person = person
        self.top = MOUNTED / f"cloche-test-{os.getpid()}-{person.uid}"
        self.calls = self.top / "calls"
        enabled = set((MOUNTED / "cgroup.subtree_control").read_text().split())
        self.turned_on = NEEDED - enabled
        self.write(MOUNTED, "".join(f"+{name} " for name in sorted(self.turned_on)))
        self.top.mkdir()
        self.calls.mkdir()
        self.write(self.top, "+memory +pids")
        for path in (self.top, self.top / "cgroup.procs", self.top / "cgroup.subtree_control", self.calls,
                     self.calls / "cgroup.procs"):
            os.chown(path, person.uid, person.uid)

    @staticmethod
    def write(cgroup, words):
        if words:
            (cgroup / "cgroup.subtree_control").write_text(words)

    def start(self, *words, call="run", **keywords):
        entering = (f'echo 0 > {self.calls}/cgroup.procs && exec setpriv --reuid {self.person.uid} --regid '
                    f'{self.person.uid} --clear-groups "$0" "$@"')
        return subprocess.Popen(["sh", "-c", entering, self.person.binaries / "cloche", call, *words],
                                cwd=self.person.project, env=self.person.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)

    def run(self, *words, **keywords):
        process = self.start(*words, **keywords)
        try:
            out, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return subprocess.CompletedProcess(words, process.returncode, out, said)

    def of_runs(self):
        return sorted(path.name for path in self.top.iterdir() if path.is_dir() and path != self.calls)

    def remove(self):
        for name in [*self.of_runs(), "calls"]:
            end_all(self.top / name)
            (self.top / name).rmdir()
        self.top.rmdir()
        self.write(MOUNTED, "".join(f"-{name} " for name in sorted(self.turned_on)))


@pytest.fixture
def delegated(person):
    made = Delegated(person)
    yield made
    made.remove()


HOG = """
import os, time
kept = bytearray({bytes})
print("done", flush=True)
time.sleep({rest})
"""


def test_explain_says_that_a_cgroup_holds_them(delegated):
    words = delegated.run("--memory", "1G", "--pids", "100", call="explain").stdout
    assert "held by a cgroup" in words and "found by measuring" not in words, words


def test_doctor_says_where_one_can_be_made(delegated):
    words = delegated.run(call="doctor").stdout
    assert f"a cgroup with memory and pids can be made below /{delegated.top.name}" in words, words


def test_exactly_as_many_processes_as_allowed_can_be_had(delegated):
    below = delegated.run("--pids", "20", PYTHON, "-c", FORKS.format(count=19))
    assert (below.stdout.split(), below.stderr) == (["20", "0"], "")
    above = delegated.run("--pids", "20", PYTHON, "-c", FORKS.format(count=30))
    assert above.stdout.split() == ["20", "11"]
    assert above.stderr.splitlines() == [
        "cloche: the limit of 20 processes was reached, and no more could start (limits.processes, --pids)"]
    assert delegated.of_runs() == []


def test_fork_bomb_is_stopped_named_and_leaves_nothing(delegated):
    mark = f"bomb-{os.getpid()}-{delegated.person.uid}"
    answer = delegated.run("--pids", "60", "--timeout", "15", "bash", "-c",
                           f"bomb() {{ bomb | bomb & }}; : {mark}; bomb; exec sleep 1")
    assert "the limit of 60 processes was reached" in answer.stderr
    assert processes(mark) == []
    assert delegated.of_runs() == []


@pytest.mark.parametrize("hog", ["one process", "children", "a file in memory"])
def test_memory_hog_is_killed_by_the_kernel_and_named(delegated, hog):
    code = {
        "one process": HOG,
        "children": "import os\nfor _ in range(7):\n    if os.fork() == 0: break\n" + HOG.replace("{bytes}", "{bytes} // 8"),
        "a file in memory": "with open('/dev/shm/filler', 'wb') as file:\n    try:\n        for _ in range({bytes} >> 20): "
                            "file.write(bytes(1 << 20))\n    except OSError: pass\n" + HOG.replace("{bytes}", "{bytes} // 8"),
    }[hog]
    limit = 96 * MEGABYTE

    def run(size, rest):
        return delegated.run("--memory", str(limit), PYTHON, "-c",
                             code.replace("{bytes}", str(size * MEGABYTE)).replace("{rest}", str(rest)))

    below = run(40, 0)
    assert (below.returncode, below.stderr) == (0, "")
    assert "done" in below.stdout
    above = run(400, 2 * PATIENCE)
    assert above.returncode == 128 + signal.SIGKILL
    assert above.stderr.splitlines() == [
        "cloche: killed for using more memory than 96M, the limit (limits.memory, --memory)"]
    assert delegated.of_runs() == []


def test_memory_never_goes_over_the_limit(delegated):
    """The kernel's own account: measuring would let it go over for a moment."""
    limit = 64 * MEGABYTE
    process = delegated.start("--memory", str(limit), PYTHON, "-c",
                              "kept = []\nwhile True: kept.append(bytearray(1 << 20))")
    peak = 0
    while process.poll() is None:
        for name in delegated.of_runs():
            with contextlib.suppress(OSError, ValueError):
                peak = max(peak, int((delegated.top / name / "memory.current").read_text()))
        time.sleep(0.001)
    process.communicate()
    assert 0 < peak <= limit
    assert process.returncode == 128 + signal.SIGKILL


def test_everything_of_the_run_is_in_its_cgroup_from_its_birth(delegated):
    mark = f"member-{os.getpid()}-{delegated.person.uid}"
    process = delegated.start("--pids", "50", "--memory", "200M", "bash", "-c", f": {mark}; setsid sleep 30 & sleep 30")
    try:
        assert wait_until(lambda: len(delegated.of_runs()) == 1)
        (name,) = delegated.of_runs()
        assert name == f"cloche-run-{process.pid}"
        members = delegated.top / name / "cgroup.procs"
        assert wait_until(lambda: len(members.read_text().split()) == 4)  # pid 1, bash and two that sleep
        assert (delegated.top / name / "pids.max").read_text() == "51\n"  # pid 1 counts
        assert process.pid not in map(int, members.read_text().split())
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert delegated.of_runs() == []


def test_limits_cannot_be_lifted_from_inside(delegated):
    look = f"""
import os
found = []
for directory, _, names in os.walk({str(MOUNTED)!r}):
    for name in ("pids.max", "memory.max", "cgroup.procs"):
        try:
            os.close(os.open(os.path.join(directory, name), os.O_WRONLY))
            found.append(directory)
        except OSError:
            pass
print(found)
"""
    answer = delegated.run("--pids", "20", PYTHON, "-c", look + FORKS.format(count=30))
    assert answer.stdout.splitlines() == ["[]", "20 11"], answer
    outside = subprocess.run([PYTHON, "-c", look], capture_output=True, text=True, check=True)
    assert str(delegated.top) in outside.stdout


def test_two_runs_at_once_have_a_limit_each(delegated):
    runs = [delegated.start("--pids", "30", PYTHON, "-c", FORKS.format(count=29)) for _ in range(4)]
    assert [run.communicate(timeout=PATIENCE)[0].split() for run in runs] == [["30", "0"]] * 4
    assert delegated.of_runs() == []


def test_cgroup_of_a_killed_cloche_goes_with_the_next_run(delegated):
    process = delegated.start("--pids", "50", "sleep", "30")
    assert wait_until(lambda: len(delegated.of_runs()) == 1)
    (name,) = delegated.of_runs()
    assert wait_until(lambda: len((delegated.top / name / "cgroup.procs").read_text().split()) == 2)
    process.kill()
    process.communicate()
    assert wait_until(lambda: (delegated.top / name / "cgroup.procs").read_text() == "")
    assert delegated.of_runs() == [name]  # nobody was there to remove it: SECURITY.md says so
    assert delegated.run("--pids", "50", "true").returncode == 0
    assert delegated.of_runs() == []


def test_without_limits_no_cgroup_is_made(delegated):
    process = delegated.start("sleep", "30")
    try:
        assert wait_until(lambda: processes("sleep\x0030"))
        assert delegated.of_runs() == []
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
