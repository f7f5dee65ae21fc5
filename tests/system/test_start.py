"""How the program begins: src/cli/start.c instead of the C library's own.

One program is built with either beginning, and must find the same. That start.c is worth having is judged by counting,
step by step, how often a program asks the processor about itself."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ.get("CLOCHE", TOP / "build" / "cloche")).parent
UNIT = BUILT / "tests" / "unit"
BEGINNINGS = ["start-probe", "start-probe-libc"]
GUARDS = re.compile(rb"^guards ([0-9a-f]{14}00) ([0-9a-f]{16})$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not (UNIT / "count-cpuid").exists(),
                                reason="the C library here is not the one that src/cli/start.c is written for")  # fmt: skip


def probe(beginning, *arguments, environment=None):
    environment = {"EMPTY": "", "NAME": "a=b"} if environment is None else environment
    return subprocess.run(["probe", *arguments], executable=UNIT / beginning, env=environment, capture_output=True, check=False)


def asked(program, *arguments):
    return int(subprocess.run([UNIT / "count-cpuid", program, *arguments], capture_output=True, check=True).stdout.split()[-1])


@pytest.mark.parametrize("arguments", [(), ("one",), ("", "two words", "\udcff")])
@pytest.mark.parametrize("environment", [{}, None, {str(number): "x" * 1000 for number in range(300)},
                                         {"GLIBC_TUNABLES": "glibc.malloc.perturb=7"}])  # fmt: skip
def test_a_program_finds_the_same(arguments, environment):
    own, librarys = (probe(beginning, *arguments, environment=environment) for beginning in BEGINNINGS)
    assert own.returncode == librarys.returncode == 7
    assert GUARDS.sub(b"", own.stdout) == GUARDS.sub(b"", librarys.stdout)
    assert own.stdout.endswith(b"at exit\ndestructor\n") and not own.stderr


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_guards_are_new_for_each_process(beginning):
    found = [GUARDS.search(probe(beginning).stdout).groups() for _ in range(20)]
    assert len({stack for stack, _ in found}) == len({jumps for _, jumps in found}) == 20
    assert all(stack != jumps for stack, jumps in found)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_smashed_stack_ends_the_program(beginning):
    ended = probe(beginning, "smash")
    assert ended.returncode == -signal.SIGABRT and b"stack smashing detected" in ended.stderr


def test_the_processor_is_hardly_asked():
    assert asked(BUILT / "cloche", "--version") < 10
    assert asked(UNIT / "start-probe-libc", "nothing") > 10  # what it would be


def test_what_a_launch_executes_lies_together():
    """src/launch.ld: the program's code is one and a half megabytes, of which a launch executes an eighth."""
    names = subprocess.run(["readelf", "-SW", BUILT / "cloche"], capture_output=True, text=True, check=True).stdout
    assert ".text.launch" in names, "see scripts/order-functions"
    with subprocess.Popen([BUILT / "cloche", "run", "-C", TOP, "sh", "-c", "echo; read line"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:  # fmt: skip
        assert run.stdout.read(1) == b"\n"
        maps = pathlib.Path(f"/proc/{run.pid}/smaps").read_text(encoding="ascii")
    code = maps[maps.index(" r-xp "):]
    held, whole = (int(re.search(rf"^{name}: +(\d+) kB", code, re.MULTILINE)[1]) for name in ("Rss", "Size"))
    assert held < whole / 2, "much is called that src/launch.ld does not name: run scripts/order-functions"
