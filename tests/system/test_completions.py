"""Completion in bash, zsh and fish: typed at a real prompt, on a terminal.

A stand-in for cloche prints the words it was started with, so that what is
tested is the line the shell made of a TAB.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
COMPLETIONS = TOP / "completions"
CLOCHE = os.environ.get("CLOCHE", str(TOP / "build" / "cloche"))
SECONDS = 20

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], f"PS1='READY''> '; source {COMPLETIONS}/cloche.bash"),
    "zsh": (["zsh", "-f", "-i"],
            f"fpath=({COMPLETIONS} $fpath); autoload -U compinit; compinit -u -D; PROMPT='READY''> '"),
    "fish": (["fish", "--no-config", "-i"],
             f"function fish_prompt; echo 'READY''> '; end; source {COMPLETIONS}/cloche.fish"),
}


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell, directory):
        command, start = SHELLS[shell]
        stand_in = directory / "bin" / "cloche"
        stand_in.parent.mkdir()
        stand_in.write_text("#!/bin/sh\nprintf 'WORDS'; printf '<%s>' \"$@\"; echo '|'\n")
        stand_in.chmod(0o755)
        (directory / "some-policy.json").write_text("{}\n")
        (directory / "some-directory").mkdir()
        environment = {"PATH": f"{stand_in.parent}:/usr/bin:/bin", "HOME": str(directory), "TERM": "xterm",
                       "LC_ALL": "C.UTF-8", "SOME_VARIABLE": "1"}
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(command[0], command, environment)
        self.type(f"stty cols 200 rows 50; {start}\r")
        self.wait_for("READY> ")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text):
        end = time.monotonic() + SECONDS
        while text not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"no {text!r} in {self.seen[-2000:]!r}"
            if select.select([self.fd], [], [], left)[0]:
                new = os.read(self.fd, 65536).decode(errors="replace")
                if re.search("\x1b\\[0?c", new):  # fish 4 waits until the terminal says what it is
                    self.type("\x1b[?62c")
                self.seen += new
        before, _, self.seen = self.seen.partition(text)
        return before

    def words(self, typed):
        """The words that cloche is started with after `typed` and ENTER."""
        self.type(typed + "\r")
        self.wait_for("WORDS<")
        return self.wait_for(">|").split("><")

    def end(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture(params=sorted(SHELLS))
def terminal(request, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    terminal = Terminal(request.param, tmp_path)
    yield terminal
    terminal.end()


@pytest.mark.parametrize("typed, expected", [
    ("cloche ru\t", ["run"]),
    ("cloche exp\t", ["explain"]),
    ("cloche doc\t--js\t", ["doctor", "--json"]),
    ("cloche lo\t--fol\t", ["log", "--follow"]),
    ("cloche log --kind sysc\t", ["log", "--kind", "syscall"]),
    ("cloche log --html some-p\t", ["log", "--html", "some-policy.json"]),
    ("cloche imp\t--from cla\tsome-p\t", ["import", "--from", "claude", "some-policy.json"]),
    ("cloche explain --bw\t", ["explain", "--bwrap"]),
    ("cloche ann\t--events some-p\t", ["annotate", "--events", "some-policy.json"]),
    ("cloche run --pres\topenc\ttrue", ["run", "--preset", "opencode", "true"]),
    ("cloche run -p works\ttrue", ["run", "-p", "workspace", "true"]),
    ("cloche explain -p reado\t", ["explain", "-p", "readonly"]),
    ("cloche presets str\t", ["presets", "strict"]),
    ("cloche init --preset cod\t", ["init", "--preset", "codex"]),
    ("cloche check some-p\t", ["check", "some-policy.json"]),
    ("cloche trust --rev\tsome-p\t", ["trust", "--revoke", "some-policy.json"]),
    ("cloche run --settings some-p\ttrue", ["run", "--settings", "some-policy.json", "true"]),
    ("cloche run -s codex:some-p\ttrue", ["run", "-s", "codex:some-policy.json", "true"]),
    ("cloche run -s cod\tsome-p\ttrue", ["run", "-s", "codex:some-policy.json", "true"]),
    ("cloche explain --settings codex:some-p\t", ["explain", "--settings", "codex:some-policy.json"]),
    ("cloche run -s codex:some-policy.json cat some-p\t", ["run", "-s", "codex:some-policy.json", "cat", "some-policy.json"]),
    ("cloche run -s codex:some-policy.json --allow-deg\tlate\ttrue",
     ["run", "-s", "codex:some-policy.json", "--allow-degraded", "late-names", "true"]),
    ("cloche sess\t--fd 7", ["session", "--fd", "7"]),
    ("cloche run --env SOME_VAR\ttrue", ["run", "--env", "SOME_VARIABLE", "true"]),
    ("cloche run --allow-deg\tlate\ttrue", ["run", "--allow-degraded", "late-names", "true"]),
    ("cloche learn --outp\tsome-p\ttrue", ["learn", "--output", "some-policy.json", "true"]),
    ("cloche learn -p dev -o some-p\ttrue", ["learn", "-p", "dev", "-o", "some-policy.json", "true"]),
    ("cloche learn -p dev --outp\tx true", ["learn", "-p", "dev", "--output", "x", "true"]),
    ("cloche run -p dev cat some-p\t", ["run", "-p", "dev", "cat", "some-policy.json"]),
    # Behind the command's name the options are the command's own.
    ("cloche run cat --allow-deg\tx", ["run", "cat", "--allow-degx"]),
])
def test_tab_makes_the_line(terminal, typed, expected):
    made = terminal.words(typed)
    if "=" in "".join(made):  # zsh and fish may write --name=value
        made = [part for word in made for part in word.split("=", 1)]
    assert [word for word in made if word] == expected


def help_of(*words):
    done = subprocess.run([CLOCHE, *words, "--help"], capture_output=True, text=True, check=True, timeout=SECONDS)
    return done.stdout


def offered(name):
    text = (COMPLETIONS / name).read_text()
    if name.endswith(".fish"):
        return {f"--{word}" for word in re.findall(r"^complete .*? -l ([a-z-]+)", text, re.MULTILINE)}
    return set(re.findall(r"--[a-z][a-z-]+", text)) - {"--name"}


@pytest.mark.parametrize("name", ["cloche.bash", "_cloche", "cloche.fish"])
def test_the_options_are_those_of_the_help(name):
    helped = set()
    for words in ([], ["run"], ["explain"], ["check"], ["presets"], ["init"], ["trust"], ["doctor"], ["learn"], ["log"],
                  ["annotate"], ["import"], ["session"]):
        helped |= set(re.findall(r"--[a-z][a-z-]+", help_of(*words)))
    assert offered(name) | {"--help"} == helped | {"--help"}


@pytest.mark.parametrize("name", ["cloche.bash", "_cloche", "cloche.fish"])
def test_every_preset_is_offered(name):
    presets = {path.stem for path in (TOP / "share" / "presets").glob("*.json")}
    lists = re.findall(r"presets(?:=['(]| )(base [a-z ]+)", (COMPLETIONS / name).read_text())
    assert len(lists) == 1
    assert set(lists[0].split()) == presets
