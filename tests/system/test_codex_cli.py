"""The personality `codex-linux-sandbox`: its command line, its statuses, and everything it refuses to start. Each
refusal stands beside the same thing put right, which runs."""

import json
import os
import signal
import subprocess

import pytest

from judging import PATIENCE, as_person, processes, wait_until
from test_codex import READ_ONLY, WORKSPACE, path, pattern, profile, special
from test_landlock_backend import CLONE3, EPERM, through

PROFILE = json.dumps(READ_ONLY)


def helper(person, *arguments, **keywords):
    return person.call("codex-linux-sandbox", *arguments, **keywords)


def refused(answer, status, words=""):
    return (answer.returncode, answer.stdout) == (status, "") and words in answer.stderr and \
        all(line.startswith("codex-linux-sandbox: ") for line in answer.stderr.splitlines())


# ---- the command line ----


def test_options_and_their_values_in_both_forms(person):
    for arguments in (["--sandbox-policy-cwd", person.project, "--permission-profile", PROFILE],
                      [f"--sandbox-policy-cwd={person.project}", f"--permission-profile={PROFILE}", "--no-proc"]):
        assert helper(person, *arguments, "--", "echo", "--no-proc", "--", "x").stdout == "--no-proc -- x\n"
        assert helper(person, *arguments, "echo", "-n", "x").stdout == "x"


def test_help_and_version(person):
    assert "--permission-profile" in helper(person, "--help").stdout
    assert "cloche" in helper(person, "--version").stdout


@pytest.mark.parametrize("arguments, status, words", [
    ([], 2, "--sandbox-policy-cwd"),
    (["--permission-profile", PROFILE, "--", "echo", "ran"], 2, "--sandbox-policy-cwd"),
    (["--sandbox-policy-cwd", ".", "--", "echo", "ran"], 101, "missing permission profile"),
    (["--sandbox-policy-cwd", ".", "--permission-profile", PROFILE], 101, "no command"),
    (["--sandbox-policy-cwd", ".", "--permission-profile", PROFILE, "--"], 101, "no command"),
    (["--sandbox-policy-cwd", ".", "--permission-profile"], 2, "needs a value"),
    (["--sandbox-policy-cwd", ".", "--permission-profile", PROFILE, "--no-proc=1", "echo", "ran"], 2, "takes no value"),
    (["--sandbox-policy-cwd", ".", "--permission-profile", PROFILE, "--strict", "echo", "ran"], 2, "no such option"),
    (["--sandbox-policy-cwd", "nowhere", "--permission-profile", PROFILE, "echo", "ran"], 1, "does not exist"),
    (["--sandbox-policy-cwd", ".", "--permission-profile", PROFILE, "--sandbox-policy", '{"type":"read-only"}', "echo",
      "ran"], 2, "which of the two"),
])
def test_wrong_command_lines_are_told_apart(person, arguments, status, words):
    answer = helper(person, *arguments)
    assert refused(answer, status, words), answer


@pytest.mark.parametrize("option", ["--apply-seccomp-then-exec", "--proxy-route-spec={}", "--verify-fd-mount=3:/x",
                                    "--inherit-pid-namespace"])
def test_flags_of_the_inner_stage_and_weaker_modes_are_refused(person, option):
    assert refused(person.codex(READ_ONLY, "echo", "ran", options=[option]), 2, option.split("=")[0])


def test_legacy_landlock_is_refused_where_files_are_restricted(person):
    unrestricted = {"type": "managed", "file_system": {"type": "unrestricted"}, "network": "restricted"}
    assert refused(person.codex(READ_ONLY, "echo", "ran", options=["--use-legacy-landlock"]), 101, "landlock")
    assert person.codex(unrestricted, "echo", "ran", options=["--use-legacy-landlock"]).stdout == "ran\n"


def test_command_starts_where_it_is_told_to(person):
    sub = person.directory(person.project / "sub")
    other = person.directory(person.home / "other")
    assert person.codex(READ_ONLY, "pwd").stdout == f"{person.project}\n"
    assert person.codex(READ_ONLY, "pwd", cwd=other).stdout == f"{other}\n"
    assert person.codex(READ_ONLY, "pwd", options=["--command-cwd", sub]).stdout == f"{sub}\n"
    assert person.codex(READ_ONLY, "pwd", options=["--command-cwd", "sub"]).stdout == f"{sub}\n"
    assert person.codex({"type": "disabled"}, "/bin/pwd", options=["--command-cwd", sub]).stdout == f"{sub}\n"
    person.link("name", "sub")
    assert person.codex(READ_ONLY, "/bin/pwd", options=["--command-cwd", person.project / "name"]).stdout == f"{sub}\n"


def test_start_in_a_hidden_or_missing_directory_is_refused(person):
    """Codex starts it in / without a word."""
    hidden = person.directory(person.home / "hidden")
    policy = profile(special("minimal", "read"), special("project_roots", "read"))
    assert person.codex(policy, "pwd").returncode == 0
    assert refused(person.codex(policy, "pwd", cwd=hidden), 1, str(hidden))
    assert refused(person.codex(READ_ONLY, "pwd", options=["--command-cwd", "nowhere"]), 1, "nowhere")


@pytest.mark.parametrize("text, status", [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_status_is_the_commands(person, text, status):
    assert person.codex(WORKSPACE, "sh", "-c", text).returncode == status


def test_missing_command_is_127_and_no_panic(person):
    answer = person.codex(READ_ONLY, "no-such-command")
    assert answer.returncode == 127 and "no-such-command" in answer.stderr
    assert person.codex(READ_ONLY, "/etc/passwd").returncode == 126


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_signals_reach_the_command(person, number):
    mark = f"codex-signal-{os.getpid()}-{person.uid}-{int(number)}"
    text = f'trap "echo got; exit 9" {int(number)}; echo ready; while :; do sleep 0.05; done; : {mark}'
    run = subprocess.Popen([person.binaries / "codex-linux-sandbox", "--sandbox-policy-cwd", person.project,
                            "--permission-profile", PROFILE, "--", "sh", "-c", text], cwd=person.project,
                           env=person.environment, stdout=subprocess.PIPE, text=True, **as_person(person))
    with run:
        assert run.stdout.readline() == "ready\n"
        run.send_signal(number)
        said, _ = run.communicate(timeout=PATIENCE)
    assert (run.returncode, said) == (9, "got\n")
    assert wait_until(lambda: not processes(mark))


def test_no_home_is_needed(person):
    answer = subprocess.run([person.binaries / "codex-linux-sandbox", "--sandbox-policy-cwd", person.project,
                             "--permission-profile", PROFILE, "--", "/bin/sh", "-c", "echo ran; echo > not"],
                            cwd=person.project, env={"XDG_STATE_HOME": str(person.home / "state")},
                            capture_output=True, text=True, check=False, timeout=60,
                            **as_person(person))
    assert answer.stdout == "ran\n" and not (person.project / "not").exists()


def test_words_that_are_no_utf8_are_passed_on(person):
    assert person.codex(READ_ONLY, "printf", "%s", os.fsdecode(b"a\xffb")).stdout == os.fsdecode(b"a\xffb")


# ---- what fails closed ----


NOT_A_PROFILE = [
    ("", "empty"), ("{", ""), ("[]", "object"), ("null", "object"), ('"managed"', "object"),
    ('{"type":"managed"}', "file_system"),
    ('{"type":"managed","file_system":{"type":"unrestricted"}}', "network"),
    ('{"type":"managed","file_system":{"type":"open"},"network":"restricted"}', "open"),
    ('{"type":"managed","file_system":{"type":"unrestricted"},"network":"full"}', "full"),
    ('{"type":"confined"}', "confined"), ('{"type":7}', "7"),
    ('{"type":"read-only"}', "SandboxPolicy"), ('{"type":"workspace-write","writable_roots":[]}', "SandboxPolicy"),
    ('{"type":"danger-full-access"}', "SandboxPolicy"),
    ('{"type":"disabled","network":"restricted"}', "network"),
    ('{"type":"external"}', "network"),
    ('{"type":"managed","file_system":{"type":"unrestricted"},"network":"restricted","deny_exec":true}', "deny_exec"),
    ('{"type":"managed","file_system":{"type":"unrestricted","entries":[]},"network":"restricted"}', "entries"),
    ('{"file_systems":{"read":["/"]}}', "did you mean"),
    ('{"file_system":{"read":["/"],"entries":[]}}', "entries"),
    ('{"file_system":{"read":["relative"]}}', "absolute"),
    ('{"file_system":{"read":["/"]},"network":{"enabled":"yes"}}', "yes"),
]


@pytest.mark.parametrize("text, words", NOT_A_PROFILE)
def test_what_is_no_profile_is_refused(person, text, words):
    answer = person.codex(text, "echo", "ran")
    assert refused(answer, 2, words), answer


@pytest.mark.parametrize("entry, words", [
    (path("relative", "read"), "absolute"), (path("~/x", "read"), "absolute"), (path("", "deny"), "empty"),
    (special("home", "read"), "home"), (special("root", "admin"), "admin"),
    (special("project_roots", "read", subpath="/etc"), "relative"),
    (special("project_roots", "write", subpath="../x"), ".."),
    (special("tmpdir", "write", subpath="x"), "subpath"), (special("minimal", "deny"), ":minimal"),
    ({**path("/usr", "read"), "missing_path_behavior": "create"}, "create"),
    ({**path("/usr", "read"), "recursive": False}, "recursive"),
    ({"path": {"type": "path", "path": "/usr", "follow": True}, "access": "read"}, "follow"),
    ({"path": {"type": "inode", "path": "/usr"}, "access": "read"}, "inode"),
    ({"path": "/usr", "access": "read"}, "object"), ({"path": {"type": "path", "path": "/usr"}}, "nothing"), (7, "7"),
    (pattern("/etc/*.conf", "read"), "only be denied"), (pattern("/etc/*.conf", "write"), "only be denied"),
    (pattern("*.env"), "absolute"), (pattern("/**/x"), "whole system"), (pattern("/etc/*.{a,b"), "brace"),
    (pattern("/etc/\\*.a"), "backslash"), (pattern("/{etc,**}/x"), "whole system"),
    (pattern("/etc/" + "{a,b}" * 7), "too many"),
])
def test_entry_that_cannot_be_held_or_understood_is_refused(person, entry, words):
    answer = person.codex(profile(special("root", "read"), entry), "echo", "ran")
    assert refused(answer, 2, words), answer


def test_the_same_without_such_an_entry_runs(person):
    """The control for the two above."""
    assert person.codex(profile(special("root", "read")), "echo", "ran").stdout == "ran\n"


@pytest.mark.parametrize("context", ["", "[]", '{"loopbackPorts":[0]}', '{"loopbackPorts":7}',
                                     '{"allowUnixSockets":["s"]}', '{"allowLocalBinding":1}', '{"denied":["x"]}'])
def test_wrong_context_of_the_managed_network_is_refused(person, context):
    proxy = {"HTTP_PROXY": "http://127.0.0.1:9"}
    run = lambda text: person.codex(READ_ONLY, "echo", "ran", options=["--managed-network", text], environment=proxy)
    assert refused(run(context), 2), run(context)
    assert run('{"loopbackPorts":[],"allowLocalBinding":false,"allowUnixSockets":[],'
               '"dangerouslyAllowAllUnixSockets":false}').stdout == "ran\n"


@pytest.mark.parametrize("name", [".git", ".agents", ".codex", ".aws"])
def test_protected_name_that_is_a_link_is_refused(person, name):
    """Whoever could write here chose where it leads."""
    person.directory(person.home / "elsewhere")
    person.link(name, "../elsewhere")
    answer = person.codex(WORKSPACE, "echo", "ran")
    assert refused(answer, 1, f"the link {person.project / name}"), answer
    assert person.codex(READ_ONLY, "echo", "ran").stdout == "ran\n"


@pytest.mark.parametrize("access", ["deny", "read"])
def test_entry_through_a_link_in_a_writable_root_is_refused(person, access):
    person.directory(person.project / "real/secret")
    person.link("name", "real")
    policy = lambda way: profile(special("root", "read"), special("project_roots", "write"),
                                 path(person.project / way / "secret", access))
    assert refused(person.codex(policy("name"), "echo", "ran"), 1, f"the link {person.project / 'name'}")
    assert person.codex(policy("real"), "echo", "ran").stdout == "ran\n"


def test_pattern_with_too_many_matches_is_refused(person):
    place = person.directory(person.project / "many")
    for number in range(8193):
        (place / f"{number}.env").touch()
    policy = profile(special("root", "read"), pattern(place / "*.env"))
    assert refused(person.codex(policy, "echo", "ran"), 1, "8192")
    assert person.codex(profile(special("root", "read"), path(place, "deny")), "echo", "ran").stdout == "ran\n"


def test_directory_that_cannot_be_listed_is_hidden_whole(person):
    """Codex does not start."""
    if person.uid == 0:
        pytest.skip("root lists every directory")
    file = person.file("closed/sub/a.env", "secret\n")
    seen = person.file("open/a.txt")
    closed = person.project / "closed"
    policy = profile(special("root", "read"), special("project_roots", "write"), pattern(person.project / "**/*.env"))
    for mode in (0o311, 0o400, 0):
        closed.chmod(mode)
        answer = person.codex(policy, "sh", "-c", 'chmod 700 closed; cat "$@"', "sh", file, seen)
        closed.chmod(0o755)
        assert answer.stdout == "content\n", oct(mode)


def test_where_there_are_no_namespaces_nothing_weaker_takes_their_place(person):
    """No fall-back to Landlock, as in Codex; what asks for no sandbox needs none."""
    def run(policy):
        return through(person, ["answer", str(CLONE3), str(EPERM)], "--sandbox-policy-cwd", str(person.project),
                       "--permission-profile", json.dumps(policy), "--", "echo", "ran", name="codex-linux-sandbox")

    assert refused(run(READ_ONLY), 1, "namespace"), run(READ_ONLY)
    assert run({"type": "disabled"}).stdout == "ran\n"


def test_settings_that_are_no_codex_policy_are_refused_with_their_place(person):
    settings = person.file(person.home / "codex.json", profile(path("relative", "read")))
    answer = person.cloche("run", "-s", f"codex:{settings}", "echo", "ran")
    assert (answer.returncode, answer.stdout) == (125, "")
    assert f"{settings}: file_system.entries[0].path.path: " in answer.stderr
    for wrong, words in ((f"codex:{person.home}/nowhere", "no file"), ("codex:", "codex:FILE")):
        answer = person.cloche("run", "-s", wrong, "echo", "ran")
        assert answer.returncode == 125 and words in answer.stderr


def test_sandbox_policy_of_earlier_versions_has_a_flag_of_its_own(person):
    def run(policy, text):
        return helper(person, "--sandbox-policy-cwd", person.project, "--sandbox-policy", json.dumps(policy), "--", "sh",
                      "-c", text)

    assert run({"type": "workspace-write"}, "echo x > made").returncode == 0 and (person.project / "made").exists()
    assert run({"type": "read-only"}, "echo x > not").returncode != 0 and not (person.project / "not").exists()
    for wrong in (READ_ONLY, {"type": "read-only", "acces": {}}, {"type": "read-only", "access": {"type": "some"}}, {},
                  {"type": "workspace-write", "writable_roots": ["x"]}, {"type": "read-only", "network_access": 1},
                  {"type": "external-sandbox", "network_access": True}):
        assert refused(run(wrong, "echo ran"), 2), wrong
