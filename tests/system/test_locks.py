"""explain names the locks that really stop something, and says so where none does."""

import socket

import pytest


def answer(person, question):
    [only] = person.explain(question)["answers"]
    return only


def can_write(person, path):
    return person.cloche("run", "sh", "-c", 'mkdir -p "$(dirname "$0")" && : >> "$0"', str(path)).returncode == 0


def test_writes_outside_are_held_by_two_locks_and_fail(person):
    target = person.file(person.home / "outside.txt")
    told = answer(person, f"write:{target}")
    assert (told["verdict"], told["locks"]) == ("denied", ["mount", "landlock"])
    assert not can_write(person, target)
    assert can_write(person, person.project / "inside.txt")


def test_existing_hooks_are_held_by_mounts_alone_and_cannot_be_written(person):
    person.file(".git/hooks/pre-commit")
    told = answer(person, "write:.git/hooks/pre-commit")
    assert (told["verdict"], told["locks"]) == ("denied", ["mount"])
    assert not can_write(person, ".git/hooks/pre-commit")
    assert can_write(person, ".git/description")


@pytest.mark.parametrize("name", [".envrc", "deeper/.git/hooks/pre-commit"])
def test_explain_admits_that_protected_names_made_later_are_not_held(person, name):
    told = answer(person, f"write:{name}")
    assert (told["verdict"], told["locks"]) == ("denied", [])
    assert "not held by any lock yet" in told["note"]
    # Once a lock holds these, explain and SECURITY.md must say so.
    assert can_write(person, name)


CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


def can_connect(person, path, *options):
    return person.cloche("run", *options, "/usr/bin/python3", "-c", CONNECT, str(path)).returncode == 0


def test_explain_admits_that_sockets_in_sight_can_be_connected_to(person):
    path = person.project / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        person.own(path)
        server.listen()
        told = answer(person, f"unix:{path}")
        assert (told["verdict"], told["locks"]) == ("denied", [])
        assert "can be connected to" in told["note"]
        assert can_connect(person, path)
        policy = {"extends": ["preset:dev"], "seccomp": {"blockUnixSockets": True}}
        assert not can_connect(person, path, "-s", str(person.file(person.home / "policy.json", policy)))


def test_sockets_in_run_are_out_of_sight(person):
    told = answer(person, "unix:/run/docker.sock")
    assert (told["verdict"], told["locks"]) == ("denied", ["mount"])
    assert person.cloche("run", "sh", "-c", "ls -A /run | grep -v -x user").stdout == ""
