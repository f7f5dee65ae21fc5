"""Races against what somebody was asked about and allowed (C 49, 51): tests/attack/race.c turns the names, links and
descriptors of calls from a directory that was granted to one that was not, while a program answers every question.

A yes to the one must never be a yes to the other; that is judged from outside. The names are ordinary ones here
(`unprotect`), so that nothing but the grant makes the difference."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

from attacking import BUILD, PATIENCE, HostSocket, state

MILLISECONDS = int(os.environ.get("RACE_MILLISECONDS") or 60)
CALLS = ["create", "write", "mkdir", "rename-to", "rename-from", "link", "symlink", "unlink", "chmod", "truncate", "bind",
         "connect"]
SWAPS = ["thread", "shared", "vm", "link", "descriptor", "current"]
NAMES = [".bashrc", ".envrc", ".vscode/", ".zshrc", ".zprofile", ".profile", ".zlogin", ".bash_login", ".ripgreprc",
         ".mcp.json", ".bash_profile"]
LINE = re.compile(r"(\S+) (\S+) allowed (\d+) refused (\d+) other (\d+) swaps (\d+)")


@pytest.fixture
def backend():
    return "namespaces"


class Place:
    """A directory outside of the project, with one in it that nobody says yes to; and the host's server there."""

    def __init__(self, person, directory):
        self.person = person
        self.path = directory
        for name in (".envrc", ".zprofile", ".ripgreprc", ".mcp.json"):
            person.file(directory / "old" / name, "original")
        self.server = HostSocket(str(directory / "old/socket"), "secret")
        (directory / "old/socket").chmod(0o777)
        self.before = state(directory / "old")

    def is_untouched(self):
        return state(self.path / "old") == self.before and self.server.visitors == 0


@pytest.fixture
def place(jail):
    parent = "/srv" if os.access("/srv", os.W_OK) else jail.person.base
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cloche-race-", dir=parent))
    directory.chmod(0o755)
    jail.person.own(directory)
    made = Place(jail.person, directory)
    yield made
    made.server.socket.close()
    shutil.rmtree(directory)


def answer_all(ours, place, term, asked):
    """Yes to all that is `new` or what the race itself needs, no to all else."""
    for line in ours.makefile("r"):
        said = json.loads(line)
        if "ask" not in said:
            continue
        path = pathlib.Path(next(said[kind] for kind in ("write", "read", "unix", "host") if kind in said))
        is_link = path in (place.path / "link-1", place.path / "link-2")
        allowed = is_link or path in (place.path / "prepared", place.path / "new") or place.path / "new" in path.parents
        asked.append((path, allowed))
        reply = {"answer": said["ask"], "allow": allowed}
        if not allowed or (term == "run" and not is_link):  # no link may stand at a name that was granted for the run
            reply["for"] = "run"
        ours.sendall(json.dumps(reply).encode() + b"\n")


def race(jail, place, script, term):
    program = jail.attacker.with_name("race")
    shutil.copy(BUILD / "tests" / "attack" / "race", program)
    program.chmod(0o755)
    jail.person.own(program)
    ours, theirs = socket.socketpair()
    asked = []
    threading.Thread(target=answer_all, args=(ours, place, term, asked), daemon=True).start()
    policy = {"extends": ["preset:dev"], "filesystem": {"unprotect": NAMES}}
    command = jail.command("sh", "-c", f'cd {place.path} && {script}', program, policy=policy,
                           options=("-q", "--ask", "--control-fd", str(theirs.fileno())))
    with theirs:
        done = subprocess.run([jail.person.binaries / "cloche", *command], cwd=jail.person.project, text=True,
                              env=jail.person.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=PATIENCE + 60 * MILLISECONDS / 1000, pass_fds=[theirs.fileno()], **jail.identity())
    ours.close()
    return done, asked


@pytest.mark.parametrize("call", CALLS)
def test_c49_c51_a_yes_to_one_directory_is_none_to_another(jail, place, call):
    done, asked = race(jail, place, f'for swap in {" ".join(SWAPS)}; do "$0" {call} $swap {MILLISECONDS} || exit; done', "run")
    assert done.returncode == 0, done
    assert place.is_untouched(), done.stdout
    found = {match[2]: [int(match[number]) for number in (3, 4, 5, 6)] for match in LINE.finditer(done.stdout)}
    assert sorted(found) == sorted(SWAPS), done
    # Both verdicts were given, both were asked about, and the enemy was at work.
    allowed, refused, _, swaps = map(sum, zip(*found.values()))
    assert allowed > 10 and refused > 10 and swaps > 50, done.stdout
    assert {answered for _, answered in asked} == {True, False}


@pytest.mark.parametrize("call", ["create", "write", "unlink"])
def test_c49_c51_a_yes_to_one_call_is_none_to_another(jail, place, call):
    done, asked = race(jail, place, f'for swap in thread shared link; do "$0" {call} $swap {2 * MILLISECONDS} || exit; done', "once")
    assert done.returncode == 0, done
    assert place.is_untouched(), done.stdout
    allowed = sum(int(match[3]) for match in LINE.finditer(done.stdout))
    assert 0 < allowed <= sum(answered for _, answered in asked), (done.stdout, len(asked))
