"""What the settings of srt 0.0.83 mean on Linux, row by row: settings, a command, and what comes of it.

Each row names what it holds: a key of the settings file, an option of the command line, an event, or a limit of
srt's own ("limit 7"). srt's answers are in srt_rows.json, recorded by record_srt_rows.py; tests/system/test_srt_rows.py
asks cloche, by the name srt and through the package for Node. `ours` is where cloche answers otherwise, `why` the reason,
and `library` where the package for Node does so.

In settings, commands and answers BASE is the directory of the row: BASE/home (HOME, ~), BASE/home/work (the working
directory), BASE/outside (never writable). PORT is a web server on the host's loopback, SOCKET an HTTP proxy behind a
unix socket."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

from remote_world import OTHER_V4, SERVER_V4

PROBE = pathlib.Path(__file__).with_name("srt_probe.py")
PORT = 18080
ROWS = []


@dataclasses.dataclass
class Row:
    about: str
    name: str
    command: str  # for bash
    words: tuple = ()  # the command line after `srt`, in place of -c COMMAND
    network: dict = dataclasses.field(default_factory=dict)
    filesystem: dict = dataclasses.field(default_factory=dict)
    more: dict = dataclasses.field(default_factory=dict)
    settings: bool = True  # is there a settings file?
    cwd: str = "."
    files: dict = dataclasses.field(default_factory=dict)  # content; None: a directory; ("link", target)
    environment: dict = dataclasses.field(default_factory=dict)
    host: tuple = ()  # what is looked at afterwards, from outside
    ours: dict = dataclasses.field(default_factory=dict)
    library: dict = dataclasses.field(default_factory=dict)
    without: tuple = ()  # lines that begin with one of these are not compared
    why: str = ""

    @property
    def id(self):
        return f"{self.about}: {self.name}"


def add(about, name, command="", **keywords):
    """A command that begins with a space is operations for the probe."""
    if command.startswith(" "):
        command = f"python3 -I BASE/probe.py{command}"
    ROWS.append(Row(about, name, command, **keywords))


def said(*lines, **more):
    return {"stdout": "".join(f"{line}\n" for line in lines), **more}


def refused(words):
    """Nothing runs, and the reason is told in these words."""
    return {"status": 1, "stdout": "", "stderr": words}


# ---- files ----

PATTERNS = "patterns hold for writing too"
ERRNO = "refused as well, by another lock: the number of the error differs"
VOID = "a denied directory is closed: what looks empty and takes writes that vanish misleads who works in it"

add("filesystem.denyRead", "a directory", " list:secret read:secret/key write:secret/new kind:secret",
    filesystem={"denyRead": ["secret"]}, files={"secret/key": "key"}, host=("secret/new",),
    ours=said("list:secret EACCES", "read:secret/key EACCES", "write:secret/new EACCES", "kind:secret directory"),
    why=VOID)
add("filesystem.denyRead", "a file", " read:key read:other kind:other", filesystem={"denyRead": ["key"]},
    files={"key": "k", "other": "o"})
add("filesystem.denyRead", "what is absent", " read:other make:nowhere", filesystem={"denyRead": ["nowhere"]},
    files={"other": "o"}, host=("nowhere",), ours=said("read:other 'o'", "make:nowhere EACCES", host={"nowhere": None}),
    why="what is denied is denied when it comes to be, too")
add("filesystem.denyRead", "of the home", " read:BASE/home/.ssh/id read:BASE/home/plain",
    filesystem={"denyRead": ["~/.ssh"]}, files={"~/.ssh/id": "key", "~/plain": "p"},
    ours=said("read:BASE/home/.ssh/id EACCES", "read:BASE/home/plain 'p'"), why=VOID)
add("filesystem.denyRead", "patterns", " read:a.pem read:c1 read:c22 read:d1 read:d3 read:other",
    filesystem={"denyRead": ["*.pem", "c?", "d[12]"]},
    files={"a.pem": "a", "c1": "c", "c22": "cc", "d1": "d", "d3": "dd", "other": "o"})
add("filesystem.denyRead", "a pattern over a tree", " read:a.pem read:deep/er/b.pem read:other",
    filesystem={"denyRead": ["**/*.pem"]}, files={"a.pem": "a", "deep/er/b.pem": "b", "other": "o"})
add("filesystem.denyRead", "a literal entry", " read:a[1] read:a1",
    filesystem={"denyRead": [{"path": "a[1]", "literal": True}]}, files={"a[1]": "a", "a1": "b"})
add("filesystem.denyRead", "through a link", " read:link/key read:real/key", filesystem={"denyRead": ["link"]},
    files={"real/key": "k", "link": ("link", "real")},
    ours=said("read:link/key EACCES", "read:real/key EACCES"), why=VOID)
add("filesystem.allowRead", "inside a denied directory", " read:tree/open/f read:tree/g",
    files={"tree/open/f": "f", "tree/g": "g"}, filesystem={"denyRead": ["tree"], "allowRead": ["tree/open"]})
add("filesystem.allowRead", "the same directory", " read:tree/g", files={"tree/g": "g"},
    filesystem={"denyRead": ["tree"], "allowRead": ["tree"]})
add("filesystem.allowRead", "a file that is denied needs its own name", " read:tree/g read:tree/h",
    files={"tree/g": "g", "tree/h": "h"},
    filesystem={"denyRead": ["tree/g", "tree/h"], "allowRead": ["tree", "tree/h"]})
add("filesystem.allowWrite", "a directory, a file, nothing else",
    " make:tree/new write:file write:other mkdir:dir write:BASE/outside/x",
    files={"tree": None, "file": "", "other": ""}, filesystem={"allowWrite": ["tree", "file"]},
    host=("tree/new", "file", "other", "dir"))
add("filesystem.allowWrite", "what is absent", " mkdir:absent make:absent/x", filesystem={"allowWrite": ["absent"]},
    host=("absent",))
add("filesystem.allowWrite", "a trailing /**", " make:tree/new make:other", files={"tree": None},
    filesystem={"allowWrite": ["tree/**"]})
add("filesystem.allowWrite", "a pattern", " write:a.txt make:b.txt write:other", files={"a.txt": "", "other": ""},
    filesystem={"allowWrite": ["*.txt"]}, host=("a.txt", "b.txt"),
    ours=said("write:a.txt done", "make:b.txt done", "write:other EROFS", host={"a.txt": "+", "b.txt": ""}),
    why=PATTERNS)
add("filesystem.allowWrite", "a link that leaves its place", " make:link/x make:BASE/outside/y",
    files={"link": ("link", "BASE/outside"), "tree": None}, filesystem={"allowWrite": ["link", "tree"]},
    host=("BASE/outside/x", "BASE/outside/y"),
    ours=said("make:link/x done", "make:BASE/outside/y done", host={"BASE/outside/x": "", "BASE/outside/y": ""}),
    why="a link that no command could have put there means what it leads to: homes and caches are linked to other disks")
add("filesystem.allowWrite", "a link that a command could have put there", " make:link/x make:BASE/outside/y",
    files={"link": ("link", "BASE/outside")}, filesystem={"allowWrite": [".", "link"]},
    host=("BASE/outside/x", "BASE/outside/y"))
add("filesystem.denyWrite", "below, at and above",
    " write:tree/a make:tree/b write:low/inner/c write:file write:tree/inner/d",
    files={"tree/a": "", "tree/inner/d": "", "low/inner/c": "", "file": ""},
    filesystem={"allowWrite": [".", "tree/inner"], "denyWrite": ["tree", "low/inner", "file"]}, host=("tree/b",))
add("filesystem.denyWrite", "what is absent", " make:nothing mkdir:nowhere make:nowhere/x make:other",
    filesystem={"denyWrite": ["nothing", "nowhere/x"]}, host=("nothing", "nowhere/x", "other"),
    ours=said("make:nothing EACCES", "mkdir:nowhere done", "make:nowhere/x EACCES", "make:other done"),
    why="nothing stands in its place meanwhile")
add("filesystem.denyWrite", "a pattern", " write:a.key make:b.key write:other", files={"a.key": "", "other": ""},
    filesystem={"denyWrite": ["*.key"]}, host=("a.key", "b.key"),
    ours=said("write:a.key EROFS", "make:b.key EACCES", "write:other done", host={"a.key": "", "b.key": None}),
    why=PATTERNS)
add("filesystem.denyWrite", "a literal entry", " write:a[1] write:a1", files={"a[1]": "", "a1": ""},
    filesystem={"denyWrite": [{"path": "a[1]", "literal": True}]}, host=("a[1]", "a1"))
add("filesystem.allowGitConfig", "off", " write:.git/config write:.git/hooks/x make:.git/ORIG_HEAD",
    files={".git/config": "", ".git/hooks": None}, host=(".git/config",))
add("filesystem.allowGitConfig", "on", " write:.git/config make:.git/hooks/x",
    files={".git/config": "", ".git/hooks": None}, filesystem={"allowGitConfig": True},
    host=(".git/config", ".git/hooks/x"))
add("filesystem.disabled", "no rules, no protected names, TMPDIR as it was",
    'python3 -I BASE/probe.py write:BASE/outside/x make:.bashrc read:key; echo "$TMPDIR [$TOKEN]"; ls /dev | grep -c ^sd',
    files={"key": "k"}, environment={"TMPDIR": "/var/tmp", "TOKEN": "t"},
    more={"credentials": {"envVars": [{"name": "TOKEN", "mode": "deny"}]}},
    filesystem={"disabled": True, "denyRead": ["key"], "allowWrite": []}, host=("BASE/outside/x", ".bashrc"))
add("credentials.files", "deny", " read:key read:other", files={"key": "k", "other": "o"},
    more={"credentials": {"files": [{"path": "key", "mode": "deny"}]}})
add("credentials.envVars", "deny", 'echo "[$A_TOKEN] [$B_TOKEN]"', environment={"A_TOKEN": "a", "B_TOKEN": "b"},
    more={"credentials": {"envVars": [{"name": "A_TOKEN", "mode": "deny"}]}})

# ---- the network ----

HOSTS = ("a.test:80", "A.TEST.:80", "sub.a.test:80", "b.test:80", "x.b.test:80", "x.y.b.test:80", "xb.test:80", "c.test:81",
         "c.test:80", f"127.0.0.1:{PORT}", "127.0.0.1:1", f"[::1]:{PORT}", f"127.0.0.2:{PORT}")
add("network.allowedDomains", "every form",
    " " + " ".join(f"http:{host}" for host in HOSTS),
    network={"allowedDomains": ["a.test", "*.b.test", "c.test:81", f"127.0.0.1:{PORT}", "[::1]"]})
add("network.allowedDomains", "localhost", f" http:localhost:{PORT} http:127.0.0.1:{PORT} http:other.test:80",
    network={"allowedDomains": ["localhost"]})
add("network.allowedDomains", "nothing", f" http:a.test:80 http:127.0.0.1:{PORT}")
add("network.deniedDomains", "before allowed ones", " http:a.test:80 http:b.a.test:80 http:c.test:80 http:c.test:81",
    network={"allowedDomains": ["a.test", "*.a.test", "c.test"], "deniedDomains": ["b.a.test", "c.test:81"]})
add("network.deniedDomains", "all", " http:a.test:80 http:c.test:80",
    network={"allowedDomains": ["a.test"], "deniedDomains": ["*"]})
add("network.deniedDomains", "a port of all", " http:a.test:80 http:a.test:81",
    network={"allowedDomains": ["a.test"], "deniedDomains": ["*:81"]})
add("network.deniedDomains", "an address that a name leads to", " http:leads.test:80 http:elsewhere.test:80",
    network={"allowedDomains": ["leads.test", "elsewhere.test"], "deniedDomains": ["203.0.113.11"]})
add("network.deniedDomainReasons", "in the answer to CONNECT", " connect:evil.test:443 connect:a.test:443",
    network={"deniedDomains": ["evil.test"], "deniedDomainReasons": {"evil.test": "no evil please"}})
add("network.strictAllowlist", "where nobody could be asked", f" http:127.0.0.1:{PORT} http:b.test:80",
    network={"allowedDomains": ["127.0.0.1"], "strictAllowlist": True})
add("network.deniedResolvedAddresses", "added to those that are built in",
    " connect:leads.test:443 connect:rebound.test:443",
    network={"allowedDomains": ["leads.test", "rebound.test"], "deniedResolvedAddresses": ["203.0.113.0/24"]})
add("network.deniedResolvedAddresses", "nobody resolves behind a parent proxy", " http:leads.test:80",
    network={"allowedDomains": ["leads.test"], "deniedResolvedAddresses": ["203.0.113.0/24"],
             "parentProxy": {"http": f"http://127.0.0.1:{PORT}"}})
add("network.deniedResolvedAddresses", "nor behind a proxy of one's own", " http:leads.test:80",
    network={"allowedDomains": ["leads.test"], "deniedResolvedAddresses": ["203.0.113.0/24"],
             "mitmProxy": {"socketPath": "SOCKET", "domains": ["leads.test"]}})
add("network.allowUnixSockets", "nothing by itself", " unix:SOCKET", network={"allowUnixSockets": ["SOCKET"]},
    library=said("unix:TOP/proxy.sock done"),
    why="through the package it does what its name says; the command line has srt's meaning")
add("network.allowAllUnixSockets", "opens all", " unix:SOCKET family:AF_UNIX", network={"allowAllUnixSockets": True})
add("network.allowAllUnixSockets", "opens nothing else", " family:AF_VSOCK uring:", network={"allowAllUnixSockets": True},
    ours=said("family:AF_VSOCK EAFNOSUPPORT", "uring: ENOSYS"), why="sockets of the host are asked for, and not these")
add("network.allowLocalBinding", "a server of its own", " bind:", network={"allowLocalBinding": False})
add("network.allowMachLookup", "is for macOS", "echo runs", network={"allowMachLookup": ["com.example.*"]})
add("network.httpProxyPort", "an external proxy", " http:any.test:80", network={"httpProxyPort": PORT})
add("network.socksProxyPort", "an external proxy", "env | grep -c 'FTP_PROXY=socks5h://localhost:1080$'",
    network={"httpProxyPort": PORT, "socksProxyPort": PORT})
add("network.mitmProxy", "some hosts", " http:a.test:80 http:b.test:80",
    network={"allowedDomains": ["a.test", "b.test"], "mitmProxy": {"socketPath": "SOCKET", "domains": ["a.test"]}})
add("network.parentProxy", "settings", f" http:a.test:80 http:c.test:80 http:b.test:80",
    network={"allowedDomains": ["a.test", "c.test"],
             "parentProxy": {"http": f"http://127.0.0.1:{PORT}", "noProxy": "c.test"}})
add("network.parentProxy", "the environment", " http:a.test:80 http:b.test:80", network={"allowedDomains": ["a.test"]},
    environment={"HTTP_PROXY": f"http://127.0.0.1:{PORT}"})
add("network.refuseOpaqueTunnels", "tunnels", f" connect:127.0.0.1:{PORT} http:127.0.0.1:{PORT} socks:127.0.0.1:{PORT}",
    network={"allowedDomains": ["127.0.0.1"], "refuseOpaqueTunnels": True})
add("network.requireHostMatch", "plain requests", f" http:127.0.0.1:{PORT}",
    network={"allowedDomains": ["127.0.0.1"], "requireHostMatch": True})
add("network.filterRequest", "is no JSON", "true", network={"filterRequest": "x"})
add("network.allowPlaintextHeaderSet", "goes with filterRequest", "echo runs",
    network={"allowPlaintextHeaderSet": True})
add("network.ambiguousRequestTarget", "goes with filterRequest", "echo runs",
    network={"ambiguousRequestTarget": "normalize"})
add("network.stripResponseHeaders", "a header", "echo runs", network={"stripResponseHeaders": ["set-cookie"]},
    ours=refused("network.stripResponseHeaders"), why="not built: refused by name")
add("network.tlsTerminate", "terminates", "echo runs", network={"tlsTerminate": {}},
    ours=refused("network.tlsTerminate"), why="not built: refused by name")
add("credentials", "mask", 'case $T in fake_value_*) echo masked;; esac', environment={"T": "t"},
    more={"credentials": {"envVars": [{"name": "T", "mode": "mask"}], "allowPlaintextInject": True}},
    ours=refused("credentials.envVars"), why="not built: refused by name")

add("credentials", "mask a file", "grep -c fake_value_ key", files={"key": "k"},
    more={"credentials": {"files": [{"path": "key", "mode": "mask"}], "allowPlaintextInject": True}},
    ours=refused("credentials.files"), why="not built: refused by name")
KEYS = [{"name": name, "mode": "mask"} for name in ("KEY_ID", "KEY")]
add("credentials", "sign with masked keys", "echo runs", environment={"KEY_ID": "i", "KEY": "k"},
    more={"credentials": {"envVars": KEYS, "awsPairs": [{"accessKeyIdVar": "KEY_ID", "secretAccessKeyVar": "KEY"}],
                          "sigv4": {"streaming": "deny"}, "allowPlaintextInject": True}},
    ours=refused("credentials.awsPairs"), why="not built: refused by name")

# ---- the rest ----

add("ignoreViolations", "nothing to see here", "echo runs", more={"ignoreViolations": {"*": ["/x"]}})
add("enableWeakerNestedSandbox", "the processes of the host", "[ -e /proc/$HOST_PID ] && echo seen || echo unseen",
    more={"enableWeakerNestedSandbox": True}, environment={"HOST_PID": str(os.getpid())})
add("allowNestedUserNamespaces", "off", " namespace:")
add("allowNestedUserNamespaces", "on", " namespace:", more={"allowNestedUserNamespaces": True})
add("mandatoryDenySearchDepth", "is not what limits protection", " write:a/b/.bashrc", files={"a/b/.bashrc": ""},
    more={"mandatoryDenySearchDepth": 1}, host=("a/b/.bashrc",),
    ours=said("write:a/b/.bashrc EACCES", host={"a/b/.bashrc": ""}), why="names are protected at any depth")
for key, value in (("ripgrep", {"command": "/nowhere/rg"}), ("seccomp", {"applyPath": "/nowhere/apply"}), ("bwrapPath", "/nowhere/bwrap"),
                   ("socatPath", "/nowhere/socat"), ("javaAgentJarPath", "/nowhere/agent.jar")):
    add(key, "a program that is not there", "echo runs", more={key: value}, ours=said("runs", status=0),
        why="none of these programs is needed")
add("git.safeDirectories", "added to what there is", "git config --get-all safe.directory; echo $GIT_CONFIG_COUNT",
    more={"git": {"safeDirectories": ["/some/where"]}},
    environment={"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "/before"})
for key in ("allowPty", "allowAppleEvents", "enableWeakerNetworkIsolation"):
    add(key, "is for macOS", "echo runs", more={key: True})
add("windows", "is for Windows", "echo runs", more={"windows": {"sandboxUser": "me"}})
add("unknown keys", "are dropped", "echo runs", more={"noSuchKey": {"x": 1}})
add("unknown keys", "but not in credentials", "echo runs", more={"credentials": {"noSuchKey": 1}})

# ---- the command line and the environment ----

FILE_OF_X = {"f": "x\nx\n"}
OPTIONS_END = "options end at the first word that is not one: those of the command are the command's"
add("srt COMMAND...", "words stay words", words=("printf", "[%s]", "a b", "$HOME", ";", "'"))
add("srt COMMAND...", "one word that holds blanks", words=("ls -d /tmp",))
add("srt COMMAND...", "-c of the command", words=("grep", "-c", "x", "f"), files=FILE_OF_X, ours=said("2", status=0),
    why=OPTIONS_END)
add("srt COMMAND...", "-s of the command", words=("sed", "-s", "-n", "p", "f"), files=FILE_OF_X,
    ours=said("x", "x", status=0), why=OPTIONS_END)
add("srt COMMAND...", "--version of the command", words=("echo", "--version"), ours=said("--version"), why=OPTIONS_END)
add("srt --", "ends options", words=("--", "grep", "-c", "x", "f"), files=FILE_OF_X)
add("srt -c", "a text for bash", words=("-c", 'x=(a b); echo "${x[1]}"; exit 9'))
add("no settings file", "no network, no writes, all reads", f" make:new read:BASE/outside/f http:127.0.0.1:{PORT}",
    settings=False, files={"BASE/outside/f": "f"}, host=("new",))
add("SANDBOX_RUNTIME", "and the rest of the environment",
    "env | grep -v '^\\(_\\|PWD\\|OLDPWD\\|SHLVL\\|HOME\\|PATH\\|LANG\\|USER\\|TMPDIR\\|CLOCHE\\|MINE\\)=' | sort; echo $MINE",
    environment={"MINE": "mine"}, network={"allowedDomains": ["a.test"]},
    without=("CLAUDE_CODE_HOST_", "GIT_SSH_COMMAND", "JAVA_TOOL_OPTIONS"),
    why="there is no port on the host, and programs that ignore proxies need no help")
add("TMPDIR", "CLAUDE_CODE_TMPDIR", "echo $TMPDIR",
    environment={"CLAUDE_CODE_TMPDIR": "/var/tmp", "CLAUDE_TMPDIR": "/nowhere"})
add("TMPDIR", "CLAUDE_TMPDIR", "echo $TMPDIR", environment={"CLAUDE_TMPDIR": "/var/tmp"})
add("JAVA_TOOL_OPTIONS", "what was there stays", "echo ${JAVA_TOOL_OPTIONS##* }",
    environment={"JAVA_TOOL_OPTIONS": "-Dmine=1"})
add("NODE_EXTRA_CA_CERTS", "what was there stays", "echo $NODE_EXTRA_CA_CERTS",
    environment={"NODE_EXTRA_CA_CERTS": "/some/ca.pem"})
add("NODE_USE_ENV_PROXY", "is not set", "echo [$NODE_USE_ENV_PROXY]")

# ---- what is seen ----

add("exit code", "the command's", "exit 7")
add("exit code", "127", "no-such-command")
add("exit code", "126", "/etc/passwd")
add("exit code", "a signal inside", "kill -KILL $$")
add("exit code", "a signal of a child", "sh -c 'kill -TERM $$'; echo $?")
add("stdout and stderr", "nothing of its own", "echo out; echo err >&2")
add("denied write", "outside, and where it is denied",
    " write:BASE/outside/f make:BASE/outside/x mkdir:BASE/outside/d unlink:BASE/outside/f chmod:BASE/outside/f write:file",
    files={"BASE/outside/f": "", "file": ""}, filesystem={"denyWrite": ["file"]},
    host=("BASE/outside/f", "BASE/outside/x", "file"))
add("protected path", "rename, rmdir, unlink, link",
    " rename:tree/file:moved rename:tree:moved unlink:tree/file link:tree/file:linked rename:.git:moved rename:.git/hooks:moved",
    files={"tree/file": "f", "tree/other": "o", ".git/config": "", ".git/hooks": None, ".git/HEAD": ""},
    filesystem={"denyWrite": ["tree/file"]}, host=("tree/file", "moved", "linked", ".git/config"), why=ERRNO,
    ours=said("rename:tree/file:moved EACCES", "rename:tree:moved EBUSY", "unlink:tree/file EACCES",
              "link:tree/file:linked EROFS", "rename:.git:moved EACCES", "rename:.git/hooks:moved EACCES"))
NAMES = (".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ripgreprc", ".mcp.json")
PLACES = (".vscode", ".idea", ".claude/commands", ".claude/agents", ".git/hooks")
add("mandatory deny", "names that exist",
    " " + " ".join(f"write:{name}" for name in (*NAMES, *(f"{place}/x" for place in PLACES), ".git/config")),
    files={**{name: "" for name in NAMES}, **{f"{place}/x": "" for place in PLACES}, ".git/config": ""},
    host=(*NAMES, ".git/config"))
add("mandatory deny", "names that do not exist",
    " " + " ".join(f"make:{name}" for name in NAMES) + " mkdir:.vscode mkdir:.idea mkdir:.claude/commands",
    files={".claude": None}, host=(*NAMES, ".vscode", ".idea", ".claude/commands"),
    why="no device and no empty file stands in their place",
    ours=said(*(f"make:{name} EACCES" for name in NAMES), "mkdir:.vscode EACCES", "mkdir:.idea EACCES",
              "mkdir:.claude/commands EACCES"))
add("mandatory deny", "a .git file", " write:.git unlink:.git", files={".git": "gitdir: elsewhere\n"}, host=(".git",),
    ours=said("write:.git EROFS", "unlink:.git EACCES"), why=ERRNO)
add("mandatory deny", "below", " write:a/.bashrc write:a/b/.mcp.json write:a/.vscode/x write:a/plain",
    files={"a/.bashrc": "", "a/b/.mcp.json": "", "a/.vscode/x": "", "a/plain": ""},
    host=("a/.bashrc", "a/b/.mcp.json", "a/.vscode/x"), why=ERRNO,
    ours=said("write:a/.bashrc EACCES", "write:a/b/.mcp.json EACCES", "write:a/.vscode/x EACCES", "write:a/plain done"))
add("default writable", "what exists of it",
    " write:/dev/null make:BASE/home/.npm/_logs/x make:BASE/home/.claude/debug/x make:BASE/home/.npm/x",
    filesystem={"allowWrite": []}, files={"~/.npm/_logs": None, "~/.claude/debug": None},
    host=("~/.npm/_logs/x", "~/.claude/debug/x", "~/.npm/x"))
add("default writable", "not where reading is denied", " make:BASE/home/.npm/_logs/x make:BASE/home/.claude/debug/x",
    filesystem={"allowWrite": [], "denyRead": ["~/.npm"]}, files={"~/.npm/_logs": None, "~/.claude/debug": None},
    host=("~/.npm/_logs/x",), why=VOID,
    ours=said("make:BASE/home/.npm/_logs/x EACCES", "make:BASE/home/.claude/debug/x done"))
add("direct connections", "TCP, UDP, names, the host's loopback",
    f" tcp:203.0.113.10:80 udp:203.0.113.10:9 name:leads.test tcp:127.0.0.1:{PORT}",
    ours=said("tcp:203.0.113.10:80 done", "udp:203.0.113.10:9 done", "name:leads.test EAI_NONAME",
              f"tcp:127.0.0.1:{PORT} ECONNREFUSED"),
    why="a connection is accepted, judged by its name and then reset: what is allowed needs no proxy")
add("sockets", "of the kernel", " family:AF_VSOCK uring:", ours=said("family:AF_VSOCK EAFNOSUPPORT", "uring: ENOSYS"),
    why="as on a kernel without them, which programs know how to do without")
add("sockets", "unix sockets", " family:AF_UNIX")
add("sockets", "of the host", " unix:SOCKET")
add("HTTP denied", "GET, CONNECT, SOCKS", " http:other.test:80 connect:other.test:443 socks:other.test:80")
add("a name for this machine", "GET, CONNECT", " http:rebound.test:80 connect:rebound.test:443",
    network={"allowedDomains": ["rebound.test"]})
add("nobody listens", "GET, CONNECT", " http:127.0.0.1:1 connect:127.0.0.1:1",
    network={"allowedDomains": ["127.0.0.1"]})

# ---- what srt does not hold, by the number it has among its limits ----

add("limit 2", "a datagram by one end of a pair", " pair:DATAGRAMS", ours=said("pair:TOP/datagrams.sock EACCES"))
add("limit 3", "denied variables in /proc/1", "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c value-that",
    environment={"A_TOKEN": "value-that"}, network={"allowAllUnixSockets": True},
    more={"credentials": {"envVars": [{"name": "A_TOKEN", "mode": "deny"}]}}, ours=said("0", status=1))
add("limit 4", "System V memory of the host", "ipcs -m | grep -c ^0x", ours=said("0", status=1))
add("limit 5", "names in the home, and those srt does not know",
    " write:BASE/home/.bashrc write:BASE/home/.gitconfig write:BASE/home/other/.git/hooks/x make:BASE/home/.zshenv make:BASE/home/.envrc",
    files={"~/.bashrc": "", "~/.gitconfig": "", "~/other/.git/hooks/x": ""}, filesystem={"allowWrite": ["~"]},
    host=("~/.bashrc", "~/.gitconfig", "~/other/.git/hooks/x", "~/.zshenv", "~/.envrc"),
    ours=said("write:BASE/home/.bashrc EROFS", "write:BASE/home/.gitconfig EROFS",
              "write:BASE/home/other/.git/hooks/x EACCES", "make:BASE/home/.zshenv EACCES",
              "make:BASE/home/.envrc EACCES",
              host={"~/.bashrc": "", "~/.gitconfig": "", "~/other/.git/hooks/x": "", "~/.zshenv": None,
                    "~/.envrc": None}))
add("limit 5", "deep ones", " write:a/b/c/d/.bashrc write:a/b/.git/hooks/x mkdir:a/.vscode",
    files={"a/b/c/d/.bashrc": "", "a/b/.git/hooks/x": ""}, host=("a/b/c/d/.bashrc", "a/b/.git/hooks/x", "a/.vscode"),
    ours=said("write:a/b/c/d/.bashrc EACCES", "write:a/b/.git/hooks/x EACCES", "mkdir:a/.vscode EACCES",
              host={"a/b/c/d/.bashrc": "", "a/b/.git/hooks/x": "", "a/.vscode": None}))
add("limit 5", "the repository above", " write:../.git/hooks/x write:../.git/config", cwd="sub",
    filesystem={"allowWrite": [".."]}, files={"sub": None, ".git/hooks/x": "", ".git/config": ""},
    host=(".git/hooks/x", ".git/config"),
    ours=said("write:../.git/hooks/x EROFS", "write:../.git/config EROFS",
              host={".git/hooks/x": "", ".git/config": ""}))
add("limit 6", "patterns from the root", " read:a.pem", files={"a.pem": "a"}, filesystem={"denyRead": ["/**/*.pem"]},
    ours=said("read:a.pem EACCES"))
add("limit 7", "phantom files", "ls -A; git init -q new && git -C new status --porcelain && git -C new add -A; echo $?",
    ours=said("0"))
add("limit 9", "mktemp", "f=$(mktemp) && rm $f && echo made", ours=said("made", status=0))
add("limit 10", "programs that know no proxy", " tcp:leads.test:80", network={"allowedDomains": ["leads.test"]},
    ours=said("tcp:leads.test:80 done"))
add("limit 11", "its own files are hidden", f" http:127.0.0.1:{PORT}", network={"allowedDomains": ["127.0.0.1"]},
    filesystem={"denyRead": ["/tmp"]}, ours=said(f"http:127.0.0.1:{PORT} 200 asked for /"))
add("limit 12", "allowWrite below allowRead below denyRead", " make:a/b/c/x make:a/b/y", files={"a/b/c": None},
    filesystem={"denyRead": ["a"], "allowRead": ["a/b"], "allowWrite": ["a/b/c"]}, host=("a/b/c/x",),
    ours=said("make:a/b/c/x done", "make:a/b/y EROFS", host={"a/b/c/x": ""}))
add("limit 14", "namespaces and devices", " namespace: kind:/dev/null kind:/dev/kvm")
add("limits in the README", "read patterns are a snapshot", " rename:a:b.pem make:c.pem read:deep/old.pem",
    files={"a": "a", "deep/old.pem": "old"}, filesystem={"denyRead": ["**/*.pem"]},
    ours=said("rename:a:b.pem EACCES", "make:c.pem EACCES", "read:deep/old.pem EACCES"))
add("limits in the README", "ancestors of what is denied", " rename:tree:moved read:moved/key", files={"tree/key": "k"},
    filesystem={"denyRead": ["tree/key"]})
add("limits in the README", "a link in place of a denied one",
    "rm link; mkdir link && echo x >link/key; python3 -I BASE/probe.py read:link/key kind:link",
    files={"real/key": "k", "link": ("link", "real")}, filesystem={"denyRead": ["link"], "denyWrite": ["link"]},
    ours=said("read:link/key EACCES", "kind:link link"))


# ---- playing them ----

class Stage:
    """A row, set up for a person: directories, files, settings."""

    def __init__(self, row, person, base, scenery):
        self.row, self.base, self.scenery = row, base, scenery
        self.home, self.work = base / "home", base / "home" / "work"
        for directory in (base, self.home, self.work, base / "outside"):
            directory.mkdir()
        shutil.copy(PROBE, base / "probe.py")
        for name, content in row.files.items():
            self._furnish(self.path(name), content)
        if row.settings:
            (self.home / ".srt-settings.json").write_text(json.dumps(self.settings))
        for directory, names, files in os.walk(base):
            for name in (".", *names, *files):
                os.chown(os.path.join(directory, name), person.uid, person.uid, follow_symlinks=False)
        self.environment = {**person.environment, "HOME": str(self.home), **{name: self.text(value) for name, value in row.environment.items()}}

    def path(self, name):
        return pathlib.Path(self.text(name).replace("~", str(self.home), 1)) if name[0] == "~" else self.work / self.text(name)

    def text(self, text):
        return text.replace("BASE", str(self.base)).replace("SOCKET", str(self.scenery / "proxy.sock")).replace(
            "DATAGRAMS", str(self.scenery / "datagrams.sock"))

    @property
    def settings(self):
        row = self.row
        whole = {"network": {"allowedDomains": [], "deniedDomains": [], **row.network},
                 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": [], **row.filesystem}, **row.more}
        return json.loads(self.text(json.dumps(whole)))

    @property
    def command(self):
        return self.text(self.row.command)

    @property
    def words(self):
        return [self.text(word) for word in self.row.words] or ["-c", self.command]

    @staticmethod
    def _furnish(path, content):
        if content is None:
            path.mkdir(parents=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, tuple):
            path.symlink_to(content[1].replace("BASE", str(path.parents[2])))
        else:
            path.write_text(content)

    def result(self, status, stdout):
        """What is compared: the status, what was printed, and what the host sees now."""
        return {"status": status, "stdout": self._without_chance(stdout), "host": {name: self._seen(name) for name in self.row.host}}

    def _without_chance(self, text):
        text = text.replace(str(self.base), "BASE").replace(str(self.scenery), "TOP")
        text = re.sub(r"\b[0-9a-f]{32}\b", "TOKEN", text)
        return re.sub(r"(?m)(PROXY_PORT=)\d{5}$|(-javaagent:).*", r"\1\2...", text)

    def _seen(self, name):
        path = self.path(name)
        if path.is_dir():
            return sorted(os.listdir(path))
        return path.read_text() if path.is_file() else None


def page(connection):
    """A web server, or a proxy: it answers with what it was asked for."""
    head = b""
    while b"\r\n\r\n" not in head:
        if not (more := connection.recv(65536)):
            return
        head += more
    body = b"asked for " + head.split(b" ")[1]
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))


@contextlib.contextmanager
def scenery(world, top):
    """What rows speak of beside their own directories: names, a web server, sockets and memory of the host."""
    world.names.add("leads.test", OTHER_V4)
    world.names.add("elsewhere.test", SERVER_V4)
    world.names.add("rebound.test", "127.0.0.9")
    for address in ("127.0.0.1", "::1", "127.0.0.2"):
        world.serve((address, PORT), page, on_machine=True)
    for address in (SERVER_V4, OTHER_V4):
        world.serve((address, 80), page)
    with socket.socket(socket.AF_UNIX) as stream, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        for each, name in ((stream, "proxy.sock"), (datagrams, "datagrams.sock")):
            each.bind(str(top / name))
            (top / name).chmod(0o666)
        stream.listen(100)
        world.attend(stream, page)
        made = subprocess.run(["ipcmk", "-M", "64", "-p", "0666"], capture_output=True, text=True, check=True).stdout
        memory = re.search(r"\d+", made)[0]
        try:
            yield
        finally:
            subprocess.run(["ipcrm", "-m", memory], check=True)  # it is still there
