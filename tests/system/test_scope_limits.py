"""Limits where no cgroup is delegated, as in an ordinary login: the service manager is asked for a scope around cloche.

What it answers is not believed. Where it gives nothing, for whatever reason, the run is what it would be without: memory
is measured, in a time that is bounded. The manager here is a fake one (tests/fake_manager.py); its cgroups are real on
machines that have memory and pids in version 2, and elsewhere cloche is shown a mount that claims so."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

from fake_manager import CONTROLLERS, FakeManager
from judging import PATIENCE, processes, wait_until, where_mounted
from test_cgroup_limits import HOG, MEGABYTE, MOUNTED, NEEDED, controllers, end_all
from test_limits import FORKS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody's service manager")
needs_cgroups = pytest.mark.skipif(not NEEDED <= controllers(),
                                   reason="memory and pids are not controllers of version 2 here")

PYTHON = "/usr/bin/python3"
BOUND = 2  # seconds that a manager is given
UNIT = re.compile(r"cloche-run-[0-9]+-[0-9a-f]{16}\.scope")
BY_MEASURING = "the limit being 96M (limits.memory, --memory; found by measuring)"
ASKED = ("--memory", "96M")  # processes are another matter: before 6.14 nothing holds them for root
BOTH = (*ASKED, "--pids", "30")


class Login:
    """Somebody with a service manager and no cgroup of their own."""

    def __init__(self, person, tmp_path):
        self.person = person
        self.managers = []
        tmp_path.chmod(0o755)
        for directory in [*tmp_path.parents][:2]:
            directory.chmod(0o755)
        self.runtime = tmp_path / "run"
        self.shown = tmp_path / "cgroup"
        for directory in (self.runtime, self.shown):
            directory.mkdir()
        (self.shown / "cgroup.controllers").write_text("cpu memory pids\n")
        person.own(self.runtime)
        person.environment["XDG_RUNTIME_DIR"] = str(self.runtime)
        # Root's manager is the system's, at a place of its own.
        self.mounting = f"mount --bind {self.shown} {MOUNTED}; mount --bind {self.runtime} /run"

    def manager(self, conduct, bus=False, uid=None):
        name = ("dbus/system_bus_socket" if bus else "systemd/private") if self.person.uid == 0 else \
            ("bus" if bus else "systemd/private")
        self.managers.append(FakeManager(self.runtime / name, self.person.uid if uid is None else uid, conduct))
        return self.managers[-1]

    def run(self, *words, call="run", **keywords):
        return where_mounted(self.person, self.mounting, call, *words, **keywords)


@pytest.fixture
def login(person, tmp_path):
    made = Login(person, tmp_path)
    yield made
    for manager in made.managers:
        manager.close()


def test_manager_is_asked_for_a_delegated_scope_around_cloche(login):
    manager = login.manager("liar")
    assert login.run(*ASKED, "echo", "ran").stdout == "ran\n"
    ((destination, member, signature, (name, mode, properties, others)),) = manager.calls
    assert (destination, member, signature) == (None, "StartTransientUnit", "ssa(sv)a(sa(sv))")
    assert manager.uid_said == login.person.uid
    assert UNIT.fullmatch(name) and int(name.split("-")[2]) == manager.pid
    assert (mode, others) == ("fail", [])
    assert dict(properties) == {
        "Description": "A run of cloche with limits",
        "PIDs": [0],  # whoever asks
        "DelegateControllers": ["memory", "pids"],
        "TasksMax": (1 << 64) - 1,
        "CollectMode": "inactive-or-failed",
        "OOMPolicy": "continue",
    }
    assert len(properties) == 6


def test_through_a_bus_the_manager_is_named_and_the_bus_greeted_first(login):
    manager = login.manager("liar", bus=True)
    assert login.run(*ASKED, "echo", "ran").stdout == "ran\n"
    assert [call[:3] for call in manager.calls] == [
        ("org.freedesktop.DBus", "Hello", ""),
        ("org.freedesktop.systemd1", "StartTransientUnit", "ssa(sv)a(sa(sv))")]


def test_manager_that_knows_no_oom_policy_is_asked_without(login):
    manager = login.manager("old")
    assert login.run(*ASKED, "true").returncode == 0
    assert ["OOMPolicy" in dict(values[2]) for values in manager.asked()] == [True, False]


@pytest.mark.parametrize("conduct", ["refuses", "old", "liar", "silent", "mute", "hangs up", "garbage", "huge", "babbles"])
def test_whatever_a_manager_does_the_limit_is_kept_in_bounded_time(login, conduct):
    manager = login.manager(conduct)
    start = time.monotonic()
    calm = login.run(*ASKED, PYTHON, "-c", "print('calm')")
    took = time.monotonic() - start
    assert manager.heard == 1
    assert (calm.returncode, calm.stdout, calm.stderr) == (0, "calm\n", "")
    slow = conduct in ("silent", "mute", "babbles")
    assert took < (BOUND if slow else 0) + PATIENCE / 20, took
    above = login.run(*ASKED, PYTHON, "-c", HOG.format(bytes=400 * MEGABYTE, rest=2 * PATIENCE))
    assert above.returncode == 128 + signal.SIGKILL
    assert BY_MEASURING in above.stderr and len(above.stderr.splitlines()) == 1


def test_other_manager_is_asked_where_the_first_does_not_listen(login):
    path = login.runtime / "systemd/private"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind(str(path))
    login.person.own(path)
    second = login.manager("liar", bus=True)
    assert login.run(*ASKED, "true").returncode == 0
    assert len(second.asked()) == 1


def test_manager_of_somebody_else_is_not_asked(login):
    manager = login.manager("liar", uid=12345)
    assert login.run(*ASKED, "true").returncode == 0
    assert manager.heard == 0
    assert "measured, and killed when over it" in login.run(*ASKED, call="explain").stdout


def test_without_such_a_limit_nobody_is_asked(login):
    manager = login.manager("liar")
    assert login.run("--timeout", "60", "true").returncode == 0
    # Something else holds this one exactly.
    if login.person.explain("--pids", "30")["limitsHeldBy"]["processes"] != "nothing":
        assert login.run("--pids", "30", "true").returncode == 0
    assert login.run(*ASKED, call="explain").returncode == 0
    assert login.run("--backend", "landlock", *ASKED, "true").returncode == 125
    assert manager.heard == 0
    assert login.run(*ASKED, "true").returncode == 0
    assert manager.heard == 1


def test_explain_says_what_will_be_tried(login):
    login.manager("liar")
    words = login.run(*BOTH, call="explain").stdout
    assert "memory 100663296 (held by a cgroup, if the service manager gives one when the run starts)" in words
    assert '"limitsHeldBy":{"memory":"scope","processes":"scope"}' in login.run(*BOTH, "--json", call="explain").stdout


def test_limit_that_only_a_scope_could_hold_is_refused_without_one(login):
    manager = login.manager("refuses")
    if login.person.explain("--pids", "30")["limitsHeldBy"]["processes"] != "nothing":
        pytest.skip("something else holds limits.processes for root here")
    answer = login.run("--pids", "30", "touch", "made")
    assert answer.returncode == 125 and "limits.processes cannot be held for root here" in answer.stderr
    assert not (login.person.project / "made").exists()
    assert len(manager.asked()) == 2


def test_detail_tells_why_there_is_none(login):
    login.manager("refuses")
    assert "AccessDenied" in login.run("-v", *ASKED, "true").stderr


# With a manager that gives a scope


class Managed(Login):
    """In a cgroup of root's, as a login is, whose manager has one of its own."""

    def __init__(self, person, tmp_path):
        super().__init__(person, tmp_path)
        self.top = MOUNTED / f"cloche-scope-{os.getpid()}-{person.uid}"
        self.session, self.slice = self.top / "session", self.top / "slice"
        enabled = set((MOUNTED / "cgroup.subtree_control").read_text().split())
        self.turned_on = NEEDED - enabled
        self.hand_down(MOUNTED, "".join(f"+{name} " for name in sorted(self.turned_on)))
        for directory in (self.top, self.session, self.slice):
            directory.mkdir()
        self.hand_down(self.top, CONTROLLERS)
        self.hand_down(self.slice, CONTROLLERS)
        self.mounting = f"echo $$ > {self.session}/cgroup.procs; mount --bind {self.runtime} /run"
        self.fake = self.manager("gives")
        self.fake.parent = self.slice

    @staticmethod
    def hand_down(directory, words):
        if words:
            (directory / "cgroup.subtree_control").write_text(words)

    def scopes(self):
        return sorted(path for path in self.slice.iterdir() if path.is_dir())

    def runs(self):
        return list(self.slice.glob("*/cloche-run-*"))

    def start(self, *words):
        entering = (f'{self.mounting}\nexec setpriv --reuid {self.person.uid} --regid {self.person.uid} --clear-groups '
                    '"$@"')
        return subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-ec", entering, "sh",
                                 self.person.binaries / "cloche", "run", *words], cwd=self.person.project,
                                env=self.person.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def remove(self):
        assert wait_until(lambda: self.scopes() == [])
        end_all(self.session)
        for directory in (self.session, self.slice, self.top):
            directory.rmdir()
        self.hand_down(MOUNTED, "".join(f"-{name} " for name in sorted(self.turned_on)))


@pytest.fixture
def managed(person, tmp_path):
    if person.uid == 0:
        pytest.skip("to root every cgroup is delegated")
    made = Managed(person, tmp_path)
    yield made
    made.remove()
    made.fake.close()


@needs_cgroups
def test_memory_over_the_limit_is_killed_by_the_kernel_and_named(managed):
    below = managed.run("--memory", "96M", PYTHON, "-c", HOG.format(bytes=40 * MEGABYTE, rest=0))
    assert (below.returncode, below.stdout, below.stderr) == (0, "done\n", "")
    above = managed.run("--memory", "96M", PYTHON, "-c", HOG.format(bytes=400 * MEGABYTE, rest=2 * PATIENCE))
    assert above.returncode == 128 + signal.SIGKILL
    assert above.stderr.splitlines() == [
        "cloche: killed for using more memory than 96M, the limit (limits.memory, --memory)"]
    assert len(managed.fake.asked()) == 2
    assert wait_until(lambda: managed.scopes() == [])


@needs_cgroups
def test_with_one_process_over_the_limit_all_of_the_run_is_killed(managed):
    mark = f"sibling-{os.getpid()}"
    answer = managed.run("--memory", "96M", "bash", "-c",
                         f"(: {mark}; sleep 300) & exec {PYTHON} -c 'kept = bytearray(400 << 20)'")
    assert answer.returncode == 128 + signal.SIGKILL
    assert "found by measuring" not in answer.stderr and "more memory than 96M" in answer.stderr
    assert processes(mark) == []


@needs_cgroups
def test_exactly_as_many_processes_as_allowed_can_be_had(managed):
    limits = ("--memory", "500M", "--pids", "20")
    below = managed.run(*limits, PYTHON, "-c", FORKS.format(count=19))
    assert (below.stdout.split(), below.stderr) == (["20", "0"], "")
    above = managed.run(*limits, PYTHON, "-c", FORKS.format(count=30))
    assert above.stdout.split() == ["20", "11"]
    assert above.stderr.splitlines() == [
        "cloche: the limit of 20 processes was reached, and no more could start (limits.processes, --pids)"]
    assert wait_until(lambda: managed.scopes() == [])


@needs_cgroups
def test_run_is_in_a_cgroup_of_its_own_in_the_scope_with_what_was_asked(managed):
    process = managed.start("--memory", "200M", "--pids", "50", "sleep", "30")
    try:
        assert wait_until(managed.runs)
        (scope,) = managed.scopes()
        assert UNIT.fullmatch(scope.name)
        (run,) = managed.runs()
        assert wait_until(lambda: len((run / "cgroup.procs").read_text().split()) == 2)  # pid 1 and sleep
        assert (run / "memory.max").read_text() == f"{200 * MEGABYTE}\n"
        assert (run / "pids.max").read_text() == "51\n"  # pid 1 counts
        assert (run / "memory.oom.group").read_text() == "1\n"
        cloche = (scope / "cloche" / "cgroup.procs").read_text().split()
        assert [pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in cloche] == ["cloche\n"]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert wait_until(lambda: managed.scopes() == [])


@needs_cgroups
def test_killed_cloche_leaves_nothing(managed):
    process = managed.start("--memory", "200M", "sleep", "31")
    assert wait_until(lambda: managed.runs() and len((managed.runs()[0] / "cgroup.procs").read_text().split()) == 2)
    process.kill()
    process.communicate()
    assert wait_until(lambda: managed.scopes() == [] and not processes("sleep\x0031"))


@needs_cgroups
def test_scope_that_is_not_ours_counts_for_nothing(managed):
    managed.fake.uid = 0  # it gives root's
    above = managed.run(*ASKED, PYTHON, "-c", HOG.format(bytes=400 * MEGABYTE, rest=2 * PATIENCE))
    assert above.returncode == 128 + signal.SIGKILL
    assert BY_MEASURING in above.stderr


@needs_cgroups
def test_doctor_tries_it_and_leaves_nothing(managed):
    words = managed.run(call="doctor").stdout
    assert "gives a scope with memory and pids when a run needs one" in words, words
    assert wait_until(lambda: managed.scopes() == [])
