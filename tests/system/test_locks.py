"""explain names the locks that really stop something, and says so where none does."""

import socket

import pytest


def answer(person, question, *options):
    [only] = person.explain(*options, question)["answers"]
    return only


def can_write(person, path):
    return person.cloche("run", "sh", "-c", 'mkdir -p "$(dirname "$0")" && : >> "$0"', str(path)).returncode == 0


def test_writes_outside_are_held_by_two_locks_and_fail(person):
    target = person.file(person.home / "outside.txt")
    told = answer(person, f"write:{target}")
    assert (told["verdict"], told["locks"]) == ("denied", ["mount", "landlock"])
    assert not can_write(person, target)
    assert can_write(person, person.project / "inside.txt")


def test_existing_hooks_are_held_by_mounts_and_the_doorman_and_cannot_be_written(person):
    person.file(".git/hooks/pre-commit")
    told = answer(person, "write:.git/hooks/pre-commit")
    assert (told["verdict"], told["locks"]) == ("denied", ["mount", "doorman"])
    assert not can_write(person, ".git/hooks/pre-commit")
    assert can_write(person, ".git/description")


@pytest.mark.parametrize("name", [".envrc", "deeper/.git/hooks/pre-commit"])
def test_protected_names_made_later_are_held_by_the_doorman(person, name):
    person.directory(person.project / "deeper" / ".git")
    told = answer(person, f"write:{name}")
    assert (told["verdict"], told["locks"]) == ("denied", ["doorman"])
    assert not can_write(person, name)
    assert can_write(person, name + ".txt" if "/" not in name else "deeper/.git/description")


@pytest.mark.parametrize("name", [".envrc", "deeper/.git/hooks/pre-commit"])
def test_without_a_doorman_protected_names_made_later_are_refused_by_name_or_not_held(person, name):
    policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "allowNestedUserNamespaces": True})
    refused = person.cloche("run", "-s", policy, "true")
    assert refused.returncode == 125 and "allowNestedUserNamespaces" in refused.stderr and "late-names" in refused.stderr
    told = answer(person, f"write:{name}", "-s", policy)
    assert (told["verdict"], told["held"], told["locks"]) == ("denied", False, [])
    assert "not held by any lock" in told["note"]
    script = 'mkdir -p "$(dirname "$0")" && : >> "$0"'
    assert person.cloche("run", "-s", policy, "--allow-degraded", "late-names", "sh", "-c", script, name).returncode == 0


CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


def can_connect(person, path, *options):
    return person.cloche("run", *options, "/usr/bin/python3", "-c", CONNECT, str(path)).returncode == 0


def test_sockets_in_sight_are_held_by_the_doorman(person):
    path = person.project / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        person.own(path)
        server.listen()
        told = answer(person, f"unix:{path}")
        assert (told["verdict"], told["locks"]) == ("denied", ["doorman"])
        assert not can_connect(person, path)
        assert can_connect(person, path, "--allow-unix", path)
        policy = {"extends": ["preset:dev"], "seccomp": {"blockUnixSockets": True}}
        assert not can_connect(person, path, "-s", str(person.file(person.home / "policy.json", policy)))


def test_sockets_in_run_are_out_of_sight(person):
    told = answer(person, "unix:/run/docker.sock")
    assert (told["verdict"], told["locks"]) == ("denied", ["mount", "doorman"])
    assert person.cloche("run", "sh", "-c", "ls -A /run | grep -v -x user").stdout == ""
