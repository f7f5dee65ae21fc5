"""Run as `srt`, cloche answers to a settings file it cannot use with the words and the
status of srt itself, as recorded in tests/compat/srt_cli.json."""

import json
import pathlib

import pytest

RECORD = pathlib.Path(__file__).resolve().parents[1] / "compat" / "srt_cli.json"
CASES = json.loads(RECORD.read_text())["cases"]


def put(person, path, settings):
    if settings == "DIRECTORY":
        person.directory(path)
    elif settings == "LOOP":
        person.link(path, path)
    elif settings is not None:
        person.file(path, settings)


def without_the_parsers_words(text):
    """Which byte of bad JSON displeased is told by each parser in its own way."""
    before, found, after = text.partition("is not valid JSON: ")
    return before + found + after[after.index("\n") :] if found else text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_settings_file_is_answered_as_srt_answers(person, case):
    path = person.home / case["file"]
    person.file(person.home / "file", "")
    put(person, path, case.get("settings"))
    named = [] if case["file"] == ".srt-settings.json" else ["--settings", path]
    ran = person.srt(*named, "--", "/bin/true")
    said = ran.stderr.replace(str(path), "FILE")
    assert without_the_parsers_words(said) == without_the_parsers_words(case["stderr"])
    assert (ran.returncode, ran.stdout) == (case["status"], case["stdout"])


def test_a_relative_name_is_shown_as_it_was_given(person):
    ran = person.srt("-s", "nowhere.json", "--", "/bin/true")
    assert ran.stderr.startswith("Error: nowhere.json does not exist.\n")
    assert ran.returncode == 1


def test_settings_nobody_may_read_do_not_fall_back_to_the_defaults(person):
    if person.uid == 0:
        pytest.skip("nothing is unreadable to root")
    person.file(person.home / ".srt-settings.json", "{}").chmod(0)
    ran = person.srt("--", "/bin/true")
    assert "could not be read (EACCES).\n" in ran.stderr
    assert ran.returncode == 1
