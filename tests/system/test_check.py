"""`cloche check`: every problem, its file and its place."""

import pytest


def test_valid_policy_is_called_valid(person):
    policy = person.file("policy.json", {"filesystem": {"allowWrite": ["."]}})
    answer = person.cloche("check", policy)
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout == f"{policy}: valid\n"
    assert answer.stderr == ""


def test_all_problems_of_all_files_are_listed_at_once(person):
    one = person.file("one.json", {"filesystem": {"alowRead": [], "denyRead": [7]}})
    two = person.file("two.json", {"network": {"mode": "nnoe"}})
    good = person.file("good.json", {})
    answer = person.cloche("check", one, two, good)
    assert answer.returncode == 1
    lines = answer.stdout.splitlines()
    assert any(line.startswith(f"{one}: filesystem.alowRead: ") and '"allowRead"' in line for line in lines), lines
    assert any(line.startswith(f"{one}: filesystem.denyRead[0]: ") for line in lines), lines
    assert any(line.startswith(f"{two}: network.mode: ") and '"none"' in line for line in lines), lines
    assert f"{one}: 2 problems" in lines
    assert f"{two}: 1 problem" in lines
    assert f"{good}: valid" in lines


@pytest.mark.parametrize(
    "content", [b"", b"   \n", b"{", b"[]", b"null", b'{"a": 1} x', b"\xff\xfe", b'{"filesystem": {}, "filesystem": {}}']
)
def test_what_is_not_a_policy_is_a_problem(person, content):
    policy = person.file("policy.json", content)
    answer = person.cloche("check", policy)
    assert answer.returncode == 1
    assert str(policy) in answer.stdout


def test_absent_file_directory_and_fifo_are_problems(person):
    import os

    os.mkfifo(person.project / "fifo")
    for name in ("absent.json", ".", "fifo"):
        answer = person.cloche("check", name)
        assert answer.returncode == 1, name
        assert name in answer.stdout


def test_problem_in_an_extended_file_is_named_by_that_file(person):
    team = person.file("team.json", {"filesystem": {"allowWrit": []}})
    policy = person.file("policy.json", {"extends": ["./team.json"]})
    answer = person.cloche("check", policy)
    assert answer.returncode == 1
    assert f"{team}: filesystem.allowWrit: " in answer.stdout


def test_what_a_run_would_refuse_is_said_and_does_not_make_a_policy_invalid(person):
    policy = person.file("policy.json", {"network": {"tlsTerminate": {}, "stripResponseHeaders": ["x-a"]}})
    answer = person.cloche("check", policy)
    assert answer.returncode == 0
    lines = [line for line in answer.stdout.splitlines() if "a run refuses this" in line]
    assert any("network.tlsTerminate" in line for line in lines), answer.stdout
    assert any("network.stripResponseHeaders" in line for line in lines), answer.stdout
    assert answer.stdout.splitlines()[-1] == f"{policy}: valid, but a run refuses it"


@pytest.mark.parametrize("key", ["allow", "deny"])
def test_system_call_that_does_not_exist_is_a_problem_with_its_place(person, key):
    policy = person.file("policy.json", {"seccomp": {key: ["ptrace", "perf_event_opn", "zzzzzzzzzz"]}})
    answer = person.cloche("check", policy)
    assert answer.returncode == 1
    assert answer.stdout.splitlines() == [
        f'{policy}: seccomp.{key}[1]: there is no system call called "perf_event_opn"; did you mean "perf_event_open"?',
        f'{policy}: seccomp.{key}[2]: there is no system call called "zzzzzzzzzz"',
        f"{policy}: 2 problems",
    ]
    assert person.cloche("check", person.file("good.json", {"seccomp": {key: ["ptrace"]}})).returncode == 0


def test_commas_are_explained_in_plain_words(person):
    for text, words in (('{"filesystem": {}\n "limits": {}}', 'line 2, column 9: not valid JSON: a comma is missing before "limits"'),
                        ('{"filesystem": {"allowRead": ["/opt",]}}', "a comma before ']' is not allowed")):
        answer = person.cloche("check", person.file("policy.json", text))
        assert answer.returncode == 1
        assert words in answer.stdout


def test_hostile_names_and_values_are_shown_escaped(person):
    policy = person.file("policy.json", {"filesystem": {"a\x1b[31m\u202e\nb": [], "tmp": "\x1b]0;x\x07"}})
    answer = person.cloche("check", policy)
    assert answer.returncode == 1
    assert "\x1b" not in answer.stdout and "\u202e" not in answer.stdout and "\x07" not in answer.stdout
    assert r"\x1b" in answer.stdout
    assert answer.stdout.count("\n") == 3


def test_policy_with_a_hostile_file_name_is_checked_and_shown_escaped(person):
    policy = person.file(b"p\x1b\n\xff.json".decode(errors="surrogateescape"), {"nonsense": 1})
    answer = person.cloche("check", policy)
    assert answer.returncode == 1
    assert "\x1b" not in answer.stdout
    assert r"p\x1b\n\xff.json" in answer.stdout


def test_without_a_file_it_says_how_to_call_it(person):
    answer = person.cloche("check")
    assert answer.returncode == 2
    assert answer.stderr == "cloche: no file given: cloche check FILE...\n"


def test_checking_works_in_the_home_directory(person):
    person.file("policy.json", {})
    assert person.cloche("check", "project/policy.json", cwd=person.home).returncode == 0
