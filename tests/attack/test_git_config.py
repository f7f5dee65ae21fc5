"""Git's configuration by meaning, under attack (B 28-30, H 106, 107, and what else comes to mind).

A run may change the configuration of a repository that was there before. Afterwards the host's git does what its user
does all day in that repository: no program of the project's making may run. A canary says so: every program that an
attack plants makes one file. Beside each attack the same is done without cloche, where it must sing.

The content of the new configuration is whatever stands in config.lock when it is renamed: it is changed meanwhile, by
everybody who can, and what was judged must be what is there."""

import os
import shutil
import stat
import subprocess
import threading

import pytest

from attacking import BUILD, PATIENCE, unchanged
from judging import as_person, git_identity, outside

RACE_MILLISECONDS = int(os.environ.get("RACE_MILLISECONDS") or 150)


@pytest.fixture
def backend():
    """Only a doorman lets the configuration be changed."""
    return "namespaces"


@pytest.fixture
def repository(jail):
    """A repository with a remote on this machine that its user has chosen, and an attribute that a driver could use."""
    person = jail.person
    git_identity(person, "[protocol \"file\"]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n")
    person.file("a", "one\n")
    person.file(".gitattributes", "* diff=x merge=x filter=x\n")
    remote = person.directory(person.base / "remote.git")
    outside(person, f"git init -q --bare {remote}; git init -q; git add -A; git commit -qm first; "
            f"git remote add origin {remote}; git push -q -u origin main; git branch topic; git checkout -q topic; echo t >>a; git commit -qam t; "
            "git checkout -q main; echo m >>a; git commit -qam m")
    person.canary = person.base / "canary"
    # In reach of the command, as a script of its own and as hooks of a repository that it makes.
    person.plant = f"""
        printf '#!/bin/sh\\ntouch {person.canary}\\ncat\\n' >evil; chmod +x evil
        git init -q --bare nest; cp evil nest/hooks/pre-receive; cp evil nest/hooks/post-receive; cp evil nest/hooks/update
        cp -r nest origin; cp -r nest other"""
    return person


# What a user does: look, compare, fetch, send, join, go on.
EVERY_DAY = """
git status; git diff; git log -p -1; git show
git stash; git stash pop; echo more >>a; git add a; git commit -m more
git fetch; git pull --no-rebase; git push; git push origin main; git push origin topic; git fetch --all
git checkout topic; git merge main; git reset --hard; git checkout main; git rebase topic; git rebase --abort
git submodule update --init; git archive HEAD >archive; git gc --auto; git grep one; git blame a; git st; git ls-remote; git branch -vv
"""
QUIETLY = "export GIT_EDITOR=true GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 GIT_SSH_COMMAND=false; exec >/dev/null 2>&1 </dev/null\n"


def sings_after(repository, script=EVERY_DAY):
    repository.canary.unlink(missing_ok=True)
    outside(repository, f"{QUIETLY}{script}\ntrue")
    return repository.canary.exists()


def configuration(repository):
    return outside(repository, "git config --list --file .git/config").splitlines()


DANGEROUS = [  # key, value; E is the planted program
    ("alias.st", "!E"), ("core.fsmonitor", "E"), ("core.hooksPath", "nest/hooks"), ("core.sshCommand", "E"), ("core.pager", "E"),
    ("core.editor", "E"), ("core.worktree", "/"), ("core.attributesFile", "/dev/null"), ("core.alternateRefsCommand", "E"),
    ("credential.helper", "!E"), ("diff.external", "E"), ("diff.x.textconv", "E"), ("diff.x.command", "E"), ("filter.x.clean", "E"),
    ("filter.x.smudge", "E"), ("filter.x.process", "E"), ("merge.x.driver", "E"), ("include.path", "../evil.config"),
    ("includeIf.gitdir:/.path", "../evil.config"), ("interactive.diffFilter", "E"), ("remote.origin.url", "./nest"),
    ("remote.origin.pushurl", "./nest"), ("remote.other.url", "./nest"), ("remote.other.url", "ext::E"), ("remote.origin.receivepack", "E"),
    ("remote.origin.uploadpack", "E"), ("remote.origin.vcs", "evil"), ("remote.pushDefault", "./nest"), ("branch.main.remote", "./nest"),
    ("branch.main.remote", "nest"), ("branch.main.remote", "other"), ("branch.main.pushRemote", "./nest"), ("branch.main.mergeOptions", "-s evil"),
    ("url.ext::E.insteadOf", "/"), ("url../nest.pushInsteadOf", "/"), ("gpg.program", "E"), ("commit.gpgSign", "true"),
    ("submodule.x.update", "!E"), ("sequence.editor", "E"), ("pager.status", "E"), ("trailer.x.command", "E"), ("tar.tar.command", "E"),
    ("uploadpack.packObjectsHook", "E"), ("extensions.worktreeConfig", "true"), ("protocol.ext.allow", "always"), ("init.templateDir", "nest"),
    ("difftool.x.cmd", "E"), ("mergetool.x.cmd", "E"), ("web.browser", "E"), ("safe.directory", "*"), ("http.proxy", "http://127.0.0.1:9/"),
]


def test_b28_h107_no_key_that_runs_something_gets_there(jail, repository):
    config = repository.project / ".git/config"
    program = f"{repository.project}/evil"
    tries = "\n".join(f"git config '{key}' '{value}' && echo set {key}" for key, value in DANGEROUS).replace("E'", f"{program}'")
    before = config.read_bytes()
    answer = jail.run("bash", "-c", f"{repository.plant}\n{tries}\necho done; git config user.name Me")
    assert [line for line in answer.stdout.splitlines() if line != "done"] == [] and "done" in answer.stdout, answer
    assert config.read_bytes() == before + b"[user]\n\tname = Me\n"
    assert not sings_after(repository)
    assert "alias.st: not among" in answer.stderr, answer.stderr


SINGING = [  # key, value, and on which part of the day
    ("core.fsmonitor", "E", "git status"), ("core.hooksPath", "nest/hooks", "git push origin main"), ("filter.x.clean", "E", "echo more >>a; git add a"),
    ("diff.x.textconv", "E", "git log -p -1"), ("remote.origin.pushurl", "./nest", "git push"), ("branch.main.remote", "nest", "git push"),
    ("include.path", "../evil.config", "git status"), ("alias.st", "!E", "git st"), ("merge.x.driver", "E", "git rebase topic"),
]


def test_the_canary_sings_where_such_a_key_is_there(repository):
    """What the tests of this file are worth."""
    program = f"{repository.project}/evil"
    config = repository.project / ".git/config"
    outside(repository, f"{repository.plant}; cp evil nest/hooks/pre-push; printf '[core]\\n\\tfsmonitor = {program}\\n' >evil.config")
    original = config.read_bytes()
    for key, value, day in SINGING:
        outside(repository, f"git config '{key}' '{value.replace('E', program)}'")
        assert day in EVERY_DAY and sings_after(repository, day), key
        config.write_bytes(original)
        outside(repository, "git rebase --abort; git reset -q --hard; git checkout -q main; echo again >>a; git commit -qam again", check=False)


# Ways to make the host's git go where the command can make something, by what the command may do. Most is refused.
DETOURS = {
    "remotes": """
        git remote remove origin; git remote rename origin upstream; git config --remove-section remote.origin; git config --unset remote.origin.url
        mkdir -p .git/remotes .git/branches; printf 'URL: ./nest\\nPush: main\\n' >.git/remotes/origin; echo ./nest >.git/branches/origin
        cp .git/remotes/origin .git/remotes/other; git config branch.main.remote other; git config branch.topic.remote origin
        git branch --set-upstream-to=other/main; git config push.default current; git config push.autoSetupRemote true
        mkdir -p https:; cp -r nest https:/nest; git config remote.origin.pushurl https:nest""",
    "the rest": """
        git config submodule.nest.url ./nest; git config submodule.nest.url https://example.org/x; git config submodule.nest.update '!./evil'
        git config pull.rebase interactive; git config core.bare true; git config core.worktree .; git config core.bare false
        git config core.repositoryFormatVersion 1; git config extensions.worktreeConfig true
        printf '[core]\\n\\tfsmonitor = ./evil\\n' >evil.config; cp evil.config .git/config.worktree.lock; $move .git/config.worktree
        echo '* filter=y' >.git/info/attributes; git config filter.y.clean ./evil; git config core.hooksPath nest/hooks
        cp -r nest common; cat evil.config >>common/config; echo ../common >.git/commondir; cp -r common/hooks .git/
        (cat .git/config; printf '[core ""]\\n\\tfsmonitor = ./evil\\n') >.git/config.lock; $move .git/config""",
}


@pytest.mark.parametrize("way", DETOURS)
def test_b29_b30_h106_h107_no_detour_makes_the_host_run_something(jail, repository, way):
    answer = jail.run("bash", "-c", f"{repository.plant}\nmove() {{ /usr/bin/python3 -c 'import os, sys; os.rename(sys.argv[1] + \".lock\", sys.argv[1])' $1; }}\n"
                      f"{DETOURS[way].replace('$move', 'move')}\necho done")
    assert "done" in answer.stdout, answer
    assert not sings_after(repository), configuration(repository)


@pytest.mark.parametrize("name, content", [("remotes/origin", "URL: ./nest\nPush: refs/heads/main:refs/heads/main\n"), ("branches/origin", "./nest\n")])
def test_b29_a_repository_without_remotes_is_given_none_by_files_of_old(jail, repository, name, content):
    """What git read before it had a configuration, and still reads where that names no remote."""
    plant = f"{repository.plant}; mkdir -p .git/{os.path.dirname(name)}; printf '{content}' >.git/{name}; echo x >>a; git commit -qam x"
    outside(repository, "git config --remove-section remote.origin; git config --remove-section branch.main; git config push.default current")
    assert jail.run("bash", "-c", plant).returncode == 0
    assert not os.path.lexists(repository.project / ".git" / name) and not sings_after(repository, "git push; git fetch; git pull")
    outside(repository, f"rm -rf nest origin other; {plant}")
    assert sings_after(repository, "git push")


# What a file says to some readers and not to others. LINE is what an attack would have.
DISGUISES = [
    "[core]\nLINE\n", "[core] LINE\n", "[CORE]\nLINE\n", "[core]\n\tLINE", "[core]LINE\n", "[core]\r\nLINE\r\n", "\ufeff[core]\nLINE\n",
    "[user]\n\tname = x\\\n\n[core]\n\tLINE\n", "[user]\n\tname = \"x\\\n\"\n[core]\n\tLINE\n", "[user]\n\tname = x ; \\\n[core]\n\tLINE\n",
    "# comment \\\n[core]\n\tLINE\n", "[user]\n\tname = \"[core]\n\tLINE\n\"\n", "[user]\n\tname = x\r[core]\rLINE\r", "[user]\n\tname = x\x00\n[core]\n\tLINE\n",
    "[user]\n\tname = x\x0b\n[core]\n\tLINE\n", "[user \"]\\n[core\"]\n\tLINE\n[core]\n\tLINE\n", "[core \"\"]\nLINE\n", "[core.x]\n[core]\nLINE\n",
    "[include]\n\tpath = ../evil.config\n", "[INCLUDE]\n\tPATH = ../evil.config\n", "[includeIf \"gitdir:**\"]\n\tpath = ../evil.config\n",
    "[user]\n\tname = x\u2028[core]\u2028LINE\n[core]\n\tLINE\n", "[core]\n\tLINE\n[core]\n\tfsmonitor =\n", "[core]\n\tfsmonitor\n\tLINE\n",
    "[alias]\n\tst = !./evil\n", "[core]\n\tFSMONITOR = ./evil\n", "[core]\n\tfs\\\nmonitor = ./evil\n", "[cor\\\ne]\n\tLINE\n", "LINE\n",
]


def test_what_git_could_read_in_another_way_is_refused(jail, repository):
    outside(repository, f"{repository.plant}; printf '[core]\\n\\tfsmonitor = {repository.project}/evil\\n' >evil.config")
    config = repository.project / ".git/config"
    original = config.read_text()
    for number, disguise in enumerate(DISGUISES):
        content = original + disguise.replace("LINE", f"fsmonitor = {repository.project}/evil")
        repository.file(f"tries/{number}", content.encode())
    repository.file(f"tries/{len(DISGUISES)}", original + "[user]\n\temail = you@example.org\n")
    with unchanged(repository.project / ".git/hooks"):
        answer = jail.run("/usr/bin/python3", "-c", f"""
import os, shutil
for number in range({len(DISGUISES)} + 1):
    shutil.copy(f"tries/{{number}}", ".git/config.lock")
    try:
        os.rename(".git/config.lock", ".git/config")
        print(number)
    except PermissionError:
        os.unlink(".git/config.lock")
""")
    assert answer.stdout.split() == [str(len(DISGUISES))], answer
    assert config.read_text() == original + "[user]\n\temail = you@example.org\n"
    assert not sings_after(repository)


# The file that is renamed


def test_what_the_writer_still_holds_open_reaches_nothing(jail, repository):
    answer = jail.run("/usr/bin/python3", "-c", """
import mmap, os
old = open(".git/config", "rb").read()
safe = old + b"[user]\\n\\tname = Safe\\n" + b"#" * 100 + b"\\n"
evil = old + b"[core]\\n\\tfsmonitor = ./evil\\n"
lock = os.open(".git/config.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
os.write(lock, safe)
os.link(".git/config.lock", "second")
mapped = mmap.mmap(lock, len(safe))
reading = os.open(".git/config.lock", os.O_RDONLY)
os.rename(".git/config.lock", ".git/config")
os.pwrite(lock, evil, 0)
os.ftruncate(lock, len(evil))
mapped[:len(evil)] = evil
mapped.flush()
open("second", "wb").write(evil)
for name in (f"/proc/self/fd/{lock}", f"/proc/self/fd/{reading}", ".git/config"):
    try:
        open(name, "r+b").write(evil)
    except OSError as problem:
        print(problem.errno)
inside = open(".git/config", "rb").read()
print(inside == safe, os.stat(".git/config").st_nlink, os.fstat(lock).st_ino != os.stat(".git/config").st_ino)
""")
    # The lock itself is the run's own, and may be written; the configuration is not.
    assert answer.stdout.splitlines()[-2:] == ["13", "True 1 True"], answer
    assert "core.fsmonitor=./evil" not in configuration(repository) and "user.name=Safe" in configuration(repository)


NO_FILES = {
    "link": "open('target', 'w').write(new); os.symlink('../target', lock)",
    "link-to-config": "os.symlink('config', lock)",
    "directory": "os.mkdir(lock); open(lock + '/config', 'w').write(new)",
    "fifo": "os.mkfifo(lock)",
    "socket": "import socket; socket.socket(socket.AF_UNIX).bind(lock)",
    "hole": "open(lock, 'w').truncate(1 << 40)",
    "huge": "open(lock, 'w').write(new + '# x\\n' * 500000)",
    "deep": "open(lock, 'w').write(new + '[a]\\n' + 'b=c\\n' * 60000)",
    "empty": "open(lock, 'w').close()",
}


def test_a_lock_that_is_no_ordinary_file_is_refused_and_nobody_waits(jail, repository):
    config = repository.project / ".git/config"
    with unchanged(config):
        answer = jail.run("/usr/bin/python3", "-c", f"""
import os, shutil
lock = ".git/config.lock"
new = open(".git/config").read() + "[user]\\n\\tname = Me\\n"
for kind, made in {NO_FILES!r}.items():
    exec(made)
    try:
        os.rename(lock, ".git/config")
        print("renamed", kind)
    except OSError as problem:
        print(problem.errno)
    shutil.rmtree(lock) if kind == "directory" else os.unlink(lock)
""", timeout=PATIENCE)
        assert answer.returncode == 0 and len(answer.stdout.split()) == len(NO_FILES), answer
        assert set(answer.stdout.split()) <= {"13", "20", "21"}, answer
    jail.run("git", "config", "user.name", "Me")
    assert "user.name=Me" in configuration(repository)


def test_no_other_name_and_no_other_call_puts_a_configuration_in_place(jail, repository):
    config = repository.project / ".git/config"
    jail.person.file("ready", config.read_text() + "[user]\n\tname = Me\n")
    jail.person.file(".git/ready", config.read_text() + "[user]\n\tname = Me\n")
    jail.person.file(".git/config.lock", config.read_text() + "[user]\n\tname = Me\n")
    with unchanged(repository.project / ".git"):
        found = jail.attacks(["rename", "ready", ".git/config"], ["rename", ".git/ready", ".git/config"], ["exchange", ".git/config.lock", ".git/config"],
                             ["rename-noreplace", ".git/config.lock", ".git/config"], ["rename-whiteout", ".git/config.lock", ".git/config"],
                             ["link", ".git/config.lock", ".git/config"], ["rename", ".git/config", ".git/config.lock"], ["write", ".git/config", "x"],
                             ["truncate", ".git/config"], ["unlink", ".git/config"], ["chmod", ".git/config", "0666"], ["chmod", ".git/config", "04755"],
                             ["symlink", "config.lock", ".git/config"], ["rename", ".git/config.lock", ".git/hooks/config"])
    assert [outcome.verdict for outcome in found if outcome.verdict == "ok"] == [], found
    assert jail.attack("rename", ".git/config.lock", ".git/config").verdict == "ok"
    assert "user.name=Me" in configuration(repository)


def test_who_asks_first_whether_something_is_there_is_told_of_once(repository, jail):
    """As mv does, with RENAME_NOREPLACE; and the reason is the one that counts."""
    answer = jail.run("sh", "-c", "cp .git/config .git/config.lock; printf '[alias]\\n\\tx = y\\n' >>.git/config.lock; mv .git/config.lock .git/config")
    told = [line for line in answer.stderr.splitlines() if "/.git/config, by mv" in line]
    assert answer.returncode != 0 and len(told) == 1 and "alias.x" in told[0], answer
    answer = jail.run("sh", "-c", "cp .git/config .git/config.lock; printf '[pull]\\n\\tff = only\\n' >>.git/config.lock; mv .git/config.lock .git/config")
    assert (answer.returncode, answer.stderr) == (0, "") and "pull.ff=only" in configuration(repository), answer


def test_a_mode_that_the_lock_has_is_not_taken_over(jail, repository):
    config = repository.project / ".git/config"
    before = stat.S_IMODE(config.stat().st_mode)
    jail.run("bash", "-c", "cp .git/config .git/config.lock; chmod 777 .git/config.lock; /usr/bin/python3 -c 'import os; os.rename(\".git/config.lock\", \".git/config\")'")
    assert stat.S_IMODE(config.stat().st_mode) == before
    config.unlink()
    jail.run("bash", "-c", "umask 0; echo >.git/config.lock; chmod 7777 .git/config.lock; "
             "/usr/bin/python3 -c 'import os; os.rename(\".git/config.lock\", \".git/config\")'")
    assert stat.S_IMODE(config.stat().st_mode) == 0o644


# Races


def race(jail, *words):
    program = jail.attacker.with_name("race")
    shutil.copy(BUILD / "tests" / "attack" / "race", program)
    program.chmod(0o755)
    jail.person.own(program)
    return [program, *words]


def watch(config, stop, found):
    while not stop.is_set():
        try:
            found.append(b"pager" in config.read_bytes())
        except FileNotFoundError:
            found.append(True)


def test_what_is_judged_is_what_gets_there_however_the_lock_is_rewritten(jail, repository):
    config = repository.project / ".git/config"
    stop, found = threading.Event(), []
    watcher = threading.Thread(target=watch, args=(config, stop, found))
    watcher.start()
    try:
        answer = jail.run(*race(jail, "--content", str(8 * RACE_MILLISECONDS)), timeout=PATIENCE + 8 * RACE_MILLISECONDS / 1000)
    finally:
        stop.set()
        watcher.join()
    assert answer.returncode == 0, answer
    numbers = dict(zip(answer.stdout.split()[::2], map(int, answer.stdout.split()[1::2])))
    assert numbers["evil"] == 0 and not any(found) and b"pager" not in config.read_bytes(), numbers
    assert numbers["replaced"] > 3 and numbers["refused"] > 3, numbers
    assert not sings_after(repository)


def test_one_who_judges_and_renames_the_file_itself_is_caught(jail, repository):
    """So that it is known what the test above is worth."""
    done = subprocess.run(race(jail, "--content-racy", str(4 * RACE_MILLISECONDS)), cwd=repository.project, env=repository.environment,
                          capture_output=True, text=True, timeout=PATIENCE, check=True, **as_person(repository))
    numbers = dict(zip(done.stdout.split()[::2], map(int, done.stdout.split()[1::2])))
    assert numbers["evil"] > 0, numbers


def test_many_who_change_it_at_once_leave_it_whole(jail, repository):
    script = """
        for i in 1 2 3 4 5 6; do (for j in 1 2 3 4 5; do git config user.name name-$i-$j; git config branch.b$i.remote . ; git config core.pager evil; done) & done; wait"""
    command = jail.command("bash", "-c", script)
    runs = [subprocess.Popen([jail.person.binaries / "cloche", *command], cwd=jail.person.project, env=jail.person.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **jail.identity()) for _ in range(2)]
    for run in runs:
        assert run.wait(timeout=2 * PATIENCE) in (0, 4, 255)
    found = configuration(repository)
    assert any(line.startswith("user.name=name-") for line in found) and f"remote.origin.url={repository.base}/remote.git" in found
    assert not any("evil" in line for line in found)
    assert not os.path.lexists(repository.project / ".git/config.lock")
