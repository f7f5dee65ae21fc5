"""explain names the locks that really stop something, and says so where none does.

That there are two is shown by taking one away: strace answers its system calls in the kernel's place, so that cloche
believes it has been set."""

import json
import socket
import subprocess

import pytest

from judging import PATIENCE, as_person


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


# The second lock

NO_READ_ONLY_MOUNTS = "inject=mount_setattr:retval=0"
NO_NEW_ROOT = "inject=pivot_root,umount2:retval=0"
NO_LANDLOCK = "inject=landlock_restrict_self:retval=0"


def without(person, injections, filesystem, *command):
    """A run with neither doorman nor filter, whose system calls are answered by strace. How many were, and the answer."""
    policy = json.dumps({"extends": [], "filesystem": filesystem, "seccomp": {"enabled": False}})
    trace = person.base / "trace"
    answer = subprocess.run(["strace", "-f", "-qq", "-o", trace, "-e", "trace=mount_setattr,pivot_root,umount2,"
                             "landlock_restrict_self", *(word for each in injections for word in ("-e", each)),
                             person.binaries / "cloche", "run", "-q", "--backend", "namespaces", "-s", policy,
                             "--allow-degraded", "late-names", *command], cwd=person.project, env=person.environment,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
                            **as_person(person))
    return trace.read_text().count("INJECTED"), answer


def test_writes_outside_fail_by_landlock_where_no_mount_is_read_only(person):
    target = person.file(person.home / "outside.txt", "original\n")
    filesystem = {"allowWrite": ["$PROJECT_DIR"]}
    command = ["sh", "-c", "echo x >inside; echo x >>../outside.txt"]
    for injections, words in (([], "Read-only file system"), ([NO_READ_ONLY_MOUNTS], "Permission denied")):
        count, answer = without(person, injections, filesystem, *command)
        assert bool(count) == bool(injections)
        assert answer.returncode == 2 and words in answer.stderr, answer
        assert target.read_text() == "original\n"
        assert (person.project / "inside").exists()
    count, answer = without(person, [NO_READ_ONLY_MOUNTS, NO_LANDLOCK], filesystem, *command)
    assert count > 1 and answer.returncode == 0, answer
    assert target.read_text() == "original\nx\n", "without either lock nothing holds it"


def test_what_is_not_listed_cannot_be_read_by_landlock_where_it_is_in_sight(person):
    secret = person.file(person.home / "secret", "unlisted\n")
    listed = person.file(person.home / "listed", "listed\n")
    filesystem = {"readMode": "listed", "allowRead": [str(listed)], "allowWrite": ["$PROJECT_DIR"]}
    command = ["cat", listed, secret]
    for injections, words in (([], "No such file"), ([NO_NEW_ROOT], "Permission denied")):
        count, answer = without(person, injections, filesystem, *command)
        assert bool(count) == bool(injections)
        assert (answer.returncode, answer.stdout) == (1, "listed\n") and words in answer.stderr, answer
    count, answer = without(person, [NO_NEW_ROOT, NO_LANDLOCK], filesystem, *command)
    assert count > 1 and answer.stdout == "listed\nunlisted\n", answer
