"""The personality `srt`: its command line, its words, its statuses, its environment.
(What it says of settings files is test_srt_settings.py's subject; what settings mean, row by row, test_srt_rows.py's.)"""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from judging import as_person

DEFAULTS = {
    "network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
}


@pytest.fixture
def settings(person):
    return person.file(person.home / ".srt-settings.json", DEFAULTS)


def test_without_a_command_it_says_so_in_srts_words(person):
    answer = person.srt()
    assert answer.returncode == 1
    assert answer.stderr == "Error: No command specified. Use -c <command> or provide command arguments.\n"


def test_options_end_at_the_first_word_that_is_not_one(person, settings):
    person.file("f", "x\nx\n")
    assert person.srt("grep", "-c", "x", "f").stdout == "2\n"
    assert person.srt("echo", "--version", "-d", "-s").stdout == "--version -d -s\n"


def test_command_string_is_given_to_bash(person, settings):
    answer = person.srt("-c", 'x=(a b); echo "${x[1]}"; exit 9')
    assert (answer.returncode, answer.stdout, answer.stderr) == (9, "b\n", "")


def test_words_are_run_as_they_are(person, settings):
    answer = person.srt("printf", "[%s]", "a b", "$HOME", ";", "'")
    assert answer.stdout == "[a b][$HOME][;][']"


@pytest.mark.parametrize("words, status", [(["no-such-command"], 127), (["/etc/passwd"], 126), (["false"], 1)])
def test_statuses_are_those_of_bash(person, settings, words, status):
    assert person.srt(*words).returncode == status


def test_death_by_a_signal_is_128_plus_its_number(person, settings):
    assert person.srt("-c", "kill -TERM $$").returncode == 143


def test_environment_is_inherited_and_marked(person, settings):
    answer = person.srt("-c", 'echo "$SANDBOX_RUNTIME $MY_TOKEN"', environment={"MY_TOKEN": "kept"})
    assert answer.stdout == "1 kept\n"


def test_no_variable_is_there_twice(person, settings):
    names = [text.split("=")[0] for text in person.srt("-c", "cat /proc/$$/environ").stdout.split("\0") if text]
    assert "SANDBOX_RUNTIME" in names and len(names) == len(set(names))
    marked = person.cloche("run", "--env", "SANDBOX_RUNTIME=0", "cat", "/proc/self/environ").stdout.split("\0")
    assert [text for text in marked if text.startswith("SANDBOX_RUNTIME")] == ["SANDBOX_RUNTIME=1"]


class TestTemporaryDirectory:
    PLACE = pathlib.Path("/tmp/claude")

    @pytest.fixture(autouse=True)
    def nothing_there(self, settings):
        """The place is everybody's: what is there is moved aside for a moment."""
        aside = self.PLACE.with_name(f"claude-aside-{os.getpid()}")
        if os.path.lexists(self.PLACE):
            if os.geteuid():
                pytest.skip("/tmp/claude is in use, and only root can move it aside")
            self.PLACE.rename(aside)
        yield
        if self.PLACE.is_symlink() or self.PLACE.is_file():
            self.PLACE.unlink()
        elif self.PLACE.exists():
            shutil.rmtree(self.PLACE)
        if os.path.lexists(aside):
            aside.rename(self.PLACE)

    def test_exists_while_the_command_runs_and_no_longer(self, person):
        answer = person.srt("-c", 'echo "$TMPDIR"; f=$(mktemp) && rm "$f" && echo made')
        assert answer.stdout == "/tmp/claude\nmade\n", answer.stderr
        assert not self.PLACE.exists()

    def test_stays_while_it_holds_something(self, person):
        assert person.srt("touch", "/tmp/claude/kept").returncode == 0
        assert os.listdir(self.PLACE) == ["kept"]

    def test_stays_while_another_run_uses_it(self, person):
        other = subprocess.Popen(
            [person.binaries / "srt", "-c", "echo ready; read x; mktemp >/dev/null && rm /tmp/claude/* && echo made"],
            cwd=person.project, env=person.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            **as_person(person),
        )  # fmt: skip
        assert other.stdout.readline() == "ready\n"
        assert person.srt("true").returncode == 0
        assert other.communicate("go\n", timeout=20)[0] == "made\n"
        assert not self.PLACE.exists()

    def test_what_a_killed_run_left_goes_with_the_next(self, person):
        self.PLACE.mkdir()
        self.PLACE.chmod(0o1700)
        person.own(self.PLACE)
        assert person.srt("true").returncode == 0
        assert not self.PLACE.exists()

    def test_directory_of_the_users_own_is_used_and_stays(self, person):
        self.PLACE.mkdir(mode=0o755)
        person.own(self.PLACE)
        assert person.srt("-c", "mktemp").stdout.startswith("/tmp/claude/")
        assert self.PLACE.exists()

    @pytest.mark.parametrize("kind", ["directory", "link", "file"])
    def test_what_is_not_ours_is_left_alone_and_not_used(self, person, kind):
        if os.geteuid():
            pytest.skip("needs another user")
        if kind == "directory":
            self.PLACE.mkdir(mode=0o755)
            os.chown(self.PLACE, 60999, 60999)
        elif kind == "link":
            self.PLACE.symlink_to(person.home)
        else:
            self.PLACE.write_text("")
        answer = person.srt("-c", f'mktemp >/dev/null && echo "$TMPDIR"; echo x >{person.home}/made')
        assert answer.stdout == "/dev/shm\n", answer.stderr
        assert not (person.home / "made").exists()  # a link is not followed to what it would open
        assert os.path.lexists(self.PLACE)


def test_tmpdir_of_claude_code_is_passed_on(person, settings):
    answer = person.srt("-c", 'echo "$TMPDIR"', environment={"CLAUDE_CODE_TMPDIR": "/tmp/mine"})
    assert answer.stdout == "/tmp/mine\n"


def test_tmpdir_is_left_alone_when_the_filesystem_is_not_restricted(person):
    person.file(
        person.home / ".srt-settings.json", {**DEFAULTS, "filesystem": {**DEFAULTS["filesystem"], "disabled": True}}
    )
    answer = person.srt("-c", 'echo "$TMPDIR"', environment={"TMPDIR": "/var/tmp"})
    assert answer.stdout == "/var/tmp\n", answer.stderr


def test_defaults_write_nothing_and_read_everything(person):
    person.file(person.home / "file", "readable")
    assert person.srt("cat", person.home / "file").stdout == "readable"
    refused = person.srt("touch", "made")
    assert refused.returncode == 1
    assert "Read-only file system" in refused.stderr
    assert not (person.project / "made").exists()


def test_what_settings_allow_can_be_written(person, settings):
    assert person.srt("touch", "made").returncode == 0
    assert (person.project / "made").exists()


def test_control_fd_must_be_one(person, settings):
    for wrong in ("1", "x", "70"):
        answer = person.srt("--control-fd", wrong, "true")
        assert answer.returncode == 1 and "--control-fd" in answer.stderr, answer


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version_names_the_version_whose_ways_are_kept(person, option):
    assert person.srt(option).stdout.startswith("0.0.83 (cloche ")


def test_help_goes_to_stdout(person):
    answer = person.srt("--help")
    assert answer.returncode == 0
    assert answer.stdout.startswith("Usage: srt ")


def test_unknown_option_is_not_taken_for_a_command(person):
    answer = person.srt("--\x1bbogus", "true")
    assert answer.returncode == 1
    assert answer.stderr == "error: unknown option '--\\x1bbogus'\n"


@pytest.mark.parametrize("words", [["proxy", "--listen", "x"], ["windows-install"], ["windows-uninstall"]])
def test_commands_of_srt_that_are_not_built_are_refused_by_name(person, settings, words):
    refused = person.srt(*words)
    assert refused.returncode == 1 and f"`srt -- {words[0]}` runs a program of that name" in refused.stderr, refused
    person.file("bin/" + words[0], "#!/bin/sh\necho mine\n").chmod(0o755)
    path = f"{person.project}/bin:{person.environment['PATH']}"
    assert person.srt("--", *words, environment={"PATH": path}).stdout == "mine\n"


@pytest.mark.parametrize("option, environment", [(["-d"], {}), (["--debug"], {}), ([], {"SRT_DEBUG": "1"})])
def test_nothing_is_said_unless_debugging_is_on(person, settings, option, environment):
    quiet = person.srt("echo", "out")
    assert (quiet.stdout, quiet.stderr) == ("out\n", "")
    loud = person.srt(*option, "echo", "out", environment=environment)
    assert loud.stdout == "out\n"
    assert str(settings) in loud.stderr and "files, from the outside in" in loud.stderr


def started(person, command):
    process = subprocess.Popen([person.binaries / "srt", "-c", command], cwd=person.project, env=person.environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **as_person(person))
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_command_whose_status_is_the_answer(person, settings, number):
    """srt 0.0.83 ends with 0 for the first two, and the command with no signal that it could handle."""
    name = signal.Signals(number).name
    process = started(person, f"trap 'echo got {name}; exit 5' {name[3:]}; echo ready; while :; do sleep 0.02; done")
    process.send_signal(number)
    assert (process.communicate(timeout=20)[0], process.returncode) == (f"got {name}\n", 5)
    process = started(person, "echo ready; exec sleep 60")
    process.send_signal(number)
    assert process.wait(20) == 128 + number


@pytest.mark.parametrize("name, status", [("srt", 1), ("cloche", 125)])
def test_a_directory_that_vanished_is_told_with_what_to_do(person, settings, name, status):
    words = f"{person.binaries / name} {'run ' if name == 'cloche' else ''}true"
    answer = subprocess.run(["bash", "-c", f'mkdir gone && cd gone && rmdir "$PWD" && {words}'], cwd=person.project, text=True,
                            env=person.environment, capture_output=True, check=False, timeout=60, **as_person(person))
    assert answer.returncode == status
    assert answer.stderr.startswith(f"{name}: the current directory does not exist any more: change to one that does")
