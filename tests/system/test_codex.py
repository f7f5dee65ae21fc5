"""The personality `codex-linux-sandbox`: what a permission profile means, seen from outside. (Its command line and
what it refuses are test_codex_cli.py's subject.)"""

import json
import os
import pathlib
import socket
import threading

import pytest

from judging import ATTEMPT, fingerprint

PROTECTED = [".git", ".agents", ".codex", ".aws"]


def path(name, access):
    return {"path": {"type": "path", "path": str(name)}, "access": access}


def special(kind, access, **more):
    return {"path": {"type": "special", "value": {"kind": kind, **more}}, "access": access}


def pattern(text, access="deny"):
    return {"path": {"type": "glob_pattern", "pattern": str(text)}, "access": access}


def profile(*entries, network="restricted"):
    return {"type": "managed", "file_system": {"type": "restricted", "entries": list(entries)}, "network": network}


READ_ONLY = profile(special("root", "read"))
WORKSPACE = profile(special("root", "read"), special("project_roots", "write"))


def sh(person, policy, text, *arguments, **keywords):
    return person.codex(policy, "sh", "-c", text, "sh", *map(str, arguments), **keywords)


def can_read(person, policy, file):
    return sh(person, policy, 'cat "$1"', file).returncode == 0


def can_write(person, policy, file):
    """Judged by the host: did the file change?"""
    before = file.read_bytes() if file.exists() else None
    sh(person, policy, 'echo changed >> "$1"', file)
    after = file.read_bytes() if file.exists() else None
    if before is not None:
        file.write_bytes(before)
    elif after is not None:
        file.unlink()
    return before != after


# ---- entries ----


def test_root_is_everything_and_only_read(person):
    file = person.file(person.home / "elsewhere")
    assert can_read(person, READ_ONLY, file) and can_read(person, READ_ONLY, "/etc/passwd")
    assert not can_write(person, READ_ONLY, file)
    assert can_write(person, profile(special("root", "write")), file)


def test_what_no_entry_covers_is_hidden(person):
    inside, outside = person.file("inside"), person.file(person.home / "outside")
    policy = profile(special("minimal", "read"), special("project_roots", "read"))
    assert can_read(person, policy, inside)
    assert not can_read(person, policy, outside)
    assert outside.name not in sh(person, policy, f"ls -a {person.home}").stdout


def test_longest_path_wins_whatever_the_order(person):
    """Deny below write, write below deny, read below that: four deep, in both orders."""
    files = [person.file(f"{place}file") for place in ("", "a/", "a/b/", "a/b/c/")]
    entries = [special("root", "read"), special("project_roots", "write"), path(person.project / "a", "deny"),
               path(person.project / "a/b", "write"), path(person.project / "a/b/c", "read")]
    for policy in (profile(*entries), profile(*reversed(entries))):
        assert [can_read(person, policy, file) for file in files] == [True, False, True, True]
        assert [can_write(person, policy, file) for file in files] == [True, False, True, False]


def test_of_entries_for_one_path_deny_beats_write_and_write_beats_read(person):
    file = person.file("x/file")
    place = person.project / "x"
    for accesses, expected in [(["read", "write"], (True, True)), (["write", "read"], (True, True)),
                               (["write", "deny"], (False, False)), (["none", "read"], (False, False)),
                               (["read"], (True, False))]:
        policy = profile(special("root", "read"), *(path(place, access) for access in accesses))
        assert (can_read(person, policy, file), can_write(person, policy, file)) == expected, accesses


def test_read_entry_below_a_denied_one_is_readable(person):
    """Codex masks it with the rest."""
    seen, hidden = person.file("no/yes/file"), person.file("no/file")
    policy = profile(special("root", "read"), path(person.project / "no", "deny"),
                     path(person.project / "no/yes", "read"))
    assert can_read(person, policy, seen) and not can_read(person, policy, hidden)
    assert sh(person, policy, "ls no").stdout == "yes\n"


def test_a_single_file_can_be_writable(person):
    """Codex panics."""
    file, other = person.file("only"), person.file("other")
    policy = profile(special("root", "read"), path(file, "write"))
    assert can_write(person, policy, file) and not can_write(person, policy, other)
    under_denied = profile(special("root", "read"), path(person.project, "deny"), path(file, "write"))
    assert can_write(person, under_denied, file) and not can_read(person, under_denied, other)


def test_missing_write_root_is_left_out_and_not_made(person):
    policy = profile(special("root", "read"), path(person.project / "later", "write"))
    answer = sh(person, policy, "mkdir later")
    assert answer.returncode != 0 and not (person.project / "later").exists()
    person.directory(person.project / "later")
    assert can_write(person, policy, person.project / "later/file")


def test_symlinked_write_root_means_its_target(person):
    real = person.directory(person.home / "real")
    person.link(person.home / "name", "real")
    policy = profile(special("root", "read"), path(person.home / "name", "write"))
    assert can_write(person, policy, real / "file")
    assert sh(person, policy, 'echo x > "$1"/through', person.home / "name").returncode == 0
    assert (real / "through").exists()


def test_symlinked_write_root_keeps_its_name_where_little_else_is_shown(person):
    """In Codex the name is gone there."""
    real = person.directory(person.home / "real/deep")
    person.link(person.home / "name", "real")
    policy = profile(special("minimal", "read"), path(person.home / "name/deep", "write"))
    answer = sh(person, policy, 'echo x > "$1"/made && cat "$2"/made && /bin/pwd', person.home / "name/deep", real, cwd=real)
    assert answer.stdout == f"x\n{real}\n" and (real / "made").read_text() == "x\n", answer.stderr
    assert sh(person, policy, 'ls -A "$1"', person.home, cwd=real).stdout == "name\nreal\n"


def test_writes_never_vanish(person):
    """Where nothing may be written a write fails; Codex lets some succeed into a tmpfs."""
    policy = profile(special("minimal", "read"), special("project_roots", "write"))
    for place in ("/file", "/home/file", person.home / "file", "/usr/file", "/dev/file"):
        assert sh(person, policy, 'echo x > "$1"', place).returncode != 0, place
    assert sh(person, policy, 'echo x > "$1"', person.project / "file").returncode == 0
    assert (person.project / "file").read_text() == "x\n"


# ---- special paths ----


def test_minimal_is_the_platform_and_nothing_else(person):
    bare = profile(special("project_roots", "read"))
    minimal = profile(special("project_roots", "read"), special("minimal", "read"))
    assert person.codex(bare, "/bin/true").returncode == 127
    assert person.codex(minimal, "/bin/true").returncode == 0
    assert can_read(person, minimal, "/etc/passwd")
    assert not can_read(person, minimal, "/var/lib/dpkg/status") and can_read(person, READ_ONLY, "/var/lib/dpkg/status")
    for hidden in ("/home/*", "/opt", "/srv", "/var", "/root"):
        found = sh(person, minimal, f"ls -d {hidden}").stdout.split()
        assert not set(found) - {str(parent) for parent in person.project.parents}, found


def test_without_minimal_nothing_of_etc_is_shown(person):
    policy = profile(special("project_roots", "read"), path("/usr", "read"), path("/lib64", "read"), path("/bin", "read"),
                     path("/lib", "read"))
    assert sh(person, policy, "ls /usr/bin/env").returncode == 0
    assert sh(person, policy, "ls /etc").returncode != 0


@pytest.mark.parametrize("kind", ["project_roots", "current_working_directory"])
def test_project_roots_are_the_policy_directory_and_may_go_deeper(person, kind):
    top, below = person.file("file"), person.file("sub/file")
    assert can_write(person, profile(special("root", "read"), special(kind, "write")), top)
    policy = profile(special("root", "read"), special(kind, "write", subpath="sub"))
    assert can_write(person, policy, below) and not can_write(person, policy, top)


def test_tmpdir_counts_only_if_it_is_an_absolute_path(person):
    place = person.directory(person.home / "temporary")
    policy = profile(special("root", "read"), special("tmpdir", "write"))
    text = f"echo x > {place}/file"
    assert sh(person, policy, text, environment={"TMPDIR": str(place)}).returncode == 0
    assert sh(person, policy, text, environment={"TMPDIR": ""}).returncode != 0
    assert sh(person, policy, "echo x > ../temporary/file", environment={"TMPDIR": "../temporary"}).returncode != 0


def test_slash_tmp_is_the_hosts(person):
    name = f"/tmp/cloche-codex-{os.getpid()}-{person.uid}"
    policy = profile(special("root", "read"), special("slash_tmp", "write"))
    try:
        assert sh(person, READ_ONLY, 'echo x > "$1"', name).returncode != 0 and not os.path.exists(name)
        assert sh(person, policy, 'echo x > "$1"', name).returncode == 0 and os.path.exists(name)
        assert not can_read(person, profile(special("root", "read"), special("slash_tmp", "deny")), name)
    finally:
        os.unlink(name)


def test_place_that_is_not_known_grants_nothing_and_cannot_be_denied(person):
    """Codex passes over both."""
    grants = profile(special("root", "read"), special("unknown", "write", path=":later"))
    assert sh(person, grants, "echo ran").stdout == "ran\n" and not can_write(person, grants, person.project / "x")
    denies = profile(special("root", "read"), special("unknown", "deny", path=":later"))
    answer = sh(person, denies, "echo ran")
    assert answer.returncode == 2 and ":later" in answer.stderr and not answer.stdout


def test_entry_that_is_to_be_skipped_where_missing_is_an_ordinary_one(person):
    file = person.file("x/file")
    entry = {**path(person.project / "x", "read"), "missing_path_behavior": "skip"}
    policy = profile(special("root", "read"), special("project_roots", "write"), entry)
    assert can_read(person, policy, file) and not can_write(person, policy, file)


# ---- patterns ----


def test_pattern_hides_files_and_directories_at_any_depth(person):
    """Codex leaves directories open."""
    hidden = [person.file(name) for name in ("a.env", "x/y/b.env", "x/kept.env/inside", ".hidden/c.env")]
    seen = person.file("x/y/env")
    policy = profile(special("root", "read"), special("project_roots", "write"), pattern(person.project / "**/*.env"))
    assert [can_read(person, policy, file) for file in hidden] == [False] * 4
    assert can_read(person, policy, seen) and can_write(person, policy, seen)
    assert can_read(person, WORKSPACE, hidden[1])


def test_star_stays_within_one_component_and_an_open_bracket_is_itself(person):
    one, two, odd = person.file("d/key"), person.file("d/e/key"), person.file("d/[key")
    policy = profile(special("root", "read"), pattern(person.project / "*/key"), pattern(person.project / "d/[k*"))
    assert not can_read(person, policy, one) and not can_read(person, policy, odd)
    assert can_read(person, policy, two)


def test_pattern_finds_what_is_beside_a_directory_that_was_descended_into(person):
    """Directories are listed one inside the other: what the inner one holds must not be taken for the rest of the outer."""
    secrets = [person.file(f"{name}/deep/of-{name}.env", "secret\n") for name in "abcdefgh"]
    control = person.file("h/deep/readable.txt", "fine\n")
    policy = profile(special("root", "read"), special("project_roots", "write"), pattern(person.project / "**/*.env"))
    for secret in secrets:
        answer = person.codex(policy, "cat", str(secret))
        assert answer.returncode != 0 and "secret" not in answer.stdout, secret
    # Each by a mount: the doorman, who hides them as well, is not there on every host.
    masks = sh(person, policy, "cat /proc/self/mountinfo").stdout
    assert [f"/deep/of-{name}.env " in masks for name in "abcdefgh"] == [True] * 8
    assert person.codex(policy, "cat", str(control)).stdout == "fine\n"
    assert person.codex(profile(special("root", "read")), "cat", str(secrets[-1])).stdout == "secret\n"


def test_alternatives_in_braces_are_each_a_pattern(person):
    hidden = [person.file(name) for name in ("a.pem", "x/b.key", "x/c.p12", "x/id_rsa")]
    seen = [person.file(name) for name in ("a.pe", "x/b.{pem,key}")]
    policy = profile(special("root", "read"), pattern(person.project / "**/{*.{pem,key},*.p12,id_rsa}"))
    assert not any(can_read(person, policy, file) for file in hidden)
    assert all(can_read(person, policy, file) for file in seen)


def test_nothing_that_matches_can_be_made_or_carried_away(person):
    """Codex looks once: what is made later can be read, and a parent's rename uncovers the rest."""
    secret = person.file("x/y/a.env", "secret\n")
    policy = profile(special("root", "read"), special("project_roots", "write"), pattern(person.project / "**/*.env"))
    answer = sh(person, policy, "echo 1 > new.env; echo 2 > x/new.env; echo 3 > plain; mv plain moved.env;"
                                "mv x z; mv x/y x/z; ln x/y/a.env link; mv x/y/a.env name; cat link name z/y/a.env")
    assert "secret" not in answer.stdout
    assert sorted(p.relative_to(person.project).as_posix() for p in person.project.rglob("*") if p.is_file()) == [
        "plain", "x/y/a.env"]
    assert secret.read_text() == "secret\n"


def test_pattern_finds_its_way_through_a_linked_prefix(person):
    """In Codex this is refused by bwrap."""
    file = person.file(person.home / "real/a.pem")
    person.link(person.home / "name", "real")
    policy = profile(special("root", "read"), pattern(person.home / "name/*.pem"))
    assert not can_read(person, policy, file) and not can_read(person, policy, person.home / "name/a.pem")


def test_link_that_matches_hides_what_it_leads_to(person):
    target = person.file(person.home / "elsewhere", "secret\n")
    person.link("a.env", target)
    policy = profile(special("root", "read"), pattern(person.project / "*.env"))
    assert not can_read(person, policy, person.project / "a.env") and not can_read(person, policy, target)


# ---- protected names ----


@pytest.mark.parametrize("name", PROTECTED)
def test_protected_name_is_read_only_at_the_top_of_a_root_whether_it_exists_or_not(person, name):
    assert sh(person, WORKSPACE, f"mkdir {name}").returncode != 0
    assert sh(person, WORKSPACE, f"echo > {name}").returncode != 0
    assert sh(person, WORKSPACE, f"mkdir x && mv x {name}").returncode != 0
    assert not os.path.lexists(person.project / name)
    file = person.file(f"{name}/config")
    assert can_read(person, WORKSPACE, file) and not can_write(person, WORKSPACE, file)
    for text in (f"rm -r {name}", f"mv {name} away", f"ln -sfn /tmp {name}", f"touch {name}/new", f"chmod 0 {name}"):
        assert sh(person, WORKSPACE, text).returncode != 0, text
    assert can_write(person, WORKSPACE, person.file(f"deeper/{name}/config"))
    assert can_write(person, WORKSPACE, person.file(f"{name}s"))


def test_no_way_of_making_a_name_makes_a_protected_one(person):
    person.file("file")
    person.directory(person.project / "other")
    program = ATTEMPT + """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def exchange(one, two):
    if libc.renameat2(-100, one.encode(), -100, two.encode(), 2): raise OSError(ctypes.get_errno(), "")
def bind(name): socket.socket(socket.AF_UNIX).bind(name)
name = sys.argv[1]
open("spare", "w").close()
print([attempt(*call) != 0 for call in ((os.link, "file", name), (os.symlink, "/", name), (os.mkfifo, name),
       (bind, name), (os.rename, "other", name), (os.mkdir, name), (os.open, name, os.O_CREAT | os.O_WRONLY),
       (exchange, "file", name), (os.rename, "spare", name), (os.mknod, name))])
"""
    for name, expected in [*((name, True) for name in PROTECTED), ("./x/../.git", True), ("plain", False)]:
        answer = person.codex(WORKSPACE, "python3", "-c", "import os; os.makedirs('x', exist_ok=True)" + program, name)
        refused = json.loads(answer.stdout.lower())
        assert all(refused) if expected else not refused[0], (name, answer)
        assert (person.project / name).exists() != expected


def test_protected_names_hold_in_every_root(person):
    other = person.directory(person.home / "other")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(other, "write"))
    assert sh(person, policy, 'mkdir "$1"/.git', other).returncode != 0
    assert sh(person, policy, 'mkdir "$1"/git', other).returncode == 0


@pytest.mark.parametrize("name", PROTECTED)
def test_write_entry_for_a_protected_name_opens_it(person, name):
    file, hook = person.file(f"{name}/file"), person.file(f"{name}/sub/file")
    opened = profile(special("root", "read"), special("project_roots", "write"), path(person.project / name, "write"))
    assert can_write(person, opened, file) and can_write(person, opened, hook)
    below = profile(special("root", "read"), special("project_roots", "write"),
                    path(person.project / name / "sub", "write"))
    assert can_write(person, below, hook) and not can_write(person, below, file)


def test_protected_name_in_a_root_that_was_closed_is_held_when_it_is_opened(person):
    root = person.directory(person.home / "closed")
    root.chmod(0)
    policy = profile(special("root", "read"), path(root, "write"))
    try:
        sh(person, policy, 'chmod 700 "$1"; mkdir "$1"/.git "$1"/other', root)
        root.chmod(0o700)
        assert [entry.name for entry in root.iterdir()] in ([], ["other"])
    finally:
        root.chmod(0o700)


@pytest.mark.parametrize("access", ["read", "deny"])
def test_carve_out_in_a_directory_that_was_closed_is_held_when_it_is_opened(person, access):
    file = person.file("a/kept/file")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(file.parent, access))
    file.parent.parent.chmod(0)
    try:
        sh(person, policy, "chmod 700 a; echo changed > a/kept/file; mv a/kept a/away; chmod 700 a; echo x > b")
    finally:
        file.parent.parent.chmod(0o755)
    assert file.read_text() == "content\n" and (person.project / "b").exists()


def test_git_file_and_the_directory_it_points_to_are_read_only(person):
    config = person.file("kept/git/config")
    for pointer in ("gitdir: kept/git\n", f"gitdir: {person.project}/kept/git\n"):
        git = person.file(".git", pointer)
        assert not can_write(person, WORKSPACE, git) and not can_write(person, WORKSPACE, config)
        assert sh(person, WORKSPACE, "mv kept taken || mv kept/git taken").returncode != 0
    assert can_write(person, WORKSPACE, person.file("kept/file"))


def test_git_file_that_points_nowhere_lets_nothing_be_made_there(person):
    """Codex passes over it: the command makes the directory, and git on the host obeys it."""
    person.file(".git", "gitdir: kept/git\n")
    assert sh(person, WORKSPACE, "mkdir -p kept/git").returncode != 0
    assert not (person.project / "kept/git").exists()
    assert sh(person, WORKSPACE, "mkdir -p kept/got").returncode == 0


def test_names_that_only_cloche_protects_are_ordinary_here(person):
    for name in (".bashrc", ".vscode/settings.json", ".mcp.json", "sub/.git/hooks/pre-commit", "sub/.git/config"):
        assert can_write(person, WORKSPACE, person.file(name)), name
        (person.project / name).unlink()
        assert sh(person, WORKSPACE, 'mkdir -p "$(dirname "$1")" && echo > "$1"', name).returncode == 0, name


def test_git_works_in_a_repository_below_the_root(person):
    answer = sh(person, WORKSPACE, "git init -q sub && cd sub && git config user.name n && git config user.email e@x && "
                                   "echo > f && git add f && git commit -qm m && git log --format=%s")
    assert (answer.stdout, answer.stderr) == ("m\n", "")


# ---- what Codex gets wrong ----


def test_parent_of_a_carve_out_cannot_be_exchanged(person):
    """In Codex `mv a b; mkdir -p a/ro` replaces it on the host."""
    file = person.file("a/ro/file")
    policy = profile(special("root", "read"), special("project_roots", "write"), path(person.project / "a/ro", "read"))
    assert sh(person, policy, "mv a b").returncode != 0
    sh(person, policy, "mv a b; mkdir -p a/ro; echo changed > a/ro/file")
    assert file.read_text() == "content\n" and not (person.project / "b").exists()
    assert sh(person, policy, "echo x > a/beside && mv a/beside a/other").returncode == 0


def test_missing_carve_out_can_be_neither_made_nor_is_its_parent_blocked(person):
    """Codex puts a file in the place of the first missing component."""
    policy = profile(special("root", "read"), special("project_roots", "write"), path(person.project / "a/b/c", "read"),
                     path(person.project / "no/no", "deny"))
    answer = sh(person, policy, "mkdir -p a/b && echo made; mkdir a/b/c; mkdir -p no && mkdir no/no")
    assert answer.stdout == "made\n"
    assert (person.project / "a/b").is_dir() and not (person.project / "a/b/c").exists()
    assert (person.project / "no").is_dir() and not (person.project / "no/no").exists()


def test_nothing_is_left_behind_and_nothing_shows_meanwhile(person):
    person.file("file")
    before = fingerprint(person.home)
    answer = sh(person, profile(special("root", "read"), special("project_roots", "write"),
                                path(person.project / "a/b", "deny"), pattern(person.project / "**/*.key")), "ls -A")
    assert answer.stdout == "file\n"
    assert fingerprint(person.home) == before


def test_inherited_descriptors_stay_outside(person):
    """In Codex a denied file is read through one."""
    secret = person.file("secret", "secret\n")
    policy = profile(special("root", "read"), path(secret, "deny"))
    fd = os.open(secret, os.O_RDONLY)
    try:
        assert "secret" not in sh(person, policy, f"cat <&{fd}; cat /proc/self/fd/{fd}; ls /proc/self/fd",
                                  pass_fds=[fd]).stdout
    finally:
        os.close(fd)


def test_sockets_between_processes_of_the_run_work(person):
    """Codex's filter breaks asyncio, multiprocessing and local test servers."""
    program = """
import asyncio, socket
async def main():
    server = await asyncio.start_server(lambda r, w: (w.write(b"served"), w.close()), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    print((await reader.read()).decode())
asyncio.run(main())
one, two = socket.socketpair()
one.send(b"pair"); print(two.recv(9).decode())
listener = socket.socket(socket.AF_UNIX); listener.bind("s"); listener.listen()
client = socket.socket(socket.AF_UNIX); client.connect("s"); client.send(b"unix")
print(listener.accept()[0].recv(9).decode())
"""
    answer = person.codex(WORKSPACE, "python3", "-c", program)
    assert (answer.stdout, answer.stderr) == ("served\npair\nunix\n", "")


def test_environment_is_passed_whole(person):
    """Codex has its own rules for it, before the helper is called."""
    answer = sh(person, READ_ONLY, 'echo "$MY_API_KEY $TMPDIR"', environment={"MY_API_KEY": "k", "TMPDIR": "/nowhere"})
    assert answer.stdout == "k /nowhere\n"


# ---- the other profiles ----


@pytest.fixture
def server():
    """Says hello on the host's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                client.sendall(b"hello")
                client.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


CONNECT = ATTEMPT + """
import socket, sys
print(attempt(lambda: print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).recv(9).decode())) and "none")
"""


def reaches(person, policy, port, **keywords):
    return "hello" in person.codex(policy, "python3", "-c", CONNECT, str(port), **keywords).stdout


@pytest.mark.parametrize("policy, files, network", [
    ({"type": "disabled"}, True, True),
    ({"type": "external", "network": "enabled"}, True, True),
    ({"type": "external", "network": "restricted"}, True, False),
    ({"type": "managed", "file_system": {"type": "unrestricted"}, "network": "enabled"}, True, True),
    ({"type": "managed", "file_system": {"type": "unrestricted"}, "network": "restricted"}, True, False),
    (READ_ONLY, False, False),
    (profile(special("root", "read"), network="enabled"), False, True),
    ({"file_system": {"entries": [special("root", "read")], "glob_scan_max_depth": 3}}, False, False),
    ({"file_system": {"entries": [special("root", "write")]}, "network": {"enabled": True}}, True, True),
    ({"file_system": {"read": ["/"], "write": None}}, False, False),
    ({"file_system": {"read": None, "write": ["/"]}, "network": {"enabled": False}}, True, False),
])
def test_kinds_of_profiles(person, server, policy, files, network):
    assert can_write(person, policy, person.file(person.home / "elsewhere")) == files
    assert reaches(person, policy, server) == network


def test_disabled_is_no_sandbox_at_all(person):
    assert sh(person, {"type": "disabled"}, "readlink /proc/self/ns/mnt").stdout.strip() == os.readlink("/proc/self/ns/mnt")
    assert sh(person, READ_ONLY, "readlink /proc/self/ns/mnt").stdout.strip() != os.readlink("/proc/self/ns/mnt")
    assert sh(person, {"type": "disabled"}, "exit 7").returncode == 7
    assert person.codex({"type": "disabled"}, "no-such-command").returncode == 127


def test_sockets_of_the_host_are_reached_with_the_network_only(person):
    place = person.directory(person.home / "run") / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        person.own(place)
        listener.listen()
        text = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r}); print('connected')"
        assert person.codex(READ_ONLY, "python3", "-c", text).stdout == ""
        enabled = profile(special("root", "read"), network="enabled")
        assert person.codex(enabled, "python3", "-c", text).stdout == "connected\n"


def test_server_of_codex_itself_is_out_of_reach(person):
    """Whoever talks to it is past the sandbox; with the network its socket could be connected to."""
    place = pathlib.Path(f"/tmp/codex-daemon-{person.uid}")
    made = not place.exists()
    if made:
        place.mkdir(mode=0o700)
        person.own(place)
    file = person.file(place / f"test-{os.getpid()}")
    try:
        for policy in (READ_ONLY, profile(special("root", "read"), network="enabled"),
                       profile(special("root", "read"), special("slash_tmp", "write"))):
            assert not can_read(person, policy, file)
        assert can_read(person, {"type": "disabled"}, file)
    finally:
        file.unlink()
        if made:
            place.rmdir()


# ---- managed proxy ----


def managed(person, policy, port, *command, context="{}", environment=None, **keywords):
    return person.codex(policy, *command, options=["--managed-network", context],
                        environment=environment or {"HTTP_PROXY": f"http://127.0.0.1:{port}"}, **keywords)


@pytest.mark.parametrize("policy", [READ_ONLY, WORKSPACE, {"type": "disabled"},
                                    profile(special("root", "read"), network="enabled")])
def test_managed_proxy_is_all_there_is_of_the_network(person, server, policy):
    """Whatever the profile says of it."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        text = CONNECT.replace("sys.argv[1]", "sys.argv[2]") + CONNECT + "import os; print(os.environ['HTTP_PROXY'])"
        answer = managed(person, policy, server, "python3", "-c", text, str(server), str(other.getsockname()[1]))
    assert answer.stdout == f"none\nhello\n0\nhttp://127.0.0.1:{server}\n", answer.stderr


@pytest.mark.parametrize("variable, value", [
    ("https_proxy", "http://user:word@localhost:{}/"), ("All_Proxy", "socks5h://127.0.0.1:{}"),
    ("NPM_CONFIG_PROXY", "localhost:{}"), ("WSS_PROXY", " http://[::1]:{} "), ("PIP_PROXY", "http://127.0.0.1:{}?x#y")])
def test_every_proxy_variable_counts(person, server, variable, value):
    answer = managed(person, READ_ONLY, server, "python3", "-c", CONNECT, str(server),
                     environment={variable: value.format(server)})
    assert "hello" in answer.stdout, answer.stderr


def test_older_flag_means_the_same(person, server):
    answer = person.codex(READ_ONLY, "python3", "-c", CONNECT, str(server), options=["--allow-network-for-proxy"],
                          environment={"HTTP_PROXY": f"http://127.0.0.1:{server}"})
    assert "hello" in answer.stdout


def test_ports_of_the_context_come_in_too(person, server):
    proxy = {"HTTP_PROXY": "http://127.0.0.1:9"}
    probe = ("python3", "-c", CONNECT, str(server))
    assert "hello" in managed(person, READ_ONLY, 0, *probe, context=f'{{"loopbackPorts":[{server}]}}',
                              environment=proxy).stdout
    assert "hello" not in managed(person, READ_ONLY, 0, *probe, environment=proxy).stdout


def test_sockets_of_the_context_can_be_connected_to(person, server):
    place = person.directory(person.home / "run") / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        person.own(place)
        listener.listen()
        probe = ("python3", "-c", f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r}); print('connected')")
        for context, expected in (('{}', ""), (f'{{"allowUnixSockets":["{place}"]}}', "connected\n"),
                                  ('{"dangerouslyAllowAllUnixSockets":true}', "connected\n")):
            assert managed(person, READ_ONLY, server, *probe, context=context).stdout == expected, context


@pytest.mark.parametrize("environment", [{}, {"HTTP_PROXY": ""}, {"HTTP_PROXY": "http://10.0.0.1:8080"},
                                         {"HTTP_PROXY": "http://localhost.example:8080"},
                                         {"HTTP_PROXY": "http://127.0.0.1:99999"}, {"PROXY": "http://127.0.0.1:80"}])
def test_proxy_mode_without_a_proxy_of_this_host_is_refused(person, environment):
    answer = person.codex(READ_ONLY, "echo", "ran", options=["--managed-network", "{}"], environment=environment)
    assert (answer.returncode, answer.stdout) == (101, "") and "managed proxy mode requires" in answer.stderr


# ---- the same as a policy of cloche ----


@pytest.mark.parametrize("policy, files", [
    (WORKSPACE, (True, False)), (READ_ONLY, (False, False)), ({"type": "workspace-write"}, (True, False)),
    ({"type": "read-only"}, (False, False)), ({"type": "danger-full-access"}, (True, True))])
def test_settings_of_codex_are_a_policy_of_cloche(person, policy, files):
    settings = person.file(person.home / "codex.json", policy)
    for file, expected in zip((person.file("file"), person.file(person.home / "elsewhere")), files):
        answer = person.cloche("run", "-s", f"codex:{settings}", "sh", "-c", f"echo x >> {file}")
        assert (answer.returncode == 0) == expected == (file.read_text() != "content\n"), answer.stderr
        assert person.allowed(f"write:{file}", "-s", f"codex:{settings}") == expected


def test_explain_names_the_entry_that_decides(person):
    secret = person.file("secret/file")
    settings = person.file(person.home / "codex.json", profile(
        special("root", "read"), special("project_roots", "write"), path(secret.parent, "deny")))
    for question, place in ((f"read:{secret}", "file_system.entries[2]"), ("write:file", "file_system.entries[1]"),
                            ("read:/usr/bin/env", "file_system.entries[0]"), ("write:.git", "names that Codex protects")):
        answer = person.cloche("explain", "-s", f"codex:{settings}", question)
        assert place in answer.stdout, answer.stdout


def test_under_the_name_cloche_secrets_stay_hidden_and_its_own_names_protected(person):
    key = person.file(person.home / ".ssh/id_rsa")
    settings = person.file(person.home / "codex.json", WORKSPACE)
    text = f"cat {key}; echo $MY_TOKEN; echo > .bashrc; mkdir .agents; echo ok > file"
    answer = person.cloche("run", "-s", f"codex:{settings}", "sh", "-c", text, environment={"MY_TOKEN": "token"})
    assert answer.stdout == "\n" and (person.project / "file").exists()
    assert not (person.project / ".bashrc").exists() and not (person.project / ".agents").exists()
    settings = person.file(person.home / "codex.json", profile(special("root", "read"), path(key, "read")))
    assert person.cloche("run", "-s", f"codex:{settings}", "cat", key).stdout == "content\n"


def test_restricted_reading_of_earlier_versions(person):
    """ReadOnlyAccess: what is worked in, the platform unless told otherwise, and the roots."""
    roots = [person.file(person.home / name / "file") for name in ("one", "two")]
    inside = person.file("file")

    def reads(access, file):
        settings = person.file(person.home / "codex.json", {"type": "read-only", "access": access})
        return person.cloche("run", "-s", f"codex:{settings}", "cat", file).returncode == 0

    restricted = {"type": "restricted", "readable_roots": [str(roots[0].parent)]}
    assert [reads(restricted, file) for file in (inside, *roots, "/etc/passwd")] == [True, True, False, True]
    assert [reads({"type": "full-access"}, file) for file in (inside, *roots)] == [True] * 3
    assert not reads({**restricted, "include_platform_defaults": False}, inside)  # no cat either
    settings = person.file(person.home / "codex.json", {"type": "workspace-write", "read_only_access": restricted,
                                                        "writable_roots": [str(roots[1].parent)]})
    answer = person.cloche("run", "-s", f"codex:{settings}", "sh", "-c",
                           f"echo x > file; echo x > {roots[1]}; echo x > {roots[0]}")
    assert [file.read_text() for file in (inside, roots[1], roots[0])] == ["x\n", "x\n", "content\n"], answer.stderr
