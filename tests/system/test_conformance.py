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
    """Where `outside` matches a line said outside, `inside` may match what is said in its place."""

    outside: str
    inside: str
    reason: str


# What cannot be had, or is wanted so.
EXPLAINED = [
    Difference(r"owners: .*to another.*: EPERM", r".*: EINVAL",
               "an owner that the user namespace does not know is no owner at all; refused either way"),
    Difference(r"connect: it is me: ok", r".*: EISCONN",
               "the doorman connects: a server asks who its client is and learns the right user, another process"),
    Difference(r"no-room:   there: x: ENOENT", r".*: f600, .*",
               "a caller with a full table is told so when the file has been made"),
    Difference(r"too-deep: .*", r".*", "a place deeper than a path can say cannot be judged, and is refused"),
    Difference(r"terminals: (not )?taken by opening: again, not to wait: (.*), c666", r".*: again, not to wait: .*, c620",
               "/dev/tty is opened as the terminal it stands for"),
]
# Said outside, and what is said inside instead: more lines, because the program goes another way.
INSTEAD = {
    # A terminal that is opened first does not become the own one, but has to be taken.
    "terminals: taken by opening: /dev/tty: ok": ["terminals: taken by opening: /dev/tty: ENXIO",
                                                  "terminals: taken by opening: taking it: ok",
                                                  "terminals: taken by opening: /dev/tty then: ok"],
    # A lease would hold the doorman up, and others behind it. Each of two is tried twenty times.
    "leases: leases: ok": ["leases: a lease on a new file: EACCES",
                           "leases: a lease on a file opened to write: EACCES"] * 20 + ["leases: leases: ok"],
}
# A run by root has no openat2: the set-id bits in its mode cannot be judged by a filter.
ROOT = [
    Difference(r"openat2.*", r".*: ENOSYS", "there is no openat2"),
    Difference(r"openat2:   there: .*", r".*: ENOENT", "so it makes nothing"),
]
# Small differences that are to go. A caller that names the end of a path a link must not be surprised by any of them.
KNOWN = [
    Difference(r"(flags|kept-flags): .*NOFOLLOW.* flags [57]0.*", r".* flags [13]0.*",
               "opened anew through a descriptor of the doorman's, which is a link that must be followed: F_GETFL forgets "
               "O_NOFOLLOW"),
    Difference(r"slashes: (link to (file|/dev/null)|loop): CREAT x/+: EISDIR", r".*: (ENOTDIR|ELOOP)",
               "with O_CREAT a slash behind a link is judged by what the link leads to, not by the slash"),
    Difference(r"paths: open (link|loop)/ \(\d+\): EISDIR", r".*: (ENOTDIR|ELOOP)", "likewise"),
    Difference(r"nameless: linking it by empty path, exclusive 0: ok", r".*: EACCES",
               "what has lost the name it was opened by, and has others, cannot be judged"),
    Difference(r"nameless:   there: d/linked: (.*), 2 links, (.*)", r".*, 1 links, .*", "so it has not got that name"),
    Difference(r"nameless:   there: d/empty: .*", r".*: ENOENT", "likewise"),
    Difference(r"link: by way of /proc, not followed: EXDEV", r".*: ok",
               "a link in /proc/self/fd is a door to the doorman, not a link of another file system"),
    Difference(r"link:   there: file: f644, 4 links, .*", r".*, 5 links, .*", "so there is one name more"),
    Difference(r"link: while there are other names: ok", r".*: EACCES", "as of nameless files"),
    Difference(r"link: when all names are gone: ENOENT", r".*: EACCES", "likewise"),
    Difference(r"openat2: (beneath|in root|no magic|no other mount) dangling: descriptor .*", r".*: ENOENT",
               "with flags of resolution nothing is made where a link leads to nothing"),
    Difference(r"openat2:   there: d/new: f640, .*", r".*: ENOENT", "so it is not there"),
    Difference(r"openat2: (no magic|cached) (magic|/proc/self/cwd)/d/new: (ELOOP|EAGAIN)", r".*: ENOENT",
               "the doorman has no \"self\" in the run's /proc; refused either way"),
    Difference(r"descriptors-below: link from what is above (a directory|PATH): EEXIST", r".*: EPERM",
               "of two faults in one call that what is to be linked is a directory is found first, not that the new name "
               "is there"),
    Difference(r"times: none of a PATH descriptor: ok", r".*: EBADF", "times that change nothing are looked at all the same"),
    Difference(r"reopened: .* NOFOLLOW: ELOOP", r".*: (descriptor .*|EISDIR|ENXIO|EACCES)",
               "/proc/self/fd/N is a link, too, and is followed to what the caller has open anyway"),
    Difference(r"reopened: PATH link .*: (ELOOP|ENOTDIR|EINVAL)", r".*: ENOENT",
               "a descriptor of a link itself leads nowhere in /proc; refused either way"),
    Difference(r"own-entries: open the own memory: ok", r".*: EACCES", "/proc/self/mem is not opened for writing"),
    Difference(r"own-entries: write it: 6", r".*: EBADF", "so it is not written"),
    Difference(r"own-entries: it is after!: ok", r".* it is before: ok", "so it stays what it was"),
    Difference(r"bind: it is called so, \d+ bytes: ok", r"bind: it is called so, \d+ bytes: \d+",
               "a socket bound by way of /proc or a link tells where it really is"),
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


def said_outside(person, conform, tree, *subjects):
    done = subprocess.run([conform, tree, *subjects], cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False, **as_person(person))
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.splitlines()


def excused(person, outside, inside):
    listed = EXPLAINED + KNOWN + (ROOT if person.uid == 0 else [])
    return any(re.fullmatch(known.outside, outside) and re.fullmatch(known.inside, inside) for known in listed)


def by_subject(lines):
    return [list(group) for _, group in itertools.groupby(lines, lambda line: line.partition(":")[0])]


def unexcused(person, outside, inside):
    """What is neither equal nor listed, as a person would want to read it."""
    expected = [each for line in outside for each in INSTEAD.get(line, [line])]
    pairs = []
    for one, other in zip(by_subject(expected), by_subject(inside), strict=True):
        pairs += itertools.zip_longest(one, other, fillvalue="nothing")
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


@pytest.mark.parametrize("person", ["ordinary"], indirect=True)
def test_every_call_does_the_same_where_the_doorman_performs_the_reading_too(person, conform):
    """All but the many combinations of flags, which are the same code: those take long."""
    late = ["--deny-read", "**/never-there*"]
    subjects = ["slashes", "kept-flags", "nameless", "paths", "descriptors-below", "pointers", "reopened", "ways",
                "own-entries", "devices", "terminals", "locks", "descriptor-names", "special", "closed", "processes",
                "threads", "wandering", "private", "unreadable", "fifos", "waiting", "interrupted", "openat2"]
    outside = said_outside(person, conform, "tree1", *subjects)
    answer = person.cloche("run", "--backend", "namespaces", *late, "--", conform, "tree2", *subjects)
    assert answer.returncode == 0, answer.stderr
    wrong = unexcused(person, outside, answer.stdout.splitlines())
    assert not wrong, f"{len(wrong)} lines differ:" + "".join(wrong[:60])
