"""Attacks from inside a run, and judgement from outside. See conftest.py."""

import contextlib
import os
import re
import shutil
import socket
import stat
import subprocess
import threading
import typing

from judging import BUILD, PATIENCE, as_person


class Outcome(typing.NamedTuple):
    """What came of one operation: "ok" or the error's name, and what it read."""

    verdict: str
    shown: str = ""


OK = Outcome("ok")


def outcomes_of(text):
    return [Outcome(verdict, shown) for shown, verdict in re.findall(r"(.*?)= (\S+)\n", text, re.DOTALL)]


def joined(operations):
    """The attacker's command line for several operations in one process."""
    words = []
    for operation in operations:
        words += ["--", *(str(word) if isinstance(word, (int, os.PathLike)) else word for word in operation)]
    return words


class HostSocket:
    """A socket of the host that greets with a secret and counts who came."""

    def __init__(self, address, secret, kind=socket.SOCK_STREAM):
        self.kind = kind
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.socket.bind(address)
        self.greeting = secret.encode()
        self.visitors = 0
        if kind != socket.SOCK_DGRAM:
            self.socket.listen(64)
            threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.visitors += 1
                with contextlib.suppress(OSError), connection:
                    connection.sendall(self.greeting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class SaidByName(Exception):
    """cloche refused the run, or admitted what it cannot hold, as the test's mark says it must."""


class Jail:
    """One person's runs with one backend, and what they said."""

    def __init__(self, person, backend, refused=None, admitted=None):
        self.person = person
        self.backend = backend
        self.refused = refused
        self.admitted = admitted
        self.heard = ""
        self.attacker = person.directory(person.home / ".local/bin") / "attacker"
        shutil.copy(BUILD / "tests" / "attack" / "attacker", self.attacker)
        self.attacker.chmod(0o755)
        person.own(self.attacker)

    def command(self, *command, options=(), policy=None):
        """The words of a run, for tests that start it themselves."""
        if policy is not None:
            options = (*options, "--settings", self.person.file(self.person.base / "policy.json", policy))
            if policy.get("allowNestedUserNamespaces") or policy.get("seccomp", {}).get("enabled") is False:
                options = (*options, "--allow-degraded", "late-names")  # there is no doorman then
        return ["run", "--backend", self.backend, *options, "--", *command]

    def run(self, *command, options=(), policy=None, **keywords):
        answer = self.person.cloche(*self.command(*command, options=options, policy=policy), **keywords)
        self.heard += (answer.stdout or "") + (answer.stderr or "")
        if self.refused:
            assert answer.returncode == 125 and self.refused in answer.stderr, answer
            raise SaidByName
        if self.admitted:
            assert answer.returncode != 125 and self.admitted in answer.stderr, answer
            raise SaidByName
        return answer

    def attacks(self, *operations, **keywords):
        """Runs operations in one process inside; one Outcome each."""
        answer = self.run(self.attacker, *joined(operations), **keywords)
        assert answer.returncode == 0, answer
        found = outcomes_of(answer.stdout)
        assert len(found) == len(operations), answer
        return found

    def attack(self, *words, **keywords):
        return self.attacks(words, **keywords)[0]

    def attacks_outside(self, *operations, program=None, **keywords):
        """The same without cloche, as the same user: what the attack is worth."""
        answer = subprocess.run([program or self.attacker, *joined(operations)], cwd=self.person.project,
                                env=self.person.environment, text=True, timeout=PATIENCE, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.identity(),
                                **{"stdin": subprocess.DEVNULL, **keywords})
        assert answer.returncode == 0, answer
        return outcomes_of(answer.stdout)

    def attack_outside(self, *words, **keywords):
        return self.attacks_outside(words, **keywords)[0]

    def identity(self):
        return as_person(self.person)

    @property
    def has_namespaces(self):
        return self.backend == "namespaces"

    def nested(self, *operations):
        """The same where the policy lets the command make namespaces; all "ok" where cloche cannot allow it."""
        policy = self.policy(allowNestedUserNamespaces=True)
        if self.has_namespaces:
            return self.attacks(*operations, policy=policy)
        answer = self.run(self.attacker, *joined(operations), policy=policy)
        assert answer.returncode == 125 and "allowNestedUserNamespaces" in answer.stderr, answer
        return [OK] * len(operations)

    def policy(self, **sections):
        """A policy that adds to the default one."""
        return {"extends": ["preset:dev"], **sections}

    def never_told(self, secret):
        return secret not in self.heard


def state(path):
    """All of a file or tree that a command could have changed. Times of reading are not."""
    status = os.lstat(path)
    seen = [path.name, status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns]
    if stat.S_ISLNK(status.st_mode):
        seen.append(os.readlink(path))
    elif stat.S_ISREG(status.st_mode):
        seen.append(path.read_bytes())
    elif stat.S_ISDIR(status.st_mode):
        seen += [state(path / name) for name in sorted(os.listdir(path))]
    if not stat.S_ISLNK(status.st_mode):
        seen += [(name, os.getxattr(path, name)) for name in sorted(os.listxattr(path))]
    return seen


@contextlib.contextmanager
def unchanged(*paths):
    """What stands at these paths is the same afterwards, and still stands there."""
    before = [state(path) for path in paths]
    yield
    for path, was in zip(paths, before):
        assert state(path) == was, f"{path} was changed"
