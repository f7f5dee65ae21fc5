"""Ordinary work under the default policy, in a fresh project: version control,
builds, package managers, shells, debuggers.

Each is judged from outside: what it was to make is there, and of $HOME nothing
but the project has changed."""

import base64
import hashlib
import os
import pathlib
import shutil

import pytest

from judging import call_outside, fingerprint, git_identity, wait_until
from test_terminal import Terminal


@pytest.fixture
def worker(person):
    """Somebody with a git identity and a secret. Nothing around the project may change, but for cloche's own log."""
    git_identity(person)
    person.file(person.home / ".ssh/id_ed25519", "secret\n")
    apart = {person.project, person.directory(person.home / ".local/state")}
    before = []
    person.freeze = lambda: before.append(fingerprint(person.base, apart))
    person.freeze()
    yield person
    assert fingerprint(person.base, apart) == before[-1]


def work(person, script, *options, **keywords):
    """A shell script that must succeed as a whole; what it prints."""
    answer = person.cloche("run", *options, "bash", "-c", f"set -e -o pipefail\n{script}", **keywords)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def git(person, *arguments):
    return call_outside(person, "git", *arguments)


@pytest.fixture
def repository(worker):
    """A project whose history has two files, made without cloche."""
    worker.file("a", "one\n")
    worker.file("b", "two\n")
    git(worker, "init", "-q")
    git(worker, "add", "-A")
    git(worker, "commit", "-qm", "first")
    return worker


# git


def test_repository_is_made_filled_and_committed(worker):
    work(worker, "git init -q; mkdir src; echo text >src/file; git add -A; git commit -qm first")
    assert git(worker, "log", "--format=%an %s") == "Some Body first\n"
    assert git(worker, "ls-files") == "src/file\n"
    assert git(worker, "status", "--short") == ""
    git(worker, "fsck", "--strict")


def test_files_are_moved_and_deleted(repository):
    work(repository, "mkdir sub; git mv a sub/a; git rm -q b; git commit -qm moved")
    assert git(repository, "ls-files") == "sub/a\n"
    assert not (repository.project / "b").exists()


def test_branches_are_made_switched_and_merged(repository):
    work(repository, """
        git checkout -q -b topic; echo more >>a; git commit -qam topic
        git checkout -q main; echo other >>b; git commit -qam other
        git merge -q --no-edit topic; git branch -d topic; git tag v1""")
    assert git(repository, "rev-list", "--count", "v1") == "4\n"
    assert git(repository, "branch", "--format=%(refname:short)") == "main\n"


def test_changes_are_stashed_and_brought_back(repository):
    work(repository, "echo more >>a; git stash -q; test $(wc -l <a) = 1; git stash pop -q")
    assert (repository.project / "a").read_text() == "one\nmore\n"


def test_history_is_rebased(repository):
    work(repository, """
        git checkout -q -b topic; for i in 1 2 3; do echo $i >>b; git commit -qam topic-$i; done
        git checkout -q main; echo more >>a; git commit -qam ahead
        git rebase -q main topic
        GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i main""")
    assert git(repository, "log", "--format=%s").split() == ["topic-3", "topic-1", "ahead", "first"]
    assert (repository.project / "b").read_text() == "two\n1\n2\n3\n"


def test_worktree_is_made_used_and_removed(repository):
    work(repository, "git worktree add -q trees/side -b side; cd trees/side; echo s >s; git add s; git commit -qm side")
    assert git(repository, "log", "-1", "--format=%s", "side") == "side\n"
    assert git(repository, "-C", "trees/side", "status", "--short") == ""
    work(repository, "git worktree add -q other; git worktree remove other; git branch -qD other")
    assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 2
    # What leads from an older worktree to its repository is protected: it stays.
    answer = repository.cloche("run", "git", "worktree", "remove", "--force", "trees/side")
    assert answer.returncode != 0 and "worktrees/side" in answer.stderr
    assert "trees/side/.git, by git: git obeys what it leads to: a .git that was there before is neither" in answer.stderr
    assert (repository.project / ".git/worktrees/side/gitdir").exists()
    # Nothing is suggested that would only meet the next refusal.
    assert "outside of a run" in answer.stderr and "to allow it" not in answer.stderr
    assert git(repository, "worktree", "remove", "--force", "trees/side") == ""


def test_clone_below_the_project_is_a_whole_repository(repository):
    work(repository, "git clone -q . copy; cd copy; git checkout -q -b topic; echo c >>a; git commit -qam copy; "
         "git push -q origin topic")
    assert git(repository, "log", "-1", "--format=%s", "topic") == "copy\n"


def test_existing_repositorys_configuration_keeps_what_would_run_something(repository):
    """What git says where the configuration is refused, and that ordinary work goes on beside it."""
    before = (repository.project / ".git/config").read_bytes()
    answer = repository.cloche("run", "bash", "-c", """
        git config core.fsmonitor ./evil; echo config=$?
        git remote add origin elsewhere; echo remote=$?
        git init -q; echo init=$?
        git checkout -q -b tracking main; echo track=$?
        echo hook >.git/hooks/post-commit; echo hook=$?
        echo more >>a; git commit -qam more; echo commit=$?""")
    results = dict(line.split("=") for line in answer.stdout.splitlines() if "=" in line)
    assert results["config"] != "0" and results["remote"] != "0" and results["hook"] != "0"
    assert results["init"] == results["track"] == results["commit"] == "0"
    assert ".git/config" in answer.stderr
    assert (repository.project / ".git/config").read_bytes() == before
    assert not (repository.project / ".git/config.lock").exists()
    assert not (repository.project / ".git/hooks/post-commit").exists()
    assert git(repository, "log", "-1", "--format=%s %D") == "more HEAD -> tracking\n"


# Builds and package managers


def test_program_of_several_files_is_built_in_parallel_and_rebuilt(worker):
    for number in range(6):
        worker.file(f"src/part{number}.c", f'#include "parts.h"\nint part{number}(void) {{ return {number}; }}\n')
    worker.file("src/parts.h", "".join(f"int part{number}(void);\n" for number in range(6)))
    sum_of_parts = " + ".join(f"part{number}()" for number in range(6))
    worker.file("src/main.c", f'#include <stdio.h>\n#include "parts.h"\nint main(void) {{ '
                f'printf("%d\\n", {sum_of_parts}); return 0; }}\n')
    worker.file("Makefile", "OBJECTS = $(patsubst %.c,%.o,$(wildcard src/*.c))\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $^\n"
                "src/%.o: src/%.c src/parts.h\n\t$(CC) -c -o $@ $<\nlibparts.a: $(OBJECTS)\n\tar rcs $@ $^\n")
    assert work(worker, "make -j2 program libparts.a >/dev/null; ./program") == "15\n"
    assert call_outside(worker, "./program") == "15\n"
    assert work(worker, "touch src/part3.c; make -j2").count("-c -o") == 1


# What packages bring along by mistake: protected names, but in a directory that the run made.
EDITOR_FILES = [".vscode/settings.json", ".idea/workspace.xml", "lib/.idea/modules.xml"]
NPM_LOCK = {"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": True}


@pytest.fixture
def node_project(worker):
    """A package with one dependency, which is in ~/.npm and nowhere else."""
    for tool in ("npm", "node"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    worker.file(worker.base / "dep/package.json", {"name": "dep", "version": "1.0.0", "main": "index.js"})
    worker.file(worker.base / "dep/index.js", "module.exports = 42;\n")
    for name in EDITOR_FILES:
        worker.file(worker.base / "dep" / name, "{}\n")
    worker.environment["npm_config_update_notifier"] = "false"
    call_outside(worker, "npm", "pack", "--silent", "--pack-destination", worker.base, worker.base / "dep")
    packed = worker.base / "dep-1.0.0.tgz"
    call_outside(worker, "npm", "cache", "add", packed)
    digest = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    wanted = {"name": "app", "version": "1.0.0", "dependencies": {"dep": "1.0.0"}}
    worker.file("package.json", {**wanted, "scripts": {"test": "node test.js"}})
    worker.file("package-lock.json", {**NPM_LOCK, "packages": {"": wanted, "node_modules/dep": {
        "version": "1.0.0", "resolved": "http://registry.invalid/dep/-/dep-1.0.0.tgz",
        "integrity": f"sha512-{digest}"}}})
    worker.file("test.js", "require('assert').strictEqual(require('dep'), 42); console.log('tested');\n")
    worker.freeze()
    return worker


def test_node_packages_come_from_the_cache_and_the_cache_stays_as_it_was(node_project):
    # Without the cache there is nothing it could come from: the package is not lying about elsewhere.
    policy = node_project.file("../../no-caches.json", {"extends": ["preset:dev"], "filesystem": {"caches": "none"}})
    node_project.freeze()
    answer = node_project.cloche("run", "-s", policy, "npm", "ci", "--offline")
    assert answer.returncode != 0 and "ENOTCACHED" in answer.stderr, answer.stderr
    said = work(node_project, "npm ci --offline --no-audit --no-fund; npm test")
    assert said.endswith("tested\n")
    assert (node_project.project / "node_modules/dep/index.js").read_text() == "module.exports = 42;\n"
    for name in EDITOR_FILES:
        assert (node_project.project / "node_modules/dep" / name).read_text() == "{}\n"
    assert call_outside(node_project, "node", "test.js") == "tested\n"


def test_python_environment_is_made_and_runs_unit_tests(worker):
    worker.file("test_sum.py", "import sys, unittest\nclass Sum(unittest.TestCase):\n    def test_sum(self):\n"
                "        self.assertEqual(1 + 1, 2)\n        self.assertIn('environment', sys.prefix)\n")
    work(worker, "/usr/bin/python3 -m venv --without-pip environment; environment/bin/python -m unittest -q 2>report")
    assert "OK" in (worker.project / "report").read_text()
    assert (worker.project / "environment/pyvenv.cfg").exists()
    assert list(worker.project.glob("__pycache__/test_sum.*"))


def rust(person):
    """The environment and options this person needs to run cargo, if there is one for them."""
    cargo = shutil.which("cargo")
    if not cargo:
        pytest.skip("cargo is not installed")
    settings = {"PATH": f"{os.path.dirname(cargo)}:{person.environment['PATH']}"}
    options = []
    toolchains = pathlib.Path(os.environ.get("RUSTUP_HOME") or pathlib.Path.home() / ".rustup")
    if toolchains.is_dir() and person.uid == os.geteuid():
        # In the home of whoever runs the tests, not in this person's.
        settings["RUSTUP_HOME"] = str(toolchains)
        options = ["--allow-read", toolchains]
    try:
        call_outside(person, "env", *(f"{name}={value}" for name, value in settings.items()), cargo, "--version")
    except (AssertionError, OSError):
        pytest.skip("cargo is installed for somebody else alone")
    return settings, options


def test_rust_program_is_built_offline(worker):
    settings, options = rust(worker)
    work(worker, "cargo init -q --vcs none --name tiny; cargo build -q --offline", *options, environment=settings)
    assert call_outside(worker, "target/debug/tiny") == "Hello, world!\n"


# Shells and debuggers


def test_shell_has_pipes_here_documents_substitutions_and_background_jobs(worker):
    said = work(worker, """
        cat <<END | tr a-z A-Z | sort -r >sorted
beta
alpha
END
        diff <(printf 'BETA\\nALPHA\\n') sorted
        mkfifo pipe; (sleep 0.1; echo through >pipe) & read line <pipe; wait $!; echo $line
        for i in 1 2 3; do (echo $i >part-$i) & done; wait; cat part-1 part-2 part-3
        exec 3>log; echo logged >&3; exec 3>&-
        trap 'echo trapped' USR1; kill -USR1 $$
        coproc CAT { cat; }; echo round >&${CAT[1]}; read back <&${CAT[0]}; echo $back
        file=$(mktemp); echo temporary >$file; cat $file; flock log true; timeout 5 true""")
    assert said.split() == ["through", "1", "2", "3", "trapped", "round", "temporary"]
    assert (worker.project / "sorted").read_text() == "BETA\nALPHA\n"
    assert (worker.project / "log").read_text() == "logged\n"


@pytest.fixture
def program(worker):
    worker.file("program.c", '#include <stdio.h>\nint twice(int n) { return 2 * n; }\n'
                'int main(void) { printf("%d\\n", twice(21)); return 0; }\n')
    work(worker, "gcc -g -O0 -o program program.c")
    return worker


def test_debugger_stops_looks_at_and_continues_its_own_child(program):
    said = work(program, "gdb -q -nx -batch -ex 'break twice' -ex run -ex backtrace -ex 'print n' -ex 'set var n=4' "
                "-ex continue ./program 2>&1")
    assert "twice (n=21)" in said and "main ()" in said and "$1 = 21" in said
    assert "\n8\n" in said and "exited normally" in said


def test_system_calls_of_its_own_children_can_be_traced(program):
    work(program, "strace -f -o trace sh -c './program; true'")
    trace = (program.project / "trace").read_text()
    assert 'write(1, "42\\n", 3)' in trace and "execve(\"./program\"" in trace and "exited with 0" in trace


def written(path):
    return path.read_text() if path.exists() else None


def test_terminal_multiplexer_is_driven_by_keys(worker):
    worker.file("tmux.conf", "set -g assume-paste-time 0\n")  # keys that come fast are keys, too
    screen = Terminal(worker, ["env", "TERM=screen", worker.binaries / "cloche", "run", "tmux", "-f", "tmux.conf",
                               "new-session", "bash --norc --noprofile"])
    try:
        screen.type("PS1=; echo first-$((6 * 7))\n")
        screen.expect("first-42")
        screen.type("\x02c")  # a new window
        screen.type("PS1=; echo second-$((7 * 7)); tmux list-windows | wc -l >windows\n")
        screen.expect("second-49")
        assert wait_until(lambda: written(worker.project / "windows") == "2\n")
        screen.type("\x02p")  # back
        screen.type("echo back >keys; tmux kill-server\n")
        assert wait_until(lambda: written(worker.project / "keys") == "back\n")
    finally:
        screen.close()
