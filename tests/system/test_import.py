"""Settings of other programs as policies, and a plan as a command line of bubblewrap."""

import json
import re
import shlex
import shutil
import subprocess

import pytest

from judging import as_person

CLAUDE = {
    "permissions": {
        "allow": ["Bash(npm run test:*)", "Read(~/.zshrc)", "Edit(/docs/**)", "WebFetch(domain:example.com)", "mcp__x__y"],
        "deny": ["Read(./.env)", "Read(*.pem)", "Read(~/private/**)", "Edit(package.json)", "Bash(curl:*)"],
        "ask": ["Bash(git push:*)"], "additionalDirectories": ["../lib"], "defaultMode": "acceptEdits"},
    "sandbox": {"enabled": True, "excludedCommands": ["docker"],
                "network": {"allowedDomains": ["*.npm.example"], "allowLocalBinding": True},
                "filesystem": {"denyRead": ["~/secret"], "denyWrite": ["vendor"]}},
    "env": {"FOO": "bar"}, "model": "x"}

CODEX = """
model = "o3"
sandbox_mode = "workspace-write"
[sandbox_workspace_write]
writable_roots = ["{home}/out"]
[shell_environment_policy]
inherit = "core"
set = {{ FOO = "bar" }}
"""

PROFILE = """
default_permissions = "mine"
[permissions.mine.filesystem]
":minimal" = "read"
"~/readable" = "read"
[permissions.mine.filesystem.":workspace_roots"]
"." = "write"
"secrets" = "deny"
"**/*.env" = "deny"
[permissions.mine.network]
enabled = true
domains = { "example.com" = "allow", "bad.example.com" = "deny" }
"""


def plain(text):
    """A policy without its comments."""
    return json.loads(re.sub(r"^//.*$", "", text, flags=re.MULTILINE))


def imported(person, *words):
    """The policy, in a file; it must be one that runs."""
    answer = person.cloche("import", *words)
    assert answer.returncode == 0, answer
    policy = person.file(person.home / "imported.json", answer.stdout)
    check = person.cloche("check", policy)
    assert check.returncode == 0 and "refuses" not in check.stdout, check
    # What could not be carried over is said, and stands in the file.
    said = [line.removeprefix("cloche: import: ") for line in answer.stderr.splitlines()]
    assert said == re.findall(r"^// - (.*)$", answer.stdout, re.MULTILINE)
    return policy, said


@pytest.fixture
def surroundings(person):
    for path in ("docs", "vendor", "secrets"):
        person.file(f"{path}/file")
    for path in ("lib/file", "secret/file", "private/file", "out/file", "readable/file", ".zshrc", "elsewhere/file"):
        person.file(person.home / path)
    for name in (".env", "a.pem", "package.json", "x.env"):
        person.file(name)


def answers(person, policy, *questions):
    return [person.allowed(question, "-s", policy) for question in questions]


def test_settings_of_claude_code(person, surroundings):
    policy, said = imported(person, person.file("settings.json", CLAUDE))
    yes = ["write:docs/file", "write:x", "write:../lib/file", "read:~/.zshrc", "read:~/elsewhere/file", "net:example.com",
           "net:a.npm.example"]
    person.file("docs/b.pem")
    no = ["read:.env", "read:a.pem", "read:docs/b.pem", "read:~/private/file", "read:~/secret/file", "write:package.json", "write:docs/package.json",
          "write:vendor/file", "write:~/elsewhere/file", "net:npm.example", "net:other.example", "read:~/.ssh"]
    questions = [word.replace("~", str(person.home)) for word in (*yes, *no)]
    assert answers(person, policy, *questions) == [True] * len(yes) + [False] * len(no)
    assert plain(policy.read_text())["environment"] == {"set": {"FOO": "bar"}}
    for part in ('"Bash(npm run test:*)"', "mcp__x__y", '"Bash(git push:*)"', "excludedCommands", "defaultMode", "model",
                 '"**/*.pem" hides what it matches, also what comes later'):
        assert any(part in line for line in said), part
    # And what it says holds.
    run = person.cloche("run", "-q", "-s", policy, "--deny-domain", "*", "sh", "-c",
                        "cat .env a.pem docs/b.pem; touch docs/made vendor/made; echo $FOO")
    assert "bar\n" == run.stdout and (person.project / "docs/made").exists() and not (person.project / "vendor/made").exists(), run


def test_a_sandbox_of_claude_code_that_is_off_is_said(person):
    _, said = imported(person, person.file("settings.json", {"sandbox": {"enabled": False}}))
    assert any("sandbox.enabled is not true" in line for line in said)


def test_config_of_codex(person, surroundings):
    policy, said = imported(person, person.file("config.toml", CODEX.format(home=person.home)))
    questions = ["write:x", f"write:{person.home}/out/file", f"read:{person.home}/elsewhere/file",
                 f"write:{person.home}/elsewhere/file", "net:example.com", "env:PATH", "env:OTHER"]
    assert answers(person, policy, *questions) == [True, True, True, False, False, True, False]
    assert any("model" in line for line in said)


def test_permission_profile_of_codex(person, surroundings):
    policy, said = imported(person, "--from", "codex", person.file("profile", PROFILE))
    questions = ["write:x", "read:/usr/bin/env", f"read:{person.home}/readable/file", "net:example.com",
                 "read:secrets/file", "write:secrets/file", "read:x.env", f"read:{person.home}/elsewhere/file",
                 f"write:{person.home}/readable/file", "net:bad.example.com", "net:other.example"]
    assert answers(person, policy, *questions) == [True] * 4 + [False] * 7
    assert any("**/*.env" in line for line in said)


@pytest.mark.parametrize("name, content, message", [
    ("config.toml", 'sandbox_mode = "danger-full-access"', "asks for no sandbox"),
    ("config.toml", 'sandbox_mode = "x"', "is not one of"),
    ("config.toml", "sandbox_mode = read-only", "line 1: not valid TOML: text needs quotation marks"),
    ("config.toml", 'default_permissions = "gone"', "there is no [permissions.gone]"),
    ("config.toml", 'default_permissions = "a"\n[permissions.a]\nextends = "a"', "extends itself"),
    ("config.toml", 'default_permissions = "a"\n[permissions.a.filesystem]\n"/x" = "all"', 'needs one of "read", "write", "deny"'),
    ("settings.json", "{}", 'neither "permissions" nor "sandbox"'),
    ("settings.json", "[", "not valid JSON"),
    ("settings.json", '{"permissions": {"allow": [1, null, {}]}}', None),
])
def test_what_makes_no_policy_is_refused_with_the_reason(person, name, content, message):
    answer = person.cloche("import", person.file(name, content))
    if message:
        assert answer.returncode == 1 and answer.stdout == "" and message in answer.stderr, answer
    else:
        assert answer.returncode == 0, answer


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--from", "x", "y"], ["--nonsense"]])
def test_wrong_calls(person, words):
    answer = person.cloche("import", *words)
    assert answer.returncode == 2 and answer.stderr.startswith("cloche: import: "), answer


def test_names_in_settings_cannot_drive_a_terminal(person):
    evil = "Read(\x1b[2J\u202e\n*/)"
    answer = person.cloche("import", person.file("s.json", {"permissions": {"allow": [evil, f"Bash({evil})"], "ask": [evil]},
                                                            evil: 1}))
    assert answer.returncode == 0
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", answer.stdout + answer.stderr)
    assert person.cloche("check", person.file("p.json", answer.stdout)).returncode in (0, 1)
    plain(answer.stdout)


BWRAP = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", "{project}", "{project}",
         "--ro-bind", "{project}/docs", "{project}/docs", "--tmpfs", "{home}/private", "--ro-bind", "/dev/null", "{project}/x.env",
         "--unshare-all", "--die-with-parent", "--unsetenv", "SECRET_THING", "--setenv", "FOO", "bar baz"]
SCRIPT = ("touch new docs/new; cat x.env; ls {home}/private/file; cat {home}/readable/file; touch {home}/elsewhere/new; "
          "echo $FOO ${{SECRET_THING-none}}; wc -l </proc/net/dev")


def filled(person, words):
    return [word.format(project=person.project, home=person.home) for word in words]


def test_a_line_of_bubblewrap_does_the_same_as_a_policy(person, surroundings):
    line, script = filled(person, BWRAP), filled(person, [SCRIPT])[0]
    policy, said = imported(person, "--", *line, "--seccomp", "9", "--chdir", "/", "--", "sh", "-c", "x y")
    assert any("--seccomp 9: it has no counterpart" in each for each in said)
    assert any("cloche run -s THIS-FILE -- sh -c 'x y'" in each for each in said)
    environment = {"SECRET_THING": "1"}
    ours = person.cloche("run", "-q", "-s", policy, "sh", "-c", script, environment=environment)
    assert ours.stdout == "content\nbar baz none\n3\n", ours
    made = {name for name in ("new", "docs/new", "../elsewhere/new") if (person.project / name).exists()}
    assert made == {"new"}
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    (person.project / "new").unlink()
    theirs = subprocess.run([*line, "sh", "-c", script], cwd=person.project, env={**person.environment, **environment},
                            capture_output=True, text=True, timeout=60, check=False, **as_person(person))
    assert theirs.stdout == ours.stdout, theirs
    assert {name for name in ("new", "docs/new", "../elsewhere/new") if (person.project / name).exists()} == made


def test_later_mounts_of_bubblewrap_cover_earlier_ones(person, surroundings):
    docs = str(person.project / "docs")
    policy, _ = imported(person, "--", "bwrap", "--ro-bind", "/", "/", "--bind", docs, docs, "--ro-bind", person.project,
                         person.project)
    assert answers(person, policy, f"write:{docs}/file", f"read:{docs}/file") == [False, True]
    policy, _ = imported(person, "--", "/usr/bin/bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink",
                         "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--unshare-net", "ls")
    assert answers(person, policy, "read:/usr/bin/env", "read:/etc/passwd", f"read:{docs}/file") == [True, False, False]


@pytest.mark.parametrize("words, message", [(["--ro-bind", "/"], "needs 2 words"), (["--magic"], "is not an option of bubblewrap")])
def test_a_line_that_bubblewrap_would_not_take(person, words, message):
    answer = person.cloche("import", "--", "bwrap", *words)
    assert answer.returncode == 1 and message in answer.stderr, answer


class TestExplainAsBubblewrap:
    def line(self, person, *options, command=("true",)):
        answer = person.cloche("explain", "--bwrap", *options, "--", *command)
        assert answer.returncode == 0, answer
        return answer.stdout

    def run(self, person, script, **environment):
        if not shutil.which("bwrap"):
            pytest.skip("bubblewrap is not installed")
        return subprocess.run(["sh", "-c", script], cwd=person.project, env={**person.environment, **environment},
                              capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, **as_person(person))

    @pytest.mark.parametrize("options", [["-p", "dev"], ["-p", "strict"], ["-p", "readonly"], ["-p", "workspace"]])
    def test_the_line_runs_and_holds(self, person, surroundings, options):
        person.file(person.home / ".ssh/id", "the key\n")
        probe = filled(person, ["cat {home}/.ssh/id; cat docs/file; touch made; touch {home}/elsewhere/made /usr/made; "
                                "echo ${{A_TOKEN-none}} $SANDBOX_RUNTIME"])[0]
        theirs = self.run(person, self.line(person, *options, command=("sh", "-c", probe)), A_TOKEN="1")
        made = (person.project / "made").exists()
        if made:
            (person.project / "made").unlink()
        ours = person.cloche("run", "-q", *options, "sh", "-c", probe, environment={"A_TOKEN": "1"})
        assert theirs.stdout == ours.stdout and ours.stdout.endswith("none 1\n"), (theirs, ours)
        assert made == (person.project / "made").exists() == (options[1] in ("dev", "workspace"))
        assert not (person.home / "elsewhere/made").exists()

    def test_what_it_cannot_express_is_said(self, person):
        shown = self.line(person, "--allow-domain", "example.com", "--allow-unix", "/run/x", "--memory", "1G")
        comments = [line for line in shown.splitlines() if line.startswith("#")]
        for part in ("the network by name", "names that do not exist yet", "limits", "Landlock"):
            assert any(part in line for line in comments), part
        assert "the network by name" not in self.line(person)

    def test_values_of_variables_are_not_printed(self, person):
        answer = person.cloche("explain", "--bwrap", "--env", "MY_TOKEN", "--env", "PLAIN=shown here", "--", "true",
                               environment={"MY_TOKEN": "hidden"})
        assert 'MY_TOKEN "$MY_TOKEN"' in answer.stdout and "hidden" not in answer.stdout.replace("that are hidden", "")
        assert "--setenv PLAIN 'shown here'" in answer.stdout

    def test_the_line_can_be_imported_again(self, person, surroundings):
        shown = self.line(person, "-p", "workspace")
        words = shlex.split(shown.replace("\\\n", ""), comments=True)
        answer = person.cloche("import", "--", *words)
        assert answer.returncode == 0, answer
        policy = person.file(person.home / "again.json", answer.stdout)
        assert person.cloche("check", policy).returncode == 0
        assert answers(person, policy, "write:docs/file", f"write:{person.home}/elsewhere/file") == [True, False]

    @pytest.mark.parametrize("words", [["--json"], ["read:/etc"]])
    def test_it_stands_alone(self, person, words):
        assert person.cloche("explain", "--bwrap", *words).returncode == 125
