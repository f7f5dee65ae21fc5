"""cloche doctor tells the truth about this host.

What it calls usable is done here a second time by other programs; what it is
denied (by limits, a chroot, system-call filters) it must blame on the right
cause. Nothing it tries may hang or leave anything behind.
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import jsonschema
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CLOCHE = os.environ.get("CLOCHE", str(TOP / "build" / "cloche"))
IS_ROOT = os.geteuid() == 0
NOBODY = 65534

SECCOMP_RET_KILL_PROCESS = 0x80000000
SECCOMP_RET_ERRNO = 0x00050000
SECCOMP_RET_USER_NOTIF = 0x7FC00000
SECCOMP_RET_ALLOW = 0x7FFF0000
SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
EPERM, ENOSYS = 1, 38

NUMBERS = {  # system calls by machine: what the filters below are made of
    "x86_64": {"seccomp": 317, "unshare": 272, "mount": 165, "getpgid": 121},
    "aarch64": {"seccomp": 277, "unshare": 97, "mount": 40, "getpgid": 155},
}.get(os.uname().machine, {})
CLONE3, LANDLOCK_CREATE_RULESET = 435, 444  # the same everywhere

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["format", "cloche", "kernel", "root", "landlock", "securityModules", "settings", "findings",
                 "backend", "notEnforced", "allowDegraded", "verdict"],
    "properties": {
        "format": {"const": 1},
        "cloche": {"type": "string", "pattern": r"^\d+\.\d+"},
        "kernel": {"type": "object", "additionalProperties": False, "required": ["release", "major", "minor"],
                   "properties": {"release": {"type": "string"}, "major": {"type": "integer"},
                                  "minor": {"type": "integer"}}},
        "root": {"type": "boolean"},
        "landlock": {"type": "object", "additionalProperties": False, "required": ["abi", "lacks"],
                     "properties": {"abi": {"type": "integer", "minimum": 0},
                                    "lacks": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}},
        "securityModules": {"type": ["string", "null"]},
        "settings": {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
        "findings": {"type": "array", "minItems": 10, "items": {
            "type": "object", "additionalProperties": False,
            "required": ["id", "status", "weight", "title", "detail", "neededFor", "remedy"],
            "properties": {"id": {"type": "string", "pattern": "^[a-z0-9-]+$"},
                           "status": {"enum": ["ok", "limited", "missing"]},
                           "weight": {"enum": ["required", "namespaces", "default", "optional"]},
                           "title": {"type": "string", "minLength": 1},
                           "detail": {"type": "string", "minLength": 1},
                           "neededFor": {"type": "string", "minLength": 1},
                           "remedy": {"type": ["string", "null"]}}}},
        "backend": {"enum": ["namespaces", "landlock", None]},
        "notEnforced": {"type": "array", "items": {
            "type": "object", "additionalProperties": False, "required": ["token", "what", "why"],
            "properties": {"token": {"enum": ["late-names", "protected-names", "metadata", "truncate", None]}, "what": {"type": "string"},
                           "why": {"type": "string"}}}},
        "allowDegraded": {"type": "array", "items": {"enum": ["late-names", "protected-names", "metadata", "truncate"]}, "uniqueItems": True},
        "verdict": {"enum": ["full", "degraded", "impossible"]},
    },
}

STATUS_OF_VERDICT = {"full": 0, "degraded": 1, "impossible": 2}


@pytest.fixture(scope="module", name="binary")
def binary_that_everybody_can_reach():
    """The tree may lie where another user cannot go."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        copy = pathlib.Path(directory, "cloche")
        shutil.copy(CLOCHE, copy)
        copy.chmod(0o755)
        yield str(copy)


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def run_as(user, words, **options):
    """`user` is "self" or "nobody"; the latter only from root."""
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
                          preexec_fn=become_nobody if user == "nobody" else None, cwd="/", **options)


def examine(words, user="self", **options):
    """Runs words that end in a doctor --json and returns its report, checked against the schema."""
    done = run_as(user, words, **options)
    assert done.stderr == "", done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert done.returncode == STATUS_OF_VERDICT[report["verdict"]]
    assert report["allowDegraded"] == [item["token"] for item in report["notEnforced"] if item["token"]]
    assert (report["backend"] is None) == (report["verdict"] == "impossible")
    return report


def finding(report, name):
    found = [item for item in report["findings"] if item["id"] == name]
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


USERS = ["self", pytest.param("nobody", marks=pytest.mark.skipif(not IS_ROOT, reason="only root can become another"))]


def in_own_namespace(script, *flags):
    return ["unshare", "--user", "--map-root-user", *flags, "sh", "-c", script]


# --- what it says is so -----------------------------------------------------

@pytest.mark.parametrize("user", USERS)
def test_report_is_valid_and_names_the_user(binary, user):
    report = examine([binary, "doctor", "--json"], user)
    assert report["root"] == (IS_ROOT and user == "self")
    assert report["kernel"]["release"] == os.uname().release
    assert [report["kernel"]["major"], report["kernel"]["minor"]] == [
        int(number) for number in os.uname().release.split("-", 1)[0].split(".")[:2]]


TMPFS = "mount -t tmpfs none /mnt && touch /mnt/file"
OVERLAY = ("mount -t tmpfs none /mnt && cd /mnt && mkdir -p lower/directory upper work both && "
           "touch lower/file lower/directory/file && "
           "mount -t overlay -o userxattr,lowerdir=lower,upperdir=upper,workdir=work none both && "
           "echo x > both/file && test -s upper/file && test ! -s lower/file && "
           "rm -r both/directory && mkdir both/directory")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name, words", [
    ("user-namespaces", in_own_namespace(TMPFS, "--mount")),
    ("namespaces", in_own_namespace("true", "--mount", "--pid", "--fork", "--ipc", "--uts", "--cgroup", "--net")),
    ("fresh-proc", in_own_namespace("test $(echo $$) = 1", "--pid", "--fork", "--mount-proc")),
    ("overlay", in_own_namespace(OVERLAY, "--mount")),
    ("fuse", in_own_namespace("exec 3<>/dev/fuse && mount -i -t fuse -o "
                              "fd=3,rootmode=40000,user_id=0,group_id=0 none /mnt", "--mount")),
])
def test_what_is_called_ok_can_be_done_by_others_and_what_is_missing_cannot(binary, user, name, words):
    report = examine([binary, "doctor", "--json"], user)
    independent = run_as(user, words)
    assert (finding(report, name)["status"] == "ok") == (independent.returncode == 0), independent.stderr


def test_landlock_abi_is_the_kernels_own_answer(binary):
    report = examine([binary, "doctor", "--json"])
    answer = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    assert report["landlock"]["abi"] == max(answer, 0)
    lacks = report["landlock"]["lacks"]
    for abi, right in [(2, "REFER"), (3, "TRUNCATE"), (4, "NET_TCP"), (5, "IOCTL_DEV"), (6, "SCOPE_SIGNAL"),
                       (7, "AUDIT"), (9, "RESOLVE_UNIX")]:
        assert (right in lacks) == (2 <= answer < abi)


def test_plain_report_says_for_each_subject_what_and_whether(binary):
    report = examine([binary, "doctor", "--json"])
    done = run_as("self", [binary, "doctor"])
    assert done.returncode == STATUS_OF_VERDICT[report["verdict"]]
    lines = done.stdout.splitlines()
    assert lines[0].startswith("No run is possible here" if report["verdict"] == "impossible" else "Runs here work, with ")
    assert all(each["what"] in lines[0] for each in report["notEnforced"])
    assert lines[1] == ""
    lines = lines[2:]
    column = lines[0].index("STATUS")
    for item in report["findings"]:
        line = next(line for line in lines if line.startswith(item["title"] + " "))
        assert line[column:].startswith(item["status"] + " ")
        assert item["detail"] in done.stdout
    for name, value in report["settings"].items():
        assert (f"    {name} = {value}" in lines) == (value is not None)
    for token in report["allowDegraded"]:
        assert f"--allow-degraded {token}" in done.stdout
    for item in report["findings"]:
        advice = [line for line in lines if re.fullmatch(f"How to get (the rest of )?{re.escape(item['title'])}:", line)]
        wanted = item["remedy"]
        assert len(advice) == (1 if wanted else 0), item["title"]
        assert all(("the rest of" in line) == (item["status"] == "limited") for line in advice)


def test_report_that_cannot_be_written_is_no_verdict(binary):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([binary, "doctor"], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=120, check=False)
    assert done.returncode == 125 and "standard output" in done.stderr


def test_wrong_argument_is_told_apart_from_every_verdict(binary):
    done = run_as("self", [binary, "doctor", "--jsn"])
    assert done.returncode == 125
    assert "--jsn" in done.stderr and done.stdout == ""
    assert run_as("self", [binary, "doctor", "--json", "more"]).returncode == 125


# --- limits -----------------------------------------------------------------

def limited(binary, setting):
    script = f'echo 0 > /proc/sys/user/{setting} && exec "$0" doctor --json'
    return [*in_own_namespace(script), binary]


@pytest.mark.parametrize("user", USERS)
def test_limit_of_no_user_namespaces_is_blamed(binary, user):
    report = examine(limited(binary, "max_user_namespaces"), user)
    item = finding(report, "user-namespaces")
    assert item["status"] == "missing"
    assert "user.max_user_namespaces is 0" in item["detail"]
    assert "sysctl -w user.max_user_namespaces=" in item["remedy"]
    assert report["verdict"] == "degraded" and report["backend"] == "landlock"
    assert {"protected-names", "late-names"} <= set(report["allowDegraded"])
    assert report["settings"]["user.max_user_namespaces"] == 0
    assert finding(report, "seccomp")["status"] == "ok"  # what does not need them is still examined


def test_namespace_inside_a_namespace_is_fine_without_the_limit(binary):
    report = examine([*in_own_namespace('exec "$0" doctor --json'), binary])
    assert finding(report, "user-namespaces")["status"] == "ok"


def test_limit_of_no_network_namespaces_is_blamed_on_that_kind_alone(binary):
    report = examine(limited(binary, "max_net_namespaces"))
    assert finding(report, "user-namespaces")["status"] == "ok"
    item = finding(report, "namespaces")
    assert item["status"] == "missing" and "network: ENOSPC" in item["detail"] and "pid" not in item["detail"]
    assert finding(report, "nftables")["status"] == "missing"
    assert report["verdict"] == "degraded" and report["backend"] == "landlock"


# --- places -----------------------------------------------------------------

def needs_static(binary):
    if b"ld-linux" in pathlib.Path(binary).read_bytes()[:4096]:
        pytest.skip("needs the static binary")


@pytest.mark.parametrize("with_proc", [True, False])
def test_plain_chroot_is_blamed(binary, tmp_path, with_proc):
    needs_static(binary)
    root = tmp_path / "root"
    for name in ("proc", "dev", "bin"):
        (root / name).mkdir(parents=True)
    shutil.copy(binary, root / "bin" / "cloche")
    mount = "mount --rbind /proc proc && " if with_proc else ""
    report = examine([*in_own_namespace(f'cd "$0" && {mount} exec chroot . /bin/cloche doctor --json', "--mount"),
                      str(root)])
    item = finding(report, "user-namespaces")
    assert item["status"] == "missing" and "inside a chroot" in item["detail"], item
    assert "EPERM" in item["detail"]
    assert report["verdict"] == "degraded" and report["backend"] == "landlock"


def test_chroot_into_a_mount_is_blamed_too(binary, tmp_path):
    script = 'mount --rbind / "$0" && exec chroot "$0" "$1" doctor --json'
    report = examine([*in_own_namespace(script, "--mount"), str(tmp_path), binary])
    assert "inside a chroot" in finding(report, "user-namespaces")["detail"]


def test_new_root_by_pivot_is_no_chroot(binary, tmp_path):
    script = 'mount --rbind / "$0" && cd "$0" && pivot_root . mnt && umount -l /mnt && exec "$1" doctor --json'
    report = examine([*in_own_namespace(script, "--mount"), str(tmp_path), binary])
    assert finding(report, "user-namespaces")["status"] == "ok"


def test_masked_proc_is_blamed_as_in_a_container(binary):
    # As container engines do it: masked in one namespace, looked at from one below it.
    script = 'mount -t tmpfs none /proc/sys && exec unshare --user --map-root-user --mount "$0" doctor --json'
    report = examine([*in_own_namespace(script, "--mount", "--pid", "--fork", "--mount-proc"), binary])
    assert finding(report, "user-namespaces")["status"] == "ok"
    item = finding(report, "fresh-proc")
    assert item["status"] == "missing" and "masked" in item["detail"], item
    assert "systempaths=unconfined" in item["remedy"]
    assert report["verdict"] == "degraded" and report["backend"] == "namespaces"
    (shortfall,) = [item for item in report["notEnforced"] if "/proc" in item["what"]]
    assert shortfall["token"] is None and "read-only" in shortfall["why"]


# --- system-call filters ----------------------------------------------------

def put_filter_on(number, action, flags=0):
    """Answers one system call with `action` for this process and all it starts."""
    def statement(code, jump_true, jump_false, value):
        return struct.pack("=HBBI", code, jump_true, jump_false, value)

    libc = ctypes.CDLL(None, use_errno=True)
    filters = ctypes.create_string_buffer(
        statement(0x20, 0, 0, 0) + statement(0x15, 0, 1, number) + statement(0x06, 0, 0, action)
        + statement(0x06, 0, 0, SECCOMP_RET_ALLOW))
    program = ctypes.create_string_buffer(struct.pack("@HP", 4, ctypes.addressof(filters)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    listener = libc.syscall(NUMBERS["seccomp"], 1, flags, program)
    assert listener >= 0, os.strerror(ctypes.get_errno())
    return listener


def examine_filtered(binary, name, action, flags=0):
    number = {**NUMBERS, "clone3": CLONE3, "landlock_create_ruleset": LANDLOCK_CREATE_RULESET}[name]
    process = subprocess.Popen(
        [sys.executable, __file__, str(number), str(action), str(flags), binary, "doctor", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, complaint = process.communicate(timeout=120)
    assert complaint == ""
    report = json.loads(output)
    jsonschema.validate(report, SCHEMA)
    assert process.returncode == STATUS_OF_VERDICT[report["verdict"]]
    return report


pytestmark = pytest.mark.skipif(not NUMBERS, reason="the numbers of this machine's system calls are not known here")


def test_harmless_filter_changes_nothing(binary):
    plain = examine([binary, "doctor", "--json"])
    assert examine_filtered(binary, "getpgid", SECCOMP_RET_ALLOW)["findings"] == plain["findings"]


def test_filter_that_refuses_user_namespaces_is_blamed(binary):
    report = examine_filtered(binary, "unshare", SECCOMP_RET_ERRNO | EPERM)
    item = finding(report, "user-namespaces")
    assert item["status"] == "missing" and "a system-call filter is in force" in item["detail"]
    assert report["verdict"] == "degraded" and report["backend"] == "landlock"


def test_filter_that_refuses_mounts_inside_is_blamed(binary):
    report = examine_filtered(binary, "mount", SECCOMP_RET_ERRNO | EPERM)
    item = finding(report, "user-namespaces")
    assert item["status"] == "missing"
    assert "a namespace can be made" in item["detail"] and "system-call filter" in item["detail"]


def test_filter_that_kills_is_survived_and_named(binary):
    report = examine_filtered(binary, "unshare", SECCOMP_RET_KILL_PROCESS)
    assert "killed by a system-call filter" in finding(report, "user-namespaces")["detail"]
    assert report["verdict"] == "degraded" and report["backend"] == "landlock"


@pytest.mark.parametrize("errno", [EPERM, ENOSYS])
def test_filter_that_refuses_landlock_is_blamed_and_leaves_a_weaker_run(binary, errno):
    report = examine_filtered(binary, "landlock_create_ruleset", SECCOMP_RET_ERRNO | errno)
    item = finding(report, "landlock")
    assert item["status"] == "missing" and "a system-call filter is in force" in item["detail"]
    assert report["landlock"]["abi"] == 0
    assert report["verdict"] == "degraded" and report["backend"] == "namespaces"
    assert any("Landlock" in entry["what"] for entry in report["notEnforced"])


def test_filter_that_hides_a_call_every_run_needs_makes_runs_impossible(binary):
    report = examine_filtered(binary, "seccomp", SECCOMP_RET_ERRNO | ENOSYS)
    assert finding(report, "seccomp")["status"] == "missing"
    assert report["verdict"] == "impossible"


def test_filter_that_hides_clone3_as_dockers_does_leaves_landlock(binary):
    report = examine_filtered(binary, "clone3", SECCOMP_RET_ERRNO | ENOSYS)
    item = finding(report, "system-calls")
    assert item["status"] == "missing" and "clone3" in item["detail"]
    assert report["verdict"] == "degraded" and report["backend"] == "landlock"


def test_listener_taken_by_a_sandbox_around_us_is_named(binary):
    report = examine_filtered(binary, "getpgid", SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER)
    item = finding(report, "seccomp-notify")
    assert item["status"] == "missing" and "taken" in item["detail"] and "EBUSY" in item["detail"]
    assert finding(report, "seccomp")["status"] == "ok"


# --- no harm ----------------------------------------------------------------

def processes_marked(mark):
    marked = []
    for directory in pathlib.Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                if mark.encode() in (directory / "environ").read_bytes():
                    marked.append(directory.name)
            except OSError:
                pass
    return marked


def test_call_that_never_returns_is_given_up_and_no_process_stays(binary, monkeypatch):
    # The listener is held and nobody answers it: unshare blocks for ever.
    mark = f"CLOCHE_DOCTOR_TEST={os.getpid()}"
    monkeypatch.setenv(*mark.split("="))
    start = time.monotonic()
    report = examine_filtered(binary, "unshare", SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER)
    assert "did not end within" in finding(report, "user-namespaces")["detail"]
    assert time.monotonic() - start < 30
    assert processes_marked(mark) == []


def test_nothing_is_left_behind(binary, tmp_path, monkeypatch):
    def state():
        cgroups = sorted(str(path) for path in pathlib.Path("/sys/fs/cgroup").glob("**/cloche*"))
        mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        return cgroups, mounts, sorted(os.listdir(tmp_path)), sorted(os.listdir("/"))

    mark = f"CLOCHE_DOCTOR_TEST={os.getpid()}-quiet"
    monkeypatch.setenv(*mark.split("="))
    before = state()
    examine([binary, "doctor", "--json"])
    assert state() == before
    assert processes_marked(mark) == []


def main():
    """Puts a filter on and becomes the given command: the launcher of examine_filtered."""
    number, action, flags = (int(word) for word in sys.argv[1:4])
    listener = put_filter_on(number, action, flags)
    if flags & SECCOMP_FILTER_FLAG_NEW_LISTENER:
        os.set_inheritable(listener, True)
    os.execv(sys.argv[4], sys.argv[4:])


if __name__ == "__main__":
    main()
