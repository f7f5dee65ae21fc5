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
