"""docs/recipes.md: every block is executed as it stands there, and what it promises is tried."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from judging import as_person, wait_until
from test_landlock_backend import CLONE3, EPERM, through

TOP = pathlib.Path(__file__).resolve().parents[2]
TEXT = (TOP / "docs" / "recipes.md").read_text(encoding="utf-8")


def blocks(heading):
    """The fenced blocks below a heading: (language, text)."""
    section = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    found = [part for part in section if part.startswith(heading)]
    assert len(found) == 1, heading
    return re.findall(r"^```(\w+)\n(.*?)^```$", found[0], re.MULTILINE | re.DOTALL)


def shell(person, text, **environment):
    return subprocess.run(["bash", "-euc", text], cwd=person.project, text=True, capture_output=True, timeout=60,
                          check=False, **as_person(person),
                          env={**person.environment, "PATH": f"{person.binaries}:{person.environment['PATH']}",
                               **environment})


def test_every_recipe_is_here():
    headings = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    tested = pathlib.Path(__file__).read_text(encoding="utf-8")
    assert headings and all(f'blocks("{heading}")' in tested for heading in headings)


# ---- MCP ----


SERVER = """
const fs = require("node:fs");
let rest = "";
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, params } = JSON.parse(line);
    let result;
    try { fs.writeFileSync(params.file, "written"); result = "ok"; } catch (error) { result = error.code; }
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  }
});
process.stdin.on("end", () => process.exit(0));
"""


@pytest.fixture
def server(person):
    """What stands at the place of the real server (tests/clients has that one): writes the files it is told to."""
    (_, text), = blocks("An MCP server in `.mcp.json`")
    person.file(".mcp.json", text)
    entry = json.loads(text)["mcpServers"]["files"]
    person.file(next(word for word in entry["args"] if word.endswith(".js")), SERVER)
    person.directory(person.project / "notes")
    run = subprocess.Popen([person.binaries / entry["command"], *entry["args"]], cwd=person.project, text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env={**person.environment, "SECRET_TOKEN": "x"}, **as_person(person))
    yield run
    run.stdin.close()
    run.wait(30)
    run.stdout.close()
    run.stderr.close()


def descendants(pid):
    children = [int(child) for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
                for child in file.read_text().split()]
    return children + [below for child in children for below in descendants(child)]


def ask(server, number, file):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "write", "params": {"file": str(file)}}) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def test_mcp_server_speaks_undisturbed_and_writes_only_what_it_is_for(person, server):
    answers = [ask(server, number, file) for number, file in
               enumerate(["notes/a", "b", person.home / "c", ".mcp.json", "notes/d"])]
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4]
    assert [answer["result"] for answer in answers] == ["ok", "EROFS", "EROFS", "EROFS", "ok"]
    assert sorted(path.name for path in (person.project / "notes").iterdir()) == ["a", "d"]


def test_mcp_server_ends_with_its_input(person, server):
    assert ask(server, 1, "notes/a")["result"] == "ok"
    server.stdin.close()
    assert server.wait(30) == 0
    assert server.stdout.read() == ""


def test_mcp_server_is_gone_when_its_client_is_killed(person, server):
    assert ask(server, 1, "notes/a")["result"] == "ok"
    begun = descendants(server.pid)
    assert begun
    server.kill()
    assert wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in begun))


# ---- opencode ----


@pytest.fixture
def opencode(person):
    """A program of that name on PATH, which says where it is and writes there."""
    program = person.file(person.home / ".local/bin/opencode", "#!/bin/sh\npwd\necho made > made\ncat ~/.ssh/id_rsa\n")
    program.chmod(0o755)
    person.file(person.home / ".ssh/id_rsa", "secret\n")
    person.environment["PATH"] = f"{program.parent}:{person.environment['PATH']}"
    return person.directory(person.home / "src/app")


def test_opencode_runs_in_the_project_it_is_given(person, opencode):
    commands = [text for _, text in blocks("opencode in a project directory")]
    assert len(commands) == 2
    for text in commands:
        answer = shell(person, text)
        assert answer.stdout == f"{opencode}\n", answer.stderr
        assert (opencode / "made").read_text() == "made\n"
        (opencode / "made").unlink()


def test_option_wins_over_the_variable(person, opencode):
    other = person.directory(person.home / "src/other")
    answer = shell(person, f"cloche run -p opencode -C {other} -- opencode", PROJECT_DIR=str(opencode))
    assert answer.stdout == f"{other}\n"


@pytest.mark.parametrize("name, words", [("nowhere", "does not exist"), ("file", "is not a directory")])
def test_project_that_is_none_is_refused_by_name(person, opencode, name, words):
    person.file(person.home / "file")
    place = person.home / name
    for text, whence in ((f"PROJECT_DIR={place} cloche run -p opencode -- opencode", "$PROJECT_DIR"),
                         (f"cloche run -p opencode -C {place} -- opencode", "-C")):
        answer = shell(person, text)
        assert (answer.returncode, answer.stdout) == (125, "")
        assert str(place) in answer.stderr and words in answer.stderr and whence in answer.stderr


def test_home_is_no_project_by_implication(person, opencode):
    answer = shell(person, "cd ~; cloche run -p opencode -- opencode")
    assert (answer.returncode, answer.stdout) == (125, "") and "-C" in answer.stderr


def test_missing_opencode_is_said(person):
    answer = shell(person, "cloche run -p opencode -C . -- opencode")
    assert answer.returncode == 127 and "opencode" in answer.stderr


# ---- Codex ----


def test_codex_recipes(person):
    person.file("key.pem", "secret\n")
    helper, settings = (text for _, text in blocks("Codex"))
    assert shell(person, helper).returncode == 0
    assert (person.project / "out").read_text() == "built\n"
    assert shell(person, helper.replace("echo built > out", "cat key.pem")).stdout == ""
    assert shell(person, helper.replace("echo built > out", "cat out")).stdout == "built\n"
    (person.project / "out").unlink()
    file = f"/tmp/codex-policy-{os.getpid()}-{person.uid}.json"
    try:
        answer = shell(person, settings.replace("/tmp/codex-policy.json", file))
    finally:
        pathlib.Path(file).unlink(missing_ok=True)
    assert answer.returncode == 0 and (person.project / "out").read_text() == "built\n", answer.stderr


# ---- a git hook ----


def test_git_hook(person):
    check = person.file("scripts/check", "#!/bin/sh\necho seen > checked\ncat ~/.ssh/id_rsa\ntouch ~/escaped\nexit 0\n")
    check.chmod(0o755)
    person.file(person.home / ".ssh/id_rsa", "secret\n")
    (_, text), = blocks("A git hook")
    prepare = "git init -q . && git config user.name n && git config user.email e@x\n"
    answer = shell(person, prepare + text)
    assert answer.returncode == 0 and "secret" not in answer.stdout, answer.stderr
    assert (person.project / "checked").exists() and not (person.home / "escaped").exists()
    (person.project / "checked").unlink()
    answer = shell(person, "cloche run -q -- git commit -q --allow-empty -m 'under glass'")
    assert answer.returncode == 0 and (person.project / "checked").exists(), answer.stderr
    check.write_text("#!/bin/sh\nexit 1\n")
    assert shell(person, "git commit -q --allow-empty -m refused").returncode != 0


# ---- sessions, jobs, containers ----


def test_commands_that_share_a_tmp(person):
    (_, text), = blocks("Commands that share a /tmp")
    answer = shell(person, text + 'echo "$COPROC_PID"')
    assert answer.returncode == 0 and (person.project / "result").read_text() == "built\n", answer.stderr
    assert wait_until(lambda: not os.path.exists(f"/proc/{answer.stdout.strip()}/fd/0"))
    assert shell(person, "cloche run -q -- cat /tmp/result").returncode != 0


def test_ci_job(person):
    (_, text), = blocks("A CI job")
    person.file("scripts/check", "#!/bin/sh\necho checked > out\n").chmod(0o755)
    answer = shell(person, text)
    assert answer.returncode == 0 and (person.project / "out").read_text() == "checked\n", answer.stdout + answer.stderr
    person.file("scripts/check", "#!/bin/sh\necho > .bashrc\nexit 0\n").chmod(0o755)
    answer = shell(person, text)
    assert answer.returncode != 0 and ".bashrc" in answer.stdout and not (person.project / ".bashrc").exists(), answer


def test_container(person):
    (_, text), = blocks("A container")
    person.file(person.home / ".ssh/id_rsa", "secret\n")
    person.file("scripts/check", "#!/bin/sh\ncat ~/.ssh/id_rsa\necho checked > out\n").chmod(0o755)
    person.environment["PATH"] = f"{person.binaries}:{person.environment['PATH']}"
    answer = through(person, ["answer", str(CLONE3), str(EPERM)], "-euc", text, name="/bin/bash")
    assert answer.returncode == 0 and (person.project / "out").read_text() == "checked\n", answer.stderr
    assert "secret" not in answer.stdout and "held by Landlock alone" in answer.stderr
    answer = through(person, ["answer", str(CLONE3), str(EPERM)], "-euc", text.replace("run --", "run --backend namespaces --"),
                     name="/bin/bash")
    assert answer.returncode == 125
