"""Many runs at once, and runs that are killed: they do not disturb each other,
and nothing of them is left."""

import ctypes
import os
import pathlib
import random
import signal
import subprocess
import time
import uuid

import pytest

from judging import PATIENCE, as_person, fingerprint, processes, start, wait_until

AT_ONCE = 200
KILLED = 50
SHARED_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")


@pytest.fixture
def mark():
    return f"mark-{uuid.uuid4().hex}"


# Neighbours


PROTECTED = [".git/config", ".git/hooks/pre-commit", ".vscode/settings.json", ".envrc", ".bashrc"]

# Waits for a file of the test's, then tries everything that must not work, then what must.
TRY_ALL = """
echo ready
while [ ! -e "$1" ]; do sleep 0.01; done
for name in .git/config .git/hooks/pre-commit .vscode/settings.json .envrc .bashrc; do
    (echo evil >>$name) 2>/dev/null && echo "wrote $name"
    rm -f $name 2>/dev/null && echo "removed $name"
done
mv .git away 2>/dev/null && echo "moved .git"
cat .env vault/key 2>/dev/null
cat from-the-other
echo "$1" >written-after-$1
"""


@pytest.mark.parametrize("end", ["at its own will", "by SIGKILL"])
def test_what_one_run_is_refused_stays_refused_when_another_in_the_same_directory_ends(person, end):
    for name in PROTECTED:
        person.file(name, f"original {name}\n")
    person.file(".env", "SECRET=1\n")
    person.file("vault/key", "SECRET=2\n")
    written = person.project / "from-the-other"
    log = {person.directory(".local")}  # what was refused is told there
    before = fingerprint(person.base, log)
    first = start(person, "run", "--deny-read", "vault", "sh", "-c", "echo ready; read line; echo one >from-the-other; "
                  "read line", stdin=subprocess.PIPE)
    second = start(person, "run", "--deny-read", "vault", "sh", "-c", TRY_ALL, "sh", "go")
    assert first.stdout.readline() == second.stdout.readline() == "ready\n"
    # No ghosts on the host while they run, either.
    assert fingerprint(person.base, log) == before
    first.stdin.write("\n")
    first.stdin.flush()
    assert wait_until(lambda: os.path.exists(written) and os.path.getsize(written) > 0)
    if end == "by SIGKILL":
        first.kill()
    first.communicate("\n", timeout=PATIENCE)
    person.file("go", "")
    said, complaints = second.communicate(timeout=PATIENCE)
    assert (said, second.returncode) == ("one\n", 0), complaints
    after = fingerprint(person.base, log)
    made = {str(person.project / name) for name in ("from-the-other", "go", "written-after-go")}
    assert set(after) - set(before) == made
    project = f"{person.project}/."
    assert {path: seen for path, seen in after.items() if path not in made | {project}} == {
        path: seen for path, seen in before.items() if path != project}


def test_runs_with_different_policies_in_one_directory_keep_to_their_own(person):
    person.file("a/file", "a\n")
    person.file("b/file", "b\n")
    script = 'echo ready; read line; cat a/file b/file 2>/dev/null; for d in a b; do (echo x >$d/$0) 2>/dev/null; done'
    runs = {name: start(person, "run", "--deny-read", name, "sh", "-c", script, f"without-{name}",
                        stdin=subprocess.PIPE) for name in "ab"}
    for run in runs.values():
        assert run.stdout.readline() == "ready\n"
    said = {name: run.communicate("\n", timeout=PATIENCE)[0] for name, run in runs.items()}
    assert said == {"a": "b\n", "b": "a\n"}
    assert sorted(os.listdir(person.project / "a")) == ["file", "without-b"]
    assert sorted(os.listdir(person.project / "b")) == ["file", "without-a"]


def test_two_hundred_runs_at_once_all_end_with_their_own_status(person, mark):
    """All of them are alive at the same moment: each waits for the end of one pipe."""
    held, hold = os.pipe()
    runs = []
    try:
        for number in range(AT_ONCE):
            script = f"echo {number} >made-{number}; echo ready; read line; echo late; exit {number % 100}"
            runs.append(start(person, "run", "sh", "-c", script, mark, stdin=held, pass_fds=()))
        assert [run.stdout.readline() for run in runs] == ["ready\n"] * AT_ONCE
        assert len(processes(mark)) >= 3 * AT_ONCE
    finally:
        os.close(hold)
        os.close(held)
    for number, run in enumerate(runs):
        said, complaints = run.communicate(timeout=PATIENCE)
        assert (said, run.returncode) == ("late\n", number % 100)
        # A user has 128 inotify instances; who gets none says so.
        assert not complaints or ("inotify instances" in complaints and complaints.count("\n") == 1), complaints
    assert not processes(mark)
    assert sorted(os.listdir(person.project)) == sorted(f"made-{number}" for number in range(AT_ONCE))


# Ends


DAEMONS = {
    "double fork": """
import os, signal, sys, time
for each in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
for each in range(1, 65):
    try: signal.signal(each, signal.SIG_IGN)
    except (OSError, ValueError): pass
os.chdir("/")
open(sys.argv[1] + "/up", "w").close()
time.sleep(600)
""",
    "stopped": """
import os, signal, sys
if os.fork():
    os._exit(0)
os.setsid()
open(sys.argv[1] + "/up", "w").close()
os.kill(os.getpid(), signal.SIGSTOP)
""",
    "many generations": """
import os, sys, time
for each in range(8):
    if os.fork() and each % 2:
        os._exit(0)
open(sys.argv[1] + "/up", "w").close()
time.sleep(600)
""",
}


@pytest.mark.parametrize("end", ["command ends", "cloche is killed"])
@pytest.mark.parametrize("daemon", DAEMONS)
def test_processes_that_slip_away_end_with_the_run(person, mark, daemon, end):
    script = 'nohup /usr/bin/python3 -c "$0" "$PWD" "$1" </dev/null >/dev/null 2>&1 &' + (
        ' while [ ! -e up ]; do sleep 0.01; done; echo up; read line')
    run = start(person, "run", "sh", "-c", script, DAEMONS[daemon], mark, stdin=subprocess.PIPE)
    assert run.stdout.readline() == "up\n", run.stderr.read()
    assert len(processes(mark)) > 3, "nothing slipped away: this test would prove nothing"
    if end == "cloche is killed":
        run.kill()
        run.wait(PATIENCE)
        assert wait_until(lambda: not processes(mark), 1)
    else:
        run.communicate("\n", timeout=PATIENCE)
        assert run.returncode == 0
        assert not processes(mark)


@pytest.fixture
def own_places(person):
    """Where the test may (as root), cloche gets /tmp, /run and the like that nobody else uses, so that whatever
    is left in them is its own. The value: what Popen needs, the mounts as seen there, and their names there."""
    if os.geteuid() != 0:
        yield as_person(person), pathlib.Path("/proc/self/mountinfo"), None
        return
    mounts = "; ".join(f"mount -t tmpfs -o mode=1777 own {place}" for place in SHARED_PLACES)
    keeper = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                               f"{mounts}; echo made; exec sleep 600"], stdout=subprocess.PIPE, text=True)
    try:
        assert keeper.stdout.readline() == "made\n"
        namespace = os.open(f"/proc/{keeper.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)

        def enter():
            if libc.setns(namespace, 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            os.chdir(person.project)
            os.setgroups([])
            os.setgid(person.uid)
            os.setuid(person.uid)

        yield ({"preexec_fn": enter}, pathlib.Path(f"/proc/{keeper.pid}/mountinfo"),
               pathlib.Path(f"/proc/{keeper.pid}/root"))
        os.close(namespace)
    finally:
        keeper.kill()
        keeper.wait()


def left_in(root, person):
    """Names in the shared places: all of them where they are ours alone, else those that speak of cloche."""
    if root:
        return [str(path) for place in SHARED_PLACES for path in (root / place[1:]).rglob("*")]
    return sorted(f"{place}/{name}" for place in SHARED_PLACES for name in os.listdir(place)
                  if name.startswith("cloche-") and not name.startswith(("cloche-bin-", "cloche-test-"))
                  and os.lstat(f"{place}/{name}").st_uid == person.uid)


def test_runs_killed_at_any_moment_leave_nothing(person, mark, own_places):
    keywords, mountinfo, root = own_places
    seed = random.randrange(2**32)
    moments = random.Random(seed)
    for name in PROTECTED:
        person.file(name, "original\n")
    person.file(".env", "SECRET=1\n")
    person.file("vault/key", "SECRET=2\n")
    person.file(person.home / ".npm/cached", "original\n")
    allowed = person.directory("project/allowed")
    binary = person.base / "cloche"
    binary.write_bytes((person.binaries / "cloche").read_bytes())
    binary.chmod(0o755)
    before = fingerprint(person.base, {allowed})
    mounts = mountinfo.read_text()
    places = left_in(root, person)
    writes = ("while :; do mkdir allowed/d; echo x >allowed/$0; echo x >~/.npm/new; echo x >/tmp/new; echo x >/run/new; "
              "rm -rf allowed/d; done 2>/dev/null")

    def launch(*command):
        return subprocess.Popen([binary, "run", "--deny-read", "vault", *command], cwd=person.project,
                                env=person.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, **keywords)

    begun = time.monotonic()
    assert launch("true").wait(PATIENCE) == 0
    whole = time.monotonic() - begun
    slowest = 0.0
    for number in range(KILLED):
        run = launch("sh", "-c", writes, f"run-{number}", mark)
        time.sleep(moments.uniform(0, whole if number % 2 else 3 * whole))
        run.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        assert run.wait(PATIENCE) == -signal.SIGKILL
        assert wait_until(lambda: not processes(mark)), f"seed {seed}, run {number}: processes were left"
        slowest = max(slowest, time.monotonic() - killed)
    assert slowest < 1, f"seed {seed}: the last process was gone after {slowest:.2f} s"
    assert fingerprint(person.base, {allowed}) == before, f"seed {seed}"
    assert mountinfo.read_text() == mounts
    assert left_in(root, person) == places
    # Some were killed at work, some before they got to it.
    at_work = [name for name in os.listdir(allowed) if name.startswith("run-")]
    assert 0 < len(at_work) < KILLED, (seed, whole, at_work)


def test_many_filtered_runs_at_once_all_get_their_network(person):
    """What a thread of pid 1's sets up, pid 1 may have put elsewhere among its descriptors meanwhile."""
    policy = person.file("../policy.json", {"extends": ["preset:dev"],
                                            "network": {"mode": "filtered", "allowedDomains": ["example.org"]}})  # fmt: skip
    words = 'seq 600 | xargs -P 100 -I{} sh -c "$1 run -s $2 true || echo refused"'
    done = subprocess.run(["sh", "-c", words, "sh", person.binaries / "cloche", policy],
                          cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=4 * PATIENCE, check=False, **as_person(person))  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_many_runs_killed_at_once_leave_nothing(person, mark):
    person.file(".env", "SECRET=1\n")
    allowed = person.directory("project/allowed")
    before = fingerprint(person.base, {allowed})
    work = "while :; do mkdir -p allowed/$0; echo x >allowed/$0/file; rm -rf allowed/$0; done 2>/dev/null"
    runs = [subprocess.Popen([person.binaries / "cloche", "run", "sh", "-c", work, f"run-{number}", mark],
                             cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_person(person))
            for number in range(KILLED)]  # fmt: skip
    assert wait_until(lambda: len(processes(mark)) > KILLED // 2)
    for run in runs:
        run.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    assert [run.wait(PATIENCE) for run in runs] == [-signal.SIGKILL] * KILLED
    assert wait_until(lambda: not processes(mark))
    assert time.monotonic() - killed < 5  # so many end one after the other
    assert fingerprint(person.base, {allowed}) == before


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP", "SIGABRT", "SIGXFSZ", "SIGKILL"])
def test_whatever_signal_ends_cloche_ends_the_run(person, mark, name):
    """Those that it passes on end the command, and cloche with it; those that only it can have got end both."""
    stay = "sh -c 'while :; do sleep 0.1; done' $0"
    run = subprocess.Popen([person.binaries / "cloche", "run", "sh", "-c", f"setsid {stay} & echo ready; exec {stay}", mark],
                           cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **as_person(person))  # fmt: skip
    assert run.stdout.read(6) == b"ready\n"
    sent = time.monotonic()
    run.send_signal(getattr(signal, name))
    assert run.wait(PATIENCE) != 0
    assert wait_until(lambda: not processes(mark)) and time.monotonic() - sent < 1


# What a run keeps busy


IN_UNMOUNT = 0x2000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk for the project")
def test_disk_of_the_project_is_free_a_moment_after_the_run_and_not_before(person):
    libc = ctypes.CDLL(None, use_errno=True)
    disk = person.directory("disk")
    subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def is_free():
        try:
            return int.from_bytes(os.read(watch, 4096)[4:8], "little") & IN_UNMOUNT != 0
        except BlockingIOError:
            return False

    try:
        person.own(disk)
        assert libc.inotify_add_watch(watch, bytes(disk), IN_UNMOUNT) > 0
        run = start(person, "run", "-C", disk, "sh", "-c", "echo ready; read line", stdin=subprocess.PIPE)
        assert run.stdout.readline() == "ready\n"
        subprocess.run(["umount", "-l", disk], check=True)
        assert not wait_until(is_free, 0.2)
        run.communicate("end\n", timeout=PATIENCE)
        assert run.returncode == 0
        assert wait_until(is_free, 1)
    finally:
        os.close(watch)
        subprocess.run(["umount", "-l", disk], stderr=subprocess.DEVNULL, check=False)


# Their lock

WATCHED_QUEUES = r"""
mount -t mqueue none /mnt
cd "$PROJECT"
queues() { echo "$1" $(ls /mnt); }
run() { setpriv --reuid "$WHO" --regid "$WHO" --clear-groups "$CLOCHE" run sh -c "$1"; }
queues before
run 'echo 1 >first; while [ ! -e end ]; do sleep 0.02; done; echo 1 >last' & first=$!
for i in $(seq 1000); do [ -e first ] && break; sleep 0.02; done
queues during
others=
for i in 1 2 3 4 5 6 7 8; do run "mkdir d$i; mv d$i e$i; echo $i >e$i/f" & others="$others $!"; done
wait $others
queues one-left
echo >end
wait $first
queues after
setpriv --reuid "$WHO" --regid "$WHO" --clear-groups "$CLOCHE" run sh -c 'echo 1 >started; sleep 99' & killed=$!
for i in $(seq 1000); do [ -e started ] && break; sleep 0.02; done
kill -9 $killed
wait $killed || queues killed
run 'echo 1 >next'
queues next
"""


def test_what_the_runs_of_a_user_share_is_gone_with_the_last(person):
    if os.geteuid():
        pytest.skip("only root can watch message queues in an ipc namespace of its own")
    answer = subprocess.run(["unshare", "--mount", "--ipc", "--propagation", "private", "sh", "-ec", WATCHED_QUEUES],
                            env={**person.environment, "PROJECT": str(person.project), "WHO": str(person.uid),
                                 "CLOCHE": str(person.binaries / "cloche")},
                            capture_output=True, text=True, timeout=PATIENCE * 2, check=False)  # fmt: skip
    queue = f"cloche-{person.uid}"
    assert answer.stdout.splitlines() == ["before", f"during {queue}", f"one-left {queue}", "after",
                                          f"killed {queue}", "next"], answer
    assert sorted(path.name for path in person.project.glob("e*/f")) == ["f"] * 8
    assert (person.project / "last").exists() and (person.project / "next").exists()


# In a network namespace of its own, where nobody else has sockets.
COUNTED_SOCKETS = """
cd "$PROJECT"
count() { wc -l </proc/net/unix; }
before=$(count)
runs=
for command in true true 'echo x >new' 'sleep 0.1'; do
    for i in 1 2 3 4 5 6 7 8; do
        setpriv --reuid "$WHO" --regid "$WHO" --clear-groups "$CLOCHE" run sh -c "$command" & runs="$runs $!"
    done
    wait $runs
    runs=
done
for i in $(seq 250); do [ "$(count)" -eq "$before" ] && break; sleep 0.02; done
echo "$before $(count)"
"""


def test_sockets_that_outlive_a_run_are_gone_a_moment_later(person):
    """Those in which lies what takes the kernel long to end."""
    if os.geteuid():
        pytest.skip("only root can watch sockets in a network namespace of its own")
    answer = subprocess.run(["unshare", "--net", "sh", "-ec", COUNTED_SOCKETS],
                            env={**person.environment, "PROJECT": str(person.project), "WHO": str(person.uid),
                                 "CLOCHE": str(person.binaries / "cloche")},
                            capture_output=True, text=True, timeout=PATIENCE * 2, check=False)  # fmt: skip
    before, after = answer.stdout.split()
    assert before == after and (person.project / "new").exists(), answer


def test_many_runs_one_after_the_other_leave_their_user_inotify_instances(person):
    """There are 128 of them. What lingers of a run counts as one until the kernel has ended it."""
    said = []
    for _ in range(10):
        runs = [start(person, "run", "sleep", "0.05") for _ in range(20)]
        said += [run.communicate(timeout=PATIENCE)[1] for run in runs]
    assert said == [""] * 200
