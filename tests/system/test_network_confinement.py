"""The network process holds nothing but what it carries bytes with: looked at from outside,
by root, while it works for root and for an ordinary user."""

import contextlib
import os
import pathlib
import re
import subprocess

import pytest

from judging import wait_until


def in_the_network_of(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


def network_process_of(run):
    """The child of the supervisor that is in the supervisor's own network and is no command."""
    children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    found = [int(pid) for pid in children if in_the_network_of(pid) == in_the_network_of(run.pid)
             and "Seccomp:\t2" in pathlib.Path(f"/proc/{pid}/status").read_text()
             and os.listdir(f"/proc/{pid}/root") == []]
    return found[0] if len(found) == 1 else None


@pytest.fixture
def network(world, person, site):
    """Host pid of the network process of a run that has reached its site and waits."""
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--", "sh", "-c",
                      "curl -sS --noproxy '*' http://site.test/x && read word", stdin=subprocess.PIPE)
    try:
        assert run.stdout.readline() == "page /x of site.test\n", "the positive control: it does its work"
        assert wait_until(lambda: network_process_of(run))
        yield network_process_of(run)
    finally:
        run.communicate()


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_it_has_no_privileges_and_cannot_get_any(network):
    status = status_of(network)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert int(status["SigBlk"], 16) & 1 << 1 and int(status["SigCgt"], 16) == 0


def test_it_sees_no_file(network):
    assert os.listdir(f"/proc/{network}/root") == []
    assert os.readlink(f"/proc/{network}/ns/mnt") != os.readlink("/proc/self/ns/mnt")
    assert os.readlink(f"/proc/{network}/ns/user") != os.readlink("/proc/self/ns/user")


def test_it_holds_nothing_but_sockets(network):
    kinds = set()
    for fd in os.listdir(f"/proc/{network}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it is at work: some are closed meanwhile
            kinds.add(re.sub(r"\[?\d+\]?", "", os.readlink(f"/proc/{network}/fd/{fd}")))
    assert kinds
    assert kinds <= {"socket:", "anon_inode:[eventpoll]", "/dev/null"}, kinds


def test_it_shares_no_memory_with_who_decides(network):
    """What the supervisor decides by is in memory that pid 1 shares; a broken network process must not reach it."""
    maps = pathlib.Path(f"/proc/{network}/maps").read_text().splitlines()
    assert maps
    assert [line for line in maps if line.split()[1].startswith("rw-s") or line.split()[1].endswith("s")] == []


def test_it_ends_with_its_supervisor_and_is_out_of_reach_for_other_users(network):
    limits = pathlib.Path(f"/proc/{network}/limits").read_text()
    assert re.search(r"Max core file size +0 +0", limits)
    assert re.search(r"Max file size +0 +0", limits)
    assert os.stat(f"/proc/{network}/fd").st_uid == 0, "not dumpable: nobody but root may trace it"
