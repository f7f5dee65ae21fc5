"""Policies that other projects document must mean here what they mean there.

Each policy in tests/compat/policies has an .expect.json beside it that says path by
path and host by host what is allowed. It is asked of `explain`, and for files also of
a real run, in which a probe reads and writes every path and the host judges what came
of it. `~` is the home, `.` the project, which is below it. The key `degraded` lists
the tokens without which a run refuses; it fails when it goes stale."""

import json
import os
import pathlib
import subprocess

import pytest

POLICIES = pathlib.Path(__file__).resolve().parents[1] / "compat" / "policies"
NAMES = sorted(path.name.removesuffix(".expect.json") for path in POLICIES.glob("*.expect.json"))

# What stands in the home, each file with its own path as content.
FILES = """
.ssh/id_ed25519 .aws/credentials .aws/config .gitconfig .nvm/bin/node notes.txt other/plan.txt
.local/share/opencode/session.json
project/README.md project/MEMORY.md project/src/main.c project/test/test_main.c project/docs/guide.md
project/.env project/.env.example project/secrets/key.pem project/secrets/public.pem
project/.git/config project/.git/hooks/pre-commit project/.mcp.json project/.vscode/settings.json
project/C0123/log.jsonl project/C0123/scratchpad/work.txt project/C9999/log.jsonl project/C01234/log.jsonl
""".split()

# Runs inside. Answers are hex, so that no content can pass for an answer. A read
# comes before any write; a write appends, so that it needs no more than it says.
PROBE = """
import json, sys
asked = json.loads(sys.argv[1])
read, write = {}, {}
for path in asked["read"]:
    try:
        read[path] = open(path, "rb").read().hex()
    except OSError as error:
        read[path] = -error.errno
for path in asked["write"]:
    try:
        with open(path, "ab", buffering=0) as file:
            file.write(b"written inside")
        write[path] = 0
    except OSError as error:
        write[path] = -error.errno
print(json.dumps({"read": read, "write": write}))
"""


def load(name):
    return json.loads((POLICIES / f"{name}.expect.json").read_text())


class Expectation:
    """What one policy promises, with the paths of one person."""

    def __init__(self, person, expected, variant=None):
        variant = variant or {}
        self.environment = variant.get("environment", {})
        self.read, self.write = (
            {self.path(person, path): verdict for path, verdict in expected.get(kind, {}).items()}
            for kind in ("read", "write")
        )
        for kind, verdicts in (("read", self.read), ("write", self.write)):
            verdicts.update({self.path(person, path): verdict for path, verdict in variant.get(kind, {}).items()})
        self.net = expected.get("net", {})

    @staticmethod
    def path(person, path):
        if path.startswith("~"):
            return str(person.home) + path[1:]
        return str(person.project / path)


def furnish(person, expected):
    below = expected.get("below")
    if below and not person.home.is_relative_to(below):
        pytest.skip(f"the policy is about {below}, where only root can make a home for the test")
    for name in FILES:
        person.file(person.home / name, f"this is {name}\n")


def policy_of(person, name):
    """A copy in reach of everybody, wherever the sources are."""
    return person.file(person.base / f"{name}.json", (POLICIES / f"{name}.json").read_text())


def with_variants(expected):
    return [None, *expected.get("variants", [])]


@pytest.mark.parametrize("name", NAMES)
def test_explain_gives_the_documented_verdicts(person, name):
    expected = load(name)
    furnish(person, expected)
    for variant in with_variants(expected):
        promise = Expectation(person, expected, variant)
        questions = [
            *(("read:" + path, verdict) for path, verdict in promise.read.items()),
            *(("write:" + path, verdict) for path, verdict in promise.write.items()),
            *(("net:" + host, verdict) for host, verdict in promise.net.items()),
        ]
        answer = person.explain(
            "-s", policy_of(person, name), *(question for question, _ in questions), environment=promise.environment
        )
        assert len(answer["answers"]) == len(questions)
        wrong = []
        for (question, verdict), each in zip(questions, answer["answers"]):
            said = each["verdict"]
            if said == "allowed" and each.get("access") == "empty":
                said = "empty"
            if said == "allowed" and each.get("backing") == "private":
                said = "private"
            if said != verdict:
                wrong.append(f"{question}: {said}, not {verdict}: {each['why']} ({each['rule']})")
            if verdict == "denied" and question.startswith("write:"):
                if not each["locks"]:
                    wrong.append(f"{question}: held by no lock")
        assert not wrong, "\n".join(wrong)


def contents(paths):
    """What the host sees: bytes, or None where nothing is."""
    return {path: pathlib.Path(path).read_bytes() if os.path.exists(path) else None for path in paths}


def judge(promise, before, answers, after):
    """The differences between what was promised and what came to pass."""
    wrong = []
    for path, verdict in promise.read.items():
        answer = answers["read"][path]
        if verdict == "allowed":
            good = answer == before[path].hex()
        elif verdict == "empty":
            good = answer == ""
        else:
            good = isinstance(answer, int)
        if not good:
            wrong.append(f"read {path}: {answer}, not {verdict}")
    for path, verdict in promise.write.items():
        arrived = after[path] == (before[path] or b"") + b"written inside"
        untouched = after[path] == before[path]
        answer = answers["write"][path]
        good = {
            "allowed": answer == 0 and arrived,
            "private": answer == 0 and untouched,
            "denied": answer < 0 and untouched,
        }[verdict]
        if not good:
            wrong.append(f"write {path}: {answer}, {'untouched' if untouched else 'changed'}, not {verdict}")
    return wrong


def probe(person, promise, name, *arguments):
    before = contents([*promise.read, *promise.write])
    for path, verdict in promise.read.items():
        assert verdict != "allowed" or before[path], f"{path} proves nothing: it is not there or empty"
    asked = json.dumps({"read": list(promise.read), "write": list(promise.write)})
    ran = person.call(
        name, *arguments, "--", "/usr/bin/python3", "-I", "-c", PROBE, asked, environment=promise.environment
    )
    assert ran.returncode == 0, ran.stderr
    after = contents(before)
    wrong = judge(promise, before, json.loads(ran.stdout), after)
    for path, content in before.items():
        if after[path] != content:
            if content is None:
                os.unlink(path)
            else:
                pathlib.Path(path).write_bytes(content)
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_a_run_keeps_the_documented_rules_for_files(person, name):
    expected = load(name)
    furnish(person, expected)
    # Files are the subject; what a run cannot enforce of the network it refuses.
    no_network = person.file(person.base / "no-network.json", {"extends": [], "network": {"mode": "none"}})
    run = ["run", "-C", person.project, "-s", policy_of(person, name), "-s", no_network]
    for token in expected.get("degraded", []):
        refused = person.cloche(*run, "--", "/bin/true")
        assert refused.returncode == 125 and token in refused.stderr, refused.stderr
        run += ["--allow-degraded", token]
    for variant in with_variants(expected):
        wrong = probe(person, Expectation(person, expected, variant), "cloche", *run)
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [name for name in NAMES if "srt" in load(name)])
def test_under_the_name_srt_a_policy_means_what_it_means_to_srt(person, name):
    expected = load(name)
    furnish(person, expected)
    promise = Expectation(person, expected, expected["srt"])
    wrong = probe(person, promise, "srt", "--settings", policy_of(person, name))
    assert not wrong, "\n".join(wrong)


def test_without_a_sandbox_the_probe_reads_and_writes_everything(person):
    """The positive control: what is denied above is denied by the policy alone."""
    furnish(person, {})
    paths = [str(person.home / name) for name in FILES]
    asked = json.dumps({"read": paths, "write": [*paths, str(person.project / "new.txt")]})
    ran = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", PROBE, asked],
        capture_output=True,
        check=True,
        **({"user": person.uid, "group": person.uid, "extra_groups": []} if os.geteuid() == 0 else {}),
    )
    answers = json.loads(ran.stdout)
    assert all(isinstance(answer, str) and answer for answer in answers["read"].values())
    assert all(answer == 0 for answer in answers["write"].values())


@pytest.mark.parametrize("present", [True, False])
def test_a_required_path_that_is_absent_refuses_the_run(person, present):
    if present:
        person.directory(person.home / "needed")
    policy = person.file(
        person.base / "policy.json",
        {"rules": [{"path": "$HOME/needed", "access": "ro-bind", "required": True}], "network": {"mode": "none"}},
    )
    ran = person.cloche("run", "-C", person.project, "-s", policy, "--", "/bin/echo", "started")
    if present:
        assert (ran.returncode, ran.stdout) == (0, "started\n"), ran.stderr
    else:
        assert (ran.returncode, ran.stdout) == (125, "")
        assert str(person.home / "needed") in ran.stderr or "$HOME/needed" in ran.stderr
