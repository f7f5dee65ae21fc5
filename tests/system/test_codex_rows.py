"""The personality `codex-linux-sandbox`: what Codex's helper does by its mounts, its placeholders and its scans, and
what is done here in their place. (What profiles mean is test_codex.py's subject.)"""

import json
import os
import subprocess

import pytest

from judging import ATTEMPT, as_person, fingerprint, outside, processes, wait_until, where_mounted
from test_codex import PROTECTED, READ_ONLY, WORKSPACE, can_read, can_write, path, pattern, profile, sh, special
from test_codex_cli import refused


def start(person, policy, text, **keywords):
    """One that goes on while the test looks."""
    return subprocess.Popen([person.binaries / "codex-linux-sandbox", "--sandbox-policy-cwd", person.project,
                             "--permission-profile", json.dumps(policy), "--", "sh", "-c", text], cwd=person.project,
                            env=person.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, **as_person(person), **keywords)


# ---- patterns ----


def test_depth_of_the_scan_leaves_nothing_open(person):
    """Codex looks no deeper, and what lies there can be read."""
    deep = person.file("a/b/c/d/x.env")
    policy = profile(special("root", "read"), pattern(person.project / "**/*.env"))
    policy["file_system"]["glob_scan_max_depth"] = 1
    assert not can_read(person, policy, deep) and can_read(person, policy, person.file("a/b/c/d/x"))


@pytest.mark.parametrize("depth", [0, -1, "1", 1.5, None])
def test_depth_that_is_none_is_refused(person, depth):
    policy = profile(special("root", "read"))
    policy["file_system"]["glob_scan_max_depth"] = depth
    answer = person.codex(policy, "echo", "ran")
    assert answer.stdout == "ran\n" if depth is None else refused(answer, 2, "glob_scan_max_depth"), answer


def test_what_the_host_makes_while_a_command_runs_is_hidden_if_it_matches(person):
    """Codex looked before."""
    person.directory(person.project / "deep/er")
    policy = profile(special("root", "read"), special("project_roots", "write"), pattern(person.project / "**/*.env"),
                     path(person.home / "later", "deny"))
    text = 'echo ready; read line; cat deep/er/late.env "$1"/file; ls "$1"; cat deep/er/late.txt; cp deep/er/late.env x; cat x'
    with start(person, policy, text.replace("$1", str(person.home / "later"))) as run:
        assert run.stdout.readline() == "ready\n"
        person.file("deep/er/late.env", "secret\n")
        person.file(person.home / "later/file", "secret\n")
        person.file("deep/er/late.txt", "seen\n")
        said, _ = run.communicate("go\n", timeout=60)
    assert said == "seen\n"


def test_pattern_holds_for_what_a_link_in_the_tree_leads_to_and_for_odd_names(person):
    odd = [person.file(name) for name in ("new\nline.env", "sp ace.env", os.fsdecode(b"\xff.env"), "-n.env", "*.env")]
    policy = profile(special("root", "read"), special("project_roots", "write"), pattern(person.project / "*.env"))
    assert not any(can_read(person, policy, file) for file in odd)
    assert can_read(person, WORKSPACE, odd[0]) and can_read(person, policy, person.file("new\nline"))


# ---- denied ----


def test_denied_directory_and_file_are_there_and_closed(person):
    """Also for root, whom no mode keeps out."""
    person.file("closed/file")
    person.file("secret")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(person.project / "closed", "deny"),
                     path(person.project / "secret", "deny"))
    program = ATTEMPT + """
import os
print([attempt(*call) for call in ((os.listdir, "closed"), (os.open, "closed/file", 0), (os.open, "secret", 0),
       (os.open, "secret", os.O_WRONLY), (os.open, "closed/new", os.O_CREAT | os.O_WRONLY), (os.chmod, "secret", 0o777),
       (os.chmod, "closed", 0o777), (os.unlink, "secret"), (os.rename, "closed", "open"), (os.link, "secret", "link"),
       (os.lstat, "secret"), (os.lstat, "closed"), (os.open, "new", os.O_CREAT))])
"""
    answer = person.codex(policy, "python3", "-c", program)
    results = json.loads(answer.stdout)
    assert all(results[:-3]) and results[-3:] == [0, 0, 0], answer
    assert sorted(entry.name for entry in person.project.iterdir()) == ["closed", "new", "secret"]


def test_no_new_name_opens_what_is_denied_or_read_only(person):
    """In Codex a hard link is a way around."""
    person.file("secret", "secret\n")
    person.file("kept/file")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(person.project / "secret", "deny"),
                     path(person.project / "kept", "read"))
    answer = sh(person, policy, "ln secret one; ln kept/file two; ln -s secret three; cp secret four; mv secret five; "
                                "echo changed > two; cat one three four five secret; echo x > plain && ln plain six && cat six")
    assert answer.stdout == "x\n"
    assert (person.project / "kept/file").read_text() == "content\n" and (person.project / "kept/file").stat().st_nlink == 1


def test_denied_path_outside_of_every_root_need_not_be_there(person):
    """And who runs this cannot make it."""
    later = person.home / "later"
    policy = profile(special("root", "read"), special("project_roots", "write"), path(later, "deny"))
    assert sh(person, policy, 'mkdir "$1"; echo ran', later).stdout == "ran\n"
    assert not later.exists()
    person.file(later / "file")
    assert not can_read(person, policy, later / "file") and can_read(person, WORKSPACE, later / "file")


@pytest.mark.parametrize("access", ["deny", "read"])
def test_carve_out_named_by_the_linked_name_of_its_root_is_held_where_it_really_is(person, access):
    file = person.file(person.home / "real/kept/file")
    person.link(person.home / "name", "real")
    policy = profile(special("root", "read"), path(person.home / "name", "write"), path(person.home / "name/kept", access),
                     path(person.home / "name/later", access))
    for name in ("real", "name"):
        assert not can_write(person, policy, person.home / name / "kept/file"), name
        assert can_read(person, policy, person.home / name / "kept/file") == (access == "read"), name
        assert sh(person, policy, 'mkdir "$1"', person.home / name / "later").returncode != 0
        assert can_write(person, policy, person.home / name / "beside")
        assert sh(person, policy, 'mkdir "$1"/.git', person.home / name).returncode != 0
    assert file.read_text() == "content\n"


@pytest.mark.parametrize("spelled", ["{0}/x/../secret", "{0}//secret/", "{0}/./secret", "{0}/secret/."])
def test_path_is_what_it_leads_to_however_it_is_spelled(person, spelled):
    secret = person.file("secret/file")
    person.directory(person.project / "x")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(spelled.format(person.project), "deny"))
    assert not can_read(person, policy, secret) and can_write(person, policy, person.file("x/file"))


@pytest.mark.parametrize("text", [
    '{"type":"managed","file_system":{"type":"restricted","entries":[{"path":{"type":"path","path":"/etc"},"access":"deny","access":"write"}]},'
    '"network":"restricted"}',
    '{"type":"managed","type":"disabled","file_system":{"type":"unrestricted"},"network":"restricted"}',
    '{"type":"managed","file_system":{"type":"restricted","entries":[{"path":{"type":"path","path":"/etc\\u0000x"},"access":"deny"}]},'
    '"network":"restricted"}',
    '{"type":"managed","file_system":{"type":"unrestricted"},"network":"restricted"} trailing',
    "[" * 100000,
])
def test_text_that_could_be_read_in_two_ways_is_refused(person, text):
    answer = person.codex(text, "echo", "ran")
    assert refused(answer, 2), answer


# ---- places of mounts ----


def test_root_in_which_nothing_can_be_made_needs_no_placeholders(person):
    """Codex does not start: bubblewrap cannot make .git there."""
    root = person.directory(person.home / "fixed")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(root, "write"))
    if os.geteuid() == 0:
        answer = where_mounted(person, f"mount -t tmpfs none {root}; echo there > {root}/file; mount -o remount,ro {root}",
                               "--sandbox-policy-cwd", person.project, "--permission-profile", json.dumps(policy), "--",
                               "sh", "-c", f"cat {root}/file; ls -A {root}; echo x > {root}/new", call="codex-linux-sandbox")
        assert answer.stdout == "there\nfile\n", answer
    root.chmod(0o555)
    answer = sh(person, policy, 'ls -A "$1"; echo ran; echo x > here', root)
    assert answer.stdout == "ran\n" and (person.project / "here").exists(), answer


def test_profile_that_hides_the_helper_hides_nothing_that_is_needed(person):
    """In Codex the command is not found: it calls itself once more, inside."""
    policy = profile(special("minimal", "read"), special("project_roots", "write"))
    answer = sh(person, policy, 'ls "$1" || echo ran', person.binaries)
    assert (answer.returncode, answer.stdout) == (0, "ran\n")


def test_host_sees_no_placeholder_while_a_command_runs_nor_after_it_was_killed(person):
    person.file("file")
    person.directory(person.project / ".agents")  # an empty one is no placeholder either
    policy = profile(special("root", "read"), special("project_roots", "write"), path(person.project / "a/b/c", "deny"),
                     path(person.project / "d/e", "read"), pattern(person.project / "**/*.key"))
    before = fingerprint(person.home)
    mark = f"placeholder-{os.getpid()}-{person.uid}"
    for killed in (False, True):
        with start(person, policy, f"echo ready; cat; : {mark}") as run:
            assert run.stdout.readline() == "ready\n"
            during = fingerprint(person.home)
            if killed:
                run.kill()
            run.stdin.close()
        assert during == before
        assert wait_until(lambda: not processes(mark))
        assert fingerprint(person.home) == before


def test_many_at_once_in_one_workspace_do_not_disturb_each_other(person):
    runs = [start(person, WORKSPACE, f"mkdir .codex; echo {number} > {number}; ls -A .git") for number in range(12)]
    statuses = []
    for run in runs:
        with run:
            run.communicate(timeout=60)
        statuses.append(run.returncode)
    assert all(statuses)  # there is no .git
    assert sorted(entry.name for entry in person.project.iterdir()) == sorted(map(str, range(12)))


def test_repository_around_the_workspace_is_found(person):
    outside(person, "git init -q .. && mkdir sub")
    sub = person.project / "sub"
    answer = person.call("codex-linux-sandbox", "--sandbox-policy-cwd", sub, "--permission-profile", json.dumps(WORKSPACE),
                         "--", "git", "rev-parse", "--show-toplevel", cwd=sub)
    assert answer.stdout == f"{person.home}\n", answer.stderr


def test_hooks_of_a_worktrees_common_directory_are_read_only(person):
    """Codex does not follow `commondir`: with the repository in the workspace, hooks can be planted."""
    outside(person, "git init -q main && git -C main -c user.name=n -c user.email=e@x commit -q --allow-empty -m m && "
                    "git -C main worktree add -q ../tree")
    git, root = person.project / "main/.git", person.project / "tree"
    policy = profile(special("root", "read"), special("project_roots", "write"), path(root, "write"))
    for file in (git / "config", git / "worktrees/tree/HEAD", git / "worktrees/tree/commondir"):
        assert not can_write(person, policy, file), file
    answer = sh(person, policy, 'echo x > "$1"/hooks/pre-commit; mkdir "$1"/hooks/sub; mv "$1" "$1".old', git)
    assert answer.returncode != 0 and not (git / "hooks/pre-commit").exists() and git.exists()
    assert can_write(person, policy, person.file("main/file")) and can_write(person, policy, root / "file")


def test_pointer_of_a_git_file_opens_nothing(person):
    """An earlier run may have written it. Where it leads is only ever held, never shown."""
    secret = person.file(person.home / "secret/sub/key")
    inside = person.file("secret/sub/key")
    beside = person.file(person.home / "secret/key")
    for pointer in ("../secret", "../secret/sub", "secret/sub", str(person.home / "secret/sub")):
        person.file(".git", f"gitdir: {pointer}\n")
        bare = profile(special("minimal", "read"), special("project_roots", "write"))
        assert not can_read(person, bare, secret) and not can_read(person, bare, beside), pointer
        denied = profile(special("root", "read"), special("project_roots", "write"), path(person.project / "secret", "deny"),
                         path(person.home / "secret", "deny"))
        assert not can_read(person, denied, inside) and not can_read(person, denied, secret), pointer
        assert can_read(person, READ_ONLY, inside)
    person.file("real/commondir", "../../secret\n")
    person.file(person.home / "secret/hooks/key")
    person.file(".git", "gitdir: real\n")
    assert not can_read(person, bare, person.home / "secret/hooks/key")


@pytest.mark.parametrize("name", PROTECTED)
def test_protected_name_that_is_denied_stays_denied(person, name):
    """To be read-only is more than to be hidden."""
    file = person.file(f"x/{name}/file")
    denied = [profile(special("root", "read"), path(person.project / "x", "write"), path(person.project / "x", "deny")),
              profile(special("root", "read"), path(person.project / "x", "write"), path(file.parent, "deny")),
              profile(special("root", "read"), path(person.project / "x", "write"), pattern(person.project / "x/.*"))]
    for policy in denied:
        assert not can_read(person, policy, file)
    assert can_read(person, profile(special("root", "read"), path(person.project / "x", "write")), file)


def test_secrets_stay_hidden_from_a_profile_whose_workspace_holds_them(person):
    """Under the name cloche, where the preset hides them."""
    key = person.file(person.home / ".aws/credentials")
    person.file(person.home / ".ssh/key")
    settings = person.file(person.base / "codex.json", profile(special("root", "read"), path(person.home, "write")))
    for pointer in (".ssh", ".aws"):
        person.file(person.home / ".git", f"gitdir: {pointer}\n")
        answer = person.cloche("run", "-q", "-s", f"codex:{settings}", "cat", key, person.home / ".ssh/key", person.file("plain"))
        assert answer.stdout == "content\n", answer


# ---- what is left of privileges ----


@pytest.mark.parametrize("policy", [READ_ONLY, WORKSPACE, profile(special("minimal", "read"), special("project_roots", "read"), network="enabled")])
def test_no_capability_is_left_and_none_can_be_had(person, policy):
    answer = sh(person, policy, "grep -E '^(CapEff|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status")
    found = dict(line.split(":\t") for line in answer.stdout.splitlines())
    assert {int(found[name], 16) for name in ("CapEff", "CapPrm")} == {0}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


@pytest.mark.parametrize("options", [[], ["--no-proc"]])
def test_processes_of_the_host_cannot_be_seen_with_or_without_a_proc(person, options):
    """With --no-proc Codex shows the host's."""
    mark = f"seen-{os.getpid()}-{person.uid}"
    with subprocess.Popen(["sh", "-c", f"cat; : {mark}"], stdin=subprocess.PIPE, **as_person(person)) as other:
        answer = sh(person, READ_ONLY, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; kill -0 $1 && echo rea''ched", other.pid,
                    options=options)
        assert wait_until(lambda: processes(mark))
        other.stdin.close()
    assert mark not in answer.stdout and "reached" not in answer.stdout


@pytest.mark.parametrize("name", PROTECTED)
def test_empty_protected_directory_stays_and_stays_empty(person, name):
    """Codex takes it for one of its placeholders."""
    person.directory(person.project / name)
    assert sh(person, WORKSPACE, f"echo x > {name}/file").returncode != 0
    assert list((person.project / name).iterdir()) == []
