"""Git's configuration by meaning: a repository that was there before, the default policy, and git's own commands.

What git wrote is judged from outside, by the host's git; and beside what works stands what is refused, with the key
named."""

import json
import os
import pathlib
import stat

import pytest

from git_server import git_server
from judging import call_outside, fingerprint, git_identity
from test_no_ghosts import Watcher


def configuration(person, path=".git/config"):
    return dict(line.split("=", 1) for line in call_outside(person, "git", "config", "--list", "--file", path).splitlines())


def work(person, script, *options):
    answer = person.cloche("run", "--backend", "namespaces", *options, "bash", "-c", f"set -e -o pipefail\n{script}")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer


@pytest.fixture
def repository(person):
    git_identity(person)
    person.file("a", "one\n")
    call_outside(person, "git", "init", "-q")
    call_outside(person, "git", "add", "-A")
    call_outside(person, "git", "commit", "-qm", "first")
    return person


@pytest.fixture
def served(repository):
    """The same with a remote, and another repository beside it, on a server."""
    root = repository.directory(repository.base / "served")
    for name, source in (("project", repository.project), ("library", repository.project)):
        call_outside(repository, "git", "clone", "-q", "--bare", source, root / f"{name}.git")
        call_outside(repository, "git", "-C", root / f"{name}.git", "config", "http.receivepack", "true")
    with git_server(root) as port:
        repository.server = f"http://localhost:{port}"
        repository.options = ["--host-port", str(port)]
        repository.served = root
        call_outside(repository, "git", "remote", "add", "origin", f"{repository.server}/project.git")
        call_outside(repository, "git", "-c", "http.proxy=", "fetch", "-q")
        yield repository


# What must work


def test_a_branch_that_follows_another_is_made(served):
    work(served, """
        git checkout -q -b topic --track origin/main; git checkout -q -b second --track main; git checkout -q -b third
        git branch -q --set-upstream-to origin/main; test "$(git rev-parse --abbrev-ref @{u})" = origin/main""")
    found = configuration(served)
    assert (found["branch.topic.remote"], found["branch.topic.merge"]) == ("origin", "refs/heads/main")
    assert (found["branch.second.remote"], found["branch.second.merge"]) == (".", "refs/heads/main")
    assert found["branch.third.remote"] == "origin"
    work(served, "git branch -m third fourth; git branch -qD topic; git branch --unset-upstream")
    found = configuration(served)
    assert "branch.topic.remote" not in found and "branch.fourth.remote" not in found and "branch.third.remote" not in found


def test_a_branch_is_pushed_and_followed_from_then_on(served):
    work(served, """
        git checkout -q -b topic; echo more >>a; git commit -qam more; git push -q -u origin topic
        echo again >>a; git commit -qam again; git push -q; git pull -q""", *served.options)
    assert configuration(served)["branch.topic.merge"] == "refs/heads/topic"
    assert call_outside(served, "git", "-C", served.served / "project.git", "log", "-1", "--format=%s", "topic") == "again\n"
    assert call_outside(served, "git", "status", "-sb").splitlines() == ["## topic...origin/topic"]


def test_remotes_are_added_and_led_elsewhere_and_that_is_told(served):
    events = served.base / "events"
    served.own(pathlib.Path(events.touch() or events))
    answer = work(served, f"""
        git remote add other {served.server}/library.git; git fetch -q other
        git remote add third git@example.org:x/y.git; git config remote.third.pushurl ssh://git@example.org/x/y
        git remote set-url origin https://example.org/new.git""", *served.options, "--events", events)
    found = configuration(served)
    assert found["remote.other.fetch"] == "+refs/heads/*:refs/remotes/other/*"
    assert found["remote.origin.url"] == "https://example.org/new.git"
    assert call_outside(served, "git", "rev-parse", "other/main") == call_outside(served, "git", "rev-parse", "main")
    assert "changed by this run" in answer.stderr and "remote.origin.url: was " in answer.stderr
    told = [event for event in map(json.loads, events.read_text().splitlines()) if event["kind"] == "fs.write"]
    assert [(event["object"], event["verdict"], event["reason"]) for event in told] == [
        (f"{served.project}/.git/config", "observed", "remote.third.pushurl: was not set and is now ssh://git@example.org/x/y"),
        (f"{served.project}/.git/config", "observed",
         f"remote.origin.url: was {served.server}/project.git and is now https://example.org/new.git")]


def test_names_and_choices_are_set_and_taken_back(repository):
    work(repository, """
        git config user.name 'Ümit "U" O'"'"'Brien # x'; git config user.email u@example.org; git config pull.rebase true
        git config push.default current; git config push.autoSetupRemote true; git config pull.ff only
        test "$(git config user.name)" = 'Ümit "U" O'"'"'Brien # x'; git commit -q --allow-empty -m mine""")
    found = configuration(repository)
    assert found["user.name"] == "Ümit \"U\" O'Brien # x" and found["push.autosetupremote"] == "true"
    assert call_outside(repository, "git", "log", "-1", "--format=%ae") == "u@example.org\n"
    work(repository, "git config --unset user.name; git config --remove-section pull; git config --unset-all push.default")
    assert set(configuration(repository)) & {"user.name", "pull.rebase", "pull.ff", "push.default"} == set()


def test_git_init_in_a_repository_changes_nothing(repository):
    before = configuration(repository)
    mode = os.stat(repository.project / ".git/config").st_mode
    work(repository, "git init -q")
    assert configuration(repository) == before and os.stat(repository.project / ".git/config").st_mode == mode


def test_new_repositories_clones_and_worktrees_are_configured_freely(served):
    work(served, f"""
        git clone -q {served.server}/library.git copy; git -C copy config core.pager less; git -C copy checkout -q -b x --track origin/main
        git init -q new; git -C new config alias.st status; git worktree add -q trees/side -b side --track origin/main
        cd trees/side; echo s >s; git add s; git commit -qm side; git push -q -u origin side""", *served.options)
    assert configuration(served, "copy/.git/config")["core.pager"] == "less"
    assert configuration(served, "new/.git/config")["alias.st"] == "status"
    assert configuration(served)["branch.side.remote"] == "origin"


def test_submodules_are_fetched(served):
    """.gitmodules is a protected name of its own: what it says was there before, or in a repository of the run's."""
    served.file(".gitmodules", f'[submodule "library"]\n\tpath = library\n\turl = {served.server}/library.git\n')
    tip = call_outside(served, "git", "rev-parse", "main").strip()
    call_outside(served, "git", "update-index", "--add", "--cacheinfo", f"160000,{tip},library")
    call_outside(served, "git", "add", ".gitmodules")
    call_outside(served, "git", "commit", "-qm", "submodule")
    work(served, "git submodule update -q --init; cat library/a; git -C library config user.name Me", *served.options)
    assert configuration(served)["submodule.library.url"] == f"{served.server}/library.git"
    assert call_outside(served, "git", "submodule", "status").split()[0] == tip
    # In the next run it is from before.
    work(served, """
        git -C library checkout -q -b topic --track origin/main; git submodule update -q
        ! git -C library config core.fsmonitor evil; ! git -C library config core.worktree /""", *served.options)
    found = configuration(served, ".git/modules/library/config")
    assert found["branch.topic.remote"] == "origin" and found["core.worktree"] == "../../../library"
    assert "core.fsmonitor" not in found


def test_submodules_are_added_where_gitmodules_may_be_written(served):
    answer = served.cloche("run", *served.options, "git", "submodule", "add", f"{served.server}/library.git")
    assert answer.returncode != 0 and ".gitmodules" in answer.stderr
    work(served, f"git init -q new; cd new; git submodule add -q {served.server}/library.git; git commit -qm added",
         *served.options)
    assert call_outside(served, "git", "-C", "new", "submodule", "status").split()[1] == "library"
    policy = served.file(served.base / "policy.json", {"extends": ["preset:dev"], "filesystem": {"unprotect": [".gitmodules"]}})
    work(served, f"git submodule add -q {served.server}/library.git lib; git commit -qm added", *served.options, "-s", policy)
    assert configuration(served)["submodule.lib.url"] == f"{served.server}/library.git"


# How it is put in place


def test_mode_owner_and_directory_stay_and_no_other_name_is_ever_seen(repository):
    config = repository.project / ".git/config"
    config.chmod(0o640)
    before = config.stat()
    with Watcher(config.parent) as watcher:
        work(repository, "chmod 600 .git/HEAD; git config user.name a; umask 0; git config user.name b")
        assert watcher.seen() <= {str(config), f"{config}.lock", f"{config.parent}/HEAD"}
    after = config.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o640 and after.st_nlink == 1
    assert configuration(repository)["user.name"] == "b"
    assert not os.path.lexists(f"{config}.lock")


def test_what_was_put_in_place_is_seen_at_once_inside(repository):
    answer = work(repository, """
        exec 3<.git/config; for i in 1 2 3; do git config user.name name-$i; git config user.name; sed -n 's/.*name = //p' .git/config; done
        grep -c name- <&3 || true""")
    assert answer.stdout.split() == ["name-1", "name-1", "name-2", "name-2", "name-3", "name-3", "0"]


def test_an_old_configuration_may_be_made_where_there_was_none(repository):
    (repository.project / ".git/config").unlink()
    work(repository, "git config user.name Me; ! git config core.pager evil")
    assert configuration(repository) == {"user.name": "Me"}


# What is refused, and how that is said


def refused(person, key, value, *options, environment=None):
    before = fingerprint(person.project / ".git", {person.project / ".git/objects"})
    answer = person.cloche("run", *options, "git", "config", key, value, environment=environment)
    assert answer.returncode != 0 and "could not" in answer.stderr, answer
    after = fingerprint(person.project / ".git", {person.project / ".git/objects"})
    config = f"{person.project}/.git/config"
    assert after[config] == before[config] and f"{config}.lock" not in after
    return answer


def test_each_refused_key_is_named_to_the_user_and_in_an_event(repository):
    events = repository.base / "events"
    repository.own(pathlib.Path(events.touch() or events))
    answer = repository.cloche("run", "--events", events, "bash", "-c", """
        git config core.fsmonitor ./evil; git config remote.x.url ../evil; git config user.name ok; git config core.fsmonitor ./evil
        printf '[alias]\\n\\ta = x\\n[diff "Q"]\\n\\ttextconv = y\\n' >>.git/config.lock
        /usr/bin/python3 -c 'import os; os.rename(".git/config.lock", ".git/config")'""")
    told = [event for event in map(json.loads, events.read_text().splitlines()) if event["kind"] == "fs.write"]
    assert {(event["object"], event["op"], event["verdict"], event["errno"]) for event in told} == {
        (f"{repository.project}/.git/config", "rename", "denied", "EACCES")}
    words = {event["reason"] for event in told}
    assert any(reason.startswith("core.fsmonitor: not among") for reason in words)
    assert any(reason.startswith("remote.x.url: must be a URL") for reason in words)
    assert any("alias.a, diff.Q.textconv: not among" in reason for reason in words)
    assert len(words) == 3
    for key in ("core.fsmonitor", "remote.x.url", "alias.a", "diff.Q.textconv"):
        assert key in answer.stderr
    assert "allowGitConfig" in answer.stderr
    assert configuration(repository)["user.name"] == "ok" and "core.fsmonitor" not in configuration(repository)


def test_what_is_not_understood_stays_as_it_is(repository):
    config = repository.project / ".git/config"
    for addition, words in (("[include]\n\tpath = x\n", "includes another file"), ("[a.b]\n\tc = d\n", "not understood: line 6"),
                            ("[alias]\n\tx = a\\\n b\n", "not understood: line 7")):
        original = config.read_text()
        config.write_text(original + addition)
        answer = refused(repository, "user.name", "x", "--backend", "namespaces")
        assert words in answer.stderr
        config.write_text(original)
    work(repository, "git config user.name x")


def test_the_policy_may_lift_it_or_refuse_all_of_it(repository):
    def policy(**filesystem):
        return repository.file(repository.base / "policy.json", {"extends": ["preset:dev"], "filesystem": filesystem})

    work(repository, "git config core.pager less; ! touch .git/hooks/pre-commit", "-s", policy(allowGitConfig=True))
    assert configuration(repository)["core.pager"] == "less"
    for filesystem in ({"denyWrite": [".git/config"]}, {"denyWrite": [".git"]}, {"protect": ["config"]}, {"protect": ["**/conf*"]}):
        refused(repository, "user.name", "x", "-s", policy(**filesystem))
    work(repository, "git config user.name x")


def test_without_a_doorman_and_for_srt_it_is_refused_as_a_whole(repository):
    refused(repository, "user.name", "x", "--backend", "landlock")
    nested = repository.file(repository.base / "policy.json", {"extends": ["preset:dev"], "allowNestedUserNamespaces": True})
    refused(repository, "user.name", "x", "-s", nested, "--allow-degraded", "late-names")
    settings = repository.file(repository.base / "srt.json", {
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}})
    before = (repository.project / ".git/config").read_bytes()
    answer = repository.srt("--settings", settings, "git", "config", "user.name", "x")
    assert answer.returncode != 0 and (repository.project / ".git/config").read_bytes() == before, answer


def test_explain_says_how_it_is_judged(repository):
    answer = repository.cloche("explain", "write:.git/config")
    assert answer.returncode == 1
    assert "held by doorman" in answer.stdout and "git may replace it by one that runs nothing" in answer.stdout
    assert "allowGitConfig" in answer.stdout
    whole = repository.cloche("explain").stdout
    assert any(line.startswith("doorman") and "/.git/config" in line for line in whole.splitlines())
    assert "git may replace" not in repository.cloche("explain", "--backend", "landlock", "write:.git/config").stdout
    assert "git may replace" not in repository.cloche("explain", "write:.git/hooks/x").stdout
