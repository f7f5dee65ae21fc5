"""A real MCP server (the reference file server) under cloche, started by a real client (the official SDK) from the
.mcp.json of docs/recipes.md. scripts/setup clients installs both."""

import json
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from judging import as_person, processes, wait_until

TOP = pathlib.Path(__file__).resolve().parents[2]
MODULES = TOP / "build" / "clients" / "node_modules"
SERVER = "server-filesystem/dist/index.js"


@pytest.fixture
def project(person):
    """A project with the packages installed, and a server that was told it may go anywhere in the home."""
    shutil.copytree(MODULES, person.project / "node_modules", symlinks=True)
    subprocess.run(["chown", "-R", str(person.uid), person.project / "node_modules"], check=False, stderr=subprocess.DEVNULL)
    person.file("client.mjs", (TOP / "tests/clients/mcp_client.mjs").read_bytes())
    recipe = re.search(r"```json\n(.*?)```", (TOP / "docs/recipes.md").read_text(), re.DOTALL).group(1)
    settings = json.loads(recipe)
    arguments = settings["mcpServers"]["files"]["args"]
    assert arguments[-2].endswith(SERVER)
    arguments[-1] = str(person.home)
    settings["mcpServers"]["files"]["command"] = str(person.binaries / settings["mcpServers"]["files"]["command"])
    person.file(".mcp.json", settings)
    person.file("README.md", "read me\n")
    person.file(".ssh/config")
    person.file(person.home / ".ssh/id_rsa", "secret\n")
    person.directory(person.project / "notes")
    return person.project


def start(person, calls, *more):
    return subprocess.Popen(["node", "client.mjs", json.dumps(calls), *more], cwd=person.project, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=person.environment, **as_person(person))


def left(person):
    return [pid for pid in processes(SERVER) if str(person.home) in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]


def test_allowed_calls_work_denied_ones_fail_with_the_reason_and_nothing_is_left(person, project):
    calls = [["read_text_file", {"path": str(project / "README.md")}],
             ["write_file", {"path": str(project / "notes/new"), "content": "noted"}],
             ["edit_file", {"path": str(project / "notes/new"), "edits": [{"oldText": "noted", "newText": "changed"}]}],
             ["list_directory", {"path": str(project / "notes")}],
             ["write_file", {"path": str(project / "README.md"), "content": "gone"}],
             ["write_file", {"path": str(project / ".git/hooks/pre-commit"), "content": "#!"}],
             ["create_directory", {"path": str(person.home / "made")}],
             ["move_file", {"source": str(project / "notes/new"), "destination": str(person.home / "moved")}],
             ["read_text_file", {"path": str(person.home / ".ssh/id_rsa")}],
             ["read_text_file", {"path": str(project / "README.md")}]]
    with start(person, calls) as client:
        output, errors = client.communicate(timeout=60)
    assert client.returncode == 0, errors
    said = json.loads(output)
    assert {"read_text_file", "write_file", "move_file"} <= set(said["tools"])
    assert [failed for failed, _ in said["answers"]] == [False] * 4 + [True] * 5 + [False], said
    texts = [text for _, text in said["answers"]]
    assert texts[0] == texts[9] == "read me\n" and "[FILE] new" in texts[3]
    assert "EROFS" in texts[4] and "secret" not in output
    for text in texts[5:9]:
        assert re.search(r"EROFS|EACCES|ENOENT|EXDEV|does not exist|not permitted", text), text
    assert (project / "notes/new").read_text() == "changed" and (project / "README.md").read_text() == "read me\n"
    assert not (person.home / "made").exists() and not (person.home / "moved").exists()
    assert wait_until(lambda: not left(person))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_server_does_not_outlive_a_client_that_is_killed(person, project, number):
    with start(person, [["list_directory", {"path": str(project)}]], "stay") as client:
        assert json.loads(client.stdout.readline())["answers"][0][0] is False
        assert left(person)
        client.send_signal(number)
        client.wait(30)
        gone = wait_until(lambda: not left(person), 10)
        for pid in left(person):
            subprocess.run(["kill", "-KILL", str(pid)], check=False)
    assert gone


def test_without_the_sandbox_the_same_server_writes_where_it_was_told_it_may(person, project):
    """The control: what is refused above is refused by cloche."""
    settings = json.loads((project / ".mcp.json").read_text())
    entry = settings["mcpServers"]["files"]
    words = entry["args"][entry["args"].index("--") + 1:]
    entry["command"], entry["args"] = words[0], words[1:]
    person.file(".mcp.json", settings)
    calls = [["create_directory", {"path": str(person.home / "made")}],
             ["read_text_file", {"path": str(person.home / ".ssh/id_rsa")}]]
    with start(person, calls) as client:
        output, _ = client.communicate(timeout=60)
    assert [failed for failed, _ in json.loads(output)["answers"]] == [False, False]
    assert (person.home / "made").is_dir()
