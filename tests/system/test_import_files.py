"""Settings as people have them, and as manuals show them, imported: what they open is open, what they close is closed,
and nothing is wider than it was."""

import json

import pytest

from test_import import answers, imported, plain


@pytest.fixture
def surroundings(person):
    for name in (".env", ".env.local", "secrets/key", "secrets/public/readme", "src/main.c", "docs/a.md", "build/out", "kept/file"):
        person.file(name)
    for name in (".ssh/id_rsa", ".aws/credentials", ".kube/config", "lib/file", "other/file", "private/file", "data/file"):
        person.file(person.home / name)


def judged(person, policy, yes, no):
    """The questions that are answered otherwise than expected."""
    spelled = [question.replace("~", str(person.home)) for question in (*yes, *no)]
    expected = [True] * len(yes) + [False] * len(no)
    return [question for question, said, wanted in zip(spelled, answers(person, policy, *spelled), expected) if said != wanted]


def check(person, words, yes, no, notes):
    policy, said = imported(person, *words)
    assert not judged(person, policy, yes, no), policy.read_text()
    for part in notes:
        assert any(part in line for line in said), (part, said)
    return policy


CLAUDE = [
    # A denial first, commands allowed: what most have.
    ({"permissions": {"deny": ["Read(./.env)", "Read(./.env.*)", "Read(./secrets/**)", "Bash(curl *)", "Bash(rm -rf *)"],
                      "allow": ["Bash(npm run lint)", "Bash(npm run test *)"]}},
     ["read:src/main.c", "write:src/main.c", "read:~/other/file"],
     ["read:.env", "read:.env.local", "read:secrets/key", "read:secrets/public/readme", "write:~/other/file", "net:example.com"],
     ['"Bash(curl *)"', '"Bash(npm run lint)"']),
    ({"permissions": {"allow": ["Read", "Write(./src/**)", "Write(./docs/**)", "Bash(git *)"],
                      "deny": ["Read(~/.ssh/id_rsa)", "Write(./.env)", "Write(./secrets/**)"]}},
     ["write:src/main.c", "read:secrets/key"], ["read:~/.ssh/id_rsa", "write:.env", "write:secrets/key", "write:~/other/file"], ['"Read"']),
    # What is denied is denied, whatever is allowed below it or by the same words.
    ({"permissions": {"allow": ["Read(./secrets/public/**)", "Read(docs/**)", "Read(~/.kube/config)", "Read(~/private/file)"],
                      "deny": ["Read(./secrets/**)", "Read(docs/**)", "Read(~/private)"]}},
     ["read:src/main.c", "read:~/.kube/config"],
     ["read:secrets/public/readme", "read:secrets/key", "read:docs/a.md", "read:~/private/file"],
     ['"Read(./secrets/public/**)": permissions.deny has it', '"Read(docs/**)": permissions.deny']),
    ({"permissions": {"allow": ["Read", "Glob", "Grep"], "deny": ["Edit", "Write", "WebFetch"], "defaultMode": "plan"}},
     ["read:src/main.c"], ["write:src/main.c", "write:x", "net:example.com"], ["defaultMode"]),
    # Patterns, at any depth.
    ({"permissions": {"allow": ["Read(docs/x.key)"], "deny": ["Read(*.key)", "Read(./src/**/*.pem)", "Read(~/lib/*.json)", "Edit(**/*.lock)"]}},
     ["read:src/main.c", "write:docs/a.md", "read:~/lib/file"],
     ["read:docs/x.key", "read:x.key", "read:a/b/c/x.key", "read:src/a/b.pem", "read:~/lib/x.json", "write:src/x.lock"],
     ['"Read(docs/x.key)": permissions.deny', '"**/*.key" hides']),
    # A slash at the end only says that a directory is meant.
    ({"permissions": {"deny": ["Read(secrets/)", "Edit(kept/)", "Read(=x/)"]}},
     ["read:src/main.c", "write:docs/a.md", "read:kept/file"],
     ["read:secrets/key", "read:src/secrets/key", "write:kept/file", "write:src/kept/file", "read:src/=x/a"], []),
    # The same place by other words, and what would be shown by being writable.
    ({"permissions": {"allow": ["Read({project}/a.pem)", "Read({project}/secrets/public)", "Edit(/b.pem)", "Edit(docs/c.pem)", "Read(*.txt)"],
                      "deny": ["Read(*.pem)", "Read(secrets/**)", "Read(docs/kept)"], "additionalDirectories": ["docs/kept", "../lib"]}},
     ["read:src/main.c", "write:docs/a.md", "write:~/lib/file"],
     ["read:a.pem", "read:secrets/public/readme", "read:b.pem", "write:b.pem", "read:docs/c.pem", "read:secrets/a.txt", "read:docs/kept/x"],
     ['a.pem)": permissions.deny has it', '"Edit(/b.pem)": permissions.deny', '"Read(*.txt)": permissions.deny',
      'additionalDirectories "docs/kept": permissions.deny']),
    ({"permissions": {"allow": ["Read(secrets/public)", "Read(~/.kube/config)"], "deny": ["Read({project}/secrets)", "Read(~/.ssh/*)"]}},
     ["read:src/main.c", "write:src/main.c"], ["read:secrets/key", "read:secrets/public/readme", "read:~/.ssh/id_rsa"], []),
    ({"permissions": {"allow": ["Read({home}/lib)", "Read(../other)"], "deny": ["Read(~/**)"]}},
     ["write:src/main.c"], ["read:~/lib/file", "read:~/other/file"], ['"~" is hidden but for the project', '"Read(../other)": permissions.deny']),
    # Nobody is asked.
    ({"permissions": {"ask": ["Read(.env)", "Edit(docs/**)", "WebFetch(domain:bad.example.org)", "Read", "Bash"],
                      "allow": ["Read(./.env)", "Edit(docs/a.md)", "WebFetch(domain:*.example.org)"]}},
     ["read:src/main.c", "write:src/main.c", "read:docs/a.md", "net:good.example.org"],
     ["read:.env", "read:src/.env", "write:docs/a.md", "net:bad.example.org"],
     ['"Read(.env)": nobody is asked, so it is denied; take it out of filesystem.denyRead', "filesystem.denyWrite", "network.deniedDomains",
      '"Read": nobody is asked, and it is not denied', '"Bash": nobody is asked', '"Read(./.env)": permissions.ask has it']),
    ({"permissions": {"ask": ["Edit"], "deny": ["WebFetch"], "allow": ["Edit(~/lib/**)", "WebFetch(domain:example.com)"],
                      "additionalDirectories": ["~/data"]}},
     ["read:src/main.c", "read:~/lib/file"], ["write:src/main.c", "write:~/lib/file", "write:~/data/file", "net:example.com"],
     ['"Edit(~/lib/**)": permissions.ask', '"WebFetch(domain:example.com)": permissions.deny']),
    ({"permissions": {"deny": ["Write(**)"]}}, ["read:src/main.c"], ["write:src/main.c", "write:new"], []),
    ({"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, "excludedCommands": ["docker *"],
                  "filesystem": {"allowWrite": ["~/.kube", "//var/tmp/build"], "denyRead": ["~/.aws/credentials"], "denyWrite": ["kept"]},
                  "network": {"allowedDomains": ["github.com", "*.npmjs.org"], "allowUnixSockets": ["/var/run/docker.sock"],
                              "allowLocalBinding": True}}},
     ["write:~/.kube/config", "write:src/main.c", "net:github.com", "net:registry.npmjs.org", "unix:/var/run/docker.sock"],
     ["read:~/.aws/credentials", "write:kept/file", "net:npmjs.org", "net:example.com", "unix:/run/other.sock"],
     ["autoAllowBashIfSandboxed", "excludedCommands"]),
    # A region that is hidden, and what is shown in it.
    ({"sandbox": {"enabled": True, "filesystem": {"denyRead": ["~/"], "allowRead": [".", "~/lib"]}}},
     ["read:src/main.c", "read:~/lib/file"], ["read:~/other/file", "read:~/.ssh/id_rsa"], []),
    ({"permissions": {"allow": ["WebFetch(domain:docs.example.com)", "WebFetch(domain:*)", "WebFetch(domain:*.example.org)", "WebSearch"],
                      "deny": ["WebFetch(domain:bad.example.org)"]}},
     ["net:docs.example.com", "net:good.example.org"], ["net:bad.example.org", "net:example.net", "net:example.com"],
     ['"WebFetch(domain:*)": to let commands reach every host']),
    ({"permissions": {"additionalDirectories": ["../lib", "~/data"], "disableBypassPermissionsMode": "disable"},
      "hooks": {"PreToolUse": []}, "enabledMcpjsonServers": ["github"], "statusLine": {"type": "command"}},
     ["write:~/lib/file", "write:~/data/file"], ["write:~/other/file"], ["hooks", "disableBypassPermissionsMode"]),
    ({"permissions": {"allow": ["Read(//etc/hosts)", "Edit(//srv/shared/**)"], "deny": ["Read(//etc/passwd)", "Edit(/docs/**)"]},
      "sandbox": {"enabled": True, "network": {"allowedDomains": ["example.com"], "deniedDomains": ["bad.example.com"],
                                               "allowManagedDomainsOnly": True, "strictAllowlist": True}}},
     ["read:/etc/hosts", "write:src/main.c", "net:example.com"], ["read:/etc/passwd", "write:docs/a.md", "net:bad.example.com"],
     ["allowManagedDomainsOnly"]),
    ({"sandbox": {"enabled": True, "credentials": {"files": [{"path": "~/private", "mode": "deny"}],
                                                   "envVars": [{"name": "GITHUB_PAT", "mode": "deny"}]}}},
     ["read:~/other/file"], ["read:~/private/file", "env:GITHUB_PAT"], []),
]


@pytest.mark.parametrize("settings, yes, no, notes", CLAUDE)
def test_settings_of_claude_code(person, surroundings, settings, yes, no, notes):
    settings = json.loads(json.dumps(settings).replace("{project}", f"/{person.project}").replace("{home}", f"/{person.home}"))
    check(person, [person.file("settings.json", settings)], yes, no, notes)


@pytest.mark.parametrize("rule", ["Read(./**)", "Read(**)", "Read(.)", "Read(..)"])
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_a_project_that_claude_code_must_not_read_is_not_read_for_being_writable(person, surroundings, kind, rule):
    policy, said = imported(person, person.file("settings.json", {"permissions": {kind: [rule]}}))
    assert f"writing in the project: permissions.{kind} has it, or may have, and wins" in said
    run = person.cloche("run", "-q", "-s", policy, "cat", "src/main.c")
    assert (run.returncode, run.stdout) == (125, "") and "hides" in run.stderr, run
    policy, _ = imported(person, person.file("settings.json", {"permissions": {kind: ["Read(./secrets/**)"]}}))
    assert person.cloche("run", "-q", "-s", policy, "cat", "src/main.c").stdout == "content\n"


CODEX = [
    ('model = "gpt-5"\napproval_policy = "on-request"\n',
     ["read:~/other/file"], ["write:src/main.c", "net:example.com", "read:~/.ssh/id_rsa"], ["model"]),
    ('sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["{home}/lib"]\nnetwork_access = true\n'
     "exclude_slash_tmp = true\n",
     ["write:src/main.c", "write:~/lib/file", "net:example.com"],
     ["write:~/other/file", "write:.git/config", "write:.git/index", "write:.codex/x", "write:.agents/x", "write:.aws/x"],
     [".git is read-only"]),
    # A profile that is chosen, and one that is not.
    ('sandbox_mode = "workspace-write"\nprofile = "ci"\n[profiles.ci]\nsandbox_mode = "read-only"\n[profiles.x]\nmodel = "y"\n',
     ["read:src/main.c"], ["write:src/main.c"], []),
    ('sandbox_mode = "read-only"\nprofile = "mine"\n[profiles.mine]\nsandbox_mode = "workspace-write"\n',
     ["write:src/main.c"], ["write:~/other/file"], []),
    # The older setting counts where both are given.
    ('sandbox_mode = "read-only"\ndefault_permissions = "mine"\n[permissions.mine.filesystem]\n":root" = "write"\n',
     ["read:src/main.c"], ["write:src/main.c", "write:~/other/file"], ["sandbox_mode counts"]),
    ('default_permissions = ":workspace"\n', ["write:src/main.c", "read:~/other/file"], ["write:~/other/file", "write:.git/x"], []),
    ('default_permissions = "edit"\n[permissions.edit]\nextends = ":workspace"\n[permissions.edit.workspace_roots]\n"{home}/lib" = true\n'
     '"{home}/data" = false\n[permissions.edit.filesystem]\n"{home}/private" = "deny"\n'
     '[permissions.edit.filesystem.":workspace_roots"]\n"secrets" = "deny"\n"kept" = "read"\n"**/*.env" = "deny"\n'
     '[permissions.edit.network]\nenabled = true\ndomains = {{ "**.example.com" = "allow", "**.bad.example.com" = "deny" }}\n',
     ["write:src/main.c", "write:~/lib/file", "read:kept/file", "net:example.com", "net:a.example.com"],
     ["read:a/b/x.env", "write:a/b/x.env", "read:~/lib/x.env", "net:bad.example.com", "net:a.bad.example.com", "read:secrets/key", "write:secrets/key", "write:kept/file", "read:~/private/file", "write:~/data/file", "net:other.test"], []),
    # What extends another says last whether there is a network, and of which hosts.
    ('default_permissions = "b"\n[permissions.a.network]\nenabled = true\n[permissions.b]\nextends = "a"\n[permissions.b.network]\n'
     'enabled = false\n[permissions.b.filesystem]\n":minimal" = "read"\n',
     ["read:/usr/bin/env"], ["net:example.com", "read:~/other/file"], []),
    ('default_permissions = "b"\n[permissions.a.network]\nenabled = true\n[permissions.b]\nextends = "a"\n[permissions.b.network]\n'
     'domains = {{ "example.com" = "allow" }}\n[permissions.b.filesystem]\n":minimal" = "read"\n',
     ["net:example.com"], ["net:example.org"], []),
    ('default_permissions = "l"\n[permissions.l.network]\nenabled = true\nmode = "limited"\ndomains = {{ "example.com" = "allow" }}\n'
     '[permissions.l.filesystem]\n":minimal" = "read"\n":slash_tmp" = "write"\n',
     ["read:/usr/bin/env"], ["net:example.com"], ['network.mode "limited"', ":slash_tmp"]),
    ('default_permissions = "r"\n[permissions.r.filesystem]\n":minimal" = "read"\n"~/lib" = "read"\n"{home}/data" = "write"\n'
     'glob_scan_max_depth = 3\n[permissions.r.filesystem."{home}/other"]\n"." = "read"\n"file" = "deny"\n',
     ["read:~/lib/file", "write:~/data/file", "read:~/other"], ["write:~/lib/file", "read:~/other/file", "read:~/private/file"], []),
    ('[shell_environment_policy]\ninherit = "core"\ninclude_only = ["PATH", "H*"]\nexclude = ["aws_*"]\nset = {{ CI = "1" }}\n',
     ["env:PATH", "env:HOME", "env:CI"], ["env:USER", "env:HOSTTYPE", "env:AWS_REGION"], []),
    ('[shell_environment_policy]\ninherit = "none"\ninclude_only = ["EDITOR"]\n', [], ["env:EDITOR", "env:PATH"], []),
    # The case of letters does not count, "[" is a letter like others, and "!" takes nothing back.
    ('[shell_environment_policy]\nexclude = ["my_*", "!*", "[EX]*"]\n', ["env:EDITOR"],
     ["env:MY_NAME", "env:my_name", "env:My_Name", "env:mY_nAME", "env:A_TOKEN"], []),
    # What is excluded is, though it is named.
    ('[shell_environment_policy]\ninherit = "core"\nexclude = ["us*"]\n', ["env:PATH"], ["env:USER", "env:EDITOR"], []),
    ('[shell_environment_policy]\ninclude_only = ["EDITOR", "HOSTTYPE", "A_TOKEN", "[PS]ATH"]\nexclude = ["host*"]\n', ["env:EDITOR"],
     ["env:HOSTTYPE", "env:A_TOKEN", "env:PATH"], ['"HOSTTYPE": it is excluded', '"A_TOKEN": it is excluded', '"[PS]ATH": no variable']),
]


@pytest.mark.parametrize("text, yes, no, notes", CODEX)
def test_configurations_of_codex(person, surroundings, text, yes, no, notes):
    if "{{" in text or "{home}" in text:
        text = text.replace("{{", "{").replace("}}", "}").replace("{home}", str(person.home))
    person.environment |= {"EDITOR": "vi", "HOSTTYPE": "x", "AWS_REGION": "eu", "MY_NAME": "n", "my_name": "n", "My_Name": "n",
                           "mY_nAME": "n", "A_TOKEN": "t", "USER": "u"}
    check(person, [person.file("config.toml", text)], yes, no, notes)


@pytest.mark.parametrize("entry, message", [
    ('"../x" = "write"', "must be absolute"), ('"x/y" = "read"', "must be absolute"), ('"/x/../etc" = "write"', '".."'),
    ('"/srv/*" = "write"', "can only be denied"), ('"~/**/x" = "read"', "can only be denied"),
    ('":workspace_roots" = { "../x" = "write" }', '".."'), ('":workspace_roots" = { "/etc" = "write" }', "must lie below"),
    ('":home" = "read"', "not a place"), ('"/x" = "wirte"', "needs one of")])
def test_what_codex_takes_for_a_mistake_is_one(person, entry, message):
    text = f'default_permissions = "m"\n[permissions.m.filesystem]\n{entry}\n'
    answer = person.cloche("import", person.file("config.toml", text))
    assert (answer.returncode, answer.stdout) == (1, "") and message in answer.stderr, answer


USR = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
BWRAP = [
    (["--ro-bind", "/usr", "/usr", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--new-session"],
     ["read:/usr/bin/env", "net:example.com"], ["read:/etc/passwd", "read:{home}/other/file"], []),
    # bubblewrap's own demonstration.
    ([*USR, "--dir", "/tmp", "--dir", "/var", "--symlink", "../tmp", "var/tmp", "--symlink", "../run", "/var/run", "--proc", "/proc", "--dev",
      "/dev", "--ro-bind", "/etc/resolv.conf", "/etc/resolv.conf", "--chdir", "/", "--unshare-all", "--share-net", "--die-with-parent",
      "--dir", "/run/user/1000", "--setenv", "XDG_RUNTIME_DIR", "/run/user/1000", "--setenv", "PS1", "bwrap-demo$ "],
     ["read:/usr/bin/env", "net:example.com"], ["read:/etc/passwd", "read:/var/lib/dpkg/status", "read:{home}/other/file"], ["--symlink ../run /var/run"]),
    (["--ro-bind", "/", "/", "--bind", "{project}", "{project}", "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
      "--ro-bind", "{project}/secrets", "{project}/secrets"],
     ["write:src/main.c", "read:secrets/key", "read:/etc/passwd", "write:/tmp/x"], ["write:secrets/key", "write:{home}/other/file", "net:example.com"], []),
    # Another home in the place of the real one.
    (["--ro-bind", "/", "/", "--bind", "/srv/home", "{home}", "--bind", "{project}", "{project}"],
     ["write:src/main.c"], ["read:{home}/other/file", "read:{home}/private/file"], ["is hidden"]),
    (["--ro-bind", "/", "/", "--bind", "{project}", "{project}", "--bind", "{home}/lib", "{home}/lib", "--remount-ro", "{project}"],
     ["read:src/main.c", "write:{home}/lib/file"], ["write:src/main.c"], []),
    (["--ro-bind", "/", "/", "--bind", "/tmp", "/tmp", "--tmpfs", "/tmp", "--tmpfs", "{home}", "--bind", "{project}", "{project}"],
     ["write:src/main.c", "write:/tmp/x"], ["read:{home}/other/file"], ["is hidden"]),
    # Relative paths are meant where bubblewrap is called, and are not "/".
    (["--bind", ".", ".", "--ro-bind", "/usr", "/usr"], ["read:/usr/bin/env"], ["write:/etc/x", "read:/etc/passwd", "write:{home}/other/file"],
     ["write the path in full"]),
    (["--ro-bind", "/", "/", "--overlay-src", "{home}/lib", "--tmp-overlay", "{home}/data", "--ro-bind-data", "9", "{project}/.env",
      "--file", "8", "{home}/other/file", "--mqueue", "{home}/private"],
     ["read:src/main.c"], ["read:{home}/data/file", "read:.env", "read:{home}/other/file", "read:{home}/private/file"], ["--tmp-overlay"]),
    (["--dev-bind", "/", "/", "--unshare-net", "--ro-bind", "/dev/null", "{project}/.env", "--tmpfs", "{home}/private"],
     ["write:src/main.c", "write:{home}/other/file"], ["read:.env", "read:{home}/private/file", "net:example.com"], []),
    ([*USR, "--bind", "{project}", "{project}", "--ro-bind-try", "/etc/ssl", "/etc/ssl", "--ro-bind-try", "/no/where", "/no/where",
      "--clearenv", "--setenv", "HOME", "{home}", "--setenv", "PATH", "/usr/bin", "--unshare-all", "--hostname", "box", "--cap-drop", "ALL"],
     ["write:src/main.c", "env:PATH"], ["env:EDITOR", "read:/etc/passwd", "read:{home}/other/file", "net:example.com"], ["--hostname box"]),
]


@pytest.mark.parametrize("line, yes, no, notes", BWRAP)
def test_lines_of_bubblewrap(person, surroundings, line, yes, no, notes):
    fill = lambda words: [word.replace("{home}", str(person.home)).replace("{project}", str(person.project)) for word in words]
    person.environment["EDITOR"] = "vi"
    check(person, ["--", "bwrap", *fill(line), "--", "true"], fill(yes), fill(no), fill(notes))


def test_options_of_bubblewrap_that_are_not_on_the_line_are_refused(person):
    answer = person.cloche("import", "--", "bwrap", "--ro-bind", "/", "/", "--args", "9", "true")
    assert (answer.returncode, answer.stdout) == (1, "") and "write them out" in answer.stderr


def test_what_restricts_is_carried_over_as_it_stands(person):
    """Keys of the sandbox section that are ours as well."""
    network = {"allowedDomains": ["example.com"], "deniedResolvedAddresses": ["10.0.0.0/8"], "refuseOpaqueTunnels": True}
    policy, _ = imported(person, person.file("settings.json", {"sandbox": {"enabled": True, "network": network}}))
    assert plain(policy.read_text())["network"] == network, json.dumps(network)
