"""What a run made that may run outside of it later: told whatever was done to hide it, and nothing else is told.

Judged by the events that stand outside afterwards."""

import json
import os
import subprocess

import pytest
from judging import as_person


class Watched:
    def __init__(self, person):
        self.person = person
        self.file = person.base / "events.jsonl"

    def later(self, script):
        """What is told of, by its name in the project, and why."""
        self.answer = self.person.cloche("run", "--events", self.file, "--", "/bin/sh", "-c", script, timeout=120)
        assert self.answer.returncode == 0, self.answer.stderr
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        return {os.path.relpath(line["object"], self.person.project): line["reason"]
                for line in lines if line["kind"] == "exec.later"}


@pytest.fixture
def watched(person):
    person.directory(person.project / "old")
    return Watched(person)


LURE = "git -C evil config core.fsmonitor ./x"
MOVES = {
    "a repository, moved": (f"git init -q evil; {LURE}; mv evil evil2", "evil2/.git/config"),
    "a repository, moved twice and deeper": (f"git init -q evil; {LURE}; mkdir a; mv evil a/b; mv a c", "c/b/.git/config"),
    "a new directory in place of an old one": (
        "mkdir -p t/.vscode; echo {} > t/.vscode/tasks.json; mv old away; mv t old", "old/.vscode/tasks.json"),
    "a new directory exchanged with an old one": (
        "mkdir -p t/.vscode; echo {} > t/.vscode/tasks.json; mv --exchange t old 2>/dev/null || "
        """/usr/bin/python3 -c 'import ctypes; assert ctypes.CDLL(None).renameat2(-100, b"t", -100, b"old", 2) == 0'""",
        "old/.vscode/tasks.json"),
    "a package, moved": ("""mkdir t; echo '{"scripts": {"postinstall": "x"}}' > t/package.json; mv t u""", "u/package.json"),
    "a directory that brings a configuration": ("mkdir -p x n; echo x > x/config; mv x n/.cargo", "n/.cargo"),
    "a directory that brings commands": ("mkdir -p x/commands n; echo x > x/commands/c; mv x n/.claude", "n/.claude"),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_may_run_later_is_told_by_the_name_it_has_at_the_end(watched, name):
    script, found = MOVES[name]
    assert set(watched.later(script)) == {found}


def test_a_moved_directory_that_runs_nothing_is_not_told(watched):
    script = "git init -q plain; mv plain plain2; mkdir t; echo '{}' > t/package.json; mv t u; mkdir x; echo > x/f; mv x y"
    assert watched.later(script) == {}


GIT_DIRECTORIES = {
    "elsewhere": (f"git init -q --separate-git-dir=zz evil; {LURE}", {"evil/.git", "zz/config"}),
    "bare, with a hook": ("git init -q --bare zz; echo x > zz/hooks/post-receive", {"zz/hooks/post-receive"}),
    "put together backwards": (
        "mkdir zz; printf '[core]\\n\\tfsmonitor = ./x\\n' > zz/config; mkdir zz/refs zz/objects; echo x > zz/HEAD; mv zz yy",
        {"yy/config"}),
    "called .git by a move": (
        "git init -q --bare zz; git -C zz config core.fsmonitor ./x; mkdir n; mv zz n/.git", {"n/.git/config"}),
    "a file that leads away from an old directory": ("git init -q --bare zz; echo 'gitdir: ../zz' > old/.git", {"old/.git"}),
    "harmless, bare": ("git init -q --bare zz; git -C zz config user.name x", set()),
    "gone": (f"git init -q --separate-git-dir=zz evil; {LURE}; rm -r zz evil", set()),
}


@pytest.mark.parametrize("name", GIT_DIRECTORIES)
def test_a_git_directory_is_looked_at_whatever_its_name(watched, name):
    script, found = GIT_DIRECTORIES[name]
    assert set(watched.later(script)) == found


def test_a_repository_inside_another_is_told_as_one_that_git_above_may_run(watched):
    told = watched.later(f"git init -q evil; {LURE}")
    assert told == {"evil/.git/config": "git obeys it, also when called in a directory above: core.fsmonitor"}


def test_names_that_are_gone_again_leave_room_for_those_that_are_there(watched):
    script = f"""
        for i in $(seq 600); do mkdir -p d/.git; : > d/.git/config; mv d d$i; rm -r d$i; done
        for i in $(seq 30); do git init -q --bare b$i; rm -r b$i; done
        git init -q evil; {LURE}"""
    assert set(watched.later(script)) == {"evil/.git/config"}


def test_names_that_were_too_many_to_look_at_are_told_as_such(watched):
    script = f"""
        mkdir d; for i in $(seq 600); do mkdir d/$i; : > d/$i/package.json; done; rm d/[1-5]/package.json
        git init -q evil; {LURE}"""
    told = watched.later(script)
    assert "more names that were not looked at" in told["."] and "not looked at" in watched.answer.stderr


CONTENTS = {
    "a large configuration": (f"git init -q evil; {LURE}; head -c 300000 /dev/zero | tr '\\0' '#' >> evil/.git/config",
                              "evil/.git/config", "too large"),
    "a large package": ("""(printf '{"scripts": {"postinstall": "x"}, "x": "'; head -c 300000 /dev/zero | tr '\\0' x; """
                        """echo '"}') > package.json""", "package.json", "too large"),
    "an unreadable package": ("echo {} > package.json; chmod 0 package.json", "package.json", "cannot be read"),
    "an escaped name": ("""echo '{"scripts": {"postinst\\u0061ll": "x"}}' > package.json""", "package.json", "postinstall"),
    "no JSON": ("""echo '{"scripts": {"x": "x"}, "scripts": {' > package.json""", "package.json", "not plain JSON"),
    "a rebase by a program": ("mkdir -p t/rebase-merge; echo evil > t/rebase-merge/strategy", "t/rebase-merge/strategy",
                              "git-merge-evil"),
    "a cherry-pick by a program": ("mkdir -p t/sequencer; printf '[options]\\n\\tstrategy = ../evil\\n' > t/sequencer/opts",
                                   "t/sequencer/opts", "git-merge-../evil"),
    "a rebase": ("mkdir t; printf 'break\\n  exec ./x\\n' > t/git-rebase-todo", "t/git-rebase-todo", "rebase"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_content_that_cannot_be_judged_counts_as_dangerous(watched, name):
    script, found, words = CONTENTS[name]
    told = watched.later(script)
    if "chmod 0" in script and watched.person.uid == 0:
        assert told == {}, "root can read it, and it runs nothing"
        return
    assert set(told) == {found} and words in told[found]


def test_a_script_of_another_name_or_a_rebase_without_commands_is_not_told(watched):
    script = """echo '{"name": "postinstall", "scripts": {"test": "postinstall"}}' > package.json
        mkdir -p t/rebase-merge t/sequencer; printf 'pick 1234 exec x\\n# exec y\\n' > t/git-rebase-todo
        echo ort > t/rebase-merge/strategy; echo evil > t/strategy
        printf '[options]\\n\\tstrategy = ours\\n' > t/sequencer/opts"""
    assert watched.later(script) == {}


def test_a_rebase_of_an_old_repository_that_will_run_a_command_is_told(watched):
    script = """git init -q old; cd old; git config user.name a; git config user.email a@b
        for i in 1 2; do echo $i > f; git add f; git commit -qm $i; done"""
    person = watched.person
    subprocess.run(["/bin/sh", "-ec", script], cwd=person.project, env=person.environment, check=True, **as_person(person))
    told = watched.later("cd old; GIT_SEQUENCE_EDITOR='printf \"break\\\\nexec ./x\\\\n\" >' git rebase -qi HEAD~1")
    assert set(told) == {"old/.git/rebase-merge/git-rebase-todo"}


def test_names_that_programs_obey_without_being_asked_to_run_the_project_are_told(watched):
    names = [".npmrc", ".yarnrc.yml", ".pnpmfile.cjs", "mise.toml", ".nvim.lua", ".gdbinit", "lefthook.yml",
             ".pre-commit-config.yaml", ".cargo/config.toml", ".config/systemd/user/x.service", ".config/autostart/x.desktop"]
    script = "".join(f"mkdir -p a/$(dirname {name}); echo x > a/{name}; " for name in names)
    told = watched.later(script)
    assert set(told) == {f"a/{name}" for name in names}
    assert "npm" in told["a/.npmrc"] and "cargo" in told["a/.cargo/config.toml"]


def test_what_only_a_build_or_a_test_runs_is_not_told(watched):
    names = ["Makefile", "build.rs", "conftest.py", "setup.py", "pyproject.toml", "CMakeLists.txt", ".cargo-ok", "npmrc",
             "config/systemd/user/x.service", "node_modules/x/.npmrc", ".config/other"]
    assert watched.later("".join(f"mkdir -p a/$(dirname {name}); echo x > a/{name}; " for name in names)) == {}
