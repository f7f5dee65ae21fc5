"""What the host sees of a run while it goes on: the entries that the command made, and no others.

Protected names are held without placeholders, locks without lock files, and a refusal leaves nothing. A watcher
(inotify, which sees every entry however short it lives) stands on each directory of the project meanwhile. Beside it,
ordinary work that such machinery tends to disturb: git in all its ways, and packages that bring editor directories."""

import ctypes
import io
import os
import pathlib
import struct
import subprocess
import tarfile

import pytest

from judging import as_person, call_outside, fingerprint, git_identity

# linux/inotify.h
IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB = 0x100, 0x200, 0x40, 0x80, 0x4
EVENT = struct.Struct("iIII")


class Watcher:
    """Every name that appears, disappears or is marked in some directories."""

    def __init__(self, *directories):
        library = ctypes.CDLL(None, use_errno=True)
        self.descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.places = {}
        for directory in directories:
            mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB
            number = library.inotify_add_watch(self.descriptor, os.fsencode(directory), mask)
            assert number > 0, directory
            self.places[number] = pathlib.Path(directory)

    def seen(self):
        found = set()
        while True:
            try:
                data = os.read(self.descriptor, 1 << 20)
            except BlockingIOError:
                return found
            offset = 0
            while offset < len(data):
                number, _, _, length = EVENT.unpack_from(data, offset)
                name = data[offset + EVENT.size:offset + EVENT.size + length].rstrip(b"\0")
                found.add(str(self.places[number] / os.fsdecode(name)) if name else str(self.places[number]))
                offset += EVENT.size + length

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)


def work(person, script, *options, status=0):
    answer = person.cloche("run", "--backend", "namespaces", *options, "bash", "-c", f"set -e -o pipefail\n{script}")
    assert answer.returncode == status, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture
def repository(person):
    git_identity(person, "[protocol \"file\"]\n\tallow = always\n")
    person.file("a", "one\n")
    person.file("deep/b", "two\n")
    call_outside(person, "git", "init", "-q")
    call_outside(person, "git", "add", "-A")
    call_outside(person, "git", "commit", "-qm", "first")
    return person


def directories_of(top):
    return [pathlib.Path(place) for place, _, _ in os.walk(top)]


# What is refused, each by another call.
REFUSED = """
refused() { ! "$@" 2>/dev/null; }
for name in .bashrc .envrc deep/.bashrc .mcp.json deep/.mcp.json .git/commondir .git/config.worktree; do
    refused bash -c "echo evil >$name"; refused ln -s a $name; refused ln a $name; refused cp a $name
    refused mkdir $name; refused mv a $name; refused mkfifo $name; refused touch $name
done
for name in .vscode .idea deep/.husky deep/.codex; do refused mkdir $name; refused ln -s deep $name; refused mv deep $name; done
refused bash -c 'echo evil >.git/hooks/post-commit'; refused chmod 777 .git/config; refused touch .git/config
refused rm .git/config; refused mv .git/hooks hooks; refused mv .git x; refused git config core.fsmonitor evil
"""


def test_the_host_sees_no_entry_that_the_command_did_not_make(repository):
    project = repository.project
    with Watcher(*directories_of(project)) as watcher:
        work(repository, "true")
        assert watcher.seen() == set()
        before = fingerprint(project)
        work(repository, REFUSED)
        # git tries to make .git/config.lock, and takes it away when it cannot use it.
        assert watcher.seen() <= {f"{project}/.git/config.lock"}
        after = fingerprint(project)
        assert after == before
        work(repository, "echo x >new; mkdir deep/dir; mv a deep/c; rm deep/b; ln -s c deep/link; chmod 600 deep/c")
        assert watcher.seen() == {f"{project}/{name}" for name in ("new", "deep/dir", "a", "deep/c", "deep/b", "deep/link")}


def test_a_run_that_is_killed_leaves_no_entry(repository):
    project = repository.project
    before = fingerprint(project)
    with Watcher(*directories_of(project)) as watcher:
        run = subprocess.Popen([repository.binaries / "cloche", "run", "--backend", "namespaces", "bash", "-c",
                                f"{REFUSED}\necho ready; while :; do ! touch .bashrc deep/.envrc 2>/dev/null; done"],
                               cwd=project, env=repository.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **as_person(repository))
        assert run.stdout.readline() == "ready\n"
        run.kill()
        run.wait()
        assert watcher.seen() <= {f"{project}/.git/config.lock"}
    assert fingerprint(project) == before


def test_git_sees_inside_what_it_sees_outside(repository):
    repository.file("untracked")
    repository.file("deep/b", "changed\n")
    expected = call_outside(repository, "git", "status", "--porcelain", "--untracked-files=all", "--ignored")
    assert work(repository, "git status --porcelain --untracked-files=all --ignored") == expected
    work(repository, "git add -A; git commit -qm all")
    assert call_outside(repository, "git", "status", "--porcelain") == ""
    assert call_outside(repository, "git", "ls-files").split() == ["a", "deep/b", "untracked"]
    call_outside(repository, "git", "fsck", "--strict")


def test_git_does_its_ordinary_work_in_a_repository_of_before(repository):
    work(repository, """
        git mv a deep/a2; git commit -qm moved; git mv deep/a2 a; git commit -qm back
        mkdir -p sub/dir; git mv deep/b sub/dir/b; git commit -qm deeper; git mv sub other; git commit -qm directory
        git checkout -q -b topic; echo more >>a; git commit -qam topic
        git checkout -q main; echo x >new; git add -A; git commit -qm new
        git rebase -q main topic; git checkout -q main; git merge -q topic; git reset -q --hard HEAD~
        git cherry-pick topic >/dev/null; git revert --no-edit HEAD >/dev/null
        echo y >>a; git stash -q; git stash pop -q; git stash -q -u; git stash drop -q
        git tag v1; git tag -a -m annotated v2; git branch -qD topic
        git gc -q; git repack -qad; git reflog expire --expire=now --all; git prune
        git worktree add -q side; (cd side; echo s >s; git add s; git commit -qm side)
        git bisect start >/dev/null; git bisect reset >/dev/null 2>&1
        git notes add -m note; git rev-parse HEAD >/dev/null; git clean -qfd -e side; git checkout -q .
        git archive HEAD | tar t >/dev/null; git bundle create -q x.bundle main; rm x.bundle""")
    assert call_outside(repository, "git", "status", "--porcelain", "--untracked-files=no") == ""
    assert call_outside(repository, "git", "log", "-1", "--format=%s", "side", "--") == "side\n"
    call_outside(repository, "git", "fsck", "--strict")


def test_git_makes_clones_and_repositories_with_all_they_need(repository):
    work(repository, """
        git init -q made; cd made; git config user.name Other; git config core.hooksPath hooks
        echo x >x; git add x; git commit -qm made; echo '#!/bin/sh' >.git/hooks/post-commit; cd ..
        git clone -q . copy; cd copy; git checkout -q -b topic; git branch -q --set-upstream-to=origin/main
        git remote add other ..; echo c >>a; git commit -qam copy; git push -q origin topic; cd ..
        git clone -q --bare . bare.git; git init -q --bare bare2
        git clone -q --recurse-submodules copy again; git clone -q --depth 1 "file://$PWD/copy" shallow
        git init -q --separate-git-dir="$PWD/apart" work; cd work; echo w >w; git add w; git commit -qm w""")
    assert call_outside(repository, "git", "log", "-1", "--format=%s", "topic") == "copy\n"
    for name in ("made", "copy", "bare.git", "again", "shallow", "work"):
        call_outside(repository, "git", "fsck", cwd=repository.project / name)


def test_git_adds_a_submodule_where_the_repository_is_new_and_nowhere_else(repository):
    work(repository, """
        git clone -q . one; git clone -q . two; cd two; git submodule add -q "$PWD/../one" modules/one
        git commit -qm 'with a submodule'; cd ..; git clone -q --recurse-submodules two three""")
    assert (repository.project / "three/modules/one/a").read_text() == "one\n"
    before = fingerprint(repository.project, leave_out={repository.project / ".git/modules"})
    assert repository.cloche("run", "git", "submodule", "add", "./one", "bad").returncode != 0
    assert not (repository.project / ".gitmodules").exists()
    assert (repository.project / ".git/config").read_bytes() == before[str(repository.project / ".git/config")][-1]
    call_outside(repository, "git", "submodule", "add", "-q", f"{repository.project}/one", "good")


def package(*names):
    """A tarball as package managers fetch them."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 5
            archive.addfile(entry, io.BytesIO(b"text\n"))
    return stream.getvalue()


def test_a_package_with_editor_directories_is_unpacked(repository):
    names = ["package/package.json", "package/.idea/workspace.xml", "package/.vscode/settings.json",
             "package/lib/.husky/pre-commit", "package/.envrc", "package/.devcontainer/x.json", "package/.gitmodules"]
    repository.file("pkg.tgz", package(*names))
    work(repository, """
        mkdir node_modules; mkdir node_modules/.tmp; tar xzf pkg.tgz -C node_modules/.tmp
        mv node_modules/.tmp/package node_modules/pkg; rmdir node_modules/.tmp
        cp -a node_modules/pkg node_modules/copied; mkdir again; tar xzf pkg.tgz -C again; rm -r again""")
    for name in names:
        for place in ("pkg", "copied"):
            assert (repository.project / "node_modules" / place / name.removeprefix("package/")).read_text() == "text\n"


def test_a_package_is_unpacked_beside_what_is_there_already(repository):
    """node_modules is of before; what is made in it today may bring what it likes."""
    repository.file("pkg.tgz", package("package/index.js", "package/.idea/workspace.xml", "package/.vscode/x.json"))
    repository.file("node_modules/old/index.js")
    work(repository, """
        mkdir node_modules/.pkg-tmp; tar xzf pkg.tgz -C node_modules/.pkg-tmp --strip-components=1
        mv node_modules/.pkg-tmp node_modules/pkg; mv node_modules/pkg node_modules/.old; mv node_modules/.old node_modules/pkg
        rm -r node_modules/pkg; mkdir node_modules/@scope; mkdir node_modules/@scope/pkg
        tar xzf pkg.tgz -C node_modules/@scope/pkg --strip-components=1""")
    assert (repository.project / "node_modules/@scope/pkg/.idea/workspace.xml").exists()
    # Into a directory of before it is not unpacked.
    work(repository, "tar xzf pkg.tgz -C node_modules/old --strip-components=1", status=2)
    assert sorted(os.listdir(repository.project / "node_modules/old")) == ["index.js"]


def test_an_editors_way_of_saving_works(repository):
    """A new file, synced and renamed over the old one; a backup by link; a lock that is a link."""
    work(repository, """
        ln -s somebody@host.1:1 .#a; cp -p a a~; printf 'new\\n' >a.tmp; sync a.tmp; chmod --reference=a a.tmp
        touch -r a a.tmp; mv a.tmp a; rm .#a; ln a a.bak; printf 'more\\n' >>a.bak; sed -i s/new/newer/ a; rm a~""")
    assert (repository.project / "a").read_text() == "newer\nmore\n"
