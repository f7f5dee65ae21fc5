"""Paths that are exchanged by a neighbour while runs start.

The neighbour is itself a run, with the same project, and exchanges directories
with directories and with links to secrets, along the paths of the others'
policies: the project itself, what lies above it, what is hidden in it. A plan is
made by name; what is mounted is opened later, without following links. So each
launch either gets what it was promised or is refused; never something else.

Judged from outside: by the inode and content that each launch saw, by what was
written where, and by the secrets, which nobody may have told."""

import os
import subprocess

import pytest

from attacking import PATIENCE, unchanged

LAUNCHES = {"namespaces": 200, "landlock": 80}
AT_ONCE = 4

# What stands where the run starts, and a trace of it there.
LOOK = 'stat -c %i .; cat who; echo x >traces/$0; cat held/vault/who open/link/who 2>/dev/null; true'


def hidden(jail):
    return "--deny-read", jail.person.project / "held/vault"


class Place:
    """A directory that runs start in, held by descriptor: whoever stands in it stays in it when it is renamed."""

    def __init__(self, path):
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.inode = os.fstat(self.descriptor).st_ino
        self.good = self.refused = 0

    def launch(self, jail, number):
        command = jail.command("sh", "-c", LOOK, str(number), options=("-q", *hidden(jail)))
        # The child enters by descriptor, before anything else is closed.
        return subprocess.Popen([jail.person.binaries / "cloche", *command], cwd=f"/proc/self/fd/{self.descriptor}",
                                env=jail.person.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **jail.identity())

    def judge(self, jail, run, number):
        said, complaints = run.communicate(timeout=PATIENCE)
        jail.heard += said + complaints
        wrote = os.path.exists(f"/proc/self/fd/{self.descriptor}/traces/{number}")
        if run.returncode == 125:
            assert complaints.startswith("cloche: "), complaints
            assert said == "" and not wrote, "refused, but something ran"
            self.refused += 1
        elif jail.backend == "landlock" and ": Permission denied" in complaints:
            # Rules were given to what had the name then, and speak of inodes: this one got none, or not all.
            assert said in (f"{self.inode}\n", f"{self.inode}\n{self.path.name} of the project\n") and not wrote, said
            self.refused += 1
        else:
            assert (run.returncode, complaints) == (0, "")
            assert said == f"{self.inode}\n{self.path.name} of the project\n" and wrote, said
            self.good += 1


@pytest.fixture
def places(jail, secret):
    """The project itself, one that can be exchanged, and one below a directory that can be."""
    person = jail.person
    for name in ("", "deep/out/", "deep/a/inner/"):
        directory = person.project / name
        person.file(directory / "who", f"{directory.name} of the project\n")
        person.directory(directory / "traces")
    person.file("deep/other/inner/who", "another one\n")
    person.file("held/vault/who", f"{secret}\n")
    person.file("open/real/who", "")
    for name in ("trap", "trap/inner"):
        person.file(person.home / name / "who", f"{secret}\n")
    for name in ("link", "deep/out-link", "deep/a-link", "open/link"):
        person.link(name, person.home / "trap")
    made = [Place(person.project / name) for name in ("", "deep/out", "deep/a/inner")]
    yield made
    for place in made:
        os.close(place.descriptor)


def test_launches_get_what_they_were_promised_or_nothing_while_paths_are_exchanged(jail, places, secret):
    person = jail.person
    stop = person.project / "stop"
    pairs = ["deep/out", "deep/out-link", "deep/a", "deep/a-link", "deep/a", "deep/other", "open/real", "open/link",
             "held", "link", "held/vault", "open/real"]
    command = jail.command(jail.attacker, "exchange-until", stop, *pairs, options=hidden(jail))
    neighbour = subprocess.Popen([person.binaries / "cloche", *command], cwd=person.project, env=person.environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 **jail.identity())
    with unchanged(person.home / "trap", person.project / "held"):
        try:
            for first in range(0, LAUNCHES[jail.backend], AT_ONCE):
                runs = [(number, places[number % len(places)]) for number in range(first, first + AT_ONCE)]
                for (number, place), run in [(run, run[1].launch(jail, run[0])) for run in runs]:
                    place.judge(jail, run, number)
        finally:
            stop.touch()
            said, complaints = neighbour.communicate(timeout=PATIENCE)
    assert neighbour.returncode == 0, complaints
    counts = [int(word) for word in said.split("=")[0].split()]
    # What is hidden, and what lies above it, the neighbour cannot move, being held by the same rule; all else it did.
    assert all(count > 50 for count in counts[:4]) and counts[4:] == [0, 0], counts
    for place in places[1:]:
        assert place.good > 0 and place.refused > 0, [(each.good, each.refused) for each in places]
    assert places[0].good > 0 and places[0].refused == 0
    assert jail.never_told(secret)
