"""What several tests judge by: the host's own view, from outside."""

import ctypes
import os
import pathlib
import stat
import subprocess
import time

PATIENCE = 30 * int(os.environ.get("SLOWNESS", "1"))  # an emulated machine takes longer for everything

# For Python that is run inside: what came of an operation.
ATTEMPT = """
def attempt(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
        return 0
    except OSError as problem:
        return problem.errno
"""
TOP = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("CLOCHE", TOP / "build" / "cloche")).parent


def landlock_abi():
    landlock_create_ruleset = 444
    return ctypes.CDLL(None).syscall(landlock_create_ruleset, None, 0, 1)


def as_person(person):
    return {} if os.geteuid() else {"user": person.uid, "group": person.uid, "extra_groups": []}


def start(person, *arguments, **keywords):
    """A run that goes on while the test does something else."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords}
    return subprocess.Popen([person.binaries / "cloche", *arguments], cwd=person.project, env=person.environment,
                            text=True, **options, **as_person(person))


def call_outside(person, *command, cwd=None, check=True, **keywords):
    """What the person does without cloche."""
    done = subprocess.run(command, cwd=cwd or person.project, env=person.environment, capture_output=True, text=True,
                          check=False, **{"timeout": PATIENCE, **keywords}, **as_person(person))
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def outside(person, script, check=True):
    return call_outside(person, "bash", "-c", script, check=check)


def git_identity(person, more=""):
    """Git knows who it works for, and asks and advises nothing; `more` of its configuration."""
    person.file(person.home / ".gitconfig", "[user]\n\tname = Some Body\n\temail = somebody@example.org\n"
                "[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n" + more)


def where_mounted(person, mounting, *arguments, call="cloche", **keywords):
    """A run where root did `mounting` before, in a mount namespace of its own. $1 is the project."""
    script = f'{mounting}\ncd "$1" && shift && exec setpriv --reuid {person.uid} --regid {person.uid} --clear-groups "$@"'
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", person.project,
                           person.binaries / call, *arguments], env=person.environment, text=True, check=False,
                          **{"timeout": PATIENCE, "stdin": subprocess.DEVNULL, "capture_output": True, **keywords})


def fingerprint(top, leave_out=()):
    """All that a command could have changed below `top`: name, mode, owner, inode, time, content."""
    found = {}
    for directory, names, files in os.walk(top):
        names[:] = [name for name in names if pathlib.Path(directory, name) not in leave_out]
        for name in [".", *files, *(n for n in names if os.path.islink(os.path.join(directory, n)))]:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            seen = [status.st_mode, status.st_uid, status.st_gid, status.st_ino]
            if stat.S_ISLNK(status.st_mode):
                seen.append(os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                seen += [status.st_mtime_ns, pathlib.Path(path).read_bytes()]
            elif stat.S_ISDIR(status.st_mode):
                seen.append(sorted(os.listdir(path)))
            found[path] = seen
    return found


def processes(mark, whole=False):
    """Host pids of processes that have `mark` somewhere in their arguments, or as a whole one."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if mark.encode() in (arguments.split(b"\0") if whole else arguments):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def job(mark):
    """Those of the processes that are the run itself: cloche, pid 1, the command. The doorman only attends to it."""
    def name(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text()
        except OSError:
            return ""

    return [pid for pid in processes(mark, whole=True) if name(pid) != "the doorman\n"]


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
