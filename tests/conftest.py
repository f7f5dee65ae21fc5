"""Fixtures for tests that look at the binary from outside.

Every test that takes `person` runs twice where the suite runs as root: as root and
as an ordinary user. Each person gets a home and a project of their own, which are
gone afterwards."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from judging import PATIENCE, as_person
from remote_world import ORDINARY_UID, SERVER_V4, SERVER_V6, new_world
from terminals import Terminal

TOP = pathlib.Path(__file__).resolve().parents[1]

# Whoever started the tests with nohup, or in the background of a script: commands are to be sent these.
for ignored, wanted in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGQUIT, signal.SIG_DFL),
                        (signal.SIGINT, signal.default_int_handler)):  # fmt: skip
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, wanted)


def remove(directory):
    """Once more if something came in between: a shell that is told to end still writes its history."""
    try:
        shutil.rmtree(directory)
    except OSError:
        time.sleep(0.5)
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def binaries():
    """A directory everybody can reach, with the binary and its other names."""
    built = pathlib.Path(os.environ.get("CLOCHE", TOP / "build" / "cloche"))
    with tempfile.TemporaryDirectory(prefix="cloche-bin-") as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        shutil.copy(built, place / "cloche")
        (place / "cloche").chmod(0o755)
        for name in ("srt", "codex-linux-sandbox"):
            (place / name).symlink_to("cloche")
        yield place


class Person:
    """Somebody with a home and a project, who runs cloche."""

    def __init__(self, uid, base, binaries):
        self.uid = uid
        self.base = base
        self.binaries = binaries
        self.home = base / "home"
        self.project = self.home / "project"
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.home),
            "USER": "somebody",
            "LANG": "C.UTF-8",
        }
        self.directory(self.home)
        self.directory(self.project)

    def own(self, path):
        os.chown(path, self.uid, self.uid, follow_symlinks=False)
        return path

    def directory(self, path):
        path = self.home / path
        missing = [path, *path.parents]
        for each in reversed(missing[: next(i for i, p in enumerate(missing) if p.exists())]):
            each.mkdir()
            self.own(each)
        return path

    def file(self, path, content="content\n"):
        """A file below the project (or at an absolute path); dict becomes JSON."""
        path = self.project / path
        self.directory(path.parent)
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.own(path)

    def link(self, path, target):
        path = self.project / path
        self.directory(path.parent)
        path.symlink_to(target)
        return self.own(path)

    def call(self, name, *arguments, cwd=None, environment=None, **keywords):
        return subprocess.run(
            [self.binaries / name, *arguments],
            cwd=cwd or self.project,
            env={**self.environment, **(environment or {})},
            text=True,
            errors="surrogateescape",
            check=False,
            **{"timeout": 2 * PATIENCE, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               **keywords},
            **as_person(self),
        )

    def cloche(self, *arguments, **keywords):
        return self.call("cloche", *arguments, **keywords)

    def srt(self, *arguments, **keywords):
        return self.call("srt", *arguments, **keywords)

    def codex(self, profile, *command, options=(), **keywords):
        """The stand-in for Codex's helper, with the project as its workspace; a profile is JSON or its text."""
        if not isinstance(profile, str):
            profile = json.dumps(profile)
        return self.call("codex-linux-sandbox", "--sandbox-policy-cwd", self.project, "--permission-profile", profile,
                         *options, "--", *command, **keywords)

    def explain(self, *arguments, **keywords):
        """The JSON object of `explain --json`, with the exit status in it."""
        answer = self.cloche("explain", "--json", *arguments, **keywords)
        assert answer.stdout, answer.stderr
        return {**json.loads(answer.stdout), "status": answer.returncode}

    def allowed(self, question, *arguments, **keywords):
        """Does explain say yes to one question?"""
        answer = self.cloche("explain", *arguments, question, **keywords)
        assert answer.returncode in (0, 1), answer.stderr
        return answer.returncode == 0


@contextlib.contextmanager
def somebody(uid, binaries):
    # Not below /tmp: a run has a /tmp of its own.
    parent = "/home" if os.access("/home", os.W_OK) else None
    base = pathlib.Path(tempfile.mkdtemp(prefix="cloche-test-", dir=parent))
    base.chmod(0o755)
    os.chown(base, uid, uid)
    yield Person(uid, base, binaries)
    remove(base)


@pytest.fixture(params=["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"])
def person(request, binaries):
    uid = os.geteuid()
    if uid == 0 and request.param == "ordinary":
        uid = ORDINARY_UID
    with somebody(uid, binaries) as made:
        yield made


@pytest.fixture(scope="module")
def lodger(binaries):
    """One person for all tests of a file."""
    with somebody(os.geteuid(), binaries) as made:
        yield made


@pytest.fixture
def terminal(person):
    opened = []

    def open_terminal(*command):
        opened.append(Terminal(person, command))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@pytest.fixture(scope="module")
def world():
    if os.geteuid() != 0:
        pytest.skip("only root can make the network namespaces of this test")
    with new_world() as made:
        yield made


@pytest.fixture(scope="module")
def site(world):
    """A web server by several names: site.test is allowed by most tests, the others are not."""
    for name in ("site.test", "sub.site.test", "evilsite.test", "other.test", "packages.test", "direct.test"):
        world.names.add(name, SERVER_V4)
    world.names.add("six.test", SERVER_V6)
    world.names.add("both.test", SERVER_V4, SERVER_V6)
    server = world.web((SERVER_V4, 80))
    server.six = world.web((SERVER_V6, 80))
    server.tls = world.web((SERVER_V4, 443), tls=["site.test", "sub.site.test", "packages.test"])
    return server


@pytest.fixture
def go(world, person, site):
    """Runs something inside with site.test allowed, or with what `allow` names."""
    def run(*command, allow=("site.test",), options=(), **keywords):
        allowed = [word for name in allow for word in ("--allow-domain", name)]
        return world.cloche(person, "run", *allowed, *options, "--", *command, **keywords)
    return run
