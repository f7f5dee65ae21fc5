"""Git's index by the names in it, under attack.

Git checks no name that it reads from an index on disk: `git checkout .` and `git restore .` write to whatever it names, and
`git add -u` reads it. A run may change the index of a repository that was there before, for that is what git does all day;
afterwards the host's git must neither write outside of the work tree, nor into its own directory, nor read there. Beside
each attack the same is done without cloche, where it must succeed."""

import os

import pytest

from attacking import PATIENCE, unchanged
from judging import git_identity, outside

# Called with the index to write, its version, and names: adds them to what is in the index, by way of the lock.
FORGE = r"""
import hashlib, os, struct, subprocess, sys
target, version = sys.argv[1], int(sys.argv[2])
def git(*words, data=None):
    return subprocess.run(["git", *words], input=data, capture_output=True, check=True).stdout.decode()
blob = git("hash-object", "-w", "--stdin", data=b"#!/bin/sh\ntouch CANARY\n").strip()
entries = [(line.split("\t")[1].encode(), int(line.split()[0], 8), line.split()[1]) for line in git("ls-files", "-s").splitlines()]
entries = sorted(entries + [(os.fsencode(name), 0o100755, blob) for name in sys.argv[3:]])
data, before = b"DIRC" + struct.pack(">II", version, len(entries)), b""
for name, mode, oid in entries:
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(oid) + struct.pack(">H", min(len(name), 0xfff))
    if version == 4:
        same = len(os.path.commonprefix([before, name]))
        data += entry + bytes([len(before) - same]) + name[same:] + b"\0"
    else:
        data += entry + name + b"\0" * (8 - (len(entry) + len(name)) % 8)
    before = name
data += hashlib.sha1(data).digest()
open(target + ".lock", "wb").write(data)
try:
    os.rename(target + ".lock", target)
    print("renamed")
except PermissionError:
    os.unlink(target + ".lock")
    print("refused")
"""


@pytest.fixture
def backend():
    """Only a doorman looks into an index."""
    return "namespaces"


@pytest.fixture
def repository(jail):
    person = jail.person
    git_identity(person)
    person.file("src/a", "one\n")
    person.canary = person.base / "canary"
    person.file("forge.py", FORGE.replace("CANARY", str(person.canary)))
    outside(person, "git init -q; git add -A; git commit -qm first")
    return person


def forge(jail, names, version=2, index=".git/index"):
    return jail.run("/usr/bin/python3", "forge.py", index, str(version), *names)


def forge_outside(person, names, version=2):
    words = " ".join(f"'{name}'" for name in names)
    assert outside(person, f"/usr/bin/python3 forge.py .git/index {version} {words}") == "renamed\n"


def written_by_host(person, path):
    """What the host's git makes there when it restores the work tree."""
    outside(person, "git checkout . ; git restore . ; git checkout-index -a -f; git checkout -q -b other; true")
    return os.path.lexists(path) or person.canary.exists()


# A name, and where it would be written.
NAMES = [(".git/hooks/post-checkout", ".git/hooks/post-checkout"), ("../OUT", "../OUT"), ("src/../../OUT", "../OUT"), ("BASE/OUT", "../OUT")]


def test_no_name_that_leads_elsewhere_gets_into_an_index(jail, repository):
    index = repository.project / ".git/index"
    for number, (name, target) in enumerate(NAMES):
        version = (2, 4)[number % 2]
        name, target = name.replace("BASE", str(repository.project.parent)), repository.project / target
        with unchanged(index):
            answer = forge(jail, [name], version)
            assert answer.stdout == "refused\n" and name in answer.stderr, answer
        assert not written_by_host(repository, target)
        # Without cloche the host's git obeys it; and what is harmless is taken.
        outside(repository, "git checkout -q main; git branch -q -D other")
        assert forge(jail, ["src/new"], version).stdout == "renamed\n"
        assert "src/new" in outside(repository, "git ls-files")
        forge_outside(repository, [name], version)
        assert written_by_host(repository, target), name
        target.unlink(missing_ok=True)
        repository.canary.unlink(missing_ok=True)
        outside(repository, "rm .git/index; git reset -q --hard; git checkout -q main; git branch -q -D other; true")


def test_names_that_are_git_elsewhere_are_refused_too(jail, repository):
    names = [".GIT/config", "git~1/config", ".git /config", ".git./config", "src/.git/config", ".g\u200cit/config", "a//b", "./a", "a/."]
    with unchanged(repository.project / ".git/index"):
        answer = jail.run("bash", "-c", 'for name; do /usr/bin/python3 forge.py .git/index 2 "$name"; done', "bash", *names)
        assert answer.stdout.split() == ["refused"] * len(names), answer
    assert forge(jail, [".github/config", ".gitignore", "git~2"]).stdout == "renamed\n"


def test_no_hidden_file_is_read_into_the_repository(jail, repository):
    secret = repository.file(repository.base / "secret", "PRIVATE\n")
    found = "git add -u; git cat-file --batch-all-objects --batch | grep -ac '^PRIVATE' || true"
    assert forge(jail, [str(secret)]).stdout == "refused\n"
    assert outside(repository, found) == "0\n"
    forge_outside(repository, [str(secret)])
    assert outside(repository, found) == "1\n"


def test_no_other_name_and_no_other_call_puts_an_index_in_place(jail, repository):
    index = repository.project / ".git/index"
    for name in ("ready", ".git/ready", ".git/index.lock"):
        jail.person.file(name, index.read_bytes())
    with unchanged(index):
        found = jail.attacks(["rename", "ready", ".git/index"], ["rename", ".git/ready", ".git/index"], ["exchange", ".git/index.lock", ".git/index"],
                             ["rename-whiteout", ".git/index.lock", ".git/index"], ["link", ".git/index", "second"], ["write", ".git/index", "x"],
                             ["truncate", ".git/index"], ["rename", ".git/index", "first"], ["write", ".git/sharedindex.0", "x"],
                             ["rename", ".git/ready", ".git/sharedindex.0"], ["write", ".git/INDEX", "x"])
    assert [outcome for outcome in found if outcome.verdict == "ok"] == [], found
    assert jail.attack("rename", ".git/index.lock", ".git/index").verdict == "ok"
    # Without one git makes another: to take it away is harmless, what is put there instead is not.
    jail.person.file(".git/index.lock", index.read_bytes())
    assert jail.attack("unlink", ".git/index").verdict == "ok"
    found = jail.attacks(["symlink", "../ready", ".git/index"], ["link", "ready", ".git/index"], ["write", ".git/index", "x"], ["mkdir", ".git/index"],
                         ["rename", "ready", ".git/index"])
    assert [outcome for outcome in found if outcome.verdict == "ok"] == [] and not os.path.lexists(index), found
    assert jail.attack("rename", ".git/index.lock", ".git/index").verdict == "ok" and index.is_file()


def test_what_the_writer_still_holds_open_reaches_nothing(jail, repository):
    outside(repository, "cp .git/index safe; cp .git/index keep; /usr/bin/python3 forge.py .git/index 2 ../OUT; mv .git/index evil; mv keep .git/index")
    answer = jail.run("/usr/bin/python3", "-c", """
import mmap, os
safe, evil = open("safe", "rb").read(), open("evil", "rb").read()
lock = os.open(".git/index.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
os.write(lock, safe)
os.link(".git/index.lock", "second")
mapped = mmap.mmap(lock, len(safe))
os.rename(".git/index.lock", ".git/index")
os.pwrite(lock, evil, 0)
mapped[:] = evil[:len(safe)]
mapped.flush()
open("second", "wb").write(evil)
print(open(".git/index", "rb").read() == safe, os.stat(".git/index").st_nlink, os.path.lexists(".git/index.lock"))
""")
    assert answer.stdout == "True 1 False\n", answer
    assert not written_by_host(repository, repository.project.parent / "OUT")


def test_a_lock_that_is_no_index_is_refused_and_nobody_waits(jail, repository):
    with unchanged(repository.project / ".git/index"):
        answer = jail.run("/usr/bin/python3", "-c", """
import os, shutil, socket
lock, index = ".git/index.lock", open(".git/index", "rb").read()
for make in (lambda: os.symlink("../forge.py", lock), lambda: os.mkdir(lock), lambda: os.mkfifo(lock), lambda: socket.socket(socket.AF_UNIX).bind(lock),
             lambda: open(lock, "w").truncate(1 << 40), lambda: open(lock, "w").close(), lambda: open(lock, "wb").write(index[:-21]),
             lambda: open(lock, "wb").write(b"DIRC" + b"\\xff" * 100)):
    make()
    try:
        os.rename(lock, ".git/index")
        print("renamed")
    except OSError as problem:
        print(problem.errno)
    os.rmdir(lock) if os.path.isdir(lock) and not os.path.islink(lock) else os.unlink(lock)
""", timeout=PATIENCE)
    assert len(answer.stdout.split()) == 8 and set(answer.stdout.split()) <= {"13", "20", "21"}, answer


def test_worktrees_and_submodules_have_indexes_too(jail, repository):
    outside(repository, "git worktree add -q tree; git init -q other; cd other; git commit -q --allow-empty -m x; cd ..; "
            "git -c protocol.file.allow=always submodule --quiet add ./other module; git commit -qm module")
    for index in (".git/worktrees/tree/index", ".git/modules/module/index"):
        (repository.project / index).touch()
        with unchanged(repository.project / index):
            assert forge(jail, ["../OUT"], index=index).stdout == "refused\n"
            assert jail.attack("write", index, "x").verdict != "ok"
        assert forge(jail, ["src/new"], index=index).stdout == "renamed\n", index
    # A branch may be called so.
    assert jail.run("git", "branch", "index").returncode == 0
    assert "refs/heads/index" in outside(repository, "git for-each-ref")


def test_a_directory_does_not_cease_to_be_git_s_for_a_moment(jail, repository):
    answer = jail.run("bash", "-c", "mv .git/objects .git/o; mv .git/refs .git/r; ln -s o .git/objects; ln -s r .git/refs; cp forge.py .git/index; "
                      "mv forge.py .git/index; mv .git/HEAD .git/H; echo x >.git/index; echo done")
    assert "done" in answer.stdout, answer
    assert (repository.project / ".git/index").read_bytes()[:4] == b"DIRC"


WORK = """
set -e
git update-index --index-version $version
echo b >b; git add b; git commit -qm b; git mv b c; git commit -qam c; echo d >>c; git stash -q; git stash pop -q; git add -N forge.py
git reset -q; git checkout -q -b topic; git commit -qam topic; git checkout -q main; echo m >m; git add m; git commit -qm m; git rebase -q topic
git reset -q --hard HEAD~1; git read-tree HEAD; git restore --staged .; git rm -q c; git reset -q --hard; git worktree add -q tree
git -c index.threads=2 update-index --force-write-index; git update-index --untracked-cache; git status >/dev/null
git fsck --no-progress; git ls-files
"""


@pytest.mark.parametrize("form, version", [("sha1", 2), ("sha1", 4), ("sha256", 4)])
def test_git_itself_notices_nothing(jail, repository, form, version):
    outside(repository, f"rm -rf .git; git init -q --object-format={form}; git add src; git commit -qm first")
    answer = jail.run("bash", "-c", f"version={version}\n{WORK}", timeout=PATIENCE)
    assert answer.returncode == 0 and answer.stdout.split()[-2:] == ["c", "src/a"] and "index" not in answer.stderr, answer
    assert outside(repository, "git fsck >/dev/null; git checkout . ; git ls-files").split() == ["c", "src/a"]


def test_an_index_is_as_old_as_git_wrote_it(jail, repository):
    """By that time git knows which files may have changed since without showing it."""
    answer = jail.run("/usr/bin/python3", "-c", """
import os, shutil
shutil.copy(".git/index", ".git/index.lock")
os.utime(".git/index.lock", ns=(10 ** 18, 10 ** 18 + 5))
os.chmod(".git/index.lock", 0o777)
os.rename(".git/index.lock", ".git/index")
status = os.stat(".git/index")
print(status.st_mtime_ns, oct(status.st_mode & 0o777))
""")
    assert answer.stdout == f"{10 ** 18 + 5} 0o644\n", answer
