"""`cloche presets` and `cloche init`."""

import json
import os
import re

import pytest

NAMES = ["base", "dev", "strict", "open", "readonly", "workspace", "opencode", "claude", "codex", "mcp"]


def without_comments(text):
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))


def test_presets_are_listed_with_one_line_each(person):
    answer = person.cloche("presets")
    assert answer.returncode == 0
    rows = [line.split(maxsplit=1) for line in answer.stdout.splitlines()]
    assert [row[0] for row in rows] == NAMES
    assert all(len(row) == 2 for row in rows)
    # one column for the names
    assert len({line.index(summary) for line, (_, summary) in zip(answer.stdout.splitlines(), rows)}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_preset_is_printed_with_its_comments_and_is_valid(person, name):
    answer = person.cloche("presets", name)
    assert answer.returncode == 0
    assert answer.stdout.startswith("//")
    printed = person.file("printed.json", answer.stdout)
    assert person.cloche("check", f"preset:{name}").returncode == 0
    assert person.cloche("check", printed).returncode == 0


def test_unknown_preset_is_named_with_what_was_probably_meant(person):
    answer = person.cloche("presets", "sctrict")
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr == 'cloche: there is no preset "sctrict"; did you mean "strict"?\n'


def test_init_writes_a_valid_policy_that_extends_the_preset(person):
    answer = person.cloche("init", "--preset", "workspace")
    assert answer.returncode == 0
    assert "cloche trust" in answer.stderr
    written = (person.project / ".cloche.json").read_text()
    assert "//" in written
    assert without_comments(written)["extends"] == ["preset:workspace"]
    assert person.cloche("check", ".cloche.json").returncode == 0


def test_init_extends_dev_by_default(person):
    assert person.cloche("init").returncode == 0
    assert without_comments((person.project / ".cloche.json").read_text())["extends"] == ["preset:dev"]


def test_init_never_overwrites(person):
    person.file(".cloche.json", "mine")
    answer = person.cloche("init")
    assert answer.returncode == 1
    assert "left as it is" in answer.stderr
    assert (person.project / ".cloche.json").read_text() == "mine"


def test_init_never_writes_through_a_link(person):
    person.link(".cloche.json", person.home / "elsewhere")
    assert person.cloche("init").returncode == 1
    assert not (person.home / "elsewhere").exists()


def test_init_with_an_unknown_preset_writes_nothing(person):
    answer = person.cloche("init", "-p", "devv")
    assert answer.returncode == 1
    assert 'did you mean "dev"?' in answer.stderr
    assert os.listdir(person.project) == []


@pytest.mark.parametrize("command", ["check", "presets", "init", "trust"])
def test_small_commands_refuse_unknown_options_with_status_two(person, command):
    answer = person.cloche(command, "--prest", "x")
    assert answer.returncode == 2
    assert f"see cloche {command} --help" in answer.stderr
