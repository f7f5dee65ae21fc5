"""Ways in which a command once got more than its policy says, kept shut.

Each test plays the attack against the real binary, judged from the host, with the
honest case beside it."""

import os
import subprocess
import time

import pytest

from judging import as_person, wait_until


def git(person, *arguments, cwd):
    done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=cwd, check=True,
                          capture_output=True, text=True, **as_person(person),
                          env={"PATH": "/usr/bin:/bin", "HOME": str(person.home)})
    return done.stdout


@pytest.fixture
def worktree(person):
    """A linked worktree as the project, its repository elsewhere in the home."""
    repository = person.directory("main")
    git(person, "init", "-q", cwd=repository)
    git(person, "commit", "-q", "--allow-empty", "-m", "first", cwd=repository)
    git(person, "worktree", "add", "-q", str(person.home / "tree"), cwd=repository)
    git(person, "worktree", "add", "-q", str(person.home / "other"), cwd=repository)
    person.tree = person.home / "tree"
    person.repository = repository
    return person


def test_project_cannot_vouch_for_itself_as_a_git_worktree(person):
    secret = person.file(person.home / ".ssh" / "id_rsa", "the secret key\n")
    plant = 'mkdir x; echo ../.. >x/commondir; echo ../.git >x/gitdir; echo "gitdir: x" >.git'
    assert person.cloche("run", "sh", "-c", plant).returncode == 0
    answer = person.cloche("run", "sh", "-c", f"cat {secret}; echo x >{person.home}/planted")
    assert "the secret key" not in answer.stdout
    assert not (person.home / "planted").exists()


def test_git_works_in_a_linked_worktree_and_cannot_make_git_run_anything(worktree):
    person = worktree
    work = "echo b >b && git add b && git -c user.name=t -c user.email=t@t commit -qm second && echo done"
    answer = person.cloche("run", "sh", "-c", work, cwd=person.tree)
    assert answer.stdout == "done\n", answer.stderr
    assert "second" in git(person, "log", "--oneline", "--all", cwd=person.repository)

    pointers = [person.tree / ".git", person.repository / ".git" / "worktrees" / "other" / "commondir",
                person.repository / ".git" / "config"]
    before = [path.read_bytes() for path in pointers]
    for path in [*pointers, person.repository / ".git" / "hooks" / "post-checkout"]:
        person.cloche("run", "sh", "-c", f"echo 'gitdir: ./evil' >{path}; rm -f {path}; mv {path} {path}2", cwd=person.tree)
    assert [path.read_bytes() for path in pointers] == before
    assert not (person.repository / ".git" / "hooks" / "post-checkout").exists()


def test_forged_repository_opens_nothing_of_another_project(person):
    secret = person.file(person.home / "A" / ".env", "the secret\n")
    for name in ("HEAD", "objects/x", "refs/x"):
        person.file(person.home / "A" / name)
    person.file(person.home / "A" / "worktrees" / "x" / "commondir", "../..\n")
    person.file(person.home / "A" / "worktrees" / "x" / "gitdir", f"{person.project}/.git\n")
    person.file(".git", f"gitdir: {person.home}/A/worktrees/x\n")
    answer = person.cloche("run", "sh", "-c", f"cat {secret}; echo x >{secret.parent}/new; echo x >made")
    assert "the secret" not in answer.stdout
    assert not (secret.parent / "new").exists()
    assert (person.project / "made").exists()


def test_directory_closed_by_an_earlier_run_is_held_by_the_next(person):
    if person.uid == 0:
        pytest.skip("nothing is closed to root")
    config = person.file(".git/config", "as it was\n")
    person.directory(person.project / ".git" / "hooks")
    assert person.cloche("run", "chmod", "0", ".git").returncode == 0
    person.cloche("run", "sh", "-c", "chmod 755 .git; echo evil >>.git/config; echo evil >.git/hooks/pre-commit; mv .git g")
    (person.project / ".git").chmod(0o755)
    assert config.read_text() == "as it was\n"
    assert not (person.project / ".git" / "hooks" / "pre-commit").exists()


def test_policy_reached_through_a_link_in_the_project_is_not_trusted_to_stay(person):
    policy = person.file(person.home / "policies" / "p.json", {"extends": ["preset:dev"]})
    person.link("pol.json", policy)
    environment = {"CLOCHE_POLICY": str(person.project / "pol.json")}
    script = "rm pol.json; ln -sf /etc/hostname pol.json; mv pol.json gone; mv made pol.json; echo x >made"
    assert person.cloche("run", "sh", "-c", script, environment=environment).returncode == 0
    assert (person.project / "pol.json").readlink() == policy
    assert (person.project / "made").read_text() == "x\n"
    # Named directly, it is not in reach.
    assert person.cloche("run", "true", environment={"CLOCHE_POLICY": str(policy)}).returncode == 0


def test_policy_that_another_run_obeys_is_not_written(person):
    policy = person.file("other.json", {"extends": ["preset:dev"]})
    before = policy.read_text()
    environment = {"CLOCHE_POLICY": str(policy)}
    person.cloche("run", "-p", "dev", "sh", "-c", "echo '{}' >other.json; rm other.json; echo x >made", environment=environment)
    assert policy.read_text() == before
    assert (person.project / "made").exists()


def test_policy_of_the_next_run_cannot_be_made(person):
    person.directory(".config")
    policy = person.file(person.home / "policy.json", {"filesystem": {"allowWrite": ["~/.config", "."]}})
    make = 'mkdir -p ~/.config/cloche && echo \'{"extends":[]}\' >~/.config/cloche/policy.json'
    answer = person.cloche("run", "-s", policy, "sh", "-c", make)
    assert answer.returncode != 0
    assert not (person.home / ".config" / "cloche").exists()
    # Nor prepared and moved there, nor led there by a link.
    prepared = "mkdir ~/.config/x && echo '{}' >~/.config/x/policy.json && "
    for last in ("mv ~/.config/x ~/.config/cloche", "ln -s x ~/.config/cloche"):
        assert person.cloche("run", "-s", policy, "sh", "-c", prepared + last).returncode != 0
        assert not os.path.lexists(person.home / ".config" / "cloche")
        assert person.cloche("run", "-s", policy, "sh", "-c", "rm -r ~/.config/x").returncode == 0

    # Without a doorman such a run is not let through at all.
    nested = person.file(person.home / "nested.json", {"extends": [str(policy)], "allowNestedUserNamespaces": True})
    answer = person.cloche("run", "-s", nested, "sh", "-c", make)
    assert answer.returncode == 125 and "the next run would obey what it wrote" in answer.stderr

    # With the directory there, the run goes on and the directory is held.
    person.directory(".config/cloche")
    answer = person.cloche("run", "-s", policy, "sh", "-c", make + "; echo y >~/.config/other")
    assert answer.returncode == 0
    assert not list((person.home / ".config" / "cloche").iterdir())
    assert (person.home / ".config" / "other").read_text() == "y\n"


@pytest.mark.parametrize("name", [".git/worktrees/w/commondir", ".git/modules/m/hooks/pre-commit", ".IDEA/workspace.xml",
                                  ".claude/settings.extra.json", ".husky/pre-commit"])
def test_protected_names_that_exist_are_held_however_they_are_spelt(person, name):
    path = person.file(name, "as it was\n")
    person.file("ordinary", "as it was\n")
    person.cloche("run", "sh", "-c", f"echo evil >{name}; rm -rf {name}; echo new >ordinary")
    assert path.read_text() == "as it was\n"
    assert (person.project / "ordinary").read_text() == "new\n"


def test_protected_name_that_is_a_link_is_held_where_it_leads(person):
    hook = person.file("real/pre-commit", "as it was\n")
    person.link(".husky", "real")
    person.cloche("run", "sh", "-c", "echo evil >.husky/pre-commit; echo evil >real/pre-commit; echo ok >fine")
    assert hook.read_text() == "as it was\n"
    assert (person.project / "fine").exists()


def test_deny_write_is_no_success_into_the_void(person):
    person.file(person.home / ".cache" / "f", "cached\n")
    policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "filesystem": {"denyWrite": ["~/.cache"]}})
    assert person.cloche("run", "-s", policy, "sh", "-c", "echo x >~/.cache/f").returncode != 0
    assert person.cloche("run", "sh", "-c", "echo x >~/.cache/f").returncode == 0  # private, without the rule
    assert (person.home / ".cache" / "f").read_text() == "cached\n"


def test_secret_directory_is_no_project_by_implication(person):
    key = person.file(person.home / ".ssh" / "id_rsa", "the secret key\n")
    answer = person.cloche("run", "cat", "id_rsa", cwd=key.parent)
    assert answer.returncode == 125 and "-C" in answer.stderr
    assert "the secret key" not in answer.stdout
    assert person.cloche("run", "-C", ".", "cat", "id_rsa", cwd=key.parent).stdout == "the secret key\n"


def test_home_variable_does_not_decide_what_is_secret():
    """As the root of this machine, with HOME set elsewhere (sudo keeps it): root's own home stays hidden."""
    import os
    import pathlib
    import tempfile

    if os.geteuid() != 0:
        pytest.skip("needs another user")
    home = pathlib.Path("/root")
    secret = home / ".netrc"
    if secret.exists():
        pytest.skip("needs a home without secrets of its own")
    binary = os.environ.get("CLOCHE") or pathlib.Path(__file__).parents[2] / "build" / "cloche"
    with tempfile.TemporaryDirectory(dir="/home") as other:
        secret.write_text("the secret token\n")
        try:
            done = subprocess.run([binary, "run", "-C", other, "cat", secret], env={"HOME": other, "PATH": "/usr/bin:/bin"},
                                  capture_output=True, text=True, check=False)
        finally:
            secret.unlink()
    assert "the secret token" not in done.stdout


def test_search_path_does_not_open_what_a_rule_closes(person):
    tool = person.file(person.home / "tools" / "bin" / "tool", "the closed tool\n")
    policy = person.file(person.home / "policy.json",
                         {"extends": ["preset:dev"], "rules": [{"path": "~/tools", "access": "none"}]})
    path = {"PATH": f"{tool.parent}:/usr/bin:/bin"}
    assert person.cloche("run", "cat", tool, environment=path).stdout == "the closed tool\n"
    assert "the closed tool" not in person.cloche("run", "-s", policy, "cat", tool, environment=path).stdout


@pytest.mark.parametrize("preset", ["base", "dev", "readonly", "workspace", "mcp"])
def test_link_left_in_the_project_does_not_choose_what_a_preset_shows(person, preset):
    """Presets show .env.example. One run makes it a link to the keys, the next would see them."""
    person.file(person.home / ".ssh/id_rsa", "the secret key\n")
    assert person.cloche("run", "ln", "-s", "../.ssh", ".env.example").returncode == 0
    answer = person.cloche("run", "-p", preset, "sh", "-c", "cat .env.example/id_rsa ~/.ssh/id_rsa; echo ran")
    assert (answer.returncode, answer.stdout) == (0, "ran\n"), answer.stderr
    (person.project / ".env.example").unlink()
    person.file(".env.example", "NAME=\n")
    assert person.cloche("run", "-p", preset, "cat", ".env.example").stdout == "NAME=\n"


@pytest.mark.parametrize("rule", ["allowRead", "allowWrite"])
def test_link_left_in_the_project_does_not_choose_what_a_narrower_policy_allows(person, rule):
    person.file(person.home / ".ssh/id_rsa", "the secret key\n")
    person.file(person.home / "shared/file", "shared\n")
    assert person.cloche("run", "ln", "-s", "../.ssh", "lib").returncode == 0

    def run(path):
        policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "filesystem": {
            "allowWrite": ["!$PROJECT_DIR"], "allowRead": ["$PROJECT_DIR"]}})
        addition = person.file(person.home / "addition.json", {"extends": [], "filesystem": {rule: [path]}})
        return person.cloche("run", "-s", policy, "-s", addition, "sh", "-c", "cat lib/id_rsa link/file; echo ran")

    answer = run("$PROJECT_DIR/lib")
    assert (answer.returncode, answer.stdout) == (125, "")
    assert f"{person.project}/lib" in answer.stderr and "Name the target itself" in answer.stderr
    # Named itself, the target of a link is allowed; and so is a link of the user's own, outside the project.
    person.link("link", person.home / "shared")
    assert run("~/shared").stdout == "shared\nran\n"
    person.link(person.home / "own-link", person.home / "shared")
    assert run("~/own-link").stdout == "shared\nran\n"


def test_rule_that_says_read_holds_in_a_directory_that_an_earlier_run_closed(person):
    file = person.file("a/kept/file")
    policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "rules": [
        {"path": "$PROJECT_DIR/a/kept", "access": "read"}]})
    assert person.cloche("run", "-s", policy, "chmod", "0", "a").returncode == 0
    try:
        person.cloche("run", "-s", policy, "sh", "-c", "chmod 700 a; echo changed > a/kept/file; mv a/kept a/b; echo > b")
    finally:
        (person.project / "a").chmod(0o755)
    assert file.read_text() == "content\n" and (person.project / "b").exists()


def test_protected_names_are_held_where_everything_may_be_written(person):
    """A list of "/" was read, has no name for "/" itself, and so "/" was taken for absent."""
    for name in (".config/cloche/policy.json", ".srt-settings.json", ".local/state/cloche/x"):
        person.file(person.home / name, {})
    policy = person.file("../policy.json", {
        "extends": ["preset:base"], "filesystem": {"allowWrite": ["/"], "tmp": "host", "caches": "host"},
        "network": {"mode": "host", "allowAllUnixSockets": True}, "violation": {"watch": "off"}})
    assert wait_until(lambda: time.time() - os.stat("/").st_ctime > 3.1)  # only then is its list believed
    person.cloche("run", "-q", "-s", policy, "sh", "-c",
                  "echo x >.bashrc; mkdir .vscode; echo x >.vscode/tasks.json; echo x >plain")
    assert (person.project / "plain").exists()
    assert not (person.project / ".bashrc").exists() and not (person.project / ".vscode/tasks.json").exists()
