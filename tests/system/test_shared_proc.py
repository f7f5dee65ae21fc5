"""Runs where the kernel refuses a fresh /proc, because parts of the one around are
covered, as container engines do: the run keeps its namespaces and is shown the
host's /proc, of which nothing can be written.

That the host's processes can be seen there is said in one line. Their memory,
environment and descriptors cannot be read, and they cannot be signalled through
it: tried on a process of the same user, which without cloche is an open book."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from judging import as_person, call_outside, where_mounted

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can cover parts of /proc")

COVERED = ("mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; mount -t tmpfs -o ro none /proc/irq; "
           "mount --bind /dev/null /proc/timer_list")
PYTHON = "/usr/bin/python3"
FALLS_BACK = "a fresh /proc is refused here"


def run(person, *words, **keywords):
    return where_mounted(person, COVERED, "run", *words, **keywords)


def python(person, text, *options, **keywords):
    answer = run(person, *options, PYTHON, "-c", text, **keywords)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.fixture
def neighbour(person):
    """A process of the same user outside, with a secret in its environment and memory."""
    secret = f"secret-{os.urandom(8).hex()}"
    person.file(person.base / "open", secret)
    script = f"import time; kept = {secret!r}; opened = open({str(person.base / 'open')!r}); print(1, flush=True); time.sleep(600)"
    process = subprocess.Popen([PYTHON, "-", "its-argument"], cwd=person.base, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={**person.environment, "SECRET": secret}, **as_person(person))
    process.stdin.write(script)
    process.stdin.close()
    assert process.stdout.readline() == "1\n"
    process.secret = secret
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("options", [(), ("-q",), ("--backend", "namespaces")])
def test_run_keeps_its_namespaces_and_says_in_one_line_what_is_weaker(person, options):
    """Also with -q: nobody asked for it."""
    names = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"]
    look = f"import os; print(*(os.readlink('/proc/self/ns/' + name) for name in {names}), len(os.listdir('/tmp')))"
    answer = run(person, *options, PYTHON, "-c", look)
    *inside, temporary = answer.stdout.split()
    assert answer.returncode == 0
    assert not set(inside) & {os.readlink(f"/proc/self/ns/{name}") for name in names}
    assert temporary == "0"
    (line,) = answer.stderr.splitlines()
    assert line.startswith("cloche: ") and FALLS_BACK in line and "read-only" in line
    assert "Landlock" not in line


def test_run_with_a_fresh_proc_says_nothing(person):
    answer = person.cloche("run", "cat", "/proc/self/comm")
    assert (answer.stdout, answer.stderr) == ("cat\n", "")


WRITE = """
import os
for path in ("/proc/self/comm", "/proc/self/oom_score_adj", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
             "/proc/self/uid_map", "/proc/self/timerslack_ns"):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("opened", end=" ")
    except FileNotFoundError:
        print("absent", end=" ")
    except OSError as problem:
        print(problem.errno, end=" ")
"""


def test_nothing_in_it_can_be_written(person):
    erofs, eacces = "30", "13"
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    assert set(python(person, WRITE).split()) <= {erofs, eacces, "absent"}
    assert call_outside(person, PYTHON, "-c", WRITE).split()[0] == "opened"
    assert pathlib.Path("/proc/sys/kernel/core_pattern").read_text() == pattern


def test_wholly_read_only_means_every_mount_in_it(person):
    table = python(person, "print(open('/proc/self/mountinfo').read())").splitlines()
    options = [line.split()[5].split(",") for line in table if line and (line.split()[4] + "/").startswith("/proc/")]
    assert len(options) >= 4  # what covered parts of it is still there
    assert all({"ro", "nosuid", "nodev"} <= set(each) for each in options)


def test_kernel_interfaces_are_hidden(person):
    look = "import os\nfor n in ('kallsyms', 'key-users', 'timer_list'):\n try: print(len(open('/proc/' + n).read(9)))\n " \
           "except OSError as problem: print(problem.errno)"
    assert python(person, look).split() == ["13", "13", "13"]
    assert call_outside(person, PYTHON, "-c", look).split()[0] == "9"


SPY = """
import os
pid = %d
def attempt(what):
    try:
        what()
        return "open"
    except PermissionError:
        return "refused"
names = ("environ", "maps", "mem", "auxv", "fd/3", "cwd/open", "root/etc/passwd", "task/%%d/environ" %% pid)
links = ("cwd", "root", "exe", "fd/3", "ns/net")
print(*(attempt(lambda: open(f"/proc/{pid}/{name}", "rb", buffering=0).read(name != "mem")) for name in names),
      *(attempt(lambda: os.readlink(f"/proc/{pid}/{name}")) for name in links))
"""


def test_memory_environment_and_files_of_a_neighbour_are_out_of_reach(person, neighbour):
    assert set(python(person, SPY % neighbour.pid).split()) == {"refused"}
    assert set(call_outside(person, PYTHON, "-c", SPY % neighbour.pid).split()) == {"open"}
    everything = run(person, "sh", "-c", f"cat /proc/{neighbour.pid}/* /proc/[0-9]*/environ 2>/dev/null")
    assert neighbour.secret not in everything.stdout
    assert "its-argument" in everything.stdout, "names and arguments can be seen: SECURITY.md says so"


def test_capabilities_over_files_open_no_neighbour(person, neighbour):
    """They are those of the run's own user namespace."""
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "rootCapabilities": "files"})
    answer = run(person, "--settings", policy, PYTHON, "-c", SPY % neighbour.pid)
    if person.uid == 0:
        assert set(answer.stdout.split()) == {"refused"}, answer.stderr
    else:
        assert answer.returncode == 125 and "rootCapabilities" in answer.stderr


SIGNAL = """
import os, signal
fd = os.open("/proc/%d", os.O_RDONLY | os.O_DIRECTORY)
try:
    signal.pidfd_send_signal(fd, signal.SIGKILL)
    print("sent")
except OSError:
    print("refused")
"""


def test_neighbour_cannot_be_signalled_through_its_directory(person, neighbour):
    assert python(person, SIGNAL % neighbour.pid) == "refused\n"
    time.sleep(0.1)
    assert neighbour.poll() is None
    assert call_outside(person, PYTHON, "-c", SIGNAL % neighbour.pid) == "sent\n"
    assert neighbour.wait(5) == -signal.SIGKILL


def test_supervisor_and_pid_1_are_out_of_reach(person):
    """Both are seen there, with their numbers: attack 9."""
    look = """
import os
own = int(os.readlink("/proc/self"))
parent = lambda pid: int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
init = parent(own)
for pid in (init, parent(init)):
    print(open(f"/proc/{pid}/comm").read().strip())
    for name in ("root", "cwd", "fd/0", "fd/3", "ns/mnt"):
        try:
            print(os.readlink(f"/proc/{pid}/{name}"))
        except OSError as problem:
            print(problem.errno)
"""
    said = python(person, look).split()
    assert said == (["cloche"] + ["13"] * 5) * 2


def test_ordinary_programs_work(person):
    script = """
set -e
git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --oneline | wc -l
bash -c 'cat <(echo substituted)'
echo piped | cat /dev/stdin
test -r /proc/self/status && grep -c ^processor /proc/cpuinfo >/dev/null
printf 'all:\n\t@echo made\n' > Makefile && make -s
"""
    answer = run(person, "sh", "-c", script)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "1\nsubstituted\npiped\nmade\n"
    assert python(person, "import subprocess, multiprocessing, threading\n"
                          "with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))") == "[1, 2]\n"


def test_listed_reads_show_it_too(person):
    policy = person.file("../policy.json", {"extends": ["preset:strict"]})
    answer = run(person, "--settings", policy, "cat", "/proc/self/comm")
    assert (answer.returncode, answer.stdout) == (0, "cat\n"), answer.stderr


def test_hidden_files_stay_hidden_by_every_spelling(person):
    secret = f"secret-{os.urandom(8).hex()}"
    person.file(person.home / ".ssh/id_test", secret)
    path = f"{person.home}/.ssh/id_test"
    spellings = " ".join(f"/proc/{place}{path}" for place in ("self/root", "1/root", "self/task/*/root", "[0-9]*/root"))
    answer = run(person, "sh", "-c", f"cat {path} {spellings}; cat /proc/self/root{person.project}/known")
    person.file("known", "shown")
    assert secret not in answer.stdout
    assert run(person, "sh", "-c", f"cat /proc/self/root{person.project}/known").stdout == "shown"


def test_limits_are_measured_in_it_and_count_the_run_alone(person):
    """Processes of the host use far more than these limits."""
    others = [subprocess.Popen([PYTHON, "-c", "kept = bytearray(150 << 20); import time; time.sleep(60)"], **as_person(person))
              for _ in range(2)]  # fmt: skip
    hog = "import os, subprocess, time\nsubprocess.run(['true'])\nkept = bytearray({} << 20)\nif os.fork() == 0: time.sleep(9)\n" \
          "time.sleep(0.5)\nprint('done', flush=True)\ntime.sleep({})\nos._exit(0)"
    try:
        below = run(person, "--memory", "128M", PYTHON, "-c", hog.format(72, 0))
        assert (below.returncode, below.stdout) == (0, "done\n"), below.stderr
        above = run(person, "--memory", "128M", PYTHON, "-c", hog.format(300, 20))
        assert above.returncode == 128 + signal.SIGKILL
        assert "limits.memory, --memory" in above.stderr
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_limit_on_open_files_is_named(person):
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "limits": {"openFiles": 60}})
    opened = "import os, time\nkept = []\ntry:\n  while len(kept) < {}: kept.append(os.open('/dev/null', 0))\n" \
             "except OSError: pass\ntime.sleep(0.3)"
    below = run(person, "--settings", policy, PYTHON, "-c", opened.format(40))
    assert len(below.stderr.splitlines()) == 1, below.stderr
    above = run(person, "--settings", policy, PYTHON, "-c", opened.format(90))
    assert "limits.openFiles" in above.stderr


def test_explain_tells_what_the_run_will_be(person):
    questions = ("read:/proc/self/status", "write:/proc/self/comm", "read:/proc/kallsyms")
    whole = json.loads(where_mounted(person, COVERED, "explain", "--json").stdout)
    assert whole["backend"] == "namespaces" and FALLS_BACK in whole["weaker"]
    (step,) = [step for step in whole["steps"] if step["path"] == "/proc"]
    assert step["kind"] == "proc of the host" and step["writable"] is False
    verdicts = [answer["verdict"] for answer in
                json.loads(where_mounted(person, COVERED, "explain", "--json", *questions).stdout)["answers"]]
    assert verdicts == ["allowed", "denied", "denied"]
    assert "no memory, environment" in where_mounted(person, COVERED, "explain", "read:/proc/1/environ").stdout
    assert person.explain()["weaker"] is None
    assert person.allowed("write:/proc/self/comm")


def test_the_srt_personality_falls_back_too(person):
    settings = person.file("../settings.json", {"network": {"allowedDomains": [], "deniedDomains": []},
                                                "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}})
    answer = where_mounted(person, COVERED, "--settings", settings, "cat", "/proc/self/comm", call="srt")
    assert (answer.returncode, answer.stdout) == (0, "cat\n"), answer.stderr
    assert FALLS_BACK in answer.stderr
