"""`cloche learn` runs a command, watches it, and writes the policy it needs: under that
policy it runs again and is denied nothing, and the policy grants what is stated here
and no more. What it wrote outside its project meanwhile is gone."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from git_server import Git
from judging import fingerprint
from remote_world import SERVER_V4, publish_npm_package, publish_python_package

PYTHON = "/usr/bin/python3"


def learned(person):
    """What the policy grants: its lists, by name. Comments are for people."""
    text = re.sub(r"^\s*//.*$", "", (person.home / "learned.json").read_text(), flags=re.M)
    policy = json.loads(text)
    assert policy.pop("extends") == ["preset:dev"]
    grants = {}
    for section, keys in policy.items():
        for key, value in keys.items():
            if (section, key) != ("network", "mode"):
                grants[key] = sorted(value)
    return grants


def learn(person, *command, call=None):
    call = call or person.cloche
    return call("learn", "-o", str(person.home / "learned.json"), "--", *command)


def denied_again(person, *command, call=None):
    """Runs it under what was learned, all of it watched; what it was denied."""
    events = person.file("../events.json", "")
    call = call or person.cloche
    answer = call("run", "-s", str(person.home / "learned.json"), "-s", '{"extends": [], "violation": {"watch": "all"}}',
                  "--events", str(events), "--", *command)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    assert lines[-1]["op"] == "end"
    return [line["object"] for line in lines if line["verdict"] == "denied"]


WORK = """
import os, pathlib
home = pathlib.Path.home()
(home / ".config/tool/settings").read_text()
(home / ".config/tool/state").write_text("new")
(home / ".local/share/thing/deep").mkdir(parents=True, exist_ok=True)
(home / ".local/share/thing/deep/file").write_text("new")
(home / "notes/today").read_text()
pathlib.Path("result").write_text("done")
print("done")
"""

FORBIDDEN = """
import os, pathlib
home = pathlib.Path.home()
for attempt in (lambda: (home / ".ssh/id_rsa").read_text(), lambda: (home / ".bashrc").write_text("evil"),
                lambda: (home / "stray").write_text("x"), lambda: os.listdir(home), lambda: open("/etc/new", "w"),
                lambda: open(".env").read()):
    try:
        attempt()
    except OSError:
        pass
"""


@pytest.fixture
def somebody(person):
    person.environment["XDG_STATE_HOME"] = str(person.directory(person.base / "state"))  # cloche's own log
    person.file(person.home / ".config/tool/settings", "old\n")
    person.file(person.home / ".config/other/settings", "old\n")
    person.file(person.home / "notes/today", "notes\n")
    person.file(person.home / "notes/private", "notes\n")
    person.file(person.home / ".ssh/id_rsa", "secret\n")
    person.file(person.home / ".bashrc", "# mine\n")
    person.file(".env", "secret\n")
    return person


def test_what_was_used_is_granted_and_nothing_else(somebody):
    assert somebody.cloche("run", PYTHON, "-c", WORK).returncode != 0  # without it, it cannot
    before = fingerprint(somebody.home, {somebody.project})
    answer = learn(somebody, PYTHON, "-c", WORK)
    assert answer.returncode == 0 and answer.stdout == "done\n", answer.stderr
    assert learned(somebody) == {"allowRead": ["~/notes/today"], "allowWrite": ["~/.config/tool", "~/.local/share/thing"]}
    (somebody.home / "learned.json").rename(somebody.base / "kept.json")
    assert fingerprint(somebody.home, {somebody.project}) == before
    assert (somebody.project / "result").read_text() == "done"

    (somebody.base / "kept.json").rename(somebody.home / "learned.json")
    made = re.search(r"before the run, mkdir -p (\S+)$", answer.stderr, re.M).group(1)
    assert made == str(somebody.home / ".local/share/thing")
    somebody.directory(made)
    assert denied_again(somebody, PYTHON, "-c", WORK) == []
    assert (somebody.home / ".local/share/thing/deep/file").read_text() == "new"


def test_secrets_protected_names_and_the_whole_home_are_never_granted(somebody):
    before = fingerprint(somebody.home, {somebody.project})
    answer = learn(somebody, PYTHON, "-c", FORBIDDEN)
    assert answer.returncode == 0, answer.stderr
    granted = learned(somebody)
    (somebody.home / "learned.json").unlink()
    # A file at the top of the home is one that it may be given by name, if it is made before.
    assert granted == {"allowWrite": ["~/stray"]}
    assert fingerprint(somebody.home, {somebody.project}) == before
    refused = answer.stderr.split("refused:\n")[1]
    for path in (".ssh/id_rsa", ".bashrc", "project/.env"):
        assert str(somebody.home / path) in refused, path
    assert f"read {somebody.home}," in refused


@pytest.fixture
def elsewhere(somebody):
    """A directory of theirs outside the home, where the default policy lets them look."""
    if os.geteuid() != 0:
        yield somebody.directory(somebody.base / "elsewhere")
        return
    with tempfile.TemporaryDirectory(prefix="cloche-test-", dir="/srv") as made:
        yield somebody.own(pathlib.Path(made))


def test_what_it_was_refused_and_went_on_without_is_optional(somebody, elsewhere):
    answer = learn(somebody, "sh", "-c", f"touch {elsewhere}/x; echo went on")
    assert answer.stdout == "went on\n" and not (elsewhere / "x").exists()
    assert learned(somebody) == {}
    assert f'//   filesystem.allowWrite: "{elsewhere}"' in (somebody.home / "learned.json").read_text()
    (somebody.home / "learned.json").unlink()
    answer = learn(somebody, "sh", "-c", f"touch {elsewhere}/x")
    assert answer.returncode == 1 and "the command ended with 1" in answer.stderr
    assert learned(somebody) == {"allowWrite": [str(elsewhere)]}
    assert denied_again(somebody, "touch", f"{elsewhere}/x") == [] and (elsewhere / "x").exists()


def test_an_existing_file_is_not_overwritten_and_nothing_runs(somebody):
    somebody.file(somebody.home / "learned.json", "mine")
    answer = learn(somebody, "touch", "ran")
    assert answer.returncode == 125 and not (somebody.project / "ran").exists()
    assert (somebody.home / "learned.json").read_text() == "mine"


def test_the_file_may_be_named_among_the_options(somebody):
    file = somebody.home / "learned.json"
    for options in (["-p", "dev", "-o", file], ["-v", "--output", file, "-p", "dev"], [f"--output={file}"]):
        answer = somebody.cloche("learn", *options, "--", "true")
        assert answer.returncode == 0 and learned(somebody) == {}, answer
        file.unlink()
    for options, said in ((["-o"], "-o needs a value"), (["-o", ""], "-o needs the name of a file")):
        answer = somebody.cloche("learn", *options)
        assert answer.returncode == 125 and said in answer.stderr
    assert somebody.cloche("run", "-o", "x", "true").returncode == 125, "nothing that run takes"


def test_lock_and_swap_files_are_neither_granted_nor_to_be_made(somebody):
    script = "touch ~/.toolrc.lock ~/.toolrc.swp ~/.toolrc && rm ~/.toolrc.lock"
    answer = learn(somebody, "sh", "-c", script)
    assert learned(somebody) == {"allowWrite": ["~/.toolrc"]}
    assert f"touch {somebody.home}/.toolrc\n" in answer.stderr
    text = (somebody.home / "learned.json").read_text()
    for name in (".toolrc.lock", ".toolrc.swp"):
        assert f"touch {somebody.home}/{name}" not in answer.stderr
        assert f"//   write {somebody.home}/{name}: a temporary file beside {somebody.home}/.toolrc;" in text


def test_without_a_file_the_policy_is_said(somebody):
    answer = somebody.cloche("learn", "true")
    assert answer.returncode == 0 and answer.stdout == ""
    assert '"extends": ["preset:dev"]' in answer.stderr and "nothing beyond" in answer.stderr


# ---- real programs ----


@pytest.fixture
def out(world, person, site):
    return lambda *words: world.cloche(person, *words, seconds=120)


def test_git_clone_and_build(world, person, site, out):
    root = world.directory / "learn-git"
    work = root / "work"
    if not work.exists():
        work.mkdir(parents=True)
        (work / "Makefile").write_text("prog: prog.c\n\tcc -o prog prog.c\n")
        (work / "prog.c").write_text("int main(void) { return 0; }\n")
        git = ["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["git", "init", "-q", work], [*git, "add", "-A"], [*git, "commit", "-qm", "one"],
                        ["git", "clone", "-q", "--bare", work, root / "project.git"]):
            subprocess.run(command, check=True)
    port = world.port()
    server = world.web((SERVER_V4, port))
    server.RequestHandlerClass = Git
    server.root = str(root)
    build = ["sh", "-c", f"git clone -q http://site.test:{port}/project.git copy && make -s -C copy && copy/prog"]
    answer = learn(person, *build, call=out)
    assert answer.returncode == 0, answer.stderr
    assert learned(person) == {"allowedDomains": [f"site.test:{port}"]}
    shutil.rmtree(person.project / "copy")
    assert denied_again(person, *build, call=out) == []
    assert (person.project / "copy/prog").exists()


def test_npm_install_and_test(world, person, site, out):
    publish_npm_package(site, "gift")
    person.file("package.json", {"name": "user", "version": "1.0.0", "scripts": {"test": "node -e \"require('gift')\""}})
    work = ["sh", "-c", "rm -rf node_modules package-lock.json && npm install --no-audit --no-fund --no-update-notifier "
            "--registry http://packages.test/ --fetch-retries=0 gift && npm test --no-update-notifier"]
    answer = learn(person, *work, call=out)
    assert answer.returncode == 0, answer.stderr
    assert learned(person) == {"allowedDomains": ["packages.test:80"]}
    assert denied_again(person, *work, call=out) == []
    assert (person.project / "node_modules/gift/index.js").exists()


def test_pip_install(world, person, site, out):
    publish_python_package(site, "gift")
    person.file("settings.txt", "gift\n")
    pip = "/usr/bin/python3 -m pip --disable-pip-version-check --retries 0 install -q --target site"
    index = "--index-url http://packages.test/simple/ --trusted-host packages.test"
    work = ["sh", "-c", f"rm -rf site && {pip} {index} -r settings.txt && PYTHONPATH=site /usr/bin/python3 -m gift"]
    answer = learn(person, *work, call=out)
    assert (answer.returncode, answer.stdout) == (0, "42\n"), answer
    assert learned(person) == {"allowedDomains": ["packages.test:80"]}
    assert denied_again(person, *work, call=out) == []
    assert (person.project / "site/gift.py").exists()


SERVER = """
import json, pathlib, sys, urllib.request
home = pathlib.Path.home()
settings = json.loads((home / ".config/mcp-demo/config.json").read_text())
state = home / ".local/state/mcp-demo"
state.mkdir(parents=True, exist_ok=True)
for line in sys.stdin:
    request = json.loads(line)
    (state / "last").write_text(line)
    page = urllib.request.urlopen(settings["url"]).read().decode()
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": page}), flush=True)
"""


def test_a_server_on_standard_input_and_output(world, person, site, out):
    person.file(person.home / ".config/mcp-demo/config.json", {"url": "http://site.test/tool"})
    person.file("server.py", SERVER)
    work = ["sh", "-c", f"echo '{{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\"}}' | {PYTHON} server.py"]
    answer = learn(person, *work, call=out)
    assert json.loads(answer.stdout)["result"].strip() == "page /tool of site.test", answer.stderr
    assert learned(person) == {"allowRead": ["~/.config/mcp-demo/config.json"], "allowWrite": ["~/.local/state/mcp-demo"],
                               "allowedDomains": ["site.test:80"]}
    person.directory(person.home / ".local/state/mcp-demo")
    assert denied_again(person, *work, call=out) == []
