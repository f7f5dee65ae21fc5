"""Attacks on files by another name: links, renames, spellings, races (section A, 1-8
and 14-21; H 103, 106, 107, 112).

Names that do not exist yet (1, 14, 105, 106, 111) are in test_protected_names.py, races (108) in test_races.py.
No test here, because nothing holds it yet:
  103  a masked file of the project that the host replaces by rename while the run is on
  107  a change of .git/config that is judged by its meaning (here it is read-only whole)
  112  patterns over a tree (`**/*.pem`) for reading: refused by name, tested below
"""

import os
import subprocess
import threading
import time

import pytest

from attacking import OK, unchanged

REFUSED_TO_WRITE = ("EROFS", "EACCES", "EPERM")
REFUSED_TO_MOVE = ("EBUSY", "EXDEV", "EROFS", "EACCES")

# Protected names at the top of a writable root, as they may exist there.
PROTECTED = [".bashrc", ".profile", ".zshenv", ".envrc", ".gitmodules", ".mcp.json", ".git/config",
             ".git/hooks/pre-commit", ".vscode/tasks.json", ".idea/workspace.xml", ".devcontainer/devcontainer.json",
             ".husky/pre-commit", ".claude/commands/x.md", ".claude/settings.json", ".claude/settings.local.json",
             ".codex/config.toml", ".cursor/mcp.json", ".git/commondir", ".git/info/attributes", ".cloche.json"]


@pytest.fixture
def repository(jail):
    jail.person.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    jail.person.file(".git/config", "[core]\n")
    jail.person.file(".git/HEAD", "ref: refs/heads/main\n")
    return jail.person.project / ".git"


# 1


def tried_on(names, ways):
    """Every way on every name, X being the name."""
    return [[name if word == "X" else word for word in way] for name in names for way in ways]


def test_a01_an_existing_protected_name_cannot_be_changed_in_any_way(jail):
    protected = [jail.person.file(name, "original") for name in PROTECTED]
    jail.person.file("free/ordinary", "original")
    jail.person.file("free/bait", "from the enemy")
    ways = [["write", "X", "more"], ["truncate", "X"], ["open-truncating", "X"], ["exchange", "X", "free/bait"],
            ["rename", "X", "free/away"], ["rename-noreplace", "X", "free/away"], ["rename-whiteout", "X", "free/away"],
            ["rename", "free/bait", "X"], ["link", "X", "free/second"], ["link-by-descriptor", "X", "free/second"],
            ["unlink", "X"]]
    tried = tried_on(PROTECTED, ways)
    with unchanged(*protected):
        found = jail.attacks(*tried)
    assert [way for way, outcome in zip(tried, found) if outcome.verdict == "ok"] == []
    assert not (jail.person.project / "free/second").exists()
    assert jail.attacks(*tried_on(["free/ordinary"], ways[:5])) == [OK] * 5


@pytest.mark.admitted(landlock="files can be changed everywhere")
def test_a01_the_mode_and_times_of_a_protected_name_cannot_be_changed(jail):
    protected = [jail.person.file(name, "original") for name in PROTECTED]
    jail.person.file("ordinary", "original")
    ways = [["chmod", "X", "0777"], ["chmod-by-descriptor", "X", "0777"], ["change-times-by-descriptor", "X"]]
    tried = tried_on(PROTECTED, ways)
    with unchanged(*protected):
        found = jail.attacks(*tried)
    assert [way for way, outcome in zip(tried, found) if outcome.verdict == "ok"] == []
    assert jail.attacks(*tried_on(["ordinary"], ways)) == [OK] * 3


def test_a01_nothing_is_left_on_the_host_for_names_that_do_not_exist(jail):
    jail.person.file("main.c")
    jail.person.file(".git/HEAD")
    with unchanged(jail.person.project):
        assert jail.attack("read", "main.c").verdict == "ok"
    with unchanged(jail.person.project):
        run = subprocess.Popen([jail.person.binaries / "cloche", *jail.command(jail.attacker, "wait-for", "never")],
                               cwd=jail.person.project, env=jail.person.environment, **jail.identity())
        time.sleep(0.3)
        seen = sorted(os.listdir(jail.person.project))
        run.kill()
        run.wait()
    assert seen == [".git", "main.c"]


def test_a01_a_deny_of_an_absent_name_is_held_or_refused(jail):
    answer = jail.run("touch", "later", options=["--deny-write", "later"])
    if jail.has_namespaces:
        assert answer.returncode not in (0, 125)
    else:
        assert answer.returncode == 125 and "later" in answer.stderr and "late-names" in answer.stderr
    assert not (jail.person.project / "later").exists()
    assert jail.run("touch", "later").returncode == 0


# 2, 3, 4, 6, 7


def test_a02_a_link_out_of_the_writable_root_does_not_carry_a_write(jail):
    target = jail.person.file(jail.person.home / "work/notes", "original")
    jail.person.file("inside")
    with unchanged(target.parent):
        found = jail.attacks(["symlink", target, "out"], ["write", "out", "more"], ["symlink", target.parent, "outs"],
                             ["create", "outs/new", "more"], ["rename", "inside", "outs/inside"],
                             options=["--allow-read", target.parent])
    assert [found[0], found[2]] == [OK, OK]
    assert all(found[i].verdict in (*REFUSED_TO_WRITE, "EXDEV") for i in (1, 3, 4)), found
    assert jail.attacks(["symlink", "inside", "in"], ["write", "in", "more"]) == [OK, OK]
    assert (jail.person.project / "inside").read_text() == "content\nmore"


def test_a03_a_link_to_a_hidden_file_is_judged_by_what_it_leads_to(jail, secret):
    jail.person.file("private/key", secret)
    jail.person.file("public/key", "harmless")
    jail.person.link("planted", "private/key")
    jail.person.directory(jail.person.project / "free")
    found = jail.attacks(["read", "planted"], ["symlink", "../private/key", "free/made"], ["read", "free/made"],
                         ["read-openat2", "free/made"], ["symlink", "../public/key", "free/fine"],
                         ["read", "free/fine"], options=["--deny-read", "private/key"])
    verdicts = [outcome.verdict for outcome in found]
    assert verdicts.pop(3) in ("EACCES", "ENOSYS")
    assert verdicts == ["EACCES", "ok", "EACCES", "ok", "ok"]
    assert found[5].shown == "harmless"
    assert jail.never_told(secret)


def test_a03_hiding_a_link_hides_what_it_leads_to(jail, secret):
    jail.person.file("real/key", secret)
    jail.person.link("alias", "real")
    assert jail.attack("read", "real/key").shown == secret
    jail.heard = ""
    found = jail.attacks(["read", "alias/key"], ["read", "real/key"], options=["--deny-read", "alias"])
    assert {outcome.verdict for outcome in found} == {"EACCES"}
    assert jail.never_told(secret)


@pytest.mark.parametrize("planted", [".git", ".git/hooks", ".git/objects", ".bashrc", ".vscode", ".env", ".claude",
                                     "src"])
def test_a04_a_link_that_an_earlier_run_planted_opens_nothing(jail, secret, planted):
    """The next run finds a link where it looks for something to hold, hide or open."""
    vault = jail.person.file(jail.person.home / ".ssh/id_ed25519", secret).parent
    jail.person.file("main.c")
    jail.person.link(planted, vault)
    with unchanged(vault):
        found = jail.attacks(["read", f"{planted}/id_ed25519"], ["write", f"{planted}/id_ed25519", "more"],
                             ["create", f"{planted}/authorized_keys", "more"], ["list", vault],
                             ["write", "main.c", "more"])
    assert "ok" not in {outcome.verdict for outcome in found[:4]}, found
    assert found[4] == OK
    assert jail.never_told(secret)


def test_a04_a_planted_link_does_not_become_a_writable_root(jail):
    """The policy names a directory of the project as writable; an earlier run made it a link."""
    vault = jail.person.file(jail.person.home / "vault/file", "original").parent
    jail.person.link("out", vault)
    policy = {"filesystem": {"allowWrite": ["$PROJECT_DIR", "$PROJECT_DIR/out"]}}
    with unchanged(vault):
        answer = jail.run(jail.attacker, "write", "out/file", "more", policy=policy)
    assert answer.returncode == 125 or "= ok" not in answer.stdout
    (jail.person.project / "out").unlink()
    jail.person.file("out/file")
    assert jail.attack("write", "out/file", "more", policy=policy) == OK


def test_a04_swapping_a_directory_for_a_link_while_runs_start_opens_nothing(jail, secret):
    """What the policy shows again below something hidden is now a directory, now a link into the vault."""
    vault = jail.person.file(jail.person.home / "vault/key", secret).parent
    jail.person.file("hidden/shown/key", "harmless")
    shown = jail.person.project / "hidden/shown"
    link = jail.person.link("hidden/link", vault)
    policy = jail.policy(filesystem={"denyRead": ["$PROJECT_DIR/hidden"], "allowRead": ["$PROJECT_DIR/hidden/shown"]})
    assert jail.attack("read", shown / "key", policy=policy).shown == "harmless"
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            jail.attack_outside("exchange", shown, link)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        with unchanged(vault):
            for _ in range(40):
                jail.run(jail.attacker, "read", shown / "key", "--", "write", shown / "key", "x", policy=policy)
    finally:
        stop.set()
        swapper.join()
    assert jail.never_told(secret)


@pytest.mark.parametrize("rename", ["rename", "exchange", "rename-noreplace", "rename-whiteout"])
def test_a05_renaming_an_ancestor_does_not_expose_hooks(jail, repository, rename):
    jail.person.directory(jail.person.project / "empty/hooks")
    jail.person.file("free/src/main.c")
    jail.person.directory(jail.person.project / "free/empty")
    other = "empty" if rename == "exchange" else "free/away"
    with unchanged(repository / "hooks", repository / "config"):
        found = jail.attacks([rename, ".git", other], ["mkdir", ".git"], ["create", ".git/hooks/post-checkout", "evil"],
                             ["create", f"{other}/hooks/pre-push", "evil"], ["rmdir", ".git"],
                             ["rename", "empty", ".git"], [rename, ".git/hooks", "hooks"],
                             ["rename", ".git/hooks", "h"])
    assert found[0].verdict in REFUSED_TO_MOVE
    assert found[2].verdict in REFUSED_TO_WRITE
    assert all(outcome.verdict in (*REFUSED_TO_MOVE, "ENOTEMPTY", "EEXIST", "ENOENT") for outcome in found[4:]), found
    moved = jail.attack(rename, "free/src", "free/empty" if rename == "exchange" else "free/moved")
    # Whiteouts are devices, and those are refused.
    assert moved == OK or rename == "rename-whiteout" and not jail.has_namespaces


def test_a05_renaming_an_ancestor_does_not_expose_a_hidden_directory(jail, secret):
    jail.person.file("deep/deeper/vault/key", secret)
    jail.person.file("deep/other")
    jail.person.file("free/file")
    found = jail.attacks(["rename", "deep", "free/away"], ["rename", "deep/deeper", "free/away"],
                         ["rename", "deep/deeper/vault", "free/away"], ["exchange", "deep/deeper", "deep/other"],
                         ["read", "free/away/key"], ["read", "free/away/deeper/vault/key"],
                         ["read", "free/away/vault/key"], ["rename", "free/file", "free/moved"],
                         options=["--deny-read", "deep/deeper/vault"])
    assert all(outcome.verdict in REFUSED_TO_MOVE for outcome in found[:4]), found
    assert found[7] == OK
    assert jail.never_told(secret)
    assert (jail.person.project / "deep/deeper/vault/key").read_text() == secret


@pytest.mark.parametrize("link", ["link", "link-by-descriptor"])
def test_a06_a_hard_link_does_not_make_a_read_only_file_writable(jail, repository, link):
    outside = jail.person.file(jail.person.home / ".gitconfig", "original")
    jail.person.file("free/inside", "original")
    with unchanged(outside, repository / "config", repository / "hooks"):
        found = jail.attacks([link, outside, "free/2"], [link, ".git/config", "free/3"],
                             [link, ".git/hooks/pre-commit", "free/4"], ["write", "free/2", "x"],
                             ["write", "free/3", "x"], ["write", "free/4", "x"])
    assert "ok" not in {outcome.verdict for outcome in found}, found
    assert jail.attacks([link, "free/inside", "free/5"], ["write", "free/5", "x"]) == [OK, OK]
    assert (jail.person.project / "free/inside").read_text() == "originalx"


def test_a06_a_hard_link_does_not_show_a_hidden_file(jail, secret):
    jail.person.file(".env", secret)
    jail.person.file("free/plain", "harmless")
    found = jail.attacks(["link", ".env", "free/2"], ["link-by-descriptor", ".env", "free/2"], ["read", "free/2"],
                         ["link", "free/plain", "free/3"], ["read", "free/3"])
    assert "ok" not in {outcome.verdict for outcome in found[:3]}
    assert found[3:] == [OK, ("ok", "harmless")]
    assert jail.never_told(secret)


def test_a07_a_hard_link_that_was_there_before_is_writable_by_the_name_inside_only(jail):
    """As SECURITY.md says: the name inside a writable directory is what counts."""
    outside = jail.person.file(jail.person.home / "work/file", "original")
    os.link(outside, jail.person.project / "second")
    found = jail.attacks(["write", outside, "x"], ["write", "second", "y"], options=["--allow-read", outside.parent])
    assert found[0].verdict in REFUSED_TO_WRITE
    assert found[1] == OK
    assert outside.read_text() == "originaly"


@pytest.mark.parametrize("name", [".envrc", ".git/config", ".mcp.json"])
def test_a07_a_protected_name_with_a_second_one_from_before_is_warned_of(jail, name):
    protected = jail.person.file(name, "original")
    warning = f"{protected} is protected, but has another name too"
    assert warning not in jail.run("true").stderr
    jail.person.directory(jail.person.project / "free")
    os.link(protected, jail.person.project / "free/second")
    answer = jail.run(jail.attacker, "write", "free/second", "x")
    assert answer.stdout == "= ok\n" and answer.stderr.count(warning) == 1, answer
    assert protected.read_text() == "originalx", "as SECURITY.md says"
    assert warning not in jail.run("true", options=["-q"]).stderr


# 8


@pytest.mark.parametrize("prefix", ["/proc/self/root", "/proc/thread-self/root", "/proc/self/cwd/../../../..",
                                    "/proc/self/root/proc/self/root", "/dev/fd/../root", "/../.", "//", "/usr/.."])
def test_a08_another_spelling_gets_the_same_verdict(jail, secret, prefix):
    hidden = jail.person.file("vault/key", secret)
    protected = jail.person.file(".git/config", "original")
    plain = jail.person.file("plain", "harmless")
    with unchanged(protected):
        found = jail.attacks(["read", f"{prefix}{hidden}"], ["write", f"{prefix}{protected}", "x"],
                             ["read", f"{prefix}{plain}"], ["write", f"{prefix}{plain}", "x"],
                             options=["--deny-read", "vault"])
    assert "ok" not in {outcome.verdict for outcome in found[:2]}, found
    assert found[2:] == [("ok", "harmless"), OK]
    assert jail.never_told(secret)


def test_a08_a_secret_of_the_home_is_not_reached_by_any_spelling(jail, secret):
    key = jail.person.file(jail.person.home / ".ssh/id_ed25519", secret)
    relative = os.path.relpath(key, jail.person.project)
    spellings = [key, relative, f"/proc/self/cwd/{relative}", f"/proc/self/root{key}", f"/proc/1/root{key}",
                 f"/proc/1/cwd/{relative}"]
    found = jail.attacks(*[["read", spelling] for spelling in spellings], ["read-by-handle", key])
    assert "ok" not in {outcome.verdict for outcome in found}
    assert jail.never_told(secret)
    assert jail.attack("read", relative, options=["--allow-read", key]).shown == secret


# 15, 16, 17, 18, 19, 20, 21


@pytest.mark.refused(landlock="is a pattern over a whole tree")
@pytest.mark.parametrize("pattern, name, other", [("**/.env", ".env", ".env2"), ("**/*.pem", "x.pem", "x.pe"),
                                                  ("sub/**/key", "key", "keys")])
def test_a14_a15_a_pattern_over_a_tree_holds_at_any_depth_and_for_files_made_later(jail, secret, pattern, name, other):
    """It means the tree that it names, and not the directory that somebody stands in."""
    hidden = [jail.person.file(f"sub/{place}{name}", secret) for place in ("", "deep/", "deep/er/")]
    jail.person.file(f"sub/deep/{other}", "harmless")
    jail.person.directory(jail.person.project / "sub/later")
    found = jail.attacks(*[["read", path] for path in hidden], ["read", other], ["create", f"../later/{name}", "own"],
                         ["read", f"../later/{name}"],
                         options=["-C", jail.person.project, "--deny-read", pattern], cwd=jail.person.project / "sub/deep")
    assert {outcome.verdict for outcome in found[:3]} == {"EACCES"}, found
    assert found[3] == ("ok", "harmless")
    assert "ok" not in {outcome.verdict for outcome in found[4:]}, found
    assert jail.never_told(secret)
    assert jail.attack("read", hidden[0]).shown == secret


def test_a16_a_sibling_with_the_same_beginning_is_another_directory(jail, secret):
    for name in ("app", "app-tools", "app.old", "ap"):
        jail.person.file(jail.person.home / "repo" / name / "file", "original")
    repo = jail.person.home / "repo"
    options = ["--allow-read", repo, "--allow-write", repo / "app"]
    with unchanged(repo / "app-tools", repo / "app.old", repo / "ap"):
        found = jail.attacks(*[["write", repo / name / "file", "x"] for name in ("app-tools", "app.old", "ap", "app")],
                             options=options)
    assert all(outcome.verdict in REFUSED_TO_WRITE for outcome in found[:3])
    assert found[3] == OK
    (repo / "app" / "file").write_text(secret)
    found = jail.attacks(*[["read", repo / name / "file"] for name in ("app", "app-tools", "app.old", "ap")],
                         options=["--allow-read", repo, "--deny-read", repo / "app"])
    assert [outcome.verdict for outcome in found] == ["EACCES", "ok", "ok", "ok"]
    assert jail.never_told(secret)


def test_a17_a_hidden_file_in_a_directory_that_cannot_be_searched_stays_hidden(jail, secret):
    """The command owns the directory and opens it again: the mask must have been there all the time."""
    locked = jail.person.file("locked/key", secret).parent
    jail.person.file("open/key", "harmless")
    (jail.person.project / "open").chmod(0)
    locked.chmod(0)
    options = ["--deny-read", locked / "key"]
    answer = jail.run(jail.attacker, *"chmod locked 0700 -- read locked/key".split(), options=options)
    locked.chmod(0o700)
    assert answer.returncode == 125 or "= ok\n= ok" not in answer.stdout
    assert jail.never_told(secret)
    if jail.has_namespaces or jail.person.uid:  # without namespaces root changes no mode at all
        found = jail.attacks(["chmod", "open", "0700"], ["read", "open/key"], options=options)
        assert found == [OK, ("ok", "harmless")]


ODD_NAMES = ["new\nline", "back\\slash", "tab\tand space ", "!x", "-rf", "--bind", "quote'\"",
             "\N{RIGHT-TO-LEFT OVERRIDE}x"]
NAMES_THAT_ARE_NO_TEXT = ["not-utf8-\udcff\udcfe", "\udcc3", "half-\udce2\udc82"]
NAMES_LIKE_PATTERNS = ["a*b", "a?b", "[ab]", "**", "{a,b}", "[", "[]", "[!a]", "a\\*b"]


def check_odd_name(jail, secret, name, **how):
    jail.person.file(f"{name}/key", secret)
    jail.person.file("ab/key", "harmless")
    jail.person.file("axb/key", "harmless")
    found = jail.attacks(["read", f"./{name}/key"], ["rename", f"./{name}", "ab/away"], ["read", "ab/key"],
                         ["read", "axb/key"], **how)
    assert found[0].verdict == "EACCES" and found[1].verdict in REFUSED_TO_MOVE
    assert [outcome.shown for outcome in found[2:]] == ["harmless", "harmless"]
    assert jail.never_told(secret)
    assert jail.attack("read", f"./{name}/key").shown == secret


@pytest.mark.parametrize("name", ODD_NAMES + NAMES_THAT_ARE_NO_TEXT, ids=ascii)
def test_a18_a19_a_name_on_the_command_line_is_bytes_and_nothing_else(jail, secret, name):
    """Names with newlines or bytes that are no text, and names that look like options."""
    check_odd_name(jail, secret, name, options=["--deny-read", jail.person.project / name])


@pytest.mark.parametrize("name", ODD_NAMES[:3] + NAMES_LIKE_PATTERNS, ids=ascii)
def test_a18_a_literal_name_in_a_policy_is_no_pattern(jail, secret, name):
    path = {"path": f"{jail.person.project}/{name}", "literal": True}
    check_odd_name(jail, secret, name, policy=jail.policy(filesystem={"denyRead": [path]}))


def test_a19_a_command_that_looks_like_an_option_is_a_command(jail):
    outside = jail.person.file(jail.person.home / "work/file", "original")
    program = jail.person.file(f"--allow-write={outside.parent}", f"#!/bin/sh\necho ran; echo x >>{outside}\n")
    program.chmod(0o755)
    jail.person.environment["PATH"] += f":{jail.person.project}"
    with unchanged(outside):
        answer = jail.run(program.name)
        assert answer.returncode == 127, answer
        answer = jail.run(program)
    assert answer.stdout == "ran\n"


def test_a20_the_directory_of_the_call_does_not_become_writable(jail):
    other = jail.person.file(jail.person.home / "other/file", "original").parent
    options = ["-C", jail.person.project, "--allow-read", other]
    for directory in (other, jail.person.home, "/"):
        with unchanged(other):
            found = jail.attacks(["write", other / "file", "x"], ["create", other / "new", "x"],
                                 ["create", jail.person.project / f"made-{len(str(directory))}", "x"], options=options,
                                 cwd=directory)
        assert all(outcome.verdict in (*REFUSED_TO_WRITE, "ENOENT") for outcome in found[:2])
        assert found[2] == OK


@pytest.mark.parametrize("move", ["rename", "exchange", "link", "rename-noreplace"])
def test_a21_moving_between_directories_gains_no_right(jail, secret, move):
    """Out of a read-only place, out of a hidden one, and into a read-only one."""
    readable = jail.person.file(jail.person.home / "work/file", "original").parent
    hidden = jail.person.file("hidden/key", secret).parent
    for name in ("bait", "bait2", "bait3", "bait4"):
        jail.person.file(f"free/{name}", "bait")
    exchanged = move == "exchange"
    with unchanged(readable, hidden):
        found = jail.attacks([move, readable / "file", f"free/{'bait' if exchanged else 'won'}"],
                             [move, "hidden/key", f"free/{'bait2' if exchanged else 'won2'}"],
                             [move, "free/bait3", readable / ("file" if exchanged else "new")],
                             options=["--allow-read", readable, "--deny-read", "hidden"])
    assert all(outcome.verdict in (*REFUSED_TO_MOVE, "ENOENT") for outcome in found), found
    assert not (jail.person.project / "free/won").exists()
    assert jail.attack(move, "free/bait3", "free/bait4" if exchanged else "free/new") == OK
    assert jail.never_told(secret)


# B 35, 37


@pytest.mark.parametrize("place", [".bun/bin", ".local/bin", ".config/systemd/user", ".ssh"])
def test_b35_b37_what_the_users_own_programs_are_started_from_is_not_written(jail, place):
    """Directories of $PATH, units, autostart: outside of what is writable, whether they are shown or not."""
    directory = jail.person.home / place
    program = jail.person.file(directory / "tool", "#!/bin/sh\necho original\n")
    program.chmod(0o755)
    jail.person.file("ordinary", "#!/bin/sh\necho evil\n")
    jail.person.environment["PATH"] = f"{directory}:{jail.person.environment['PATH']}"
    ways = [["create", directory / "git", "evil"], ["write", program, "evil"], ["open-truncating", program],
            ["unlink", program], ["rename", "ordinary", program], ["rename", "ordinary", directory / "git"],
            ["symlink", "ordinary", directory / "git"], ["mkdir", directory / "new"],
            ["rename", directory, jail.person.project / "taken"]]
    with unchanged(directory):
        found = jail.attacks(*ways)
    assert "ok" not in {outcome.verdict for outcome in found}, list(zip(ways, found))
    # What $PATH leads to is there to be used, but for secrets.
    if place != ".ssh":
        assert jail.run("tool").stdout == "original\n"
    assert jail.attacks(["create", "git", "fine"], ["rename", "ordinary", "tool"]) == [OK, OK]


# H


def test_h103_a_secret_of_the_home_that_the_host_replaces_stays_absent(jail, secret):
    credentials = jail.person.file(jail.person.home / ".git-credentials", "old")
    jail.person.file("go-not-yet")
    answers = []
    words = ["create", "started", "x", "--", "wait-for", "go", "--", "read", credentials]
    run = threading.Thread(target=lambda: answers.append(jail.run(jail.attacker, *words)))
    run.start()
    end = time.monotonic() + 20
    while not (jail.person.project / "started").exists() and time.monotonic() < end:
        time.sleep(0.01)
    replacement = jail.person.file(jail.person.home / ".git-credentials.lock", secret)
    replacement.rename(credentials)
    jail.person.file("go")
    run.join(30)
    assert answers[0].stdout == f"= ok\n= ok\n= {'ENOENT' if jail.has_namespaces else 'EACCES'}\n", answers
    assert jail.never_told(secret)
    assert jail.attack("read", credentials, options=["--allow-read", credentials]).shown == secret


@pytest.mark.parametrize("key, value", [("remote.origin.url", "/somewhere"), ("core.worktree", "/"),
                                        ("merge.x.driver", "evil"), ("branch.main.mergeOptions", "-s evil"),
                                        ("core.fsmonitor", "evil"), ("core.hooksPath", "hooks")])
def test_h107_git_config_gets_no_such_key_and_commits_work(jail, key, value):
    made = subprocess.run(["git", "init", "-q", "."], cwd=jail.person.project, env=jail.person.environment,
                          capture_output=True, text=True, check=False, **jail.identity())
    assert made.returncode == 0, made
    config = jail.person.project / ".git/config"
    with unchanged(config):
        answer = jail.run("git", "config", key, value)
        assert answer.returncode != 0
        # git writes config.lock and renames it.
        jail.attacks(["create", ".git/config.new", "evil"], ["rename", ".git/config.new", ".git/config"])
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
    committed = jail.run("git", *identity, "commit", "-q", "--allow-empty", "-m", "message")
    assert committed.returncode == 0 or "nothing new can be made directly in" in committed.stderr, committed
    assert config.read_text().count(value) == 0


@pytest.mark.parametrize("name", [".env", ".env.local"])
def test_h112_a_hidden_name_cannot_be_moved_to_one_that_is_not(jail, secret, name):
    jail.person.file(name, secret)
    jail.person.file("plain", "harmless")
    project = jail.person.project
    jail.person.directory(project / "free")
    found = jail.attacks(["rename", name, "free/plain.txt"], ["exchange", name, "plain"], ["link", name, "free/2"],
                         ["rename", project, f"{project}-moved"], ["read", "free/plain.txt"], ["read", "plain"],
                         ["read", "free/2"])
    assert all(outcome.verdict in REFUSED_TO_MOVE for outcome in found[:4]), found
    assert found[5].shown == "harmless"
    assert jail.never_told(secret)
    assert (project / name).read_text() == secret
