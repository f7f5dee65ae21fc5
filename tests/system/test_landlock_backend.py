"""Runs without namespaces: Landlock rules alone (`--backend landlock`, or auto
where namespaces cannot be had).

What can be held is held, what cannot is refused by name or said in one line, and
nothing is left behind. Each refusal has beside it the same thing allowed."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

import changed_host
import judging
from changed_host import SECCOMP
from judging import as_person, landlock_abi, processes, wait_until

LANDLOCK = ("--backend", "landlock")
EPERM, ENOSYS = 1, 38
MOUNT_SETATTR, CLONE3 = 442, 435  # the same everywhere


pytestmark = [pytest.mark.skipif(landlock_abi() < 6, reason="needs Landlock ABI 6"),
              pytest.mark.skipif(SECCOMP is None, reason="the numbers of this machine's system calls are not known here")]


def run(person, *arguments, **keywords):
    return person.cloche("run", *LANDLOCK, *arguments, **keywords)


def shell(person, text, *options, **keywords):
    return run(person, "-q", *options, "-c", text, **keywords)


def python(person, text, *options, **keywords):
    return run(person, "-q", *options, "/usr/bin/python3", "-c", text, **keywords)


# --- the default policy -----------------------------------------------------

def test_default_policy_runs_and_says_in_one_line_what_is_weaker(person):
    done = run(person, "-c", "echo written > made; cat made")
    assert (done.returncode, done.stdout) == (0, "written\n")
    assert (person.project / "made").read_text() == "written\n"
    assert len(done.stderr.splitlines()) == 1
    for words in ("held by Landlock alone", "modes", "can be changed everywhere", "names and sizes of hidden files",
                  "the host's processes", "unix sockets", "caches are read-only"):
        assert words in done.stderr
    assert run(person, "-q", "true").stderr == ""


def test_secrets_and_the_rest_of_home_cannot_be_read(person):
    person.file(person.home / ".ssh/id_rsa", "secret")
    person.file(person.home / "diary", "secret")
    person.file("notes", "mine")
    person.file(person.home / ".gitconfig", "[user]")
    done = shell(person, "cat ~/.ssh/id_rsa; cat ~/diary; ls ~/.ssh; ls ~; cat notes ~/.gitconfig")
    assert done.stdout == "mine[user]"
    assert done.stderr.count("Permission denied") == 4


def test_writes_outside_the_project_are_refused(person):
    victim = person.file(person.home / "victim", "old")
    elsewhere = person.directory(person.home / "elsewhere")
    done = shell(person, f"""
        echo new > {victim}; echo >> {victim}; truncate -s 0 {victim}; rm -f {victim}; mv {victim} {victim}2
        ln {victim} hard; mv {victim} stolen; touch {elsewhere}/made; mkdir {elsewhere}/d; rmdir {elsewhere}
        ln -s x {elsewhere}/link; touch /tmp/cloche-made-$$ /var/tmp/cloche-made-$$ /dev/shm/cloche-made-$$
        mkdir inside && mv inside inside2 && echo fine > inside2/file && ln inside2/file hard2 && echo done""")
    assert done.stdout == "done\n"
    assert victim.read_text() == "old" and list(elsewhere.iterdir()) == []
    assert sorted(os.listdir(person.project)) == ["hard2", "inside2"]


def test_open_for_reading_with_truncation_does_not_empty_a_file(person):
    victim = person.file(person.home / ".gitconfig", "[user]")
    mine = person.file("mine", "text")
    program = "import os, sys\nfor path in sys.argv[1:]:\n  try: os.open(path, os.O_RDONLY | os.O_TRUNC)\n" \
              "  except OSError as error: print(error.strerror)"
    assert run(person, "-q", "/usr/bin/python3", "-c", program, victim, mine).stdout == "Permission denied\n"
    assert (victim.read_text(), mine.read_text()) == ("[user]", "")


def test_temporary_files_have_a_directory_of_this_run_and_nobody_elses(person):
    done = shell(person, 'stat -c %a "$TMPDIR"; echo x > "$TMPDIR/f"; cat "$TMPDIR/f"; mktemp; echo "$TMPDIR"; ls /tmp')
    mode, content, made, directory = done.stdout.splitlines()
    assert (mode, content) == ("700", "x") and made.startswith(directory + "/")
    assert "cannot open directory '/tmp'" in done.stderr
    assert not os.path.lexists(directory)


def test_temporary_directory_is_removed_whatever_is_in_it(person):
    script = """
import os
top = os.environ["TMPDIR"]
os.symlink("/", top + "/link")
os.mkfifo(top + "/fifo")
open(top + "/file", "w").close()
os.mkdir(top + "/locked")
os.mkdir(top + "/locked/inner")
os.chmod(top + "/locked", 0)
os.chdir(top)
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
open("bottom", "w").close()
os.chmod(".", 0)
print(top)
"""
    done = python(person, script, *METADATA)
    assert done.returncode == 0, done.stderr
    assert not os.path.lexists(done.stdout.strip())


def test_caches_can_be_read_and_not_written(person):
    cached = person.file(person.home / ".cache/tool/item", "cached")
    done = shell(person, f"cat {cached}; echo x > {cached}")
    assert done.stdout == "cached" and cached.read_text() == "cached"


def test_devices_are_the_usual_ones(person):
    done = shell(person, "echo x > /dev/null && head -c 2 /dev/zero | wc -c; ls /dev; head -c 1 /dev/kmsg; ls /dev/shm")
    assert done.stdout == "2\n"
    assert done.stderr.count("denied") + done.stderr.count("not permitted") == 3


@pytest.mark.parametrize("status, command", [(3, ["sh", "-c", "exit 3"]), (137, ["sh", "-c", "kill -9 $$"]),
                                             (127, ["no-such-command"]), (126, ["/etc/passwd"])])
def test_status_is_the_commands(person, status, command):
    assert run(person, "-q", *command).returncode == status


def test_signal_sent_to_cloche_reaches_the_command(person):
    script = "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = start(person, "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "caught\n"
    assert process.wait(timeout=10) == 7


# --- policies ---------------------------------------------------------------

def test_allow_below_deny_below_allow(person):
    person.file("a/secret/hidden", "hidden")
    person.file("a/secret/public/shown", "shown")
    person.file("a/secret/public/deep/hidden", "hidden")
    person.file("a/other", "other")
    policy = person.file(person.home / "policy.json", {"filesystem": {
        "denyRead": ["a/secret", "a/secret/public/deep"], "allowRead": ["a/secret/public"], "allowWrite": ["."]}})
    done = shell(person, "cat a/secret/hidden; cat a/secret/public/deep/hidden; cat a/secret/public/shown a/other", "-s", policy)
    assert done.stdout == "shownother"


def test_directory_with_a_hidden_file_can_be_listed_and_one_with_a_hidden_directory_cannot(person):
    person.file("one/hidden", "secret")
    person.file("one/shown", "shown")
    person.file("two/hidden/file", "secret")
    person.file("two/shown", "shown")
    options = ("--deny-read", "one/hidden", "--deny-read", "two/hidden", "-p", "dev")
    done = shell(person, "ls one; cat one/shown; ls two; ls two/hidden; cat two/shown one/hidden", *options)
    assert done.stdout == "hidden\nshown\nshownshown"
    assert done.stderr.count("denied") == 3


def test_what_appears_beside_something_hidden_cannot_be_read(person):
    person.file("top/hidden", "secret")
    person.file("top/there", "there")
    process = start(person, "--deny-read", "top/hidden", "-c", "echo ready; read line; cat top/there top/later")
    assert process.stdout.readline() == "ready\n"
    person.file("top/later", "later")
    out, err = process.communicate("go\n", timeout=20)
    assert out == "there" and "top/later: Permission denied" in err


def test_hidden_file_cannot_be_read_by_a_second_name_made_before(person):
    hidden = person.file("top/hidden", "secret")
    os.link(hidden, person.project / "top" / "alias")
    done = shell(person, "cat top/hidden; cat top/alias", "--deny-read", "top/hidden")
    assert done.stdout == ""


def test_listed_reads_show_what_is_listed(person):
    person.file("shown", "shown")
    person.file(person.home / "hidden", "hidden")
    done = shell(person, "cat shown; cat ~/hidden; ls /srv; ls /usr >/dev/null && echo listed; echo x > made", "-p", "strict")
    assert done.stdout == "shownlisted\n"
    assert not (person.project / "made").exists()


def test_deny_write_inside_a_writable_directory_holds(person):
    person.file("out/keep/file", "kept")
    person.file("out/free/file", "free")
    done = shell(person, """echo x > out/keep/file; rm out/keep/file; mv out out2; mv out/keep out/free/keep; touch out/new
                            echo y > out/free/file; touch out/free/new; touch elsewhere""", "--deny-write", "out/keep")
    assert (person.project / "out/keep/file").read_text() == "kept"
    assert (person.project / "out/free/file").read_text() == "y\n"
    assert (person.project / "out/free/new").exists()
    # Stricter than the policy, and said.
    assert not (person.project / "out/new").exists() and not (person.project / "elsewhere").exists()
    assert done.returncode != 0
    said = run(person, "--deny-write", "out/keep", "true").stderr
    assert f"nothing new can be made directly in {person.project}" in said.replace("/out, ", ", ").replace("/out,", ",")


def make_repository(person):
    person.file(".git/hooks/pre-commit", "old")
    person.file(".git/config", "old")
    person.file(".git/HEAD", "ref: refs/heads/main\n")
    person.directory(person.project / "src")


def test_protected_names_are_held_and_the_price_is_said(person):
    make_repository(person)
    done = run(person, "-c", """echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit; echo evil > .git/config
                                mv .git g; echo x > src/file; echo y > .git/HEAD; echo z > new""")
    assert (person.project / ".git/hooks/pre-commit").read_text() == "old"
    assert os.listdir(person.project / ".git/hooks") == ["pre-commit"]
    assert (person.project / ".git/config").read_text() == "old"
    assert (person.project / "src/file").read_text() == "x\n" and (person.project / ".git/HEAD").read_text() == "y\n"
    assert not (person.project / "new").exists()
    said = done.stderr.splitlines()[0]
    assert "nothing new can be made directly in" in said and str(person.project) in said
    assert "--allow-degraded protected-names" in said


def test_protected_names_can_be_given_up_by_name(person):
    make_repository(person)
    done = run(person, "--allow-degraded", "protected-names", "-c", "echo z > new && echo evil > .git/config && cat new")
    assert (done.returncode, done.stdout) == (0, "z\n")
    assert "nothing new can be made" not in done.stderr
    answer = person.explain(*LANDLOCK, "--allow-degraded", "protected-names", "write:.git/config")["answers"][0]
    assert (answer["verdict"], answer["locks"]) == ("denied", [])


@pytest.mark.parametrize("policy, words", [
    ({"rules": [{"path": "blank", "access": "ro-bind-null"}]}, "cannot be shown empty without namespaces"),
    ({"seccomp": {"allowNestedUserNamespaces": True}}, "allowNestedUserNamespaces"),
    ({"network": {"allowedDomains": ["example.com"]}}, "network.mode filtered"),
])
def test_what_cannot_be_held_is_refused_by_name(person, policy, words):
    person.file("blank", "not blank")
    path = person.file(person.home / "policy.json", {"filesystem": {"allowWrite": ["."]}, **policy})
    done = run(person, "-s", path, "touch", "made")
    assert done.returncode == 125
    assert words in done.stderr
    assert not (person.project / "made").exists()


def test_hidden_working_directory_is_refused_before_anything_runs(person):
    hidden = person.directory(person.project / "hidden")
    done = run(person, "-C", person.project, "--deny-read", hidden, "touch", person.project / "made", cwd=hidden)
    assert done.returncode == 125 and "the working directory" in done.stderr
    assert not (person.project / "made").exists()
    assert run(person, "-C", person.project, "touch", person.project / "made", cwd=hidden).returncode == 0


def test_directory_too_large_to_be_granted_entry_by_entry_is_refused(person):
    top = person.directory(person.project / "many")
    for number in range(17000):
        (top / f"{number}").touch()
    person.file("many/hidden", "secret")
    done = run(person, "-q", "--deny-read", "many/hidden", "true")
    assert done.returncode == 125 and "more than 16384 entries" in done.stderr
    assert run(person, "-q", "true").returncode == 0


# --- network, sockets, processes --------------------------------------------

TRY_SOCKETS = """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, 43, socket.AF_NETLINK):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(family, kind)
            print("made")
        except OSError as error:
            print(error.errno)
socket.socketpair()
print("pair")
"""


def test_no_network_is_no_sockets_but_pairs(person):
    said = python(person, TRY_SOCKETS).stdout.split()
    assert said[:4] == ["13"] * 4 and not {"made"} & set(said[4:8]) and said[8:] == ["94", "made", "pair"]


def test_no_network_even_without_the_ordinary_filter(person):
    policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "seccomp": {"enabled": False}})
    refused = ["13"] * 4 + ["1"] * 2 + ["13"] * 2
    assert python(person, TRY_SOCKETS, "-s", policy).stdout.split() == refused + ["94", "made", "pair"]
    policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "seccomp": {"allow": ["socket"]}})
    assert python(person, TRY_SOCKETS, "-s", policy).stdout.split()[:8] == refused


def test_host_network_is_the_hosts(person):
    policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "network": {"mode": "host"}})
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})); print('connected')"
        assert python(person, program, "-s", policy).stdout == "connected\n"
        assert python(person, program).stdout == ""


def test_sockets_of_the_host_are_out_of_reach_unless_all_are_allowed(person):
    path = person.project / "socket"
    program = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); print('connected')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        assert python(person, program).stdout == ""
        policy = person.file(person.home / "policy.json",
                             {"extends": ["preset:dev"], "network": {"allowAllUnixSockets": True}})
        assert python(person, program, "-s", policy).stdout == "connected\n"


def test_processes_of_the_host_cannot_be_signalled_traced_or_read(person):
    with subprocess.Popen(["sleep", "60"], env={"SECRET": "x"}, **as_person(person)) as outside:
        program = f"""
import ctypes, os, resource, signal, subprocess, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what):
    try:
        print(what())
    except OSError as error:
        print(error.strerror)
def both(pid):
    attempt(lambda: os.kill(pid, signal.SIGCONT))
    attempt(lambda: open(f"/proc/{{pid}}/environ").read() != "")
    attempt(lambda: libc.ptrace(16, pid, 0, 0) == 0)
both({outside.pid})
attempt(lambda: resource.prlimit({outside.pid}, resource.RLIMIT_CPU, (0, 0)))
child = subprocess.Popen(["sleep", "60"])
time.sleep(0.2)
both(child.pid)
"""
        said = python(person, program).stdout.splitlines()
        outside.kill()
    assert said[:4] == ["Operation not permitted", "Permission denied", "False", "Operation not permitted"]
    assert said[4:] == ["None", "True", "True"]


def test_shared_memory_by_number_is_refused(person):
    program = "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); print(c.shmget(0, 4096, 0o1600), ctypes.get_errno())"
    assert python(person, program).stdout == "-1 1\n"


METADATA = ("--allow-degraded", "metadata")


def test_set_user_id_bits_cannot_be_set_and_other_modes_can(person):
    path = person.file("program")
    done = shell(person, "chmod 755 program && echo plain; chmod u+s program; chmod 2755 program; chmod +x,g+s program",
                 *METADATA)
    assert done.stdout == "plain\n"
    assert path.stat().st_mode & 0o7777 == 0o755


def test_root_to_whom_all_belongs_changes_no_modes_unless_that_is_accepted(person):
    outside = person.file(person.home / ".gitconfig")
    outside.chmod(0o644)
    inside = person.file("file")
    inside.chmod(0o644)
    program = """
import os, sys
for path in sys.argv[1:]:
    for change in (lambda: os.chmod(path, 0o600), lambda: os.setxattr(path, "user.x", b"x"), lambda: os.chown(path, -1, -1)):
        try:
            change()
            print("changed")
        except OSError as error:
            print(error.errno)
"""
    command = ("/usr/bin/python3", "-c", program, outside, inside)
    if person.uid == 0:
        done = run(person, *command)
        assert set(done.stdout.split()) == {"1"} and "--allow-degraded metadata" in done.stderr
        assert {path.stat().st_mode & 0o777 for path in (outside, inside)} == {0o644}
    done = run(person, *METADATA, *command)
    assert done.stdout.split()[0] == "changed" and inside.stat().st_mode & 0o777 == 0o600
    assert "modes, times and attributes of your files can be changed everywhere" in done.stderr


# --- the end ----------------------------------------------------------------

def start(person, *arguments, **keywords):
    return judging.start(person, "run", "-q", *LANDLOCK, *arguments, stdin=subprocess.PIPE, **keywords)


def daemons(mark):
    """A shell line that leaves processes in other sessions and groups behind, with orphans among them."""
    sleeper = f"exec -a {mark} sleep 300"
    return (f"(bash -c '{sleeper}' &) ; setsid bash -c '{sleeper}' & (setsid bash -c '({sleeper}) & ({sleeper}) & wait' &) ;"
            f"sleep 0.3")


def test_everything_is_gone_when_the_command_has_ended(person):
    mark = f"cloche-end-{os.getpid()}"
    done = shell(person, daemons(mark) + "; echo over")
    assert (done.returncode, done.stdout) == (0, "over\n")
    assert processes(mark) == []


@pytest.mark.parametrize("whole_group", [False, True])
def test_everything_is_gone_when_cloche_is_killed(person, whole_group):
    mark = f"cloche-kill-{os.getpid()}-{whole_group}"
    process = start(person, "-c", daemons(mark) + '; echo "$TMPDIR"; sleep 300', start_new_session=True)
    directory = process.stdout.readline().strip()
    assert os.path.isdir(directory) and len(processes(mark)) >= 4
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    assert wait_until(lambda: not processes(mark), 1)
    assert wait_until(lambda: not os.path.lexists(directory), 1)


def test_everything_is_gone_when_the_process_between_is_killed(person):
    mark = f"cloche-init-{os.getpid()}"
    process = start(person, "-c", daemons(mark) + '; echo "$TMPDIR"; sleep 300')
    directory = process.stdout.readline().strip()
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    assert len(children) == 1 and len(processes(mark)) >= 4
    os.kill(int(children[0]), signal.SIGKILL)
    assert process.wait(timeout=10) == 137
    assert processes(mark) == [] and not os.path.lexists(directory)


def test_everything_is_gone_when_the_time_is_up(person):
    mark = f"cloche-time-{os.getpid()}"
    begin = time.monotonic()
    done = run(person, "--timeout", "1", "-c", daemons(mark) + "; sleep 300")
    assert done.returncode == 137 and "killed after 1 second" in done.stderr
    assert time.monotonic() - begin < 10 and processes(mark) == []


def test_fork_bomb_ends_with_the_command(person):
    mark = f"cloche-bomb-{os.getpid()}"
    program = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
    # {mark}
time.sleep(0.3)
"""
    assert python(person, program).returncode == 0
    assert processes(mark) == []


def test_two_runs_at_once_do_not_disturb_each_other(person):
    first = start(person, "-c", "echo ready; read line; echo still here")
    assert first.stdout.readline() == "ready\n"
    assert shell(person, "sleep 300 & kill -9 -1; wait $!; echo $?").stdout == "137\n"
    assert first.communicate("go\n", timeout=10)[0] == "still here\n"


# --- auto -------------------------------------------------------------------

def through(person, how, *command, name="cloche", **keywords):
    """Runs cloche behind changed_host.py; read from standard input, for the tree may be closed to the person."""
    return subprocess.run([sys.executable, "-", *how, person.binaries / name, *command], cwd=person.project,
                          env=person.environment, input=pathlib.Path(changed_host.__file__).read_text(encoding="utf-8"),
                          capture_output=True, text=True, timeout=60, check=False, **as_person(person), **keywords)


@pytest.mark.parametrize("how", [("answer", CLONE3, EPERM), ("answer", CLONE3, ENOSYS), ("answer", MOUNT_SETATTR, EPERM)],
                         ids=["forbidden", "hidden as by docker", "powerless as under apparmor"])
def test_auto_falls_back_where_namespaces_are_of_no_use(person, how):
    person.file(person.home / ".ssh/id_rsa", "secret")
    how = [str(word) for word in how]
    done = through(person, how, "run", "-c", "cat ~/.ssh/id_rsa; echo ran; test -d $TMPDIR")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert "no namespaces can be had here (cloche doctor tells why), so this run is held by Landlock alone" in done.stderr
    assert done.stderr.count("cloche: ") == 1
    refused = through(person, how, "run", "--backend", "namespaces", "touch", "made")
    assert refused.returncode == 125 and not (person.project / "made").exists()
    assert refused.stderr.startswith("cloche: ") and refused.stderr.count("\n") == 1, refused.stderr


@pytest.mark.parametrize("kind", ["user", "mnt", "net"])
def test_auto_falls_back_where_the_limit_of_namespaces_is_zero(person, kind):
    script = f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$0" "$@"'

    def inside(*arguments):
        return subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script, person.binaries / "cloche",
                               *arguments], cwd=person.project, env=person.environment, capture_output=True, text=True,
                              timeout=60, check=False, **as_person(person))

    done = inside("run", "-c", "echo ran > made; cat made")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert "held by Landlock alone" in done.stderr
    assert json.loads(inside("explain", "--json", "read:/etc/passwd").stdout)["backend"] == "landlock"
    assert json.loads(inside("doctor", "--json").stdout)["backend"] == "landlock"


def test_srt_falls_back_too(person):
    person.file(person.home / ".ssh/id_rsa", "secret")
    settings = person.file(person.home / "settings.json", {
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": ["~/.ssh"], "allowWrite": ["."], "denyWrite": []}})
    done = through(person, ["answer", str(CLONE3), str(EPERM)], "-s", str(settings), "-c",
                   "cat ~/.ssh/id_rsa; echo hi > made; cat made", name="srt")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    assert "srt: no namespaces can be had here" in done.stderr


def test_auto_takes_namespaces_where_they_work(person):
    done = person.cloche("run", "-c", "readlink /proc/self/ns/pid")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pid:") and done.stdout.strip() != os.readlink("/proc/self/ns/pid")
    assert person.explain("read:/etc")["backend"] == "namespaces"


def test_fallback_that_cannot_hold_the_policy_is_refused_with_both_reasons(person):
    person.file("blank", "not blank")
    policy = person.file(person.home / "policy.json", {"rules": [{"path": "blank", "access": "ro-bind-null"}]})
    done = through(person, ["answer", str(CLONE3), str(EPERM)], "run", "-s", str(policy), "touch", "made")
    assert done.returncode == 125
    assert "cannot be shown empty without namespaces" in done.stderr and "cannot make the sandbox's namespaces" in done.stderr


# --- older kernels ----------------------------------------------------------

def test_signals_that_landlock_cannot_hold_are_said_and_the_end_is_the_end(person):
    mark = f"cloche-old-{os.getpid()}"
    done = through(person, ["abi", "5"], "run", *LANDLOCK, "-c", daemons(mark) + "; echo over")
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr
    assert "every process of yours can be sent signals (Landlock ABI 5)" in done.stderr
    assert processes(mark) == []


def test_kernel_that_cannot_hold_truncation_needs_a_token(person):
    refused = through(person, ["abi", "2"], "run", *LANDLOCK, "touch", "made")
    assert refused.returncode == 125 and "--allow-degraded truncate" in refused.stderr
    assert not (person.project / "made").exists()
    done = through(person, ["abi", "2"], "run", *LANDLOCK, "--allow-degraded", "truncate", "touch", "made")
    assert done.returncode == 0 and (person.project / "made").exists()


def test_no_landlock_and_no_namespaces_is_no_run(person):
    done = through(person, ["abi", "0"], "run", *LANDLOCK, "touch", "made")
    assert done.returncode == 125 and "no other lock on files" in done.stderr
    assert not (person.project / "made").exists()


# --- explain ----------------------------------------------------------------

def test_explain_names_the_locks_and_what_is_refused_besides(person):
    person.file("top/hidden")
    person.file("top/keep")
    told = person.explain(*LANDLOCK, "--deny-read", "top/hidden", "--deny-write", "top/keep", "read:top/hidden",
                          "write:/etc/x", "write:top/new", "net:example.com", "unix:/run/x", "read:top/keep")
    locks = {answer["question"]: (answer["verdict"], answer["locks"]) for answer in told["answers"]}
    assert locks["read:top/hidden"] == locks["write:/etc/x"] == ("denied", ["landlock"])
    assert locks["net:example.com"] == ("denied", ["landlock", "seccomp"])
    assert locks["unix:/run/x"] == ("denied", ["seccomp"])
    assert locks["read:top/keep"] == ("allowed", ["landlock"])
    assert locks["write:top/new"] == ("denied", ["landlock"]) and told["status"] == 1
    notes = {answer["question"]: answer["note"] for answer in told["answers"]}
    assert "refused without namespaces" in notes["write:top/new"] and notes["read:top/keep"] is None
    assert told["backend"] == "landlock" and "modes" in told["weaker"]
