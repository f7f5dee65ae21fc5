"""Inside equals outside: the same program (tests/conformance) makes the same calls in two fresh trees, and what it
says is compared line by line. What may differ is listed here, each with its reason.

The program says one line for each call: subject, call, result or error, and what it made. Nothing in it depends on
the time, the place or a number that the kernel chose."""

import itertools
import re
import shutil
import subprocess
import typing

import pytest

from judging import BUILD, as_person


class Difference(typing.NamedTuple):
    """Lines that match `line` may say `inside` inside where they say `outside` outside."""

    line: str
    outside: str
    inside: str
    reason: str


EVERYBODY = [
    Difference(r"owners: .*to another.*", "EPERM", "EINVAL",
               "an owner that the user namespace does not know is no owner at all; refused either way"),
]
ROOT = [
    Difference(r"openat2.*", r".*", "ENOSYS",
               "a run by root has no openat2: the set-id bits in its mode cannot be judged by a filter"),
    Difference(r"openat2: .*there: .*", r".*", "ENOENT", "so it makes nothing"),
]


@pytest.fixture
def conform(person):
    """The program where a run finds it, and two equal trees."""
    program = person.directory(person.home / ".local/bin") / "conform"
    shutil.copy(BUILD / "tests" / "conformance" / "conform", program)
    program.chmod(0o755)
    person.own(program)
    for name in ("tree1", "tree2"):
        person.directory(person.project / name)
    return program


def said_outside(person, conform, tree):
    done = subprocess.run([conform, tree], cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False, **as_person(person))
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.splitlines()


def excused(person, outside, inside):
    if outside is None or inside is None:
        return False
    head, _, was = outside.rpartition(": ")
    other_head, _, found = inside.rpartition(": ")
    return any(head == other_head and re.fullmatch(known.line, head) and re.fullmatch(known.outside, was)
               and re.fullmatch(known.inside, found) for known in EVERYBODY + (ROOT if person.uid == 0 else []))


def by_subject(lines):
    return [list(group) for _, group in itertools.groupby(lines, lambda line: line.partition(":")[0])]


def unexcused(person, outside, inside):
    """What is neither equal nor listed, as a person would want to read it."""
    pairs = []
    for one, other in zip(by_subject(outside), by_subject(inside)):
        pairs += itertools.zip_longest(one, other)
    return [f"\n  outside: {one}\n  inside:  {other}" for one, other in pairs
            if one != other and not excused(person, one, other)]


def test_every_call_does_inside_what_it_does_outside(person, conform):
    outside = said_outside(person, conform, "tree1")
    assert len(outside) > 10000
    assert not [line for line in outside if "the test itself failed" in line or ": ended with status" in line]
    answer = person.cloche("run", "--backend", "namespaces", "--", conform, "tree2")
    assert answer.returncode == 0, answer.stderr
    wrong = unexcused(person, outside, answer.stdout.splitlines())
    assert not wrong, f"{len(wrong)} lines differ:" + "".join(wrong[:60])
