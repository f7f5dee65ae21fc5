"""Protected names, whether they exist or not (sections A 1-8, 16, 18; B 27-36; H 105, 106, 108, 111).

Each of them makes a program of the host run something later. They are tried at the top of the project and deeper, by
every call, spelling and descriptor, and the tree is judged from outside: it is the same to the byte and to the time of
its directories. Beside each attack the same call makes or changes an ordinary name."""

import itertools
import os
import subprocess
import threading
import time

import pytest

from attacking import OK, PATIENCE, state, unchanged

REFUSED = {"EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV"}
NOT_THERE = {"ENOSYS"}  # calls that a run does not have at all

# Names that nobody has made yet. Where they lie below another one, that one is there.
ABSENT = [".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".envrc",
          ".gitconfig", ".gitmodules", ".ripgreprc", ".mcp.json", ".cloche.json", ".vscode", ".idea", ".devcontainer",
          ".husky", ".codex", ".cursor", ".claude/commands", ".claude/agents", ".claude/settings.json",
          ".claude/settings.local.json", ".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir",
          ".git/info/attributes", ".git/objects/info/alternates", ".git/worktrees/w/commondir",
          ".git/worktrees/w/gitdir", ".git/modules/m/hooks", ".git/modules/m/config", ".git/modules/m/commondir",
          ".git/remotes", ".git/branches", ".git/modules/m/remotes"]
PRESENT = [".bashrc", ".zshenv", ".envrc", ".gitmodules", ".mcp.json", ".cloche.json", ".vscode/tasks.json",
           ".idea/deep/er/x.xml", ".husky/pre-commit", ".codex/config.toml", ".claude/commands/x.md",
           ".claude/settings.json", ".git/hooks/pre-commit", ".git/config", ".git/commondir", ".git/info/attributes",
           ".git/objects/info/alternates", ".git/worktrees/w/gitdir", ".git/modules/m/hooks/post-checkout",
           ".git/remotes/origin", ".git/branches/origin"]
PLACES = ["", "deep/er/"]

# X is the name; OTHER is an ordinary file that is there.
WAYS_TO_MAKE = [
    ["create", "X", "evil"], ["create-old", "X", "evil"], ["create-to-read", "X"], ["create-below", "X", "evil"],
    ["create-below-proc", "X", "evil"], ["create-openat2", "0", "X", "evil"],
    ["create-openat2", "0x08", "X", "evil"],  # RESOLVE_BENEATH
    ["create-openat2", "0x04", "X", "evil"],  # RESOLVE_NO_SYMLINKS
    ["create-openat2", "0x02", "X", "evil"],  # RESOLVE_NO_MAGICLINKS
    ["create-openat2", "0x10", "X", "evil"],  # RESOLVE_IN_ROOT
    ["create-nameless", "X", "evil"], ["create-nameless-by-empty-path", "X", "evil"],
    ["create-in-thread", "X", "evil"], ["create-in-vfork", "X", "evil"], ["create-by-shared-name", "X", "evil"],
    ["make-special", "X", "0"], ["make-special", "X", "0100000"], ["make-special", "X", "0010000"],
    ["make-special", "X", "0140000"], ["make-special-below", "X", "0100000"], ["mkdir", "X"], ["mkdir-below", "X"],
    ["symlink", "OTHER", "X"], ["symlink", "nowhere", "X"], ["symlink-below", "OTHER", "X"], ["link", "OTHER", "X"],
    ["link-below", "OTHER", "X"], ["link-by-descriptor", "OTHER", "X"], ["link-by-empty-path", "OTHER", "X"],
    ["bind-socket", "X"], ["bind-packets", "X"], ["rename", "OTHER", "X"], ["rename-below", "OTHER", "X"],
    ["rename-noreplace", "OTHER", "X"],
]
WAYS_TO_CHANGE = [
    ["write-mapping", "X", "evil"], ["write", "X", "evil"], ["write-below", "X", "evil"], ["write-openat2", "0", "X", "evil"],
    ["write-openat2", "0x08", "X", "evil"], ["write-reopened", "X", "evil"], ["write-path-reopened", "X", "evil"],
    ["create-old", "X", "evil"], ["open-truncating", "X"], ["truncate", "X"], ["truncate-reopened", "X"],
    ["link", "X", "second"], ["link-below", "X", "third"],
    ["link-by-descriptor", "X", "fourth"], ["link-by-empty-path", "X", "fifth"],
]
WAYS_TO_MARK = [
    ["chmod", "X", "0777"], ["chmod-below", "X"], ["chmod-reopened", "X"], ["chmod-by-empty-path", "X"],
    ["chmod-by-descriptor", "X", "0777"], ["chmod2", "X"], ["chown", "X"], ["chown-link", "X"],
    ["chown-by-descriptor", "X"], ["chown-by-empty-path", "X"], ["change-times", "X"], ["change-times-old", "X"],
    ["change-times-of-link", "X"], ["change-times-by-empty-path", "X"], ["change-times-reopened", "X"],
    ["change-times-by-descriptor", "X"], ["set-attribute", "X"], ["set-attribute-of-link", "X"],
    ["set-attribute-reopened", "X"], ["set-attribute-at", "X"], ["change-attribute-by-descriptor", "X"],
]
# What chattr does is refused for all files: the filter sees no name.
WAYS_TO_FLAG = [["set-flags", "X"], ["set-extended-flags", "X"], ["set-flags-by-call", "X"], ["set-version", "X"]]
# These cannot succeed for anybody: the descriptor is for reading.
WAYS_IN_VAIN = [["truncate-by-descriptor", "X"], ["map-for-writing", "X"], ["allocate-by-descriptor", "X"],
                ["patch-mapping", "X", "evil"]]
WAYS_TO_REMOVE = [["exchange", "X", "OTHER"], ["exchange", "OTHER", "X"], ["rename", "OTHER", "X"],
                  ["rename", "X", "away"], ["rename-below", "X", "away"], ["rename-noreplace", "X", "away"],
                  ["rename-whiteout", "X", "away"], ["remove-below", "X"], ["unlink", "X"]]


@pytest.fixture
def backend():
    """Names that do not exist yet need the doorman, and it a namespace."""
    return "namespaces"


@pytest.fixture
def project(jail):
    """Two repositories and two agents' directories from before, with nothing protected in them."""
    person = jail.person
    for place in PLACES:
        for name in (".git/HEAD", ".git/worktrees/w/HEAD", ".git/modules/m/HEAD"):
            person.file(f"{place}{name}", "ref: refs/heads/main\n")
        for name in (".git/objects/info", ".git/refs", ".git/info", ".git/modules/m/objects", ".git/modules/m/refs",
                     ".claude"):
            person.directory(person.project / place / name)
    person.file("ordinary", "ordinary")
    return person.project


def spelled(ways, name, other="ordinary"):
    named = {"X": name, "X/new": f"{name}/new", "OTHER": other}
    return [[named.get(word, word) for word in way] for way in ways]


def successes(tried, found, accepted=frozenset()):
    """What was not refused as it should have been."""
    return [(*way, outcome.verdict) for way, outcome in zip(tried, found)
            if outcome.verdict not in REFUSED | NOT_THERE | accepted]


def not_done(tried, found):
    """What ought to have worked, but for calls that a run does not have."""
    return [(*way, outcome.verdict) for way, outcome in zip(tried, found) if outcome.verdict not in NOT_THERE | {"ok"}]


# --- by every call ------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES, ids=["top", "deep"])
def test_a01_b27_to_b34_an_absent_protected_name_is_made_by_no_call(jail, project, place):
    tried = [way for name in ABSENT for way in spelled(WAYS_TO_MAKE, place + name)]
    with unchanged(project):
        found = jail.attacks(*tried)
        assert successes(tried, found) == []


@pytest.mark.parametrize("place", PLACES, ids=["top", "deep"])
def test_every_such_call_makes_an_ordinary_name(jail, project, place):
    tried = []
    for number, way in enumerate(WAYS_TO_MAKE):
        jail.person.file(f"other{number}", "ordinary")
        tried += spelled([way], f"{place}plain{number}", f"other{number}")
    assert not_done(tried, jail.attacks(*tried)) == []
    absent = [number for number, way in enumerate(WAYS_TO_MAKE) if not os.path.lexists(project / f"{place}plain{number}")]
    assert [WAYS_TO_MAKE[number] for number in absent if "openat2" not in WAYS_TO_MAKE[number][0]] == []


@pytest.mark.parametrize("place", PLACES, ids=["top", "deep"])
def test_a01_b27_to_b34_a_present_protected_name_is_changed_by_no_call(jail, project, place):
    for name in PRESENT:
        jail.person.file(place + name, "original" * 600)
        os.setxattr(project / place / name, "user.kept", b"x")
    ways = WAYS_TO_CHANGE + WAYS_TO_MARK + WAYS_TO_FLAG + WAYS_IN_VAIN + WAYS_TO_REMOVE
    ways += [["remove-attribute", "X"], ["remove-attribute-by-descriptor", "X"], ["remove-attribute-at", "X"]]
    tried = [way for name in PRESENT for way in spelled(ways, place + name)]
    in_vain = frozenset({"EINVAL", "EBADF", "EIO"})
    with unchanged(project):
        found = jail.attacks(*tried)
        assert successes(tried, found, in_vain) == []
    flags = [["show-flags", project / place / name] for name in PRESENT]
    assert {outcome.shown for outcome in jail.attacks_outside(*flags)} == {"plain"}


def test_every_such_call_changes_an_ordinary_name(jail, project):
    for name in ("deep/er/plain", "deep/er/attributed", "deep/er/doomed"):
        jail.person.file(name, "original" * 600)
    os.setxattr(project / "deep/er/attributed", "user.kept", b"x")
    tried = spelled(WAYS_TO_CHANGE + WAYS_TO_MARK, "deep/er/plain") + spelled(WAYS_TO_REMOVE[:4], "deep/er/doomed")
    tried += [["remove-attribute", "deep/er/attributed"], ["change-attribute-by-descriptor", "deep/er/attributed"]]
    assert not_done(tried, jail.attacks(*tried)) == []
    assert sorted(os.listxattr(project / "deep/er/attributed")) == ["user.attack"]
    outside = jail.attacks_outside(["set-flags", "deep/er/plain"], ["show-flags", "deep/er/plain"])
    assert outside[1].shown == "changed"


@pytest.mark.parametrize("name", [".vscode", ".idea", ".husky", ".codex", ".git/hooks", ".claude/commands"])
def test_a05_a_protected_directory_is_neither_moved_nor_removed_nor_marked(jail, project, name):
    for place in PLACES:
        jail.person.directory(project / place / name)
        jail.person.directory(project / place / "spare")
    ways = [["rmdir", "X"], ["rename", "X", "away"], ["exchange", "X", "OTHER"], ["rename", "OTHER", "X"],
            ["rename-below", "X", "away"], ["chmod", "X", "0700"], ["change-times", "X"], ["set-attribute", "X"],
            ["chmod-by-descriptor", "X", "0700"], ["set-flags", "X"], ["create", "X/new", "evil"], ["mkdir", "X/new"],
            ["create-nameless", "X/new", "evil"], ["link", "ordinary", "X/new"], ["rename", "ordinary", "X/new"]]
    tried = [way for place in PLACES for way in spelled(ways, place + name, place + "spare")]
    with unchanged(project):
        found = jail.attacks(*tried)
        assert successes(tried, found) == []
    free = spelled([["chmod", "X", "0700"], ["change-times", "X"], ["set-attribute", "X"],
                    ["chmod-by-descriptor", "X", "0700"], ["create", "X/new", "fine"], ["unlink", "X/new"],
                    ["create-nameless", "X/new", "fine"], ["unlink", "X/new"], ["mkdir", "X/new"],
                    ["rename", "X", "away"], ["rmdir", "away/new"], ["rmdir", "away"]], "deep/er/spare")
    assert not_done(free, jail.attacks(*free)) == []


# --- by every spelling ---------------------------------------------------------


SPELLINGS = ["./{}", ".//{}", "deep/../{}", "{}/", "{}/.", "/proc/self/cwd/{}", "/proc/thread-self/cwd/{}",
             "/proc/self/root{project}/{}", "/proc/thread-self/root/{project}/{}", "/proc/self/task/../cwd/{}",
             "/dev/fd/../cwd/{}", "/proc/self/root/proc/self/cwd/{}", "{project}/{}", "//{project}//{}",
             "{project}/../project/{}", "way/{}", "way/way/way/{}", "whole/{}", "chain/{}", "magic/{}"]


@pytest.mark.parametrize("make", [["create", "X", "evil"], ["mkdir", "X"], ["symlink", "OTHER", "X"],
                                  ["link", "OTHER", "X"], ["rename", "OTHER", "X"], ["make-special", "X", "0010000"],
                                  ["bind-socket", "X"], ["create-nameless", "X", "evil"]], ids=lambda way: way[0])
def test_a08_another_spelling_of_an_absent_name_makes_nothing(jail, project, make):
    jail.person.link("way", ".")
    jail.person.link("whole", project)
    jail.person.link("chain", "way/whole")
    jail.person.link("magic", "/proc/self/cwd")
    names = [".bashrc", ".vscode", "deep/er/.envrc", ".git/commondir", "deep/er/.git/hooks"]
    tried = [way for name, spelling in itertools.product(names, SPELLINGS)
             for way in spelled([make], spelling.format(name, project=project))]
    slash = {"ENOENT", "ENOTDIR", "EISDIR", "EINVAL"}  # names with a slash behind them, where no directory is made
    if make[0] == "bind-socket":
        slash |= {"ENAMETOOLONG"}
    with unchanged(project):
        found = jail.attacks(*tried)
        assert successes(tried, found, frozenset(slash)) == []
    free = [way for number, spelling in enumerate(SPELLINGS) if not spelling.startswith("{}/") and number != 7
            for way in spelled([make], spelling.format(f"deep/er/plain{number}", project=project), f"free{number}")]
    for number in range(len(SPELLINGS)):
        jail.person.file(f"free{number}")
    assert {outcome.verdict for outcome in jail.attacks(*free)} <= {"ok", "EINVAL"}


LINKS = {"plain": [("link", ".bashrc")], "whole": [("link", "{project}/.bashrc")],
         "chain": [("link", "second"), ("second", "third"), ("third", "deep/../.bashrc")],
         "around": [("link", "/proc/self/cwd/.bashrc")], "by root": [("link", "/proc/self/root{project}/.bashrc")],
         "directory": [("way", "deep"), ("link", "way/../.bashrc")]}


@pytest.mark.parametrize("case", LINKS)
@pytest.mark.parametrize("when", ["before", "during"])
def test_a02_a_dangling_link_does_not_make_what_it_names(jail, project, case, when):
    links = [[path, target.format(project=project)] for path, target in LINKS[case]]
    making = [["symlink", target, path] for path, target in links]
    if when == "before":
        for path, target in links:
            jail.person.link(path, target)
        making = []
    ways = [["create-old", "link", "evil"], ["create-to-read", "link"], ["create-below", "link", "evil"],
            ["create-openat2", "0", "link", "evil"], ["create-in-vfork", "link", "evil"]]
    found = jail.attacks(*making, *ways)
    assert [outcome.verdict for outcome in found[:len(making)]] == ["ok"] * len(making)
    assert successes(ways, found[len(making):]) == []
    assert not os.path.lexists(project / ".bashrc")
    assert jail.attacks(["symlink", "deep/new", "fine"], ["create-old", "fine", "x"]) == [OK, OK]
    assert (project / "deep/new").read_text() == "x"


def test_a03_a_link_to_a_present_name_changes_nothing(jail, project):
    config = jail.person.file(".git/config", "original")
    ways = [["write", "link", "evil"], ["create-old", "link", "evil"], ["truncate", "link"], ["chmod", "link", "0777"],
            ["change-times", "link"], ["set-attribute", "link"], ["chown", "link"], ["link-by-descriptor", "link", "two"],
            ["open-truncating", "link"]]
    with unchanged(config, project / ".git"):
        found = jail.attacks(["symlink", ".git/config", "link"], *ways)
    assert found[0] == OK
    assert successes(ways, found[1:]) == []
    jail.person.file("deep/plain")
    fine = [["symlink", "deep/plain", "fine"], *[["fine" if word == "link" else word for word in way] for way in ways]]
    assert not_done(fine, jail.attacks(*fine)) == []


CASES = [".BASHRC", ".Envrc", ".VSCode", ".Idea", ".HUSKY", ".Git/Hooks", ".GIT/config", ".git/HOOKS", ".git/Config",
         ".git/CommonDir", ".CLAUDE/Settings.json", ".claude/COMMANDS", ".Codex", "deep/er/.GIT/HOOKS", "deep/.Mcp.Json"]


def test_h111_the_case_of_letters_does_not_matter(jail, project):
    for name in (".Git", ".GIT", "deep/er/.GIT", ".CLAUDE"):
        jail.person.directory(project / name)
    tried = [way for name in CASES for way in spelled(WAYS_TO_MAKE, name)]
    with unchanged(project):
        found = jail.attacks(*tried)
        assert successes(tried, found) == []


ORDINARY = [".bashrc2", "bashrc", ".bashrc ", ".bashrc\n", "\n.bashrc", ".bashrc\\", "\\.bashrc", "\udcff.bashrc",
            ".bashrc\udcff", ".bash\nrc", ".vscode2", "x.vscode", ".gitx", ".gitignore", ".gitattributes", ".github",
            ".git/hooks2", ".git/HEAD2", ".git/config2", ".git/refs/config", ".git/refs/hooks", ".git/objects/config",
            ".claude/other.json", ".claude/settings", ".claude/commands2", ".bashrc.d", "Makefile"]


def test_a16_a_name_that_only_looks_like_one_is_ordinary(jail, project):
    for place in PLACES:
        found = jail.attacks(*[["create", place + name, "fine"] for name in ORDINARY])
        assert [(name, outcome.verdict) for name, outcome in zip(ORDINARY, found) if outcome != OK] == []
    assert (project / "deep/er/.bashrc\n").read_text() == "fine"


@pytest.mark.parametrize("name", ["new\nline", "back\\slash", "\udcff\udcfe", "a*b", "[x]", "-rf", " "], ids=ascii)
def test_a18_a_protected_name_of_the_policy_is_bytes(jail, project, name):
    policy = jail.policy(filesystem={"denyWrite": [{"path": f"{project}/deep/{name}", "literal": True}]})
    if "\udcff" in name:
        policy, options = None, ["--deny-write", f"{project}/deep/{name}"]
    else:
        options = []
    tried = spelled(WAYS_TO_MAKE, f"deep/{name}") + [["create", f"deep/{name}/below", "evil"]]
    with unchanged(project):
        found = jail.attacks(*tried, policy=policy, options=options)
        assert successes(tried, found, frozenset({"ENOENT"})) == []
    assert jail.attacks(["create", f"deep/{name}x", "fine"], ["create", "deep/axb", "fine"], ["create", "deep/x", "fine"],
                        policy=policy, options=options) == [OK] * 3
    assert jail.attack("create", f"deep/{name}", "fine") == OK


# --- trees that were prepared ---------------------------------------------------


PREPARED = {".git": ["hooks/post-checkout", "config", "commondir", "info/attributes", "objects/info/alternates",
                     "worktrees/w/gitdir", "modules/deep/m/hooks/x"],
            ".claude": ["settings.json", "commands/x.md", "agents/x.md", "settings.local.json"]}


@pytest.mark.parametrize("name, inner", [(name, inner) for name, inners in PREPARED.items() for inner in inners])
@pytest.mark.parametrize("move", ["rename", "rename-below", "rename-noreplace", "exchange", "symlink"])
def test_h108_a_prepared_tree_does_not_become_a_protected_one(jail, name, inner, move):
    """Prepared by this run, by the host, or by an earlier run."""
    project = jail.person.file("old/keep", "x").parents[1]
    jail.person.file(f"planted/{inner}", "evil")
    making = [["mkdir", "new"]]
    for depth in range(1, inner.count("/") + 1):
        making.append(["mkdir", "new/" + "/".join(inner.split("/")[:depth])])
    making.append(["create", f"new/{inner}", "evil"])
    for place in ("", "old/"):
        targets = [f"{place}{name}"]
        if move == "exchange":
            jail.person.directory(project / place / name)
        before = state(project / place / name) if move == "exchange" else None
        found = jail.attacks(*(making if place == "" else []), *[[move, source, target] for target in targets
                                                                for source in ("new", "planted")])
        assert [outcome.verdict for outcome in found[:-2]] == ["ok"] * (len(found) - 2)
        assert {outcome.verdict for outcome in found[-2:]} <= REFUSED, found
        assert not os.path.exists(project / place / name / inner)
        if before:
            assert state(project / place / name) == before
    assert jail.attack(move, "new", "planted" if move == "exchange" else "old/fine") == OK


def test_h108_a_directory_of_before_that_is_renamed_is_no_new_one(jail):
    project = jail.person.file("old/keep", "x").parents[1]
    jail.person.directory(project / "other")
    found = jail.attacks(["rename", "old", "moved"], ["create", "moved/.bashrc", "evil"], ["mkdir", "moved/.vscode"],
                         ["mkdir", "new"], ["exchange", "new", "other"], ["create", "new/.bashrc", "evil"],
                         ["create", "other/.bashrc", "fine"])
    assert [found[0], found[3], found[4]] == [OK] * 3
    assert {found[i].verdict for i in (1, 2, 5)} <= REFUSED, found
    assert sorted(os.listdir(project / "moved")) == ["keep"] and os.listdir(project / "new") == []
    # By then "other" is the directory this run made.
    assert found[6] == OK


def test_h108_an_empty_directory_of_before_that_becomes_a_repository_gets_no_hooks(jail):
    project = jail.person.directory(jail.person.project / "old").parent
    found = jail.attacks(["rename", "old", ".git"], ["mkdir", ".git/hooks"], ["create", ".git/config", "evil"])
    assert {outcome.verdict for outcome in found[1:]} <= REFUSED | {"ENOENT"}, found
    assert not (project / ".git/hooks").exists() and not (project / ".git/config").exists()


@pytest.mark.parametrize("kind", ["directory", "socket"])
def test_h108_what_the_host_makes_in_place_of_something_new_is_the_hosts(jail, kind):
    """File systems give the number of a removed directory or socket to the next one."""
    project = jail.person.project
    jail.person.directory(project / "deep")
    making = {"directory": [["mkdir", "deep/x"], ["create", "deep/x/.bashrc", "fine"], ["unlink", "deep/x/.bashrc"],
                            ["rmdir", "deep/x"]],
              "socket": [["connect-to-own", "deep/x"], ["unlink", "deep/x"]]}[kind]
    last = {"directory": ["create", "deep/x/.bashrc", "evil"], "socket": ["connect", "deep/x"]}[kind]
    answers = []
    operations = [*making, ["create", "ready", ""], ["wait-for", "go"], last]
    run = threading.Thread(target=lambda: answers.append(jail.attacks(*operations)))
    run.start()
    end = time.monotonic() + PATIENCE
    while not (project / "ready").exists() and run.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    if kind == "directory":
        jail.person.directory(project / "deep/x")
    else:
        assert jail.attack_outside("bind-socket", project / "deep/x") == OK
    jail.person.file("go")
    run.join(PATIENCE)
    assert [outcome.verdict for outcome in answers[0][:-1]] == ["ok"] * (len(operations) - 1)
    # The host's socket has nobody behind it any more: natively this would be ECONNREFUSED.
    assert answers[0][-1].verdict in REFUSED
    assert not (project / "deep/x/.bashrc").exists()


def test_a_directory_of_this_run_may_hold_protected_names_and_they_cannot_be_moved_out_of_it(jail):
    project = jail.person.file("old/keep", "x").parents[1]
    inner = ["new/.bashrc", "new/.vscode/tasks.json", "new/sub/.git/hooks/pre-commit", "new/sub/.git/config",
             "new/.claude/settings.json"]
    making = [["mkdir", path] for path in ("new", "new/.vscode", "new/sub", "new/sub/.git", "new/sub/.git/hooks",
                                           "new/.claude")]
    answer = jail.run(jail.attacker, *itertools.chain(*[["--", *way] for way in making]),
                      *itertools.chain(*[["--", "create", name, "fine"] for name in inner]),
                      "--", "rename", "new", "old/moved", "--", "rename", "old/moved/.bashrc", ".bashrc",
                      "--", "rename", "old/moved/.vscode", "old/.vscode", "--", "rename", "old/moved/sub/.git", ".git",
                      "--", "link", "old/moved/.bashrc", "old/.bashrc")
    verdicts = [line.removeprefix("= ") for line in answer.stdout.splitlines()]
    assert verdicts[:-4] == ["ok"] * (len(making) + len(inner) + 1), answer
    assert set(verdicts[-4:]) <= REFUSED, answer
    assert sorted(os.listdir(project)) == ["old"] and sorted(os.listdir(project / "old")) == ["keep", "moved"]
    assert [name for name in inner if not (project / name.replace("new", "old/moved", 1)).exists()] == []


@pytest.mark.parametrize("name, inner", [(".git", "hooks/pre-commit"), (".git", "config"), (".claude", "settings.json"),
                                         (".claude", "commands/x.md")])
@pytest.mark.parametrize("place", PLACES, ids=["top", "deep"])
def test_a05_what_holds_a_protected_name_is_not_carried_away(jail, name, inner, place):
    person = jail.person
    person.file(f"{place}{name}/{inner}", "original")
    person.file(f"{place}{name}/HEAD", "ref: refs/heads/main\n")
    person.directory(person.project / "spare")
    person.file("free/plain/file")
    ways = [["rename", "X", "away"], ["rename-below", "X", "away"], ["rename-noreplace", "X", "away"],
            ["exchange", "X", "spare"], ["exchange", "spare", "X"], ["rename", "spare", "X"], ["rename-whiteout", "X", "a"]]
    tried = spelled(ways, place + name)
    with unchanged(person.project):
        found = jail.attacks(*tried)
        assert successes(tried, found, frozenset({"ENOTEMPTY", "EEXIST"})) == []
    assert jail.attacks(["rename", "free/plain", "free/moved"], ["exchange", "free/moved", "spare"]) == [OK, OK]


@pytest.mark.parametrize("shape", [["mkdir", "X"], ["symlink", "../other", "X"]], ids=["directories", "links"])
@pytest.mark.parametrize("last", ["config", "HEAD", "objects", "refs"])
def test_b31_a_directory_of_before_does_not_become_a_repository_that_runs_something(jail, last, shape):
    """Git takes links for the directories it wants."""
    jail.person.file("docs/readme")
    jail.person.directory(jail.person.project / "other")
    making = {"config": ["create", "docs/config", "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch ran\n"],
              "HEAD": ["create", "docs/HEAD", "ref: refs/heads/main\n"],
              **{name: spelled([shape], f"docs/{name}")[0] for name in ("objects", "refs")}}
    order = [*[way for name, way in making.items() if name != last], making[last]]
    answer = jail.run(jail.attacker, *itertools.chain(*[["--", *way] for way in order]))
    verdicts = [line.removeprefix("= ") for line in answer.stdout.splitlines()]
    assert verdicts[:2] == ["ok", "ok"], answer
    subprocess.run(["git", "status"], cwd=jail.person.project / "docs", env=jail.person.environment,
                   capture_output=True, check=False, **jail.identity())
    assert not any(jail.person.project.rglob("ran")), answer
    if last == "config":
        assert verdicts[-1] in REFUSED, answer


@pytest.mark.parametrize("place", PLACES, ids=["top", "deep"])
def test_a04_a_protected_name_that_is_a_link_is_not_replaced(jail, place):
    """What it leads to is held at the top of the project, where that is known at the start."""
    person = jail.person
    target = person.file("rc/environment", "original")
    person.file("ordinary", "ordinary")
    person.link(f"{place}.envrc", person.project / "rc/environment")
    person.link(f"{place}.zshrc", "nowhere")
    tried = [way for name in (".envrc", ".zshrc") for way in spelled(WAYS_TO_REMOVE, place + name)]
    tried += spelled([["change-times-of-link", "X"], ["chown-link", "X"]], place + ".envrc")
    if not place:
        tried += spelled([["write", "X", "evil"], ["create-old", "X", "evil"], ["truncate", "X"],
                          ["chmod", "X", "0777"]], ".envrc")
    with unchanged(person.project):
        found = jail.attacks(*tried)
        assert successes(tried, found) == []
    assert target.read_text() == "original"
    assert jail.attacks(["symlink", "rc/environment", "fine"], ["unlink", "fine"]) == [OK, OK]


def test_a18_a_place_too_deep_for_any_path_is_judged_as_any_other(jail, project):
    """A run can stand where no name leads."""
    jail.person.directory(project / "free")
    found = jail.attacks(["mkdir", "free/new"], ["descend", "free/new", "20"], ["create", "plain", "fine"],
                         ["mkdir", "dir"], ["rename", "plain", "dir/plain"], ["create", ".bashrc", "fine"])
    assert found[0] == OK
    # What cannot be named cannot be judged: refused, or judged by what the run made. Never a hang or a wrong place.
    assert {outcome.verdict for outcome in found[1:]} <= REFUSED | {"ok", "ENAMETOOLONG", "ENOENT"}
    assert sorted(os.listdir(project / "free/new")) == ["n" * 250]
    subprocess.run(["rm", "-rf", project / "free"], check=True)


def test_a_file_held_open_does_not_become_a_protected_one(jail, project):
    ways = [["rename", "held", ".bashrc"], ["link", "held", ".bashrc"], ["rename", "dir", ".vscode"]]
    with unchanged(project / ".git", project / "deep"):
        found = jail.attacks(["hold-for-writing", "held"], ["mkdir", "dir"], ["hold-below", "dir"], *ways,
                             ["write-held", "x"], ["create-below-held", "tasks.json", "x"])
    assert [found[0], found[1], found[2], found[6], found[7]] == [OK] * 5
    assert successes(ways, found[3:6]) == []
    assert not os.path.lexists(project / ".bashrc") and not os.path.lexists(project / ".vscode")


# --- repositories in other shapes ----------------------------------------------


def git(jail, *words, cwd=None):
    done = subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main",
                           "-c", "protocol.file.allow=always", *words], cwd=cwd or jail.person.project,
                          env=jail.person.environment, capture_output=True, text=True, check=False, **jail.identity())
    assert done.returncode == 0, done
    return done.stdout


DANGEROUS = ["hooks/post-checkout", "config", "config.worktree", "commondir", "info/attributes",
             "objects/info/alternates"]


def check_git_directory(jail, directory, pointer=None):
    """Nothing in it that git runs or obeys is made or changed, and the rest of it can be."""
    names = [f"{directory}/{name}" for name in DANGEROUS]
    present = [name for name in names if (jail.person.project / name).exists()]
    absent = [name for name in names if name not in present]
    ways = WAYS_TO_CHANGE + WAYS_TO_MARK[:6] + WAYS_TO_REMOVE
    tried = [way for name in absent for way in spelled(WAYS_TO_MAKE, name)]
    tried += [way for name in present for way in spelled(ways, name)]
    if pointer:
        tried += spelled(WAYS_TO_CHANGE + WAYS_TO_REMOVE, pointer)
    hooks = jail.person.project / directory / "hooks"
    tried += [["rename", f"{directory}/hooks", "away"], ["exchange", f"{directory}/hooks", "spare"]] if hooks.exists() else []
    with unchanged(jail.person.project):
        found = jail.attacks(*tried)
        assert successes(tried, found, frozenset({"ENOENT"})) == []
    assert jail.attacks(["create", f"{directory}/refs/heads/config", "fine"],
                        ["create", f"{directory}/description2", "fine"]) == [OK, OK]


def test_a29_b31_a_bare_repository_of_before_is_protected(jail):
    jail.person.file("ordinary")
    jail.person.directory(jail.person.project / "spare")
    git(jail, "init", "-q", "--bare", "store/any-name")
    check_git_directory(jail, "store/any-name")


def test_a29_a_git_directory_elsewhere_is_protected(jail):
    jail.person.file("ordinary")
    jail.person.directory(jail.person.project / "spare")
    jail.person.directory(jail.person.project / "store")
    git(jail, "init", "-q", "--separate-git-dir", "store/elsewhere", "work")
    check_git_directory(jail, "store/elsewhere", "work/.git")


def test_a29_a_worktree_and_its_pointers_are_protected(jail):
    jail.person.file("ordinary")
    jail.person.directory(jail.person.project / "spare")
    git(jail, "init", "-q", "main")
    git(jail, "commit", "-q", "--allow-empty", "-m", "first", cwd=jail.person.project / "main")
    git(jail, "worktree", "add", "-q", "../tree", cwd=jail.person.project / "main")
    check_git_directory(jail, "main/.git", "tree/.git")
    tried = [way for name in ("commondir", "gitdir", "config.worktree")
             for way in spelled(WAYS_TO_CHANGE + WAYS_TO_REMOVE, f"main/.git/worktrees/tree/{name}")]
    with unchanged(jail.person.project):
        found = jail.attacks(*tried)
        assert successes(tried, found, frozenset({"ENOENT"})) == []
    assert jail.attack("write", "main/.git/worktrees/tree/HEAD", "") == OK


def test_a29_a_project_that_is_a_worktree_protects_the_repository_it_belongs_to(jail):
    """The repository lies outside the project; git must be able to write there, and no hook."""
    home = jail.person.home
    jail.person.directory(home / "main")
    git(jail, "init", "-q", ".", cwd=home / "main")
    git(jail, "commit", "-q", "--allow-empty", "-m", "first", cwd=home / "main")
    git(jail, "worktree", "add", "-q", jail.person.project / "tree", cwd=home / "main")
    tree = jail.person.project / "tree"
    options = ["-C", tree, "--allow-write", home / "main/.git"]
    names = [str(home / "main/.git" / name) for name in DANGEROUS] + [".git"]
    tried = [way for name in names for way in (["create", name, "evil"], ["write", name, "evil"], ["mkdir", name],
                                               ["rename", name, "away"], ["unlink", name])]
    with unchanged(home / "main/.git/hooks", home / "main/.git/config", tree / ".git"):
        found = jail.attacks(*tried, options=options, cwd=tree)
        assert successes(tried, found, frozenset({"ENOENT", "EEXIST"})) == []
    done = jail.run("git", "-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "--allow-empty", "-m",
                    "second", options=options, cwd=tree)
    assert done.returncode == 0, done
    assert git(jail, "log", "--format=%s", cwd=tree) == "second\nfirst\n"


def test_h106_commondir_does_not_lead_git_to_another_configuration(jail):
    git(jail, "init", "-q", ".")
    jail.person.file("evil/config", "[core]\n\tfsmonitor = touch ran\n")
    done = jail.run("sh", "-c", "mkdir -p evil/objects evil/refs; cp .git/HEAD evil/; echo ../evil >.git/commondir")
    assert done.returncode != 0
    git(jail, "status")
    assert not (jail.person.project / "ran").exists()
    # What it would have done.
    jail.person.file(".git/commondir", "../evil\n")
    git(jail, "status")
    assert (jail.person.project / "ran").exists()


# --- rules of the policy over names that do not exist ----------------------------


def test_a14_a_denied_path_that_does_not_exist_is_made_by_no_call(jail):
    jail.person.file("ordinary", "ordinary")
    jail.person.directory(jail.person.project / "deep")
    tried = spelled(WAYS_TO_MAKE, "later") + spelled(WAYS_TO_MAKE, "deep/later")
    with unchanged(jail.person.project):
        found = jail.attacks(*tried, options=["--deny-write", "later", "--deny-write", "deep/later"])
        assert successes(tried, found) == []
    tried = [["mkdir", "deep/later"], ["create", "deep/later/other", "fine"], ["create", "deep/later/below", "evil"],
             ["mkdir", "new"], ["create", "new/below", "evil"], ["rename", "new", "deep/later"],
             ["rename", "deep/later", "deep/away"]]
    found = jail.attacks(*tried, options=["--deny-write", "deep/later/below"])
    assert [found[i] for i in (0, 1, 3, 4)] == [OK] * 4
    assert {found[i].verdict for i in (2, 5)} <= REFUSED | {"ENOTEMPTY"}, found
    assert not (jail.person.project / "deep/later/below").exists()


@pytest.mark.parametrize("denied, allowed", [("**/*.lock", "x.lok"), ("deep/*.key", "deep/sub/x.key"),
                                             ("**/build-[0-9]/**", "build-x"), ("gen?/out", "gen/out")])
def test_a14_a_denied_pattern_holds_for_files_made_later(jail, denied, allowed):
    for name in ("deep/sub", "gen1", "gen", "build-7", "deep/build-8"):
        jail.person.directory(jail.person.project / name)
    jail.person.file("ordinary", "ordinary")
    names = {"**/*.lock": ["x.lock", "deep/x.lock", "deep/sub/.lock"], "deep/*.key": ["deep/x.key"],
             "**/build-[0-9]/**": ["build-7/x", "deep/build-8/x"], "gen?/out": ["gen1/out"]}[denied]
    tried = [way for name in names for way in spelled(WAYS_TO_MAKE, name)]
    with unchanged(jail.person.project):
        found = jail.attacks(*tried, options=["--deny-write", denied])
        assert successes(tried, found) == []
    assert jail.attack("create", allowed, "fine", options=["--deny-write", denied]) == OK


def test_a14_a_file_under_a_denied_pattern_is_neither_changed_nor_moved_to_another_name(jail):
    name = jail.person.file("deep/package.lock", "original" * 600)
    jail.person.file("ordinary", "ordinary")
    jail.person.directory(jail.person.project / "spare")
    tried = spelled(WAYS_TO_CHANGE + WAYS_TO_MARK + WAYS_TO_REMOVE, "deep/package.lock")
    tried += [["create", "deep/other.lock", "x"], ["rename", "ordinary", "deep/new.lock"]]
    with unchanged(name, jail.person.project / "deep"):
        found = jail.attacks(*tried, options=["--deny-write", "**/*.lock"])
        assert successes(tried, found) == []


def test_a14_an_allowed_pattern_opens_what_it_matches_and_nothing_else(jail):
    person = jail.person
    for name in ("src", "out-1", "deep/out-2"):
        person.directory(person.project / name)
    person.file("ordinary", "ordinary")
    policy = {"filesystem": {"allowWrite": ["$PROJECT_DIR/out-*", "$PROJECT_DIR/**/*.log"]}}
    denied = [way for name in ("src/x", "x", "deep/x", "deep/out-2/x") for way in spelled(WAYS_TO_MAKE, name)
              if "OTHER" not in way]
    with unchanged(person.project):
        found = jail.attacks(*denied, policy=policy)
        assert successes(denied, found) == []
    fine = [["create", "out-1/x", "fine"], ["mkdir", "out-1/sub"], ["create", "out-1/sub/y", "fine"],
            ["create", "src/a.log", "fine"], ["create", "deep/b.log", "fine"], ["rename", "out-1/x", "out-1/z"]]
    assert not_done(fine, jail.attacks(*fine, policy=policy)) == []
    moves = [["rename", "src/a.log", "src/a"], ["rename", "ordinary", "src/c.log"], ["link", "ordinary", "out-1/o"],
             ["exchange", "src/a.log", "ordinary"]]
    with unchanged(person.project / "ordinary", person.project / "src"):
        assert successes(moves, jail.attacks(*moves, policy=policy)) == []


# --- the doorman as a deputy -----------------------------------------------------


def test_h105_the_doorman_opens_nothing_for_others_that_they_could_not_open(jail, project):
    paths = ["/proc/1/mem", "/proc/1/root/../etc/x", "/proc/1/cwd/x", "/proc/1/fd/0", "/proc/1/fd/3", "/proc/1/comm",
             "/proc/1/oom_score_adj", "/proc/1/task/1/mem", "/proc/1/environ", "/proc/1/attr/current",
             "/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger",
             "/proc/self/root/proc/1/mem", "/proc/1/map_files", "/proc/self/exe", "/proc/self/ns/mnt",
             "/proc/1/uid_map", "/proc/self/uid_map", "/proc/1/setgroups", "/sys/kernel/uevent_helper",
             "/dev/fd/../../1/mem", "way/1/mem", "way/1/fd/0"]
    paths += [f"/proc/self/fd/{number}" for number in range(3, 64)]
    paths += [f"/proc/thread-self/fd/{number}" for number in range(3, 64)]
    paths += [f"way/self/fd/{number}" for number in range(3, 20)]
    jail.person.link("way", "/proc")
    tried = [["write", path, "x"] for path in paths] + [["create-old", path, "x"] for path in paths]
    tried += [["write-openat2", "0", path, "x"] for path in paths]
    accepted = frozenset({"ENOENT", "EISDIR", "EINVAL", "ETXTBSY", "EIO", "ESRCH", "ENXIO", "ELOOP", "ENOTDIR"})
    with unchanged(project):
        found = jail.attacks(*tried)
        assert successes(tried, found, accepted) == []
    fine = [["write", "/proc/self/comm", "x"], ["write", "/proc/self/oom_score_adj", "900"],
            ["write", "/dev/null", "x"], ["write", "way/self/comm", "x"]]
    found = jail.attacks(*fine)
    assert not_done(fine, found) == []


def test_h105_a_process_of_the_host_with_the_same_number_is_not_the_callers(jail, secret):
    """The doorman lives among the host's numbers: /proc/NUMBER must be the run's."""
    jail.person.file("victim", secret)
    with subprocess.Popen(["sleep", "60"], cwd=jail.person.directory(jail.person.home / "work"),
                          env=jail.person.environment, stdin=subprocess.DEVNULL, **jail.identity()) as victim:
        try:
            paths = [f"/proc/{victim.pid}/{rest}" for rest in ("cwd/planted", "root/planted", "fd/1", "mem", "comm",
                                                             "oom_score_adj", "task/{}/comm".format(victim.pid))]
            tried = [["create-old", path, "evil"] for path in paths] + [["write", path, "evil"] for path in paths]
            tried += [["mkdir", paths[0]], ["symlink", "x", paths[0]], ["bind-socket", paths[0]],
                      ["rename", "victim", paths[0]], ["chmod", f"/proc/{victim.pid}/cwd", "0777"]]
            with unchanged(jail.person.home / "work"):
                found = jail.attacks(*tried)
            assert successes(tried, found, frozenset({"ENOENT"})) == []
            assert jail.attack_outside("create-old", paths[0], "seen") == OK
        finally:
            victim.kill()


def test_a36_cloches_own_policy_and_state_are_out_of_reach(jail):
    person = jail.person
    policy = person.file("deep/policy.json", jail.policy())
    person.file("ordinary", "ordinary")
    tried = spelled(WAYS_TO_CHANGE + WAYS_TO_MARK + WAYS_TO_REMOVE, "deep/policy.json")
    tried += [["rename", "deep", "away"]]
    tried += [["mkdir", person.home / ".config/cloche"], ["create", person.home / ".local/state/cloche", "evil"]]
    with unchanged(policy, policy.parent):
        found = jail.attacks(*tried, options=["--settings", policy])
        assert successes(tried, found, frozenset({"ENOENT"})) == []
    assert jail.attack("create", "deep/other.json", "fine", options=["--settings", policy]) == OK


@pytest.mark.parametrize("call", ["openat", "openat2", "renameat2", "io_uring_enter"])
def test_call_that_would_pass_by_the_doorman_refuses_the_run(jail, call):
    """seccomp.allow lets it through whatever the filter says: nobody would be asked about the name."""
    policy = {"extends": ["preset:dev"], "seccomp": {"allow": [call]}}
    answer = jail.run("sh", "-c", "echo evil >.envrc", policy=policy)
    assert answer.returncode == 125 and f"seccomp.allow lets {call} through" in answer.stderr, answer
    assert not (jail.person.project / ".envrc").exists()
    policy["seccomp"]["allow"] = ["keyctl"]
    answer = jail.run("sh", "-c", "echo fine >made; echo evil >.envrc", policy=policy)
    assert "Permission denied" in answer.stderr and not (jail.person.project / ".envrc").exists(), answer
    assert (jail.person.project / "made").read_text() == "fine\n"
