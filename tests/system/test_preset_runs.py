"""Promise 1 from inside: what a command finds when nobody wrote a policy, and
under the other presets that a run can hold."""

import os
import socket
import threading
import time

import pytest

# What a stranger would look for first, by its place below $HOME.
SECRETS = [".ssh/id_ed25519", ".aws/credentials", ".gnupg/secring.gpg", ".kube/config", ".npmrc", ".netrc", ".pypirc",
           ".git-credentials", ".config/gh/hosts.yml", ".config/gcloud/credentials.db", ".docker/config.json",
           ".password-store/mail.gpg", ".mozilla/firefox/key4.db", ".config/google-chrome/Cookies",
           ".local/share/keyrings/login.keyring", ".bash_history", ".cargo/credentials.toml",
           ".config/git/credentials", ".claude/.credentials.json", ".codex/auth.json"]
HARMLESS = [".gitconfig", ".config/git/ignore", ".cargo/bin/tool", ".nvm/versions/node/v22/lib/x", ".local/bin/tool"]
OTHER = ["documents/letter", ".bashrc", ".config/app/settings", "other-project/main.c"]
RUNNABLE = ["base", "dev", "readonly", "workspace", "mcp"]


@pytest.fixture
def lived_in(person):
    """A home as people have them."""
    for name in SECRETS + HARMLESS + OTHER:
        person.file(person.home / name, f"content of {name}\n")
    for name in (".env", ".env.local", ".env.example", "main.c"):
        person.file(name, f"content of {name}\n")
    return person


def sh(person, text, *options, **keywords):
    return person.cloche("run", *options, "sh", "-c", text, **keywords)


def readable(person, names, *options, **keywords):
    """Those of the files that a command inside can read."""
    script = 'for name in "$@"; do cat "$name" >/dev/null 2>&1 && echo "$name"; done; true'
    answer = person.cloche("run", *options, "sh", "-c", script, "sh", *map(str, names), **keywords)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


def writable(person, names, *options):
    script = 'for name in "$@"; do (echo x >>"$name") 2>/dev/null && echo "$name"; done; true'
    answer = person.cloche("run", *options, "sh", "-c", script, "sh", *map(str, names))
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


@pytest.mark.parametrize("preset", RUNNABLE)
def test_no_preset_shows_a_secret(lived_in, preset):
    home = lived_in.home
    assert readable(lived_in, [home / name for name in SECRETS] + [".env", ".env.local"], "-p", preset) == []
    assert readable(lived_in, ["main.c", ".env.example"], "-p", preset) == ["main.c", ".env.example"]
    for name in SECRETS:
        assert (home / name).read_text() == f"content of {name}\n"


def test_by_default_home_is_the_project_and_the_toolchains(lived_in):
    home = lived_in.home
    harmless = [str(home / name) for name in HARMLESS]
    assert readable(lived_in, harmless + [home / name for name in OTHER]) == harmless
    listed = sh(lived_in, "ls -A ~").stdout.split()
    assert {".gitconfig", ".cargo", ".nvm", "project"} <= set(listed)
    assert not {".ssh", ".aws", ".bashrc", "documents", ".bash_history", ".mozilla"} & set(listed)


def test_by_default_only_the_project_and_private_places_can_be_written(lived_in):
    home = lived_in.home
    lived_in.directory(home / ".cache")
    places = ["main.c", "new", "/tmp/new", "/var/tmp/new", str(home / ".cache" / "new")]
    others = [str(home / "new"), str(home / ".cargo/bin/tool"), str(home / ".gitconfig"), "/etc/new", "/usr/bin/new"]
    assert writable(lived_in, places + others) == places
    assert (lived_in.project / "new").read_text() == "x\n"
    # What was written elsewhere was written nowhere.
    assert not (home / ".cache" / "new").exists()
    assert not os.path.exists("/var/tmp/new")


def test_a_secret_that_appears_later_is_absent(lived_in):
    """The command makes a file in the project; then a secret is made, and then it looks for it."""
    script = """
        touch started
        while [ ! -e go ]; do sleep 0.01; done
        cat ~/.late-secret
    """
    run = threading.Thread(target=lambda: answers.append(sh(lived_in, script)))
    answers = []
    run.start()
    wait_for(lived_in.project / "started")
    lived_in.file(lived_in.home / ".late-secret", "secret\n")
    lived_in.file("go")
    run.join(30)
    assert answers[0].returncode == 1
    assert answers[0].stdout == ""
    assert "No such file" in answers[0].stderr


def wait_for(path):
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path} was never made"
        time.sleep(0.01)


def test_tools_on_the_path_come_with_what_lies_beside_them(lived_in):
    home = lived_in.home
    lived_in.file(home / "my-tool/bin/tool", "#!/bin/sh\ncat ${0%/bin/*}/lib/words\n").chmod(0o755)
    lived_in.file(home / "my-tool/lib/words", "found\n")
    lived_in.environment["PATH"] += f":{home}/my-tool/bin"
    answer = lived_in.cloche("run", "tool")
    assert (answer.stdout, answer.returncode) == ("found\n", 0), answer.stderr
    # The same tool, not on the path.
    assert readable(lived_in, [home / "my-tool/lib/words"], environment={"PATH": "/usr/bin:/bin"}) == []


def test_by_default_there_is_no_network(lived_in):
    connect = "import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('connected')"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        answer = lived_in.cloche("run", "/usr/bin/python3", "-c", connect.format(port=port))
        assert answer.returncode != 0
        assert "connected" not in answer.stdout
        outside = lived_in.cloche("run", "-s", lived_in.file("host.json", {"network": {"mode": "host"}}),
                                  "/usr/bin/python3", "-c", connect.format(port=port))
        assert outside.stdout == "connected\n", outside.stderr


def test_by_default_tokens_and_host_sockets_stay_outside(lived_in):
    kept = {"GITHUB_TOKEN": "t", "AWS_SECRET_ACCESS_KEY": "t", "ANTHROPIC_API_KEY": "t", "DB_PASSWORD": "t",
            "LD_PRELOAD": "", "SSH_AUTH_SOCK": "/tmp/s", "DISPLAY": ":0", "TMUX": "x", "BASH_ENV": "/x"}
    passed = {"EDITOR": "vi", "PYTHONPATH": "/x", "MY_SETTING": "1"}
    answer = lived_in.cloche("run", "env", environment={**kept, **passed})
    names = {line.split("=", 1)[0] for line in answer.stdout.splitlines()}
    assert not names & set(kept)
    assert set(passed) <= names
    answer = lived_in.cloche("run", "--env", "GITHUB_TOKEN", "env", environment=kept)
    assert "GITHUB_TOKEN=t\n" in answer.stdout


def test_root_cannot_read_password_hashes(lived_in):
    assert readable(lived_in, ["/etc/shadow", "/etc/gshadow", "/etc/passwd"]) == ["/etc/passwd"]


def test_home_is_not_taken_for_a_project(lived_in):
    for directory in (lived_in.home, lived_in.base, "/"):
        answer = lived_in.cloche("run", "true", cwd=directory)
        assert answer.returncode == 125
        assert "-C" in answer.stderr
    # Named, it is taken; but the policy of the next run cannot be made there.
    for path in (".config/cloche/policy.json", ".srt-settings.json", ".local/state/cloche/trusted", ".envrc"):
        make = f'mkdir -p "$(dirname {path})" && echo "{{}}" >{path}'
        assert lived_in.cloche("run", "-C", lived_in.home, "sh", "-c", make, cwd=lived_in.home).returncode not in (0, 125)
        assert not os.path.exists(lived_in.home / path)
    make = "mkdir -p .config/other && echo x >.config/other/made"
    assert lived_in.cloche("run", "-C", lived_in.home, "sh", "-c", make, cwd=lived_in.home).returncode == 0
    assert (lived_in.home / ".config/other/made").read_text() == "x\n"


def test_readonly_and_workspace_are_codexs(lived_in):
    home = lived_in.home
    assert readable(lived_in, [home / name for name in OTHER], "-p", "readonly") == [str(home / name) for name in OTHER]
    assert writable(lived_in, ["main.c", "/tmp/new", home / "new"], "-p", "readonly") == ["/tmp/new"]
    assert writable(lived_in, ["main.c", "/tmp/new", home / "new"], "-p", "workspace") == ["main.c", "/tmp/new"]


def test_an_mcp_server_cannot_write_the_project(lived_in):
    assert writable(lived_in, ["main.c", "new", "/tmp/new"], "-p", "mcp") == ["/tmp/new"]
    assert readable(lived_in, ["main.c"], "-p", "mcp") == ["main.c"]
