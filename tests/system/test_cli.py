"""The command line itself: dispatch, options, words, statuses."""

import re
import shutil

import pytest

COMMANDS = ["run", "explain", "check", "presets", "init", "trust", "doctor"]


def test_version_goes_to_stdout(person):
    answer = person.cloche("--version")
    assert answer.returncode == 0
    assert re.fullmatch(r"cloche \d+\.\d+\.\d+\n", answer.stdout)
    assert answer.stderr == ""
    assert person.cloche("version").stdout == person.cloche("-V").stdout == answer.stdout


def test_help_lists_every_command(person):
    answer = person.cloche("--help")
    assert answer.returncode == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", answer.stdout, re.M), command


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits_a_terminal(person, command):
    answer = person.cloche(command, "--help")
    assert answer.returncode == 0
    assert f"Usage: cloche {command}" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80
    assert person.cloche("help", command).stdout == answer.stdout


def test_no_command_is_refused_with_the_usage(person):
    answer = person.cloche()
    assert answer.returncode == 125
    assert answer.stdout == ""
    assert answer.stderr == person.cloche("--help").stdout == person.cloche("help").stdout


def test_cloche_inside_a_cloche_is_refused_with_the_way_out(person):
    shutil.copy(person.binaries / "cloche", person.project / "inner")
    for words in (["run", "true"], ["run", "--allow-degraded", "late-names", "true"], ["srt", "true"]):
        answer = person.cloche("run", "-q", "--", "./inner", *words)
        assert answer.returncode != 0
        assert answer.stderr.count("refused: ") == 1 and "--allow-degraded" not in answer.stderr, answer.stderr
        assert "inside a cloche already" in answer.stderr and "SANDBOX_RUNTIME" in answer.stderr
    assert person.cloche("run", "./inner", "--version").returncode == 0
    assert person.cloche("run", "true", environment={"SANDBOX_RUNTIME": "1"}).returncode == 0


@pytest.mark.parametrize("host, port", [("localhost", "PORT"), ("127.0.0.1:5432", "5432"), ("[::1]:80", "80")])
def test_loopback_as_a_domain_is_warned_of_with_what_was_meant(person, host, port):
    answer = person.cloche("run", "--allow-domain", host, "true")
    assert answer.returncode == 0
    assert f"{host}: the loopback inside is the run's own; for a port of yours: --host-port {port}\n" in answer.stderr
    assert person.cloche("run", "--allow-domain", "localhost.example", "--deny-domain", host, "true").stderr == ""


def test_pattern_that_is_not_held_for_later_is_refused_with_the_entry_that_is(person):
    """Without namespaces there is no doorman; with them it is held."""
    person.file("a.pem", "secret\n")
    alone = ["--backend", "landlock"]
    answer = person.cloche("run", *alone, "--deny-read", "*.pem", "true")
    assert answer.returncode == 125
    entry = re.search(r"write (\{.*?\})", answer.stderr)[1]
    policy = person.file(person.home / "policy.json", '{"extends": ["preset:dev"], "filesystem": {"denyRead": [%s]}}' % entry)
    assert person.cloche("run", *alone, "-s", policy, "cat", "a.pem").returncode == 1
    assert person.cloche("run", *alone, "cat", "a.pem").stdout == "secret\n"
    assert person.cloche("run", "--deny-read", "*.pem", "cat", "a.pem").returncode == 1
    assert person.cloche("run", "cat", "a.pem").stdout == "secret\n"


def test_limits_that_nobody_set_are_not_shown_as_numbers(person):
    assert "\nlimits       core dumps off\n" in person.cloche("explain").stdout
    assert "\nlimits       wall time 3 s, core dumps off\n" in person.cloche("explain", "--timeout", "3").stdout


def test_every_preset_runs(person):
    for line in person.cloche("presets").stdout.splitlines():
        answer = person.cloche("run", "-p", line.split()[0], "true")
        assert answer.returncode == 0, answer


def test_command_that_is_on_the_system_but_hidden_is_told_from_one_that_is_nowhere(person):
    tool = person.file(person.home / "hidden/tool", "#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    environment = {"PATH": f"/usr/bin:/bin:{tool.parent}"}
    options = ["--deny-read", str(tool.parent)]
    answer = person.cloche("run", *options, "tool", environment=environment)
    assert answer.returncode == 127
    assert f"{tool} is on this system, but hidden from the run: --allow-read {tool}" in answer.stderr
    assert person.cloche("run", *options, "--allow-read", tool, "tool", environment=environment).stdout == "ran\n"
    answer = person.cloche("run", "no-such-tool", environment=environment)
    assert answer.returncode == 127 and "hidden" not in answer.stderr
    answer = person.cloche("run", "-c", "exit 127", environment=environment)
    assert answer.returncode == 127 and answer.stderr == ""


@pytest.mark.parametrize(
    "word, words_expected",
    [("runn", 'did you mean "run"?'), ("expalin", 'did you mean "explain"?'), ("make", "cloche run make")],
)
def test_unknown_command_is_refused_with_what_was_probably_meant(person, word, words_expected):
    answer = person.cloche(word)
    assert answer.returncode == 125
    assert words_expected in answer.stderr


def test_answer_that_cannot_be_written_is_an_error(person):
    with open("/dev/full", "w") as full:
        answer = person.cloche("presets", stdout=full)
    assert answer.returncode == 125
    assert "standard output" in answer.stderr


@pytest.mark.parametrize("command", ["run", "explain"])
class TestSharedOptions:
    @pytest.mark.parametrize(
        "option, near",
        [("--alow-read", "--allow-read"), ("--setings=x", "--settings"), ("--allow-domains", "--allow-domain")],
    )
    def test_misspelled_option_is_refused_with_did_you_mean(self, person, command, option, near):
        answer = person.cloche(command, option, "x")
        assert answer.returncode == 125
        assert f'did you mean "{near}"?' in answer.stderr

    def test_option_without_its_value_is_refused(self, person, command):
        answer = person.cloche(command, "--allow-read")
        assert answer.returncode == 125
        assert "--allow-read needs a value" in answer.stderr

    def test_flag_with_a_value_is_refused(self, person, command):
        answer = person.cloche(command, "--quiet=yes", "x")
        assert answer.returncode == 125
        assert "--quiet takes no value" in answer.stderr

    def test_degraded_tokens_are_a_closed_list(self, person, command):
        answer = person.cloche(command, "--allow-degraded", "late-name", "true")
        assert answer.returncode == 125
        assert 'it takes: late-names, protected-names, metadata, truncate; did you mean "late-names"?' in answer.stderr

    def test_backends_are_a_closed_list(self, person, command):
        answer = person.cloche(command, "--backend", "docker", "true")
        assert answer.returncode == 125
        assert "it takes: auto, namespaces, landlock" in answer.stderr

    def test_option_named_by_hostile_bytes_is_shown_escaped(self, person, command):
        answer = person.cloche(command, "--\x1b]0;owned\x07\u202e", "x")
        assert answer.returncode == 125
        assert "\x1b" not in answer.stderr and "\u202e" not in answer.stderr
        assert r"\x1b" in answer.stderr


class TestRunOptions:
    def test_without_a_command_nothing_is_run(self, person):
        answer = person.cloche("run", "--allow-read", "/etc")
        assert answer.returncode == 125
        assert "no command given" in answer.stderr

    def test_json_belongs_to_explain(self, person):
        answer = person.cloche("run", "--json", "true")
        assert answer.returncode == 125
        assert 'unknown option "--json"' in answer.stderr

    def test_shell_text_and_command_together_are_refused(self, person):
        answer = person.cloche("run", "-c", "touch made", "touch", "made")
        assert answer.returncode == 125
        assert "both -c and a command" in answer.stderr
        assert not (person.project / "made").exists()

    def test_all_refusals_are_said_at_once(self, person):
        policy = person.file("policy.json", {"network": {"tlsTerminate": {}}})
        answer = person.cloche("run", "--host-port", "3128", "--settings", policy, "true")
        assert answer.stderr.count("refused: ") == 2
