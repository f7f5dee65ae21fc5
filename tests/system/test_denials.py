"""Every denial is told once, and rightly: which call, on what, by whom, by which rule; and what it says would allow it
does. The attempts are those of tests/attack/attacker.c, each in a directory of its own, so that nothing is folded."""

import json
import os
import re
import shlex
import shutil
import socket
import threading
import typing

import pytest

from judging import BUILD, PATIENCE, start

# Not the default, which hides most of a home: here a directory outside the project is in sight.
POLICY = {"extends": ["preset:base"], "filesystem": {"allowWrite": ["."]}}


class Denial(typing.NamedTuple):
    """X is the attempt's own directory, outside the project."""

    attempt: str
    call: str
    object: str = "X/file"
    allow: str = "X/file"  # what the hint opens
    errors: tuple = ("EROFS",)


FILE = [
    Denial("write X/file x", "openat"),
    Denial("open-to-write X/file", "openat"),
    Denial("open-truncating X/file", "openat"),
    Denial("write-below X/file x", "openat"),
    Denial("write-openat2 0 X/file x", "openat2"),
    Denial("write-reopened X/file x", "openat"),
    Denial("write-mapping X/file x", "openat"),
    Denial("write X/link x", "openat"),
    Denial("truncate X/file", "truncate"),
    Denial("truncate-reopened X/file", "truncate"),
    Denial("chmod X/file 0600", "chmod"),
    Denial("chmod-below X/file", "fchmodat"),
    Denial("chmod-reopened X/file", "chmod"),
    Denial("chmod-by-descriptor X/file 0600", "fchmod"),
    Denial("chmod-by-empty-path X/file", "fchmodat2"),
    Denial("chmod2 X/file", "fchmodat2"),
    Denial("chmod X/dir 0700", "chmod", "X/dir", "X/dir"),
    Denial("chown X/file", "chown"),
    Denial("chown-link X/file", "lchown"),
    Denial("chown-by-descriptor X/file", "fchown"),
    Denial("chown-by-empty-path X/file", "fchownat"),
    Denial("change-times X/file", "utimensat"),
    Denial("change-times-old X/file", "utime"),
    Denial("change-times-of-link X/file", "utimensat"),
    Denial("change-times-by-empty-path X/file", "utimensat"),
    Denial("change-times-reopened X/file", "utimensat"),
    Denial("change-times-by-descriptor X/file", "utimensat"),
    Denial("set-attribute X/file", "setxattr"),
    Denial("set-attribute-of-link X/file", "lsetxattr"),
    Denial("set-attribute-reopened X/file", "setxattr"),
    Denial("change-attribute-by-descriptor X/file", "fsetxattr"),
    Denial("remove-attribute X/file", "removexattr"),
    Denial("remove-attribute-by-descriptor X/file", "fremovexattr"),
]
# What comes and goes is the directory's.
NAME = [
    Denial("create X/new x", "openat", "X/new", "X"),
    Denial("create-old X/new x", "creat", "X/new", "X"),
    Denial("create-to-read X/new", "openat", "X/new", "X"),
    Denial("create-below X/new x", "openat", "X/new", "X"),
    Denial("create-openat2 0 X/new x", "openat2", "X/new", "X"),
    Denial("create-in-thread X/new x", "openat", "X/new", "X"),
    Denial("create-in-vfork X/new x", "openat", "X/new", "X"),
    Denial("create-nameless X/new x", "openat", "X", "X"),
    Denial("mkdir X/new", "mkdir", "X/new", "X"),
    Denial("mkdir-below X/new", "mkdirat", "X/new", "X"),
    Denial("rmdir X/dir", "rmdir", "X/dir", "X"),
    Denial("unlink X/file", "unlink", "X/file", "X"),
    Denial("remove-below X/file", "unlinkat", "X/file", "X"),
    Denial("symlink nowhere X/new", "symlink", "X/new", "X"),
    Denial("symlink-below nowhere X/new", "symlinkat", "X/new", "X"),
    Denial("link X/file X/new", "link", "X/file", "X"),
    Denial("link-below X/file X/new", "linkat", "X/file", "X"),
    Denial("link-by-empty-path X/file X/new", "linkat", "X/file", "X"),
    Denial("make-special X/new 0100000", "mknodat", "X/new", "X"),
    Denial("make-special X/new 0010000", "mknodat", "X/new", "X"),
    Denial("bind-socket X/new", "bind", "X/new", "X", ("EACCES",)),
    Denial("bind-packets X/new", "bind", "X/new", "X", ("EACCES",)),
    Denial("rename X/file X/new", "rename", "X/file", "X"),
    Denial("rename-below X/file X/new", "renameat", "X/file", "X"),
    Denial("rename-noreplace X/file X/new", "renameat2", "X/file", "X"),
    Denial("exchange X/file X/dir", "renameat2", "X/file", "X"),
    Denial("rename X/dir X/newdir", "rename", "X/dir", "X"),
]


class Call(typing.NamedTuple):
    """A system call that is refused whatever it is about."""

    attempt: str
    error: str
    hint: typing.Optional[str] = None
    works: bool = False  # for anybody, once it is allowed

    @property
    def call(self):
        return self.attempt.split()[1]


def allow_call(name):
    return f"""-s '{{"seccomp": {{"allow": ["{name}"]}}}}'"""


NESTED = """--allow-degraded late-names -s '{"allowNestedUserNamespaces": true}'"""
DATAGRAM = """-s '{"network": {"unixDatagram": true}}'"""
CALLS = [
    Call("call mount @x @/ @tmpfs", "EPERM"),
    Call("call umount2 @/", "EPERM"),
    Call("call pivot_root @/ @/", "EPERM"),
    Call("call chroot @/", "EPERM"),
    Call("call open_tree 0 @/ 1", "EPERM"),
    Call("call move_mount", "EPERM"),
    Call("call fsopen @tmpfs", "EPERM"),
    Call("call fsmount", "EPERM"),
    Call("call fsconfig", "EPERM"),
    Call("call fspick", "EPERM"),
    Call("call mount_setattr", "EPERM"),
    Call("call bpf", "EPERM"),
    Call("call kexec_load", "EPERM"),
    Call("call init_module", "EPERM"),
    Call("call finit_module", "EPERM"),
    Call("call delete_module", "EPERM"),
    Call("call reboot", "EPERM"),
    Call("call swapon", "EPERM"),
    Call("call acct", "EPERM"),
    Call("call ioctl 0 0x5412 @x", "EPERM"),
    Call("call socket 17 3 0", "EAFNOSUPPORT"),
    Call("call socket 16 3 15", "EPROTONOSUPPORT"),
    Call("call socket 1 2 0", "EACCES", DATAGRAM, True),
    Call("call socketpair 1 2 0 @xxxxxxxx", "EACCES", DATAGRAM, True),
    Call("call setns 0 0", "EPERM", NESTED),
    Call("call unshare 0x10000000", "EPERM", NESTED),
    Call("call clone 0x10000011", "EPERM", NESTED),
    Call("call keyctl 0 -2 1", "EPERM", allow_call("keyctl"), True),
    Call("call add_key", "EPERM", allow_call("add_key")),
    Call("call request_key", "EPERM", allow_call("request_key")),
    Call("call personality 0x400000", "EPERM", allow_call("personality"), True),
    Call("call perf_event_open", "EPERM", allow_call("perf_event_open")),
    Call("call userfaultfd", "EPERM", allow_call("userfaultfd")),
    Call("call chmod @. 0x9ed", "EPERM"),
    Call("call fchmod 0 0x9ed", "EPERM"),
    Call("call fchmodat -100 @. 0x9ed", "EPERM"),
    Call("call fchmodat2 -100 @. 0x9ed", "EPERM"),
    Call("call openat -100 @new 0x41 0x9ed", "EPERM"),
    Call("call creat @new 0x9ed", "EPERM"),
    Call("call mknodat -100 @new 0x89ed", "EPERM"),
    Call("call fcntl 0 1024 0", "EACCES"),
]


class Glass:
    """One person's runs, and what they told."""

    def __init__(self, person):
        self.person = person
        self.outside = person.directory(person.base / "outside")
        self.attacker = person.directory(person.home / ".local/bin") / "attacker"
        shutil.copy(BUILD / "tests" / "attack" / "attacker", self.attacker)
        self.attacker.chmod(0o755)
        person.own(self.attacker)

    def place(self, name):
        """A fresh directory outside the project that has something of everything."""
        place = self.person.directory(self.outside / str(name))
        file = self.person.file(place / "file", "content")
        os.setxattr(file, "user.kept", b"x")
        self.person.directory(place / "dir")
        self.person.link(place / "link", "file")
        return place

    def run(self, *command, policy=None, options=(), **keywords):
        told = self.person.base / "events.jsonl"
        told.unlink(missing_ok=True)
        answer = self.person.cloche("run", "-q", "--events", told, "--settings", json.dumps(policy or POLICY), *options,
                                    "--", *command, **{"timeout": PATIENCE, **keywords})
        assert answer.returncode != 125, answer.stderr
        lines = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
        return answer, [line for line in lines if line["kind"] != "run"]

    def attempt(self, *attempts, **keywords):
        words = [word for attempt in attempts for word in ("--", *attempt)]
        answer, events = self.run(self.attacker, *words, **keywords)
        assert answer.returncode == 0, answer
        return re.findall(r"= (\S+)\n", answer.stdout), events


@pytest.fixture
def glass(person):
    return Glass(person)


def spelled(text, place):
    return [word.replace("X", str(place), 1) if word.startswith("X") else word for word in text.split(" ")]


def test_the_tables_hold_as_many_as_are_promised():
    assert len({denial.attempt for denial in FILE + NAME}) + len({call.attempt for call in CALLS}) >= 90


def test_each_denied_change_of_a_file_is_told_once_and_its_hint_allows_it(glass):
    table = FILE + NAME
    places = [glass.place(number) for number, _ in enumerate(table)]
    attempts = [spelled(denial.attempt, place) for denial, place in zip(table, places)]
    outcomes, events = glass.attempt(*attempts)
    assert len(outcomes) == len(table) == len(events), (outcomes, events)
    wrong = []
    for denial, place, outcome, event in zip(table, places, outcomes, events):
        expected = {"kind": "fs.write", "op": denial.call, "object": denial.object.replace("X", str(place)),
                    "verdict": "denied", "errno": outcome, "program": str(glass.attacker), "count": 1,
                    "rule": {"file": "built-in", "path": "filesystem.allowWrite"},
                    "hint": f"--allow-write {denial.allow.replace('X', str(place))}"}
        wrong += [(denial.attempt, key, event.get(key)) for key, value in expected.items() if event.get(key) != value]
        if outcome not in denial.errors or "no allowWrite covers it" not in event["reason"]:
            wrong.append((denial.attempt, outcome, event["reason"]))
    assert not wrong
    # One process and its child; started by cloche.
    assert len({event["pid"] for event in events}) == 2
    assert sum(event["parent"]["program"].endswith("/cloche") for event in events) == len(events) - 1
    # What the hints say, all at once.
    options = [word for event in events for word in shlex.split(event["hint"])]
    outcomes, events = glass.attempt(*attempts, options=options)
    assert [denial.attempt for denial, outcome in zip(table, outcomes) if outcome != "ok"] == []
    assert [event for event in events if event["verdict"] == "denied"] == []


def test_each_refused_system_call_is_told_once_and_by_name(glass):
    attempts = [call.attempt.split(" ") for call in CALLS]
    outcomes, events = glass.attempt(*attempts, ["call", "io_uring_setup"], ["call", "io_uring_setup"],
                                     ["call", "landlock_create_ruleset", "0", "0", "1"])
    assert outcomes == [*(call.error for call in CALLS), "ENOSYS", "ENOSYS", "EOPNOTSUPP"]
    assert not (glass.person.project / "new").exists()
    denied = [event for event in events if event["verdict"] == "denied"]
    for call, event in zip(CALLS, denied):
        assert (event["kind"], event["op"], event["object"]) == ("syscall", call.call, call.call)
        assert (event["errno"], event["count"]) == (call.error, 1)
        assert event["program"] == str(glass.attacker) and event["reason"]
        assert event["rule"] == {"file": "built-in", "path": "seccomp"}
        assert event.get("hint") == call.hint, call
    assert len(denied) == len(CALLS), denied[len(CALLS):]
    # What programs try and do without is no denial; folded into one.
    probes = [event for event in events if event["verdict"] != "denied"]
    assert [(event["op"], event["verdict"], event["count"]) for event in probes] == [
        ("io_uring_setup", "observed", 1), ("landlock_create_ruleset", "observed", 1), ("io_uring_setup", "observed", 2)]


@pytest.mark.parametrize("call", [call for call in CALLS if call.works], ids=lambda call: call.attempt)
def test_the_hint_for_a_system_call_allows_it(glass, call):
    outcomes, events = glass.attempt(call.attempt.split(" "), options=shlex.split(call.hint))
    assert outcomes == ["ok"] and events == []


@pytest.mark.parametrize("name, attempt", [("mkdir", "mkdir made"), ("getpid", "call getpid"), ("umask", "call 95 0"),
                                           ("keyctl", "call keyctl 0 -2 1"), ("chmod", "chmod ordinary 0600")])
def test_a_call_that_the_policy_denies_is_refused_told_with_its_rule_and_not_performed(glass, name, attempt):
    file = glass.person.file("ordinary")
    file.chmod(0o640)
    policy = {**POLICY, "seccomp": {"deny": [name]}}
    outcomes, events = glass.attempt(attempt.split(" "), policy=policy)
    event, = events
    assert outcomes == ["EPERM"] and (event["kind"], event["op"], event["errno"]) == ("syscall", name, "EPERM")
    assert event["rule"]["path"] == "seccomp.deny[0]"
    assert event["hint"] == f"""-s '{{"seccomp": {{"deny": ["!{name}"]}}}}'"""
    assert file.stat().st_mode & 0o777 == 0o640 and not (glass.person.project / "made").exists()


@pytest.mark.parametrize("name, command, status", [("execve", "true", 126), ("rt_sigaction", "true", 0),
                                                   ("faccessat2", "true", 0), ("exit_group", "/nowhere", 127)])
def test_a_denied_call_is_answered_before_the_command_is_there(person, name, command, status):
    """Its process makes such calls between the filter and execve, while pid 1 waits for it."""
    policy = json.dumps({**POLICY, "seccomp": {"deny": [name]}})
    with start(person, "run", "-s", policy, "--", command) as run:
        try:
            _, said = run.communicate(timeout=PATIENCE)
        finally:
            run.kill()
    assert run.returncode == status and f"system call {name}" in said


# Names that a rule speaks of: what to try, what is refused, by which rule, and the hint.
RULES = [
    ("create .bashrc x", ".bashrc", "protected names", {"filesystem": {"unprotect": [".bashrc"]}}),
    ("mkdir sub/.vscode", "sub/.vscode", "protected names", {"filesystem": {"unprotect": [".vscode/"]}}),
    ("create .git/hooks/pre-commit x", ".git/hooks/pre-commit", "protected names",
     {"filesystem": {"unprotect": [".git/hooks/"]}}),
    ("rename ordinary .envrc", ".envrc", "protected names", {"filesystem": {"unprotect": [".envrc"]}}),
    ("symlink nowhere .mcp.json", ".mcp.json", "protected names", {"filesystem": {"unprotect": [".mcp.json"]}}),
    ("link ordinary .profile", ".profile", "protected names", {"filesystem": {"unprotect": [".profile"]}}),
    ("write kept x", "kept", "filesystem.denyWrite", {"filesystem": {"denyWrite": ["!kept"]}}),
    ("create absent x", "absent", "filesystem.denyWrite", {"filesystem": {"denyWrite": ["!absent"]}}),
    ("create sub/new.key x", "sub/new.key", "filesystem.denyWrite", {"filesystem": {"denyWrite": ["!**/*.key"]}}),
]


@pytest.mark.parametrize("attempt, name, rule, hint", RULES, ids=[row[0] for row in RULES])
def test_a_name_that_a_rule_speaks_of_is_told_with_that_rule(glass, attempt, name, rule, hint):
    person = glass.person
    for path in ("sub", ".git/hooks", ".git/objects", ".git/refs"):
        person.directory(person.project / path)
    person.file(".git/HEAD", "ref: refs/heads/main\n")
    person.file("kept")
    person.file("ordinary")
    filesystem = {"allowWrite": ["."], "denyWrite": ["kept", "absent", "**/*.key"]}
    policy = {"extends": ["preset:base"], "filesystem": filesystem}
    outcomes, events = glass.attempt(attempt.split(" "), policy=policy)
    event, = events
    assert outcomes[0] == event["errno"] in ("EACCES", "EROFS")
    assert (event["kind"], event["object"], event["verdict"]) == ("fs.write", str(person.project / name), "denied")
    assert event["rule"]["path"].split("[")[0] == rule, event
    option, lines = shlex.split(event["hint"])
    assert (option, json.loads(lines)) == ("-s", hint)
    # It adds to the other.
    outcomes, events = glass.attempt(attempt.split(" "), policy=policy, options=[option, lines])
    assert outcomes == ["ok"] and events == []


def told(person, script, *options):
    """The hints of a run as it is typed, by what was refused."""
    file = person.base / "typed.jsonl"
    file.unlink(missing_ok=True)
    answer = person.cloche("run", *options, "--events", file, "--", "sh", "-c", script, timeout=PATIENCE)
    assert answer.returncode != 125, answer.stderr
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {event["object"]: event for event in events if event["kind"] == "fs.write" and event["verdict"] == "denied"}


@pytest.mark.parametrize("given", [(), ("-p", "dev")], ids=["nothing found", "a preset"])
def test_a_hint_under_a_preset_can_be_typed_as_it_stands_and_opens_nothing_else(person, given):
    secret = person.file(person.home / "private", "secret")
    event = told(person, "echo x > .envrc", *given)[str(person.project / ".envrc")]
    assert event["hint"] == """-p dev -s '{"filesystem": {"unprotect": [".envrc"]}}'"""
    assert told(person, "echo x > .envrc", *shlex.split(event["hint"])) == {}
    assert (person.project / ".envrc").read_text() == "x\n"
    # The project stays writable, the home hidden and a second name protected.
    script = f"touch made; cat {secret}; touch .bashrc"
    answer = person.cloche("run", *shlex.split(event["hint"]), "--", "sh", "-c", script)
    assert (person.project / "made").exists() and not (person.project / ".bashrc").exists()
    assert "secret" not in answer.stdout


def test_a_hint_under_a_policy_file_names_the_file(person):
    policy = {"extends": ["preset:dev"], "filesystem": {"allowRead": ["~/seen"]}}
    file = person.file(person.base / "policy.json", policy)
    event = told(person, "echo x > .envrc", "-s", file)[str(person.project / ".envrc")]
    place, lines = event["hint"].removeprefix("in ").split(": ", 1)
    assert place == str(file)
    policy["filesystem"].update(json.loads(lines)["filesystem"])
    person.file(file, policy)
    assert told(person, "echo x > .envrc", "-s", file) == {}
    assert (person.project / ".envrc").read_text() == "x\n"


def test_what_is_hidden_and_protected_is_allowed_by_both_hints(person):
    for name in (".bashrc", ".gitconfig"):
        file = person.file(person.home / name, "old\n")
        event = told(person, f"echo x >> {file}")[str(file)]
        assert event["hint"] == f"""--allow-write {file} -p dev -s '{{"filesystem": {{"unprotect": ["{name}"]}}}}'"""
        assert told(person, f"echo x >> {file}", *shlex.split(event["hint"])) == {}
        assert file.read_text() == "old\nx\n"


def test_nobody_is_led_to_make_a_lock_or_a_swap_file(person):
    person.file(person.home / ".gitconfig")
    person.file(person.home / "notes")
    names = {".gitconfig.lock": ".gitconfig", ".notes.swp": "notes", ".vimrc.swo": ".vimrc",
             ".viminfo.tmp": ".viminfo", ".lesshsQ": ".lesshst"}
    for name, beside in names.items():
        event = told(person, f"echo x > ~/{name}")[str(person.home / name)]
        assert "hint" not in event
        assert f"a temporary file beside {person.home / beside}; a directory has to be writable" in event["reason"]
        assert f"a temporary file beside {person.home / beside}" in person.cloche("explain", f"write:~/{name}").stdout
    # A file in its own right has one, and the command that makes it.
    event = told(person, "echo x > ~/Cargo.lock")[str(person.home / "Cargo.lock")]
    assert event["hint"] and event["reason"].endswith(f"; it has to be there first: touch {person.home}/Cargo.lock")


@pytest.mark.parametrize("script, first", [("mkdir ~/made", "mkdir -p {}/made"), ("echo > ~/made", "touch {}/made")])
def test_what_has_to_be_made_first_is_told_as_a_command(person, script, first):
    event = told(person, script)[str(person.home / "made")]
    assert event["reason"].endswith("; it has to be there first: " + first.format(person.home))
    assert event["hint"] == f"--allow-write {person.home}/made"


def test_a_hint_that_opens_a_directory_says_so_and_none_opens_what_path_leads_to(person):
    outside = person.base / "outside"
    outside.mkdir()
    os.chown(outside, person.uid, person.uid)
    answer = person.cloche("run", "touch", outside / "new")
    assert f"    to allow it, and all else in there: --allow-write {outside}\n" in answer.stderr, answer.stderr
    assert person.cloche("run", "--allow-write", outside, "touch", outside / "new").returncode == 0
    # Whoever may write beside what is on PATH may have a program run outside later (attack 35).
    person.directory(person.home / ".tool/bin")
    person.environment["PATH"] = f"{person.home}/.tool/bin:{person.environment['PATH']}"
    event = told(person, "touch ~/.tool/lock")[str(person.home / ".tool/lock")]
    assert event["hint"] == f"--allow-write {person.home}/.tool/lock"
    person.file(person.home / ".tool/lock")
    answer = person.cloche("run", *shlex.split(event["hint"]), "sh", "-c", "echo x > ~/.tool/lock && ! touch ~/.tool/bin/new")
    assert answer.returncode == 0 and not (person.home / ".tool/bin/new").exists(), answer


@pytest.mark.parametrize("option, key", [("--deny-read", "--deny-read"), ("--deny-write", "--deny-write")])
def test_moving_what_holds_something_denied_names_the_rule_that_denies_it(person, option, key):
    person.file("above/denied/file")
    event = told(person, "mv above elsewhere", option, "above/denied")[str(person.project / "above")]
    assert event["rule"]["path"] == key and "a rule speaks of something in it" in event["reason"], event
    assert (person.project / "above/denied/file").exists()
    assert told(person, "mv above elsewhere") == {} and (person.project / "elsewhere/denied/file").exists()


def greet(server):
    try:
        while True:
            connection, _ = server.accept()
            connection.sendall(b"welcome")
            connection.close()
    except OSError:
        pass


@pytest.mark.parametrize("attempt, kind", [("connect", socket.SOCK_STREAM), ("connect-packets", socket.SOCK_SEQPACKET)])
def test_a_socket_of_the_host_is_told_and_its_hint_allows_it(glass, attempt, kind):
    path = glass.place("server") / "socket"
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen(8)
        threading.Thread(target=greet, args=[server], daemon=True).start()
        outcomes, events = glass.attempt([attempt, path])
        event, = events
        assert outcomes == ["EACCES"] and event["errno"] == "EACCES"
        assert (event["kind"], event["op"], event["object"]) == ("unix.connect", "connect", str(path))
        assert event["rule"] == {"file": "built-in", "path": "network.allowUnixSockets"}
        assert event["hint"] == f"--allow-unix {path}"
        outcomes, events = glass.attempt([attempt, path], options=shlex.split(event["hint"]))
        assert outcomes == ["ok"] and events == []


def test_a_hidden_socket_is_told_if_it_is_there(glass):
    """Inside it looks like one that is not."""
    path = glass.person.directory(glass.person.home / "agent") / "socket"
    policy = {"extends": ["preset:dev"]}
    assert glass.attempt(["connect", path], policy=policy) == (["ENOENT"], [])
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen(8)
        outcomes, events = glass.attempt(["connect", path], policy=policy)
    event, = events
    assert outcomes == ["ENOENT"] and (event["kind"], event["object"]) == ("unix.connect", str(path))


def test_what_fails_for_other_reasons_is_no_denial(glass):
    place = glass.place("ordinary")
    attempts = [["mkdir", place / "dir"], ["mkdir", "/usr"], ["unlink", place / "absent"],
                ["write", place / "absent", "x"],
                ["rename", place / "absent", place / "new"], ["rmdir", place / "absent"],
                ["create", place / "absent/new", "x"], ["symlink", "x", place / "link"],
                ["link", place / "file", place / "dir"],
                ["connect", place / "file"], ["connect", place / "absent"], ["connect", "/run/nobody/listens/here"],
                ["chmod", place / "absent", "0600"], ["truncate", "/nowhere/at/all"], ["create", "made", "x"],
                ["rmdir", "."], ["write", ".", "x"]]
    if glass.person.uid:
        # The mode says no, to everybody like this one.
        attempts += [["write", "/etc/hostname", "x"], ["mkdir", "/etc/new"], ["chmod", "/etc/hostname", "0777"],
                     ["change-times", "/etc/hostname"], ["unlink", "/etc/hostname"], ["truncate", "/etc/hostname"]]
    outcomes, events = glass.attempt(*attempts)
    assert outcomes.count("ok") == 1, list(zip(attempts, outcomes))
    assert events == []


ALLOWED = """
import os
os.mkdir('d')
for i in range(4000):
    name = f'd/{i}'
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644))
    os.chmod(name, 0o600)
    os.truncate(name, 10)
    os.rename(name, name + 'x')
    os.unlink(name + 'x')
"""


def test_twenty_thousand_allowed_operations_give_no_event(glass):
    answer, events = glass.run("/usr/bin/python3", "-c", ALLOWED, timeout=2 * PATIENCE)
    assert answer.returncode == 0 and events == []


FLOOD = """
import os
for i in range(20000):
    try: os.mkdir('.vscode')
    except PermissionError: pass
    else: raise SystemExit('made')
"""


def test_a_flood_of_denials_is_counted_to_the_last_and_told_in_two_lines(glass):
    answer, events = glass.run("/usr/bin/python3", "-c", FLOOD, timeout=2 * PATIENCE)
    assert answer.returncode == 0, answer
    assert [(event["op"], event["count"], event.get("folded")) for event in events] == [
        ("mkdir", 1, None), ("mkdir", 20000, True)]


def test_names_made_in_new_directories_are_told_as_what_may_run_later(glass):
    outcomes, events = glass.attempt(["mkdir", "new"], ["create", "new/.envrc", "x"], ["create", "new/ordinary", "x"],
                                     ["mkdir", "new/.git"], ["mkdir", "new/.git/hooks"],
                                     ["create", "new/.git/hooks/pre-commit", "x"],
                                     ["create", "new/.git/hooks/pre-push.sample", "x"])
    assert set(outcomes) == {"ok"}
    project = glass.person.project
    assert [(event["kind"], event["verdict"], event["object"]) for event in events] == [
        ("exec.later", "observed", str(project / name)) for name in
        ("new/.envrc", "new/.git/hooks/pre-commit")]


def test_nothing_about_files_is_told_where_watching_is_off(glass):
    place = glass.place("off")
    policy = {**POLICY, "violation": {"watch": "off"}}
    outcomes, events = glass.attempt(["write", place / "file", "x"], ["create", ".bashrc", "x"],
                                     ["call", "mount", "@x", "@/", "@tmpfs"], policy=policy)
    assert (outcomes, events) == (["EROFS", "EACCES", "EPERM"], [])


def test_hidden_reads_are_told_once_where_all_is_watched(glass):
    """Behind a mask, and where only what is listed is shown. What is nowhere is no denial."""
    person = glass.person
    person.file("secret", "secret")
    person.file("vault/key", "secret")
    hidden = person.file(person.home / "hidden/key", "secret")
    policy = {"extends": ["preset:dev"], "filesystem": {"denyRead": ["secret", "vault"]}, "violation": {"watch": "all"}}
    names = [person.project / "secret", person.project / "vault/key", hidden]
    outcomes, events = glass.attempt(*[["read", name] for name in names], ["read", hidden.with_name("absent")],
                                     ["read", person.project / "absent"], ["read", "/etc/hostname"], policy=policy)
    assert outcomes == ["EACCES", "EACCES", "ENOENT", "ENOENT", "ENOENT", "ok"]
    assert [(event["kind"], event["verdict"], event["object"], event["program"]) for event in events] == [
        ("fs.read", "denied", str(name), str(glass.attacker)) for name in names]
    assert events[2]["hint"] == f"--allow-read {hidden}"
    outcomes, events = glass.attempt(["read", hidden], policy=policy, options=shlex.split(events[2]["hint"]))
    assert outcomes == ["ok"] and events == []
    # Without it nobody looks at what is absent.
    assert glass.attempt(["read", hidden], policy={"extends": ["preset:dev"]}) == (["ENOENT"], [])


def test_what_is_written_is_told_where_all_is_watched(glass):
    policy = {**POLICY, "violation": {"watch": "all"}}
    attempts = [["create", "made", "x"], ["write", "made", "y"], ["mkdir", "dir"], ["rename", "made", "dir/moved"],
                ["chmod", "dir", "0700"], ["unlink", "dir/moved"]]
    outcomes, events = glass.attempt(*attempts, policy=policy)
    assert set(outcomes) == {"ok"}
    project = glass.person.project
    assert [(event["verdict"], event["object"]) for event in events if not event.get("folded")] == [
        ("observed", str(project / name)) for name in ("made", "dir", "dir/moved", "dir", "dir/moved")]


def test_what_a_home_of_which_only_a_part_is_shown_refuses_is_told(person):
    events = person.base / "events.jsonl"
    person.cloche("run", "--events", events, "sh", "-c", 'mkdir ~/outside; echo x >~/new; mkdir made')
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["object"] for event in told if event["verdict"] == "denied"] == [
        f"{person.home}/outside", f"{person.home}/new"]  # fmt: skip
    assert (person.project / "made").is_dir() and not (person.home / "outside").exists()
