"""What was judged is what is done (C 49, 51; B 28-31; H 105, 106, 108): names that come to be while the doorman looks,
pieces that are harmless until the last one, descriptors from elsewhere, and ways to keep the doorman from everybody
else. Each was a hole once.

Judged from outside, by what stands in the directory that was there before, and by what git does there."""

import errno
import os
import subprocess
import time

import pytest

from attacking import OK, PATIENCE, unchanged
from judging import ATTEMPT, as_person, git_identity, outside, start, where_mounted

MILLISECONDS = 700


@pytest.fixture
def backend():
    return "namespaces"


@pytest.fixture
def old(jail):
    """A directory from before, and the mark of what git would run in it."""
    return jail.person.directory(jail.person.project / "old")


def shell(jail, script, **keywords):
    return jail.run("sh", "-c", script, **keywords)


def git_runs_nothing(jail, directory):
    """As whoever steps into it, with a prompt that asks git."""
    mark = jail.person.base / "ran"
    subprocess.run(["git", "status"], cwd=directory, env=jail.person.environment, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=PATIENCE, check=False, **as_person(jail.person))
    return not mark.exists()


def armed(jail):
    """A configuration that has git run something."""
    command = f"touch {jail.person.base / 'ran'};false"
    return f'[core]\n\tbare=false\n\trepositoryformatversion=0\n\tworktree=..\n\tfsmonitor="{command}"\n'


# --- the moment between looking and acting ------------------------------------


def test_c49_what_was_absent_when_judged_is_not_renamed_when_it_has_come(jail, old):
    """A link that is put in the place of an absent source would get a name that none may have."""
    target = old / ".claude"
    found = jail.attack("rename-absent", target, jail.person.project, 300, 2 * MILLISECONDS)
    assert int(found.shown) > 5, found
    assert not os.path.lexists(target)
    # The same without the race: an ordinary name may become a link.
    assert jail.attacks(["symlink", jail.person.project, "source"], ["rename", "source", "old/ordinary"]) == [OK, OK]


def test_c49_a_slash_behind_a_new_directory_claims_no_old_one(jail):
    project = jail.person.project
    found = jail.attack("claim-above", "made", project / ".envrc", 2 * MILLISECONDS)
    assert int(found.shown) > 5, found
    assert not os.path.lexists(project / ".envrc")
    assert jail.attacks(["mkdir", "fresh/"], ["create", "fresh/.envrc", "mine"]) == [OK, OK]


def test_c49_b31_two_names_that_make_a_git_directory_are_not_made_at_once(jail, old):
    for name in ("objects", "refs"):
        jail.person.directory(old / name)
    found = jail.attack("make-both", "old/HEAD", "old/config", 2 * MILLISECONDS)
    assert int(found.shown) > 20, found
    assert not ((old / "HEAD").exists() and (old / "config").exists())
    assert jail.attack("make-both", "old/HAED", "old/cnofig", PATIENCE * 1000).verdict == "ok"
    assert (old / "HAED").exists() and (old / "cnofig").exists()


# --- piece by piece -----------------------------------------------------------


@pytest.mark.parametrize("order", [("config", "marks", "HEAD"), ("HEAD", "marks", "config"),
                                   ("marks", "config", "HEAD"), ("HEAD", "config", "marks")])
def test_b31_no_order_of_pieces_makes_a_git_directory_that_obeys_a_run(jail, old, order):
    jail.person.file(jail.person.project / "pieces/config", armed(jail))
    pieces = {"config": "cp ../pieces/config config", "marks": "mkdir objects refs",
              "HEAD": "echo ref: refs/heads/x >HEAD"}
    script = "; ".join(pieces[piece] for piece in order)
    answer = shell(jail, f"cd old; {script}; true")
    assert answer.returncode == 0 and answer.stderr, answer
    assert git_runs_nothing(jail, old)
    # Where the run made the directory, or nobody refuses, git obeys: the pieces are good.
    assert shell(jail, f"mkdir new; cd new; {script}").returncode == 0
    assert not git_runs_nothing(jail, jail.person.project / "new")


def test_b31_commondir_needs_no_configuration_beside_it(jail, old):
    config = armed(jail).replace("repositoryformatversion=0", "repositoryformatversion=1").replace("\tworktree=..\n", "")
    jail.person.file(jail.person.project / "config", config + "[extensions]\n\tworktreeConfig=true\n")
    script = ("mkdir -p evil/objects evil/refs; cp config evil/config; cd {}; "
              "printf '[core]\\n\\tbare=false\\n\\tworktree=..\\n' >config.worktree; echo ../evil >commondir; "
              "echo ref: refs/heads/x >HEAD; true")
    assert shell(jail, script.format("old")).returncode == 0
    assert git_runs_nothing(jail, old)
    answer = subprocess.run(["sh", "-c", "mkdir plain; " + script.format("plain")], cwd=jail.person.project, check=False,
                            env=jail.person.environment, timeout=PATIENCE, **as_person(jail.person))
    assert answer.returncode == 0 and not git_runs_nothing(jail, jail.person.project / "plain")


LINKED = {"config": "cp ../pieces/config config", "objects": "ln -s ../evil/objects objects",
          "refs": "ln -s ../evil/refs refs", "HEAD": "cp ../evil/HEAD HEAD", "linked HEAD": "ln -s refs/heads/x HEAD"}


@pytest.mark.parametrize("order", ["config,refs,objects,HEAD", "refs,objects,HEAD,config", "HEAD,objects,config,refs",
                                   "refs,objects,linked HEAD,config", "config,linked HEAD,refs,objects"])
def test_b31_links_are_pieces_as_well(jail, old, order):
    """Git follows them."""
    jail.person.file(jail.person.project / "pieces/config", armed(jail))
    pieces = "; ".join(LINKED[piece] for piece in order.split(","))
    assert shell(jail, "git init -q --bare evil; echo ref: refs/heads/x >evil/HEAD").returncode == 0
    answer = shell(jail, f"cd old; {pieces}; true")
    assert answer.returncode == 0 and "git would" in answer.stderr, answer
    assert git_runs_nothing(jail, old)
    assert shell(jail, f"mkdir new; cd new; {pieces}").returncode == 0
    assert not git_runs_nothing(jail, jail.person.project / "new")


@pytest.fixture
def identity(jail):
    git_identity(jail.person)


def test_b31_an_old_git_directory_does_not_cease_to_be_one(jail, identity):
    """Its hooks would be anybody's meanwhile."""
    hook = (f"printf '#!/bin/sh\ntouch {jail.person.base / 'ran'}\n' >hooks/pre-receive; chmod +x hooks/pre-receive; ")
    script = "cd {}; mv objects o2; mv refs r2; " + hook + "ln -s o2 objects; ln -s r2 refs; true"
    push = "git -C source push -q ../{} main:refs/heads/{}"
    outside(jail.person, "set -e; git init -q --bare old.git; git init -q source; git -C source commit -q --allow-empty -m x")
    answer = shell(jail, script.format("old.git"))
    assert "old.git/objects, by mv: without it git would" in answer.stderr, answer
    outside(jail.person, "set -e; " + push.format("old.git", "a"))
    assert not (jail.person.base / "ran").exists()
    # Git's own way with it.
    answer = shell(jail, "set -e; cd old.git; git symbolic-ref HEAD refs/heads/other; git gc -q --prune=now; "
                   "git pack-refs --all; git bundle create -q ../bundle --all; git branch -D a; git fetch -q ../bundle a:b")
    assert answer.returncode == 0 and not answer.stderr, answer
    assert (jail.person.project / "old.git/HEAD").read_text() == "ref: refs/heads/other\n"
    for name in ("HEAD", "objects", "refs"):
        assert shell(jail, f"mv old.git/{name} .").returncode != 0
        assert shell(jail, f"rm -rf old.git/{name}").returncode != 0
        assert (jail.person.project / "old.git" / name).exists()
    # A directory of the run's own.
    assert shell(jail, "git init -q --bare new.git; " + script.format("new.git")).returncode == 0
    outside(jail.person, "set -e; " + push.format("new.git", "b"))
    assert (jail.person.base / "ran").exists()


def test_b31_a_project_that_loses_its_git_directory_does_not_become_another(jail, identity):
    """Git, which finds no good .git, takes the directory that it is in."""
    config = armed(jail).replace("worktree=..", "worktree=.")
    jail.person.file(jail.person.project / "config.txt", config)
    outside(jail.person, "set -e; git init -q; git commit -q --allow-empty -m x")
    script = ("git init -q evil; git -C evil commit -q --allow-empty -m x; rm -f .git/HEAD; cp config.txt config; "
              "ln -s evil/.git/refs refs; ln -s evil/.git/objects objects; cp evil/.git/HEAD HEAD; true")
    answer = shell(jail, script)
    assert answer.returncode == 0 and ".git/HEAD, by rm: without it git would" in answer.stderr, answer
    assert git_runs_nothing(jail, jail.person.project)
    assert (jail.person.project / ".git/HEAD").exists()
    outside(jail.person, "set -e; rm -rf evil refs objects config HEAD; " + script)
    assert not git_runs_nothing(jail, jail.person.project)


@pytest.mark.parametrize("kind", ["nested", "worktree"])
def test_a05_b31_an_old_repository_in_the_project_is_not_exchanged_for_another(jail, identity, kind):
    making = {"nested": "git init -q sub; git -C sub commit -q --allow-empty -m x", "worktree": "git worktree add -q sub"}
    canary = f"touch {jail.person.base / 'ran'};:"
    outside(jail.person, f"set -e; git init -q; git commit -q --allow-empty -m x; {making[kind]}; mkdir -p ordinary/below")
    script = f"mv sub away; git init -q t; git -C t config core.fsmonitor '{canary}'; mv -T t sub; true"
    answer = shell(jail, script)
    assert answer.returncode == 0 and "away, by mv: protected names would be" in answer.stderr, answer
    assert not (jail.person.project / "away").exists() and git_runs_nothing(jail, jail.person.project / "sub")
    # An ordinary directory, and a repository of this run's own, are moved; and outside it is done.
    assert shell(jail, "mv ordinary moved && git init -q mine && mv mine renamed").returncode == 0
    outside(jail.person, "set -e; rm -rf t sub/t; " + script)
    assert not git_runs_nothing(jail, jail.person.project / "sub")


def test_h106_a_link_that_leads_nowhere_yet_is_moved_under_no_protected_name(jail):
    """Behind its new name, .git/worktrees/x, it would lead to a commondir."""
    person = jail.person
    person.file("old/.git/HEAD", "ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        person.directory(person.project / "old/.git" / name)
    script = "mkdir w evil; echo X >evil/commondir; ln -s ../../../evil w/{}; mv -T w old/.git/worktrees"
    with unchanged(person.project / "old"):
        answer = shell(jail, script.format("x"))
        assert answer.returncode != 0 and "worktrees" in answer.stderr, answer
    assert shell(jail, "mkdir v; mv -T v old/.git/worktrees").returncode == 0


# --- descriptors from elsewhere -----------------------------------------------

PASS_ON = """
import os, socket
server = socket.socket(socket.AF_UNIX); server.bind('server'); server.listen(); print('ready', flush=True)
client, _ = server.accept()
socket.send_fds(client, [b'x'], [os.open('.', os.O_RDONLY | os.O_DIRECTORY)])
client.recv(1)
"""
USE = """
import os, socket
client = socket.socket(socket.AF_UNIX); client.connect('server')
_, (directory,), _, _ = socket.recv_fds(client, 1, 1)
for name in ('.bashrc', '.envrc', 'ordinary'):
    try:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=directory)); print('made', name)
    except OSError as problem:
        print(problem.strerror)
try:
    os.mkdir('.vscode', dir_fd=directory); print('made .vscode')
except OSError as problem:
    print(problem.strerror)
os.close(os.open('mine', os.O_CREAT | os.O_WRONLY, 0o644)); print('made mine')
"""


def test_h108_a_directory_that_another_run_hands_over_is_no_way_past_the_rules(jail):
    policy = jail.policy(network={"allowAllUnixSockets": True})
    command = jail.command("/usr/bin/python3", "-c", PASS_ON, policy=policy)
    with start(jail.person, *command) as giver:
        assert giver.stdout.readline() == "ready\n", giver.stderr.read()
        answer = jail.run("/usr/bin/python3", "-c", USE, policy=policy)
        giver.communicate(timeout=PATIENCE)
    project = jail.person.project
    # It is another run's mount: nothing in it can be judged, so nothing is done there. One's own way in still works.
    assert answer.stdout == 4 * "Permission denied\n" + "made mine\n", answer
    assert sorted(os.listdir(project)) == ["mine", "server"]


# --- keeping the doorman from others -------------------------------------------

LEASE = """
import fcntl, os
fd = os.open('held', os.O_CREAT | os.O_RDWR, 0o644); os.close(fd)
fd = os.open('held', os.O_RDONLY)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK); print('a lease')
except OSError as problem:
    print(problem.strerror)
"""


def test_e69_no_lease_makes_the_doorman_wait(jail):
    assert jail.run("/usr/bin/python3", "-c", LEASE).stdout == "Permission denied\n"
    outside = subprocess.run(["/usr/bin/python3", "-c", LEASE], cwd=jail.person.project, env=jail.person.environment,
                             stdout=subprocess.PIPE, text=True, check=True, **as_person(jail.person))
    assert outside.stdout == "a lease\n"


CROWD = """
import os, time
os.makedirs('m/worktrees'); os.mkdir('big')
big = os.open('big', os.O_RDONLY); worktrees = os.open('m/worktrees', os.O_RDONLY)
for i in range(2000): os.mknod(str(i), dir_fd=big)
for i in range(600): os.symlink('../../big', str(i), dir_fd=worktrees)
began = time.monotonic()
try:
    os.rename('m', 'old/.git'); print('renamed', end=' ')
except OSError as problem:
    print(problem.strerror, end=' ')
print(time.monotonic() - began)
"""


def test_e69_a_crowd_of_links_is_not_looked_through_while_others_wait(jail, old):
    answer = jail.run("/usr/bin/python3", "-c", CROWD, timeout=2 * PATIENCE)
    said, seconds = answer.stdout.rsplit(" ", 1)
    # 1.2 million entries take ten seconds and more.
    assert said != "renamed" and float(seconds) < 3, answer
    assert os.listdir(old) == []
    assert jail.attacks(["mkdir", "n"], ["rename", "n", "old/.git"]) == [OK, OK]


def test_e69_nobody_else_on_the_host_can_hold_the_lock(jail, person):
    """Strangers once could, by what is in /proc/self/ns; and no command can open the one that there is."""
    with subprocess.Popen(["flock", "-x", "/proc/self/ns/mnt", "sleep", "60"]) as stranger:
        try:
            began = time.monotonic()
            assert jail.attacks(["mkdir", "a"], ["rename", "a", "b"], ["create", "b/c", "x"]) == [OK, OK, OK]
            assert time.monotonic() - began < 4
        finally:
            stranger.kill()
    script = ("import ctypes; queue = ctypes.CDLL(None).mq_open(b'/cloche-%d', 0); print(queue)" % person.uid)
    assert jail.run("/usr/bin/python3", "-c", script).stdout == "-1\n"


# --- rights of whoever asks ----------------------------------------------------

RESTRICT = """
import ctypes, struct
library = ctypes.CDLL(None, use_errno=True)
attributes = ctypes.create_string_buffer(struct.pack('Q', 0x1fff), 8)
ruleset = library.syscall(444, attributes, 8, 0)
print(ruleset >= 0 and library.prctl(38, 1, 0, 0, 0) == 0 and library.syscall(446, ruleset, 0) == 0)
try:
    open('made', 'w').close(); print('made')
except OSError as problem:
    print(problem.strerror)
"""


def test_h105_no_sandbox_of_a_programs_own_is_undone_in_silence(jail):
    """It either holds or is not to be had."""
    assert jail.run("/usr/bin/python3", "-c", RESTRICT).stdout == "False\nmade\n"


BECOME = """
import os
os.setgroups([]); os.setgid(1001); os.setuid(1001)
for path, flags in (('secret', os.O_WRONLY), ('new', os.O_WRONLY | os.O_CREAT), ('open/new', os.O_WRONLY | os.O_CREAT)):
    try:
        os.close(os.open(path, flags, 0o644)); print('done')
    except OSError as problem:
        print(problem.strerror)
"""


def test_h105_who_has_become_an_ordinary_user_has_no_rights_of_roots_left(jail):
    person = jail.person
    if person.uid != 0:
        assert "Operation not permitted" in jail.run("/usr/bin/python3", "-c", BECOME).stderr
        return
    person.file("secret", "original").chmod(0o600)
    person.directory(person.project / "open").chmod(0o777)
    answer = jail.run("/usr/bin/python3", "-c", BECOME, policy=jail.policy(rootCapabilities="files"))
    assert answer.stdout == "Permission denied\nPermission denied\ndone\n", answer
    assert (person.project / "secret").read_text() == "original"
    assert (person.project / "open/new").stat().st_uid == 1001


# --- directories that everybody may write to -----------------------------------

STRANGER = 12345
SETTINGS = ("protected_symlinks", "protected_regular", "protected_fifos")
OPENED = ATTEMPT + """
import os
making = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK
holding = os.open("shared/fifo", os.O_RDONLY | os.O_NONBLOCK)
for name, flags in (("own-link", making), ("link", making), ("own", making), ("file", making), ("file", os.O_WRONLY),
                    ("fifo", making), ("fifo", os.O_WRONLY | os.O_NONBLOCK)):
    print(name, attempt(os.open, "shared/" + name, flags, 0o600))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is a stranger's")
@pytest.mark.parametrize("setting", [0, 1])
def test_what_a_stranger_put_into_a_shared_directory_is_opened_where_the_kernel_would_open_it(jail, setting):
    """The doorman walks and opens by itself, where fs.protected_symlinks and its like know nothing of it."""
    person = jail.person
    shared = person.directory(person.project / "shared")
    for name in ("file", "own"):
        person.file(shared / name).chmod(0o666)
    os.mkfifo(shared / "fifo")
    os.chmod(shared / "fifo", 0o666)
    for name in ("link", "own-link"):
        person.link(shared / name, f"../made-by-{name}")
    for name in ("file", "fifo", "link"):
        os.chown(shared / name, STRANGER, STRANGER, follow_symlinks=False)
    shared.chmod(0o1777)
    told = person.file(person.base / "setting", f"{setting}\n")
    covered = "\n".join(f"mount --bind {told} /proc/sys/fs/{name}" for name in SETTINGS)
    answer = where_mounted(person, covered, "run", "--", "/usr/bin/python3", "-c", OPENED)
    refused = errno.EACCES if setting else 0
    assert answer.stdout.splitlines() == ["own-link 0", f"link {refused}", "own 0", f"file {refused}", "file 0",
                                          f"fifo {refused}", "fifo 0"], answer.stderr
    assert (person.project / "made-by-own-link").exists()
    assert (person.project / "made-by-link").exists() == (setting == 0)


# --- what only a pattern lets be written ---------------------------------------

THROUGH = ATTEMPT + """
import ctypes, errno, os
library = ctypes.CDLL(None, use_errno=True)
def attribute(fd):
    if library.fsetxattr(fd, b"user.x", b"1", 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "")
for name, flags in (("sub/a.log", os.O_WRONLY), ("sub/a.log", os.O_RDONLY), ("sub/plain", os.O_RDONLY)):
    fd = os.open(name, flags)
    print(attempt(os.chmod, fd, 0o600), attempt(os.utime, fd, (1, 1)), attempt(attribute, fd), attempt(os.truncate, fd, 0))
"""


def test_what_a_pattern_lets_be_written_is_changed_through_descriptors_too_and_nothing_else_is(jail):
    """Such a file is opened where only the doorman may write, and must not lose its name there."""
    person = jail.person
    log, plain = (person.file(f"sub/{name}", "content\n") for name in ("a.log", "plain"))
    policy = {"filesystem": {"allowWrite": ["$PROJECT_DIR/**/*.log"]}}
    with unchanged(plain):
        answer = jail.run("/usr/bin/python3", "-c", THROUGH, policy=policy)
    assert answer.stdout == f"0 0 0 0\n0 0 0 {errno.EINVAL}\n{f'{errno.EROFS} ' * 3}{errno.EINVAL}\n", answer
    assert log.stat().st_mtime == 1 and log.stat().st_size == 0 and log.stat().st_mode & 0o777 == 0o600
