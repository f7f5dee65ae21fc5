"""cloche run: the walls, tried from inside and judged from outside.

Each denial stands beside the same thing allowed, so that a broken probe cannot
pass for a wall.
"""

import errno
import json
import os
import pathlib
import platform
import shutil
import socket
import subprocess
import threading

import pytest

from judging import ATTEMPT, as_person, wait_until

PYTHON = "/usr/bin/python3"
PATIENCE = 20
NO_FILTER = {"extends": ["preset:dev"], "seccomp": {"enabled": False}}
NESTED = {"extends": ["preset:dev"], "allowNestedUserNamespaces": True}
NO_DOORMAN = ("--allow-degraded", "late-names")  # what these two have to be accepted with

# What a probe has at hand inside.
PRELUDE = ATTEMPT + """
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments])
    return 0 if result >= 0 else ctypes.get_errno()
def write(path):
    with open(path, "r+") as file:
        file.write("changed")
"""


def probe(person, code, *options, policy=None, **keywords):
    """Runs Python inside and returns what it prints, from JSON."""
    if policy is not None:
        options += ("--settings", person.file("../policy.json", policy))
    if policy in (NO_FILTER, NESTED):
        options += NO_DOORMAN
    answer = person.cloche("run", *options, PYTHON, "-c", PRELUDE + code, **keywords)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


# Files


def test_writes_outside_the_project_change_nothing(person):
    outside = person.file("../notes.txt", "original")
    inside = person.file("notes.txt", "original")
    results = probe(person, f"""
print(json.dumps([attempt(write, p) for p in ({str(outside)!r}, {str(inside)!r}, "/etc/hosts", "/etc/passwd")]))""",
                    "--allow-read", outside)
    assert results[0] in (errno.EROFS, errno.EACCES)
    assert results[1] == 0
    assert all(result in (errno.EROFS, errno.EACCES) for result in results[2:])
    assert outside.read_text() == "original"
    assert inside.read_text() == "changedl"


def test_denied_file_and_directory_give_eacces_and_their_neighbours_do_not(person):
    for name in ("secret", "vault/key", "plain", "open/key"):
        person.file(name)
    results = probe(person, """
print(json.dumps([attempt(open, n) for n in ("secret", "vault/key", "plain", "open/key")] +
                 [attempt(os.listdir, n) for n in ("vault", "open")] +
                 [attempt(os.chmod, n, 0o777) for n in ("secret", "vault")] +
                 [attempt(os.unlink, "secret"), attempt(os.rename, "vault", "moved")]))""",
                    "--deny-read", "secret", "--deny-read", "vault")
    assert results[:6] == [errno.EACCES, errno.EACCES, 0, 0, errno.EACCES, 0]
    assert results[6:8] == [errno.EROFS, errno.EROFS]
    assert all(result in (errno.EBUSY, errno.EACCES) for result in results[8:])
    assert (person.project / "secret").read_text() == "content\n"


def test_allowed_below_denied_is_reached_through_a_passage(person):
    person.file("../vault/key")
    person.file("../vault/public/page")
    vault = person.home / "vault"
    results = probe(person, f"""
v = {str(vault)!r}
print(json.dumps([os.listdir(v), attempt(open, v + "/key"), open(v + "/public/page").read(),
                  attempt(open, v + "/new", "w"), attempt(open, v + "/public/new", "w")]))""",
                    "--allow-read", vault / "public")
    assert results == [["public"], errno.ENOENT, "content\n", errno.EROFS, errno.EROFS]


def test_rename_of_git_directory_cannot_expose_hooks(person):
    person.file(".git/hooks/pre-commit", "original")
    person.file("other/file")
    results = probe(person, """
print(json.dumps([attempt(os.rename, ".git", "away"), attempt(write, ".git/hooks/pre-commit"),
                  attempt(open, ".git/hooks/post-commit", "w"), attempt(open, ".git/ORIG_HEAD", "w"),
                  attempt(os.rename, "other", "moved")]))""")
    assert results[0] in (errno.EBUSY, errno.EACCES)
    assert all(result in (errno.EROFS, errno.EACCES) for result in results[1:3])
    assert results[3:] == [0, 0]
    assert (person.project / ".git/hooks/pre-commit").read_text() == "original"
    assert os.listdir(person.project / ".git/hooks") == ["pre-commit"]


def test_private_tmp_is_empty_and_does_not_reach_the_host(person):
    name = f"/tmp/cloche-test-{os.getpid()}-{person.uid}"
    pathlib.Path(name).write_text("host")
    try:
        results = probe(person, f"print(json.dumps([os.path.exists({name!r}), attempt(open, {name!r}, 'w')]))")
        assert results == [False, 0]
        assert pathlib.Path(name).read_text() == "host"
        results = probe(person, f"print(json.dumps(open({name!r}).read()))",
                        policy={"extends": ["preset:dev"], "filesystem": {"tmp": "host"}})
        assert results == "host"
    finally:
        os.unlink(name)


def test_what_is_built_in_private_places_can_be_executed_there(person):
    """go test, pip, native parts of Java and Node packages, prettier's and esbuild's caches."""
    (person.home / ".npm").mkdir()
    os.chown(person.home / ".npm", person.uid, person.uid)
    places = ["/tmp", "/var/tmp", "/dev/shm", str(person.home / ".cache"), str(person.home / ".npm"), str(person.project)]
    results = probe(person, f"""
import shutil, subprocess
for place in {places}:
    shutil.copy("/bin/true", place + "/built")
print(json.dumps([attempt(subprocess.check_call, [place + "/built"]) for place in {places}]))""")
    assert results == [0] * len(places)


def test_caches_are_copied_on_write_and_the_copy_is_discarded(person):
    person.file("../.npm/package/file", "original")
    cache = person.home / ".npm"
    results = probe(person, f"""
os.chdir({str(cache)!r})
read = open("package/file").read()
write("package/file")
changed = open("package/file").read()
os.unlink("package/file")
print(json.dumps([read, changed, os.listdir("package"), attempt(open, "new", "w")]))""")
    assert results == ["original", "changedl", [], 0]
    assert (cache / "package/file").read_text() == "original"
    assert os.listdir(cache) == ["package"]


def test_directories_can_be_removed_from_copied_caches_where_doctor_says_so(person):
    """Overlays need attributes for it that tmpfs has from Linux 6.6."""
    person.file("../.npm/package/file", "original")
    found = json.loads(person.cloche("doctor", "--json").stdout)
    overlay = next(finding for finding in found["findings"] if finding["id"] == "overlay")
    results = probe(person, f"""
os.chdir({str(person.home / ".npm")!r})
os.unlink("package/file")
print(json.dumps([attempt(os.rmdir, "package"), attempt(os.mkdir, "package")]))""")
    assert results == ([0, 0] if overlay["status"] == "ok" else [errno.EIO, errno.EEXIST]), overlay
    assert (person.home / ".npm/package/file").read_text() == "original"


def test_caches_that_are_not_there_can_be_made_and_are_gone_afterwards(person):
    """npm and others want one, and do not work where they cannot make it."""
    homes = [str(person.home / name) for name in (".npm", ".cache", ".other")]
    assert probe(person, f"print(json.dumps([attempt(os.mkdir, name + '/made') for name in {homes}]))") == [0, 0, errno.ENOENT]
    assert os.listdir(person.home) == ["project"]
    results = probe(person, f"print(json.dumps([attempt(os.mkdir, name + '/made') for name in {homes}]))",
                    policy={"extends": ["preset:dev"], "filesystem": {"caches": "none"}})
    assert results == [errno.ENOENT] * 3


def test_listed_reads_show_nothing_else(person):
    person.file("seen")
    policy = {"extends": [], "filesystem": {"readMode": "listed", "platformDefaults": True,
                                            "allowRead": [str(person.project)], "allowWrite": []},
              "network": {"mode": "none"}}
    results = probe(person, """
print(json.dumps([attempt(open, "seen"), attempt(open, "new", "w"), sorted(os.listdir("/home")),
                  os.listdir("/var"), attempt(open, "/usr/bin/env", "rb"), attempt(os.stat, "/srv")]))""",
                    policy=policy)
    assert results[0] == 0
    assert results[1] in (errno.EROFS, errno.EACCES)
    assert results[2:] == [[person.base.name], ["tmp"], 0, errno.ENOENT]


def test_file_given_for_reading_cannot_be_opened_again_for_writing(person):
    given = person.file("../given", "original")
    code = PRELUDE + "print(json.dumps([sys.stdin.read(), attempt(write, '/proc/self/fd/0')]))"
    plain = subprocess.run([PYTHON, "-c", code], stdin=given.open(), capture_output=True, text=True,
                           **as_person(person))
    assert json.loads(plain.stdout) == ["original", 0]
    given.write_text("original")
    with given.open() as file:
        assert probe(person, code, stdin=file) == ["original", errno.EROFS]
    assert given.read_text() == "original"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make set-user-id files of others")
def test_setuid_program_gains_nothing(person):
    other = 60444
    shutil.copy("/usr/bin/id", person.project / "become")
    os.chown(person.project / "become", other, other)
    os.chmod(person.project / "become", 0o4755)
    plain = subprocess.run([person.project / "become", "-u"], capture_output=True, text=True, **as_person(person))
    assert plain.stdout == f"{other}\n"
    assert person.cloche("run", "./become", "-u").stdout == f"{person.uid}\n"


# Who it is


def test_identity_is_the_callers(person):
    results = probe(person, "print(json.dumps([os.getuid(), os.geteuid(), os.getgid(), os.stat('.').st_uid]))")
    assert results == [person.uid] * 4


WHOLE, PARTS = "0 0 4294967295", "0 0 1000\n2000 2000 7"


@pytest.mark.parametrize("maps", [(PARTS, WHOLE), (WHOLE, PARTS), (PARTS, PARTS), (WHOLE, WHOLE)])
def test_root_has_the_ids_that_its_caller_has(binaries, tmp_path, maps):
    """Also where that is the root of a container, who has not all of them."""
    if os.geteuid():
        pytest.skip("only root can give a user namespace ids of others")
    inside = 'read go && exec "$0" run -q sh -c "cat /proc/self/uid_map; echo; cat /proc/self/gid_map"'
    command = ["unshare", "--user", "sh", "-c", inside, str(binaries / "cloche")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                          env={"PATH": os.environ["PATH"], "HOME": "/root"}) as run:
        own = os.readlink("/proc/self/ns/user")
        assert wait_until(lambda: os.readlink(f"/proc/{run.pid}/ns/user") != own)
        for name, text in zip(("uid_map", "gid_map"), maps):
            pathlib.Path(f"/proc/{run.pid}/{name}").write_text(text + "\n", encoding="ascii")
        answer, _ = run.communicate("go\n", timeout=60)
    found = [" ".join(line.split()) for line in answer.splitlines()]
    assert "\n".join(found).split("\n\n") == list(maps)


def processors(count):
    """Sets of so many processors that this test may use, as far as there are any."""
    mine = sorted(os.sched_getaffinity(0))
    return [set(mine[:count]), set(mine[-count:])]


@pytest.mark.parametrize("network", ["none", "host"])
def test_command_may_use_the_processors_its_caller_may(person, network):
    """The launch is spread over two by hand; ten times, because it could be a matter of luck."""
    policy = {"extends": ["preset:dev"], "network": {"mode": network}}
    code = ("import os\nprint(json.dumps([sorted(os.sched_getaffinity(0)), sorted(os.sched_getaffinity(1)), "
            "len(os.listdir('/proc/self/task'))]))")
    for allowed in [*processors(1), *processors(2), os.sched_getaffinity(0)] * 2:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, allowed)
        try:
            assert probe(person, code, policy=policy) == [sorted(allowed), sorted(allowed), 1]
        finally:
            os.sched_setaffinity(0, before)


MAKES_FILES_AND_LOOKS_AT_ITS_PROCESSORS = """
import os, threading
mine = os.sched_getaffinity(0)
seen = set()
for number in range(400):
    os.close(os.open(f"file{number}", os.O_WRONLY | os.O_CREAT))
    seen.add(len(os.sched_getaffinity(0)))
    if number % 40 == 0:
        child = os.fork()
        if child == 0:
            os._exit(len(os.sched_getaffinity(0)))
        seen.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

def create():
    while not enough.is_set():
        os.close(os.open("file0", os.O_WRONLY | os.O_CREAT))

enough = threading.Event()
worker = threading.Thread(target=create)
worker.start()
one, kept = {min(mine)}, 0
for _ in range(40):
    os.sched_setaffinity(worker.native_id, one)
    threading.Event().wait(0.005)
    kept += os.sched_getaffinity(worker.native_id) == one
    os.sched_setaffinity(worker.native_id, mine)
enough.set()
worker.join()
print(json.dumps([sorted(seen), kept]))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_callers_of_the_doorman_keep_their_processors(person):
    """It holds a caller of one thread on its own while it gives it a file; of several threads, others may set any meanwhile."""
    seen, kept = probe(person, MAKES_FILES_AND_LOOKS_AT_ITS_PROCESSORS, policy={"extends": ["preset:dev"]})
    assert seen == [len(os.sched_getaffinity(0))]
    assert kept == 40


@pytest.mark.parametrize("network", ["none", "filtered", "host"])
@pytest.mark.parametrize("masks, kept", [(20, 0), (600, 0), (20, 600)])
def test_masks_and_copied_caches_are_made_beside_the_network(person, masks, kept, network):
    """A thread makes the network and what may be made beside it, unless there are too many descriptors for that."""
    cache = person.file(person.home / ".cache/tool/index", "of the host")
    secrets = [str(person.file(f"secrets/secret{number}", "secret")) for number in range(masks)]
    held = [str(person.file(f"held/held{number}", "held")) for number in range(kept)]
    policy = {"extends": ["preset:dev"], "network": {"mode": network},
              "filesystem": {"denyRead": secrets, "denyWrite": held}}
    if network == "filtered":
        policy["network"]["allowedDomains"] = ["example.org"]
    code = f"""
import pathlib
def refused(path, mode):
    try:
        return not open(path, mode)
    except OSError:
        return True
cache = pathlib.Path({str(cache)!r})
before = cache.read_text()
cache.write_text("of the run")
print(json.dumps([sum(refused(f"secrets/secret{{number}}", "r") for number in range({masks})),
                  sum(refused(f"held/held{{number}}", "r+") for number in range({kept})), before, cache.read_text()]))
"""
    assert probe(person, code, policy=policy) == [masks, kept, "of the host", "of the run"]
    assert cache.read_text() == "of the host"


def test_pid_1_is_one_thread_in_the_commands_network(person):
    """A thread makes the namespace of the network; all have to be in it, and the thread gone."""
    code = "import os\nprint(json.dumps([os.readlink(f'/proc/{p}/ns/net') for p in ('self', 'thread-self')]))"
    answer = probe(person, code)
    assert answer[0] == answer[1] != os.readlink("/proc/self/ns/net")
    status = probe(person, "print(json.dumps(dict(l.split(':', 1) for l in open('/proc/1/status'))))")
    assert status["Threads"].strip() == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the files of others with their owners")
def test_files_of_others_keep_their_owners_for_root(person):
    os.chown(person.file("theirs"), 61234, 61234)
    seen = probe(person, "print(json.dumps(os.stat('theirs').st_uid))")
    assert seen == (61234 if person.uid == 0 else 65534)


def test_no_capability_and_no_way_to_one(person):
    status = dict(line.split(":\t") for line in person.cloche("run", "cat", "/proc/self/status").stdout.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


# The kernel's own files


def test_core_pattern_cannot_be_written(person):
    before = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    results = probe(person, """
print(json.dumps([attempt(os.open, "/proc/sys/kernel/core_pattern", os.O_WRONLY),
                  attempt(os.open, "/proc/self/comm", os.O_WRONLY)]))""")
    assert results[0] == (errno.EROFS if person.uid == 0 else errno.EACCES)
    assert results[1] == 0
    assert pathlib.Path("/proc/sys/kernel/core_pattern").read_text() == before


def test_no_sysctl_can_be_opened_for_writing(person):
    opened = probe(person, """
opened = []
for directory, _, names in os.walk("/proc/sys"):
    for name in names:
        if attempt(os.open, os.path.join(directory, name), os.O_WRONLY) == 0:
            opened.append(os.path.join(directory, name))
print(json.dumps(opened))""")
    assert opened == []


@pytest.mark.parametrize("path", ["/proc/kallsyms", "/proc/keys", "/proc/timer_list", "/proc/kmsg"])
def test_kernel_secrets_are_hidden(person, path):
    if not os.path.exists(path):
        pytest.skip("this kernel has no such file")
    results = probe(person, f"print(json.dumps([attempt(open, {path!r}), attempt(open, '/proc/meminfo')]))")
    assert results == [errno.EACCES, 0]


def test_nothing_under_sys_can_be_written(person):
    results = probe(person, """
opened = [os.path.join(d, n) for d, _, names in os.walk("/sys/kernel") for n in names
          if attempt(os.open, os.path.join(d, n), os.O_WRONLY | os.O_NONBLOCK) == 0]
print(json.dumps(opened))""")
    assert results == []


def test_dev_holds_the_usual_nodes_and_nothing_else(person):
    results = probe(person, """
import pty, stat
master, slave = os.openpty()
with open("/dev/null", "w") as null: null.write("gone")
with open("/dev/shm/x", "w") as shared: shared.write("here")
print(json.dumps([sorted(os.listdir("/dev")), os.ttyname(slave), len(os.urandom(4)), open("/dev/zero", "rb").read(2) ==
                  bytes(2), attempt(os.chmod, "/dev/null", 0o600), attempt(open, "/dev/new", "w")]))""")
    assert results[0] == sorted(["core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
                                 "stdout", "tty", "urandom", "zero"])
    assert results[1] == "/dev/pts/0"
    assert results[2:4] == [4, True]
    assert results[4] in (errno.EROFS, errno.EPERM) and results[5] == errno.EROFS
    assert os.stat("/dev/null").st_mode & 0o777 == 0o666


@pytest.mark.parametrize("device", ["/dev/net/tun", "/dev/fuse", "/dev/kmsg"])
def test_named_device_is_added(person, device):
    if not os.path.exists(device):
        pytest.skip("this machine has no such device")
    code = f"print(json.dumps(os.path.exists({device!r}) and os.stat({device!r}).st_rdev))"
    assert probe(person, code) is False
    assert probe(person, code, "--device", device) == os.stat(device).st_rdev


def test_absent_device_is_refused_by_name(person):
    answer = person.cloche("run", "--device", "/dev/no-such-device", "true")
    assert answer.returncode == 125
    assert "/dev/no-such-device" in answer.stderr


# Other processes


def test_host_processes_cannot_be_seen(person):
    here = [name for name in os.listdir("/proc") if name.isdigit()]
    assert str(os.getpid()) in here
    results = probe(person, """
print(json.dumps([os.getpid(), *sorted(int(n) for n in os.listdir("/proc") if n.isdigit())]))""")
    assert results == [results[0], 1, results[0]]


def test_pid_1_cannot_be_touched(person):
    results = probe(person, """
PTRACE_ATTACH = 16
print(json.dumps([attempt(open, "/proc/1/" + n) for n in ("environ", "mem", "maps")] +
                 [attempt(os.readlink, "/proc/1/" + n) for n in ("fd/0", "root", "exe")] +
                 [0 if libc.ptrace(PTRACE_ATTACH, 1, 0, 0) == 0 else ctypes.get_errno(),
                  attempt(open, "/proc/self/environ")]))""")
    assert all(result in (errno.EACCES, errno.EPERM) for result in results[:7])
    assert results[7] == 0
    assert person.cloche("run", "sh", "-c", "kill -9 1; echo alive").stdout == "alive\n"


def test_own_children_can_be_traced(person):
    results = probe(person, """
import signal
PTRACE_TRACEME, PTRACE_CONT = 0, 7
child = os.fork()
if child == 0:
    libc.ptrace(PTRACE_TRACEME, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(5)
_, status = os.waitpid(child, 0)
stopped = os.WIFSTOPPED(status)
libc.ptrace(PTRACE_CONT, child, 0, 0)
print(json.dumps([stopped, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))""")
    assert results == [True, 5]


def test_signals_to_the_process_group_stay_inside(person):
    """The command is in its caller's process group, and must not be able to kill it."""
    script = f'(sleep 0.5; echo neighbour alive) & "{person.binaries}/cloche" run sh -c "kill -9 0"; wait'
    done = subprocess.run(["setsid", "sh", "-c", script], cwd=person.project, env=person.environment,
                          capture_output=True, text=True, timeout=PATIENCE, **as_person(person))
    assert done.stdout == "neighbour alive\n"
    plain = subprocess.run(["setsid", "sh", "-c", '(sleep 0.5; echo neighbour alive) & sh -c "kill -9 0"; wait'],
                           capture_output=True, text=True, timeout=PATIENCE)
    assert plain.stdout == ""


# System calls

CALLS = {
    "x86_64": {"mount": 165, "umount2": 166, "pivot_root": 155, "unshare": 272, "setns": 308, "clone": 56, "ioctl": 16,
               "personality": 135, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246,
               "init_module": 175, "finit_module": 313, "delete_module": 176, "keyctl": 250, "add_key": 248,
               "request_key": 249, "name_to_handle_at": 303, "open_by_handle_at": 304, "quotactl": 179, "swapon": 167,
               "reboot": 169, "syslog": 103, "acct": 163, "settimeofday": 164, "socketpair": 53, "chroot": 161},
    "aarch64": {"mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "clone": 220, "ioctl": 29,
                "personality": 92, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "kexec_load": 104,
                "init_module": 105, "finit_module": 273, "delete_module": 106, "keyctl": 219, "add_key": 217,
                "request_key": 218, "name_to_handle_at": 264, "open_by_handle_at": 265, "quotactl": 60, "swapon": 224,
                "reboot": 142, "syslog": 116, "acct": 89, "settimeofday": 170, "socketpair": 199, "chroot": 51},
}.get(platform.machine(), {})
NEW = {"clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
       "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
       "quotactl_fd": 443, "open_tree_attr": 467}


@pytest.mark.skipif(not CALLS, reason="the numbers of this machine's system calls are not in this test")
@pytest.mark.parametrize("name", [name for name in CALLS if name not in
                                  ("clone", "ioctl", "personality", "socketpair", "unshare")] +
                         [name for name in NEW if not name.startswith(("io_uring", "clone3"))])
def test_system_call_is_refused_whatever_its_arguments(person, name):
    number = {**CALLS, **NEW}[name]
    assert probe(person, f"print(json.dumps([call({number}, 0, 0, 0, 0, 0), call({number}, -1, -1, -1, -1, -1)]))") == [
        errno.EPERM, errno.EPERM]


@pytest.mark.parametrize("name", ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"])
def test_system_call_does_not_exist(person, name):
    code = f"print(json.dumps(call({NEW[name]}, 0, 0, 0, 0, 0)))"
    assert probe(person, code) == errno.ENOSYS
    assert probe(person, code, policy=NO_FILTER) != errno.ENOSYS or name.startswith("io_uring")


def test_numbers_nobody_has_judged_do_not_exist(person):
    x32 = 0x40000000
    assert probe(person, f"print(json.dumps([call(n) for n in (470, 1000, {x32} + 39, 2**32 - 1)]))") == [
        errno.ENOSYS] * 4


@pytest.mark.skipif(not CALLS, reason="the numbers of this machine's system calls are not in this test")
@pytest.mark.parametrize("flag", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80])
def test_no_new_namespace(person, flag):
    unshare, new_user, new_files = CALLS["unshare"], 0x10000000, 0x400
    code = f"print(json.dumps([call({unshare}, {new_files}), call({unshare}, {flag | new_user})]))"
    assert probe(person, code) == [0, errno.EPERM]
    assert probe(person, f"print(json.dumps(call({unshare}, {flag})))") == errno.EPERM
    assert probe(person, code, policy=NESTED) == [0, 0]


@pytest.mark.skipif(not CALLS, reason="the numbers of this machine's system calls are not in this test")
def test_clone_with_a_new_namespace_is_refused_and_fork_works(person):
    clone, child_signal = CALLS["clone"], 17
    assert probe(person, f"""
refused = call({clone}, 0x10000000 | {child_signal}, 0, 0, 0, 0)
child = os.fork()
if child == 0: os._exit(0)
print(json.dumps([refused, os.waitpid(child, 0)[1]]))""") == [errno.EPERM, 0]


@pytest.mark.parametrize("request_number", [0x5412, 0x541C, 0x5423, 0xDEADBEEF00005412])
def test_typing_into_the_terminal_is_refused(person, request_number):
    ioctl = CALLS.get("ioctl")
    if not ioctl:
        pytest.skip("the number of ioctl on this machine is not in this test")
    code = f"""
character = ctypes.create_string_buffer(b"x")
master, slave = os.openpty()
print(json.dumps([call({ioctl}, slave, {request_number}, character), call({ioctl}, slave, 0x5413, character)]))"""
    assert probe(person, code.replace('b"x"', 'b"x" * 64'))[0] == errno.EPERM
    assert probe(person, code.replace('b"x"', 'b"x" * 64')) == [errno.EPERM, 0]
    assert probe(person, "master, slave = os.openpty()\nprint(json.dumps(call(%d, slave, %d, 0)))" %
                 (ioctl, request_number), policy=NO_FILTER) != 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="int 0x80 is x86's")
def test_32_bit_entry_is_refused(person):
    """getpid by int 0x80: another table of numbers, the same kernel."""
    code = """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes([0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3]))
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print(json.dumps([function(), os.getpid()]))"""
    answer = person.cloche("run", *NO_DOORMAN, "--settings", person.file("../policy.json", NO_FILTER), PYTHON, "-c",
                           PRELUDE + code)
    if answer.returncode != 0:
        pytest.skip("this kernel has no 32-bit entry")
    result, pid = json.loads(answer.stdout)
    assert result == pid
    assert probe(person, code)[0] == -errno.EPERM


@pytest.mark.parametrize("family, kind, protocol, expected", [
    (socket.AF_UNIX, socket.SOCK_STREAM, 0, 0),
    (socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC, 0, 0),
    (socket.AF_UNIX, socket.SOCK_DGRAM, 0, errno.EACCES),
    (socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0, errno.EACCES),
    (socket.AF_UNIX, socket.SOCK_RAW, 0, errno.EACCES),  # a datagram socket by another name
    (socket.AF_INET, socket.SOCK_STREAM, 0, 0),
    (socket.AF_INET, socket.SOCK_DGRAM, 0, 0),
    (socket.AF_INET6, socket.SOCK_STREAM, 0, 0),
    (socket.AF_NETLINK, socket.SOCK_RAW, 0, 0),
    (socket.AF_NETLINK, socket.SOCK_RAW, 16, errno.EPROTONOSUPPORT),
    (socket.AF_PACKET, socket.SOCK_RAW, 0, errno.EAFNOSUPPORT),
    (38, socket.SOCK_SEQPACKET, 0, errno.EAFNOSUPPORT),  # AF_ALG
    (40, socket.SOCK_STREAM, 0, errno.EAFNOSUPPORT),  # AF_VSOCK
])
def test_sockets_that_can_be_made(person, family, kind, protocol, expected):
    assert probe(person, f"print(json.dumps(attempt(socket.socket, {family:d}, {kind:d}, {protocol})))") == expected


def test_socket_pairs_that_can_be_made(person):
    code = "print(json.dumps([attempt(socket.socketpair, 1, k) for k in (1, 5, 2, 3, 2 | 0x80000)]))"
    assert probe(person, code) == [0, 0] + [errno.EACCES] * 3
    assert probe(person, code, policy=NO_FILTER) == [0] * 5


def test_unix_sockets_can_be_blocked_whole(person):
    policy = {"extends": ["preset:dev"], "seccomp": {"blockUnixSockets": True}}
    code = "print(json.dumps([attempt(socket.socket, 1, 1), attempt(socket.socket, 2, 1), attempt(socket.socketpair)]))"
    assert probe(person, code, policy=policy) == [errno.EPERM, 0, 0]


@pytest.mark.parametrize("value, expected", [(0xFFFFFFFF, 0), (0, 0), (0x40000, 0), (0x400000, errno.EPERM),
                                             (0x100000, errno.EPERM)])
def test_personality_takes_harmless_values_only(person, value, expected):
    number = CALLS.get("personality")
    if not number:
        pytest.skip("the number of personality on this machine is not in this test")
    assert probe(person, f"print(json.dumps(call({number}, {value})))") == expected


def test_single_system_calls_can_be_allowed_and_denied(person):
    policy = {"extends": ["preset:dev"], "seccomp": {"allow": ["keyctl"], "deny": ["getpriority"]}}
    number = CALLS.get("keyctl", 0)
    code = f"print(json.dumps([call({number}, 0, -1, 0), attempt(os.getpriority, 0, 0)]))"
    assert probe(person, code) == [errno.EPERM, 0]
    assert probe(person, code, policy=policy)[1] == errno.EPERM
    assert probe(person, code, policy=policy)[0] != errno.EPERM


# The network


@pytest.fixture
def listener():
    """A server on the host's loopback, which answers "host"."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"host")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_without_network_only_the_own_loopback_is_there(person, listener):
    code = f"""
own = socket.create_server(("127.0.0.1", 0))
print(json.dumps([sorted(n for _, n in socket.if_nameindex()),
                  attempt(socket.create_connection, ("127.0.0.1", {listener})),
                  attempt(socket.create_connection, own.getsockname()),
                  attempt(socket.create_connection, ("192.0.2.1", 80), timeout=2)]))"""
    assert probe(person, code) == [["lo"], errno.ECONNREFUSED, 0, errno.ENETUNREACH]
    policy = {"extends": ["preset:dev"], "network": {"mode": "host"}}
    seen = probe(person, f"print(json.dumps(attempt(socket.create_connection, ('127.0.0.1', {listener}))))",
                 policy=policy)
    assert seen == 0


def test_abstract_sockets_of_the_host_are_out_of_reach(person):
    name = f"\0cloche-test-{os.getpid()}-{person.uid}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = f"""
s = socket.socket(socket.AF_UNIX)
print(json.dumps(attempt(s.connect, {name!r})))"""
        assert probe(person, code) == errno.ECONNREFUSED
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(name)


def test_abstract_sockets_of_the_host_are_out_of_reach_on_its_network_too(person):
    """By the doorman, and from Landlock ABI 6 (Linux 6.12) by that, too."""
    name = f"\0cloche-test-{os.getpid()}-{person.uid}"
    policy = {"extends": ["preset:dev"], "network": {"mode": "host"}}
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        results = probe(person, f"""
own = socket.socket(socket.AF_UNIX)
own.bind({name!r} + "-inside")
own.listen()
print(json.dumps([attempt(socket.socket(socket.AF_UNIX).connect, {name!r} + end) for end in ("", "-inside")]))""",
                        policy=policy)
        assert results == [errno.EPERM, 0]


def test_shared_memory_and_message_queues_are_the_runs_own(person):
    made = subprocess.run(["ipcmk", "-M", "64"], capture_output=True, text=True, **as_person(person))
    identifier = made.stdout.split()[-1]
    try:
        assert identifier in subprocess.run(["ipcs", "-m"], capture_output=True, text=True).stdout.split()
        assert identifier not in person.cloche("run", "ipcs", "-m").stdout.split()
    finally:
        subprocess.run(["ipcrm", "-m", identifier], check=True)


# Nested sandboxes


@pytest.mark.skipif(not CALLS, reason="the numbers of this machine's system calls are not in this test")
def test_nested_namespaces_work_when_allowed_and_open_nothing(person):
    person.file("secret", "the secret")
    person.file("../vault/key", "the secret")
    code = f"""
user_and_mounts, detach, recursive_bind = 0x10020000, 2, 0x5000
entered = call({CALLS['unshare']}, user_and_mounts)
vault = {str(person.home / 'vault')!r}.encode()
unmounted = [call({CALLS['umount2']}, path, detach) for path in (b"secret", vault[:-6])]
bound = call({CALLS['mount']}, b"/", b"/mnt", None, recursive_bind, None)
remounted = call({CALLS['mount']}, None, b"/", None, 0x20, None)
read = [os.path.exists(p) and attempt(open, p) for p in
        (b"secret", b"/mnt" + os.getcwdb() + b"/secret", vault + b"/key", b"/mnt" + vault + b"/key")]
print(json.dumps([entered, unmounted, bound, remounted, read]))"""
    results = probe(person, code, "--deny-read", "secret", policy=NESTED)
    assert results == [0, [errno.EINVAL] * 2, 0, errno.EPERM, [errno.EACCES, errno.EACCES, False, False]]
    assert probe(person, code, "--deny-read", "secret")[0] == errno.EPERM
