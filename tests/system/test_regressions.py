"""Holes that were found once, each named after what could be done through it.

As everywhere, each denial stands beside the same thing allowed."""

import json
import os

PYTHON = "/usr/bin/python3"


# Variables


def test_secrets_in_unusual_spelling_do_not_arrive(person):
    secrets = ["PRIVATE_KEY", "password", "Api_Key", "apiKey", "my_Token", "TOKENS", "GITHUB_PAT", "OPENAI_KEY",
               "STRIPE_KEY", "JWT", "AUTH", "DATABASE_URI"]
    ordinary = ["KEYBOARD", "MONKEY", "AUTHOR", "GIT_AUTHOR_NAME", "SSH_CLIENT", "LESSKEY", "MAX_TOKENS"]
    answer = person.cloche("run", PYTHON, "-c", "import json, os; print(json.dumps(list(os.environ)))",
                           environment=dict.fromkeys(secrets + ordinary, "x"))
    arrived = json.loads(answer.stdout)
    assert [name for name in secrets if name in arrived] == []
    assert [name for name in ordinary if name not in arrived] == []


# Messages


def test_name_of_a_command_cannot_forge_a_second_message_or_hide(person):
    answer = person.cloche("run", "./no\ncloche: all is well\u202e\u009b[2J", environment={"LANG": "C.UTF-8"})
    assert answer.returncode == 127
    assert len(answer.stderr.splitlines()) == 1
    assert not {"\u202e", "\u009b", "\x1b"} & set(answer.stderr)
    assert "no?cloche: all is well" in answer.stderr
    answer = person.cloche("run", "./grüße")
    assert "./grüße" in answer.stderr


def test_name_in_a_policy_cannot_forge_a_second_message(person):
    policy = person.file("../policy\ncloche: fine.json", {"filesystem": {"tmpp\ncloche: fine": 1}})
    answer = person.cloche("run", "--settings", policy, "true")
    assert answer.returncode == 125
    assert [line for line in answer.stderr.splitlines() if line.startswith("cloche: fine")] == []
    assert "tmpp" in answer.stderr


def test_reports_that_are_not_built_are_refused_by_name(person):
    asked = [({"violation": {"logViolations": True}}, "violation.logViolations"),
             ({"violation": {"enableDetection": True}}, "violation.enableDetection"),
             ({"violation": {"watch": "writes"}}, "violation.watch"),
             ({"violation": {"violationLogPath": "~/log"}}, "violation.violationLogPath"),
             ({"ignoreViolations": {"npm": ["~/.npm"]}}, "ignoreViolations")]
    for policy, name in asked:
        answer = person.cloche("run", "--settings", person.file("policy.json", policy), "true")
        assert (answer.returncode, name in answer.stderr) == (125, True), answer.stderr
        assert person.cloche("check", "policy.json").returncode == 0
    nothing = {"violation": {"logViolations": False, "enableDetection": False, "watch": "off"}, "ignoreViolations": {}}
    answer = person.cloche("run", "--settings", person.file("policy.json", nothing), "true")
    assert (answer.returncode, answer.stderr) == (0, "")
    of_srt = {"network": {"allowedDomains": [], "deniedDomains": []},
              "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}, "ignoreViolations": {"npm": ["x"]}}
    answer = person.srt("--settings", person.file("srt.json", of_srt), "true")
    assert answer.returncode == 0, answer.stderr
