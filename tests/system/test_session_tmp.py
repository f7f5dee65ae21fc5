"""A /tmp that the commands of a session share (filesystem.tmp, `cloche session`, --session-tmp): for all of them, for
nobody else, and gone with whoever holds it, however that ends."""

import array
import errno
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from judging import ATTEMPT, PATIENCE, as_person, processes, start, wait_until

SHARED = {"extends": ["preset:dev"], "filesystem": {"tmp": "session"}}


class Holder:
    """`cloche session`, as a program that cannot hold descriptors has it."""

    def __init__(self, person, *options):
        self.process = start(person, "session", *options, stdin=subprocess.PIPE)
        self.place = self.process.stdout.readline().strip()

    def end(self):
        if self.process.stdin:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def hold(person):
    held = []

    def make(*options):
        held.append(Holder(person, *options))
        assert held[-1].place.startswith("/proc/"), held[-1].process.stderr.read()
        return held[-1]

    yield make
    for holder in held:
        holder.end()


@pytest.fixture
def policy(person):
    return person.file(person.home / "shared.json", SHARED)


def sh(person, place, policy, text, *more, **keywords):
    return person.cloche("run", "-q", "-s", policy, "--session-tmp", place, *more, "-c", text, **keywords)


def test_commands_one_after_another_see_what_others_left(person, hold, policy):
    place = hold().place
    assert sh(person, place, policy, "echo one > /tmp/a; mkdir -p /tmp/d/e; echo two > /var/tmp/b").returncode == 0
    answer = sh(person, place, policy, "cat /tmp/a /var/tmp/b; ls -d /tmp/d/e; stat -c %a /tmp /var/tmp; rm -r /tmp/a /tmp/d")
    assert answer.stdout == "one\ntwo\n/tmp/d/e\n1777\n1777\n", answer
    assert sh(person, place, policy, "ls -A /tmp /var/tmp; touch /tmp/x && chmod 755 /tmp/x && /bin/cp /bin/true /tmp/t && "
                                     "/tmp/t && echo ran").stdout == "/tmp:\n\n/var/tmp:\nb\nran\n"


def test_commands_at_once_see_each_other_at_work(person, hold, policy):
    place = hold().place
    sh(person, place, policy, "mkfifo /tmp/one /tmp/two")
    running = [start(person, "run", "-q", "-s", policy, "--session-tmp", place, "-c", f"cat /tmp/{mine} > /tmp/got-{mine}")
               for mine in ("one", "two")]
    assert sh(person, place, policy, "echo 1 > /tmp/one; echo 2 > /tmp/two").returncode == 0
    for run in running:
        with run:
            assert run.wait(PATIENCE) == 0
    assert sh(person, place, policy, "cat /tmp/got-one /tmp/got-two").stdout == "1\n2\n"


def test_neither_the_host_nor_another_session_nor_a_run_without_one_sees_it(person, hold, policy):
    one, two = hold().place, hold().place
    name = f"session-{os.getpid()}-{person.uid}"
    assert sh(person, one, policy, f"echo secret > /tmp/{name}").returncode == 0
    assert not pathlib.Path("/tmp", name).exists()
    for run in (sh(person, two, policy, f"cat /tmp/{name}"), person.cloche("run", "-q", "-s", policy, "cat", f"/tmp/{name}")):
        assert run.returncode == 1 and "secret" not in run.stdout, run
    host = pathlib.Path("/tmp", name)
    host.write_text("host's\n")
    try:
        assert sh(person, one, policy, f"cat /tmp/{name}; rm /tmp/{name}").stdout == "secret\n"
        assert sh(person, one, policy, f"cat /tmp/{name}").returncode == 1
        assert host.read_text() == "host's\n"
    finally:
        host.unlink()


FILL = """
import itertools, os
try:
    for number in itertools.count():
        os.close(os.open(f"/tmp/f{number}", os.O_CREAT | os.O_WRONLY))
except OSError as problem:
    print(os.strerror(problem.errno))
"""


def test_a_command_that_leaves_no_room_keeps_no_other_from_running(person, hold):
    policy = person.file(person.home / "small.json", {**SHARED, "limits": {"memory": "64M"}})
    place = hold("-s", policy).place
    filled = person.cloche("run", "-q", "-s", policy, "--session-tmp", place, "/usr/bin/python3", "-c", FILL)
    assert filled.stdout == os.strerror(errno.ENOSPC) + "\n", filled
    assert sh(person, place, policy, "touch /tmp/more").returncode == 1
    assert sh(person, place, policy, "find /tmp -name 'f*' -delete; touch /tmp/more && ls /tmp").stdout == "more\n"


def test_a_run_by_itself_is_a_session_of_one(person, policy):
    assert person.cloche("run", "-q", "-s", policy, "-c", "echo x > /tmp/a && cat /tmp/a").stdout == "x\n"
    assert person.cloche("run", "-q", "-s", policy, "-c", "ls -A /tmp").stdout == ""
    assert person.cloche("check", policy).stdout.splitlines()[-1].endswith(": valid")


@pytest.mark.parametrize("tmp, shared", [("session", True), (None, True), ("private", False), ("host", False)])
def test_policy_decides_whether_it_is_used(person, hold, tmp, shared):
    """The option is an offer: a policy that says nothing takes it."""
    place = hold().place
    filesystem = {"tmp": tmp} if tmp else {}
    policy = person.file("p.json", {"extends": ["preset:dev"],
                                    "filesystem": {**filesystem, "allowWrite": ["/tmp"]} if tmp == "host" else filesystem})
    name = f"offer-{os.getpid()}-{person.uid}"
    try:
        sh(person, place, policy, f"echo x > /tmp/{name}")
        always = person.file("always.json", SHARED)
        assert (sh(person, place, always, f"cat /tmp/{name}").returncode == 0) == shared
        assert pathlib.Path("/tmp", name).exists() == (tmp == "host")
    finally:
        pathlib.Path("/tmp", name).unlink(missing_ok=True)
    said = person.cloche("explain", "-s", policy, "--session-tmp", place, f"write:/tmp/{name}").stdout
    assert ("shared by the commands of this session" in said) == shared, said


@pytest.mark.parametrize("ending", ["its input ends", "it is killed", "whoever started it is killed"])
def test_it_is_gone_with_whoever_holds_it(person, hold, policy, ending):
    if ending == "whoever started it is killed":
        outer = subprocess.Popen(["bash", "-c", f"sleep 300 | {person.binaries}/cloche session"], text=True,
                                 stdout=subprocess.PIPE, cwd=person.project, env=person.environment, start_new_session=True,
                                 **as_person(person))
        place = outer.stdout.readline().strip()
        assert sh(person, place, policy, "echo x > /tmp/a").returncode == 0
        os.killpg(outer.pid, signal.SIGKILL)
        outer.wait(PATIENCE)
        outer.stdout.close()
    else:
        holder = hold()
        place = holder.place
        assert sh(person, place, policy, "echo x > /tmp/a").returncode == 0
        holder.process.stdin.close() if ending == "its input ends" else holder.process.kill()
        assert holder.process.wait(PATIENCE) == (0 if ending == "its input ends" else -signal.SIGKILL)
        holder.process.stdin = None
    answer = sh(person, place, policy, "echo ran")
    assert (answer.returncode, answer.stdout) == (125, "") and "has whoever holds it ended?" in answer.stderr


def test_a_command_that_runs_keeps_it_and_takes_it_along(person, hold, policy):
    holder = hold()
    mark = f"keeps-{os.getpid()}-{person.uid}"
    with start(person, "run", "-q", "-s", policy, "--session-tmp", holder.place, "-c",
               f"echo x > /tmp/a; echo ready; read line; cat /tmp/a; : {mark}", stdin=subprocess.PIPE) as run:
        assert run.stdout.readline() == "ready\n"
        holder.end()
        said, _ = run.communicate("go\n", timeout=PATIENCE)
    assert said == "x\n"
    assert wait_until(lambda: not processes(mark))


def test_nothing_is_left_when_a_command_and_its_supervisor_are_killed(person, hold, policy):
    holder = hold()
    mark = f"killed-{os.getpid()}-{person.uid}"
    before = set(os.listdir("/tmp"))
    with start(person, "run", "-q", "-s", policy, "--session-tmp", holder.place, "-c",
               f"echo x > /tmp/a; echo ready; cat; : {mark}", stdin=subprocess.PIPE) as run:
        assert run.stdout.readline() == "ready\n"
        run.kill()
    assert wait_until(lambda: not processes(mark))
    assert sh(person, holder.place, policy, "cat /tmp/a").stdout == "x\n"  # the session lives
    assert not {name for name in set(os.listdir("/tmp")) - before if "cloche" in name and "test" not in name}


def test_a_descriptor_is_enough_to_hold_it(person, policy):
    """No process stays behind: what `--fd` is for."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = person.cloche("session", "--fd", str(theirs.fileno()), pass_fds=[theirs.fileno()])
        assert made.returncode == 0, made
        _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(array.array("i").itemsize))
    session = array.array("i", ancillary[0][2])[0]
    try:
        run = lambda text: sh(person, f"/proc/self/fd/{session}", policy, text, pass_fds=[session])
        assert run("echo x > /tmp/a").returncode == 0
        assert run("cat /tmp/a; ls /proc/self/fd | wc -l").stdout == "x\n4\n"
    finally:
        os.close(session)


# ---- what is below it ----


@pytest.fixture
def below(person):
    """A project that lies in /tmp."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="session-project-", dir="/tmp"))
    os.chown(place, person.uid, person.uid)
    project = place / "deep/project"
    project.mkdir(parents=True)
    for each in (project.parent, project):
        person.own(each)
    yield project
    shutil.rmtree(place)


def test_project_below_tmp_is_the_hosts_and_its_names_stay_protected(person, hold, policy, below):
    place = hold().place
    run = lambda text: sh(person, place, policy, text, cwd=below)
    assert run("echo x > made; echo y > /tmp/beside; pwd").stdout == f"{below}\n"
    assert (below / "made").read_text() == "x\n"
    top = below.parents[1]
    answer = run(f"cat made /tmp/beside; mkdir -p .git/hooks; echo > .git/hooks/pre-commit; mv {top} /tmp/away; "
                 f"mv {below.parent} {top}/other; rmdir {below}; echo > .envrc; ls /tmp/away")
    assert answer.stdout == "x\ny\n", answer
    assert not (below / ".envrc").exists() and top.exists() and not pathlib.Path("/tmp/away").exists()


def test_link_that_another_command_left_leads_nowhere(person, hold, policy, below):
    """Places of mounts are made in the shared /tmp while pid 1 still sees the host."""
    place = hold().place
    victim = person.directory(person.home / "victim")
    top = below.parents[1]
    elsewhere = sh(person, place, policy, f"ln -s {victim} {top}", "-C", person.project)
    assert elsewhere.returncode == 0
    answer = sh(person, place, policy, "echo ran", cwd=below)
    assert (answer.returncode, answer.stdout) == (125, ""), answer
    assert list(victim.iterdir()) == []


def test_commands_with_other_places_below_tmp_do_not_share_it(person, hold, policy, below):
    """One could rename what is the place of the other's mounts, whose names then mean something else."""
    place = hold().place
    assert sh(person, place, policy, "echo x > /tmp/a", cwd=below).returncode == 0
    answer = sh(person, place, policy, "echo ran")
    assert (answer.returncode, answer.stdout) == (125, "") and "start another session" in answer.stderr
    assert sh(person, place, policy, "cat /tmp/a", cwd=below).stdout == "x\n"
    unsaid = person.file("unsaid.json", {"extends": ["preset:dev"]})
    answer = person.cloche("run", "-s", unsaid, "--session-tmp", place, "-c", "ls -A /tmp; echo ran")
    assert answer.stdout == "ran\n" and "a /tmp of its own" in answer.stderr


def test_work_in_it_is_ordinary_work(person, hold, policy):
    place = hold().place
    program = ATTEMPT + """
import os, socket
listener = socket.socket(socket.AF_UNIX); listener.bind("/tmp/s"); listener.listen()
client = socket.socket(socket.AF_UNIX); client.connect("/tmp/s"); client.send(b"unix")
print(listener.accept()[0].recv(9).decode())
os.mkdir("/tmp/x"); os.rename("/tmp/x", "/tmp/y")
print(attempt(os.mknod, "/tmp/device", 0o20600, os.makedev(1, 3)))
"""
    answer = person.cloche("run", "-q", "-s", policy, "--session-tmp", place, "python3", "-c", program)
    assert answer.stdout.splitlines() == ["unix", str(errno.EPERM)], answer
    text = ("cd /tmp && git init -q r && cd r && git config user.name n && git config user.email e@x && echo 1 > f && git add f && "
            "git commit -qm m && git clone -q . ../c && git -C ../c log --format=%s")
    assert sh(person, place, policy, text).stdout == "m\n"
    assert sh(person, place, policy, "cat /tmp/c/f; mv /tmp/c /tmp/d && cat /tmp/d/f").stdout == "1\n1\n"


def test_socket_of_another_command_of_the_session_is_nobodys_to_connect_to(person, hold, policy):
    """Sockets belong to the run that made them; README says so."""
    place = hold().place
    serve = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen(); print('ready', flush=True); input()"
    connect = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/s'); print('connected')"
    with start(person, "run", "-q", "-s", policy, "--session-tmp", place, "python3", "-c", serve, stdin=subprocess.PIPE) as run:
        assert run.stdout.readline() == "ready\n"
        answer = person.cloche("run", "-q", "-s", policy, "--session-tmp", place, "python3", "-c", connect)
        run.stdin.close()
    assert answer.stdout == "" and "PermissionError" in answer.stderr


def test_what_a_policy_hides_below_tmp_is_hidden_whoever_made_it(person, hold, policy):
    place = hold().place
    assert sh(person, place, policy, "echo secret > /tmp/k.pem; mkdir /tmp/d; echo secret > /tmp/d/f; echo x > /tmp/plain").returncode == 0
    hiding = person.file("hiding.json", {"extends": ["preset:dev"], "filesystem": {"tmp": "session", "denyRead": ["/tmp/**/*.pem", "/tmp/d"]}})
    answer = sh(person, place, hiding, "cat /tmp/k.pem /tmp/d/f; ls /tmp/d; cat /tmp/plain; echo y > /tmp/plain; echo > /tmp/new.pem")
    assert answer.stdout == "x\n", answer
    assert sh(person, place, policy, "cat /tmp/k.pem /tmp/plain; ls /tmp").stdout == "secret\ny\nd\nk.pem\nplain\n"


def test_limit_of_memory_bounds_it(person, hold, policy):
    place = hold("-s", '{"limits": {"memory": "16M"}}').place
    answer = sh(person, place, policy, "head -c 100M /dev/zero > /tmp/big; stat -c %s /tmp/big")
    assert 0 < int(answer.stdout) <= 16 << 20, answer


# ---- misuse ----


@pytest.mark.parametrize("words, said", [
    (["run", "--session-tmp", "x", "true"], "needs the path"),
    (["run", "--session-tmp", "/proc/self/ns/net", "true"], "leads to no session's /tmp"),
    (["run", "--session-tmp", "/etc/passwd", "true"], "leads to no session's /tmp"),
    (["run", "--session-tmp", "/proc/self/ns/mnt", "true"], "cannot enter the session's /tmp"),
    (["run", "--session-tmp", "/proc/1/fd/99", "true"], "has whoever holds it ended?"),
    (["session", "true"], "runs no command"), (["session", "--fd", "1"], "from 3 on"), (["session", "--fd", "77"], "is it a socket?"),
    (["session", "--session-fdd", "7"], "unknown option"), (["run", "--fd", "7", "true"], "unknown option"),
    (["session", "-s", '{"x": 1}'], "x"),
])
def test_misuse_is_answered(person, words, said):
    answer = person.cloche(*words)
    assert (answer.returncode, answer.stdout) == (125, "") and said in answer.stderr, answer


def test_where_there_are_no_namespaces_it_is_refused_by_name(person, hold, policy):
    place = hold().place
    answer = sh(person, place, policy, "echo ran", "--backend", "landlock", "--allow-degraded", "protected-names",
                "--allow-degraded", "late-names", "--allow-degraded", "metadata")
    assert (answer.returncode, answer.stdout) == (125, "") and '"session"' in answer.stderr


def test_session_of_another_user_cannot_be_entered(person, hold, policy):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    place = hold().place
    stranger = {"user": person.uid + 1, "group": person.uid + 1, "extra_groups": []}
    home = pathlib.Path(tempfile.mkdtemp(prefix="stranger-", dir="/home"))
    os.chown(home, person.uid + 1, person.uid + 1)
    try:
        answer = subprocess.run([person.binaries / "cloche", "run", "-q", "--session-tmp", place, "-C", home, "echo", "ran"],
                                env={**person.environment, "HOME": str(home)}, cwd=home, capture_output=True, text=True, check=False,
                                timeout=PATIENCE, **stranger)
        assert (answer.returncode, answer.stdout) == (125, ""), answer
    finally:
        shutil.rmtree(home)
