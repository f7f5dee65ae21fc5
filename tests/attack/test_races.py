"""Races against the doorman (C 49, 51; H 108): tests/attack/race.c rewrites names, exchanges directories and links, and
replaces descriptors and the current directory while calls are being judged, from threads, from other processes and from
a second run.

Whatever happens in the directory that the run made is allowed; nothing may happen in the one from before. That is
judged from outside: it is the same to the byte, and the host's server saw nobody. The same program is shown to catch a
supervisor that checks a path and then lets the kernel read it again.

RACE_MILLISECONDS is the time of each combination; the default is short, a long night finds more."""

import os
import re
import shutil
import subprocess

import pytest

from attacking import BUILD, PATIENCE, HostSocket, state

MILLISECONDS = int(os.environ.get("RACE_MILLISECONDS") or 150)
CALLS = ["create", "write", "empty", "mkdir", "rename-to", "rename-from", "link", "symlink", "mknod", "unlink", "chmod",
         "times", "truncate", "attribute", "bind", "git-config", "connect"]
SECRET = "what nobody may read"
SWAPS = ["thread", "shared", "vm", "mem", "directory", "link", "descriptor", "current"]
LINE = re.compile(r"(\S+) (\S+) allowed (\d+) refused (\d+) other (\d+) swaps (\d+)")


@pytest.fixture
def backend():
    return "namespaces"


class Old:
    """The directory from before, found again by its number, whatever it is called by then; and the host's server in it."""

    def __init__(self, person, is_repository):
        self.person = person
        for name in (".envrc", ".zprofile", ".ripgreprc", ".mcp.json"):
            person.file(f"old/{name}", "original")
        person.file("old/content", SECRET)
        # A directory with a repository from before cannot be moved: only where it is about one.
        if is_repository:
            person.file("old/.git/config", "[core]\n\tbare = false\n")
        self.server = HostSocket(str(person.project / "old/socket"), "secret")
        (person.project / "old/socket").chmod(0o777)
        self.inode = os.stat(person.project / "old").st_ino
        self.before = self.now()

    def now(self):
        path = next(path for path in (self.person.project / "old", self.person.project / "new")
                    if path.exists() and path.stat().st_ino == self.inode)
        # In .git the lock may come and go.
        seen = [entry for entry in state(path)[1:] if not (isinstance(entry, list) and entry[0] == ".git")]
        return [*seen, (path / ".git/config").exists() and state(path / ".git/config")]

    def is_untouched(self):
        return self.now() == self.before and self.server.visitors == 0

    def close(self):
        self.server.socket.close()


@pytest.fixture
def old(jail, request):
    program = jail.attacker.with_name("race")
    shutil.copy(BUILD / "tests" / "attack" / "race", program)
    program.chmod(0o755)
    jail.person.own(program)
    callspec = getattr(request.node, "callspec", None)
    directory = Old(jail.person, is_repository=callspec is not None and callspec.params.get("call") == "git-config")
    directory.program = program
    yield directory
    directory.close()


def counts(text):
    return {(found[1], found[2]): [int(found[number]) for number in (3, 4, 5, 6)] for found in LINE.finditer(text)}


def test_the_program_knows_these_calls_and_swaps(old):
    for word, known in (("calls", [*CALLS, "read"]), ("swaps", [*SWAPS, "neighbour"])):
        done = subprocess.run([old.program, "--list", word], capture_output=True, text=True, check=True)
        assert done.stdout.split() == known


@pytest.mark.parametrize("call", CALLS)
def test_c49_c51_h108_nothing_happens_where_it_must_not_while_all_is_exchanged(jail, old, call):
    script = f'for swap in {" ".join(SWAPS)}; do "$0" {call} $swap {MILLISECONDS} || exit; done'
    answer = jail.run("sh", "-c", script, old.program, timeout=PATIENCE + len(SWAPS) * MILLISECONDS / 1000)
    assert answer.returncode == 0, answer
    assert old.is_untouched(), answer.stdout
    found = counts(answer.stdout)
    assert len(found) == len(SWAPS), answer
    # Both verdicts were given, and the enemy was at work.
    allowed, refused, _, swaps = map(sum, zip(*found.values()))
    assert allowed > 20 and refused > 20 and swaps > 100, answer.stdout
    # The memory of another process by /proc may be out of reach, and an old repository stays where it is.
    idle = [swap for (_, swap), (*_, swaps) in found.items() if swaps == 0 and swap != "mem"]
    assert idle == (["directory"] if call == "git-config" else [])


def test_a14_c49_nothing_is_read_that_a_pattern_hides_while_all_is_exchanged(jail, old):
    policy = jail.policy(filesystem={"allowWrite": ["."], "denyRead": ["old/*"]})
    script = f'for swap in {" ".join(SWAPS)}; do "$0" read $swap {MILLISECONDS} || exit; done'
    answer = jail.run("sh", "-c", script, old.program, policy=policy, timeout=PATIENCE + len(SWAPS) * MILLISECONDS / 1000)
    assert answer.returncode == 0, answer
    assert SECRET not in answer.stdout and "READ" not in answer.stdout
    assert old.is_untouched()
    found = counts(answer.stdout)
    allowed, refused, _, swaps = map(sum, zip(*found.values()))
    assert len(found) == len(SWAPS) and allowed > 20 and refused > 20 and swaps > 100, answer.stdout
    # Under its other name the directory would be out of the pattern's reach: it stays where it is.
    assert [swap for (_, swap), (*_, swaps) in found.items() if swaps == 0 and swap != "mem"] == ["directory"]


@pytest.mark.parametrize("call", ["create", "mkdir", "rename-to", "unlink", "connect"])
def test_h108_a_second_run_that_exchanges_directories_opens_nothing(jail, old, call):
    milliseconds = 4 * MILLISECONDS
    command = jail.command(old.program, "--exchange", str(milliseconds + 200))
    with subprocess.Popen([jail.person.binaries / "cloche", *command], cwd=jail.person.project,
                          env=jail.person.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **jail.identity()) as neighbour:
        answer = jail.run(old.program, call, "neighbour", str(milliseconds))
        said, complaints = neighbour.communicate(timeout=PATIENCE)
    assert answer.returncode == 0 and neighbour.returncode == 0, (answer, complaints)
    assert old.is_untouched(), answer.stdout
    (allowed, refused, _, _), = counts(answer.stdout).values()
    assert allowed + refused > 5 and int(said.split()[1]) > 5, (answer.stdout, said)


@pytest.mark.parametrize("swap", SWAPS)
def test_a_supervisor_that_checks_and_lets_the_kernel_look_again_is_caught(jail, old, swap):
    """So that it is known what the tests above are worth."""
    for call in 4 * ["create", "write", "rename-from", "unlink", "connect", "chmod"]:
        done = subprocess.run([old.program, "--racy", call, swap, "200"], cwd=jail.person.project, text=True,
                              env=jail.person.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False, **jail.identity())
        assert done.returncode == 0 and len(counts(done.stdout)) == 1, done
        if not old.is_untouched():
            return
    pytest.fail("the race harness catches nothing")


@pytest.mark.parametrize("swap", SWAPS)
def test_such_a_supervisor_is_caught_reading_as_well(jail, old, swap):
    for _ in range(24):
        done = subprocess.run([old.program, "--racy", "read", swap, "200"], cwd=jail.person.project, text=True,
                              env=jail.person.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False, **jail.identity())
        assert done.returncode == 0 and len(counts(done.stdout)) == 1, done
        if f"READ {SECRET}" in done.stdout:
            return
    pytest.fail("the race harness catches nothing")
