"""Runs where something about the machine is wrong: each either runs as promised
or is refused with a clear line and 125, and then nothing was run.

Machines without usable namespaces are test_landlock_backend.py's subject."""

import json
import os
import pathlib
import subprocess

import pytest

from judging import PATIENCE, as_person, wait_until, where_mounted

CHANGED_HOST = pathlib.Path(__file__).with_name("changed_host.py")

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount what the test needs")


def refused(answer, *words):
    """One clear line or more, each with our name, and nothing of the command's."""
    assert answer.returncode == 125, (answer.returncode, answer.stdout, answer.stderr)
    assert answer.stdout == ""
    lines = answer.stderr.splitlines()
    assert lines and all(line.startswith("cloche: ") for line in lines), answer.stderr
    for word in words:
        assert str(word) in answer.stderr, (word, answer.stderr)
    return True


# The project


@pytest.mark.parametrize("what", ["absent", "a file", "a broken link", "below a file"])
def test_project_that_is_no_directory_is_refused_by_name(person, what):
    path = person.project / "there"
    if what == "a file":
        person.file("there")
    elif what == "a broken link":
        person.link("there", "nowhere")
    elif what == "below a file":
        person.file("there")
        path /= "below"
    answer = person.cloche("run", "-C", path, "touch", person.project / "made")
    assert refused(answer, path)
    assert not (person.project / "made").exists()


def test_project_that_is_gone_is_refused(person):
    gone = person.directory("project/gone")
    script = f'rmdir "$PWD" && exec "{person.binaries}/cloche" run touch {person.project}/made'
    answer = subprocess.run(["sh", "-c", script], cwd=gone, env=person.environment, capture_output=True, text=True,
                            timeout=PATIENCE, **as_person(person))
    assert refused(answer)
    assert not (person.project / "made").exists()


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_project_that_cannot_be_entered_is_refused(person, mode):
    if person.uid == 0:
        pytest.skip("nothing is closed to root")
    inner = person.directory("project/closed")
    inner.chmod(mode)
    assert refused(person.cloche("run", "-C", inner, "touch", person.project / "made"), inner)
    assert not (person.project / "made").exists()
    inner.chmod(0o755)
    assert person.cloche("run", "-C", inner, "touch", "made").returncode == 0
    assert (inner / "made").exists()


def test_project_that_cannot_be_listed_is_refused_because_it_may_hold_secrets(person):
    person.file("known", "content\n")
    person.project.chmod(0o311)
    answer = person.cloche("run", "cat", "known")
    person.project.chmod(0o755)
    if person.uid == 0:  # to whom nothing is closed
        assert (answer.returncode, answer.stdout) == (0, "content\n"), answer.stderr
    else:
        assert refused(answer, f"{person.project} cannot be listed")


def test_project_whose_parent_is_closed_is_refused(person):
    if person.uid == 0:
        pytest.skip("nothing is closed to root")
    below = person.directory("project/closed/below")
    below.parent.chmod(0o000)
    try:
        assert refused(person.cloche("run", "-C", below, "touch", person.project / "made"), below)
    finally:
        below.parent.chmod(0o755)
    assert not (person.project / "made").exists()


# Disks


READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
FULL = ('mount -t tmpfs -o size=64k,mode=777 small "$1"; echo content >"$1/known"; '
        'dd if=/dev/zero of="$1/filling" bs=4k 2>/dev/null || true')
NO_MORE_FILES = ('mount -t tmpfs -o nr_inodes=4,mode=777 small "$1"; echo content >"$1/known"; '
                 'touch "$1/1" "$1/2" 2>/dev/null || true')
DISKS = {"read-only": (READ_ONLY, "mounted read-only"), "full": (FULL, "full"), "out of inodes": (NO_MORE_FILES, "full")}


@only_root
@pytest.mark.parametrize("backend", ["namespaces", "landlock"])
@pytest.mark.parametrize("disk", DISKS)
def test_project_that_cannot_be_written_is_refused_where_the_policy_lets_it_be(person, disk, backend):
    person.file("known", "content\n")
    mounting, words = DISKS[disk]
    look = ["sh", "-c", "cat known; echo x >/tmp/new || echo x >$TMPDIR/new; echo ran"]
    answer = where_mounted(person, mounting, "run", "--backend", backend, *look)
    assert refused(answer, f"the project {person.project}", words, "(preset:dev: filesystem.allowWrite")
    assert answer.stderr.count("\n") == 1
    told = where_mounted(person, mounting, "explain", "--backend", backend)
    assert words in told.stdout, told
    # As the line says.
    answer = where_mounted(person, mounting, "run", "-q", "--backend", backend, "--deny-write", person.project, *look)
    assert (answer.returncode, answer.stdout) == (0, "content\nran\n"), answer.stderr
    # The same disk, with room on it.
    roomy = 'mount -t tmpfs -o size=64k,mode=777 small "$1"; echo content >"$1/known"'
    answer = where_mounted(person, roomy, "run", "-q", "--backend", backend, "sh", "-c", "cp known new && cat new")
    assert (answer.returncode, answer.stdout) == (0, "content\n"), answer.stderr


@only_root
@pytest.mark.parametrize("disk", DISKS)
def test_srt_starts_on_such_a_disk_as_srt_does(person, disk):
    person.file("known", "content\n")
    settings = person.file("../settings.json", {"network": {"allowedDomains": [], "deniedDomains": []},
                                                "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}})
    answer = where_mounted(person, DISKS[disk][0], "--settings", settings, "sh", "-c",
                           "cat known; head -c 9000 /dev/zero 2>/dev/null >new || echo refused", call="srt")
    assert answer.returncode == 0 and answer.stdout.startswith("content\n"), answer.stderr


@only_root
def test_disk_that_fills_up_during_the_run_is_the_commands_to_hear_of(person):
    small = 'mount -t tmpfs -o size=64k,mode=777 small "$1"'
    look = "(cat /dev/zero >new) 2>&1 | grep -o 'No space left'; echo x >/tmp/new && echo ran"
    answer = where_mounted(person, small, "run", "sh", "-c", look)
    assert (answer.returncode, answer.stdout) == (0, "No space left\nran\n"), answer.stderr


@only_root
@pytest.mark.parametrize("state", ["full", "read-only"])
def test_disk_of_temporary_files_in_a_bad_state_does_not_matter(person, state):
    """/tmp is the run's own, in memory. Only without namespaces must a directory be made in the host's."""
    bad = {"full": "mount -t tmpfs -o nr_inodes=2,mode=1777 small /var/tmp; echo x >/var/tmp/x || true; ",
           "read-only": "mount -t tmpfs -o ro small /var/tmp; "}[state]
    answer = where_mounted(person, bad, "run", "sh", "-c", "echo x >/var/tmp/new; echo x >/tmp/new; cat /tmp/new /var/tmp/new")
    assert (answer.returncode, answer.stdout) == (0, "x\nx\n"), answer.stderr


@only_root
@pytest.mark.parametrize("state", ["full", "read-only"])
def test_no_place_for_temporary_files_without_namespaces_is_refused(person, state):
    cloche = person.base / "cloche"
    cloche.write_bytes((person.binaries / "cloche").read_bytes())
    cloche.chmod(0o755)
    options = {"full": "nr_inodes=1,mode=1777", "read-only": "ro"}[state]
    script = (f'mount -t tmpfs -o {options} small /tmp; cd {person.project}; '
              f'exec setpriv --reuid {person.uid} --regid {person.uid} --clear-groups {cloche} "$@"')
    answer = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", "run",
                             "--backend", "landlock", "-q", "touch", "made"], env=person.environment,
                            capture_output=True, text=True, timeout=PATIENCE)
    assert refused(answer, "/tmp")
    assert not (person.project / "made").exists()


@only_root
@pytest.mark.parametrize("state", ["absent", "an empty tmpfs"])
def test_without_any_proc_the_run_is_held_by_landlock_or_refused_if_that_is_not_wanted(person, state):
    bad = {"absent": "umount -l /proc", "an empty tmpfs": "mount -t tmpfs none /proc"}[state]
    answer = where_mounted(person, bad, "run", "--backend", "namespaces", "touch", "made")
    assert refused(answer, "/proc")
    assert not (person.project / "made").exists()
    answer = where_mounted(person, bad, "run", "sh", "-c", "echo x >new; cat new")
    assert (answer.returncode, answer.stdout) == (0, "x\n"), answer.stderr
    assert "Landlock alone" in answer.stderr and answer.stderr.count("\n") == 1


@only_root
def test_a_proc_that_speaks_of_other_processes_is_as_good_as_none_and_all_say_so(person):
    """In a pid namespace that was entered without mounting one, our child's number is somebody else's."""

    def entered(*arguments, options=()):
        words = ["unshare", "--pid", "--fork", *options, "setpriv", "--reuid", str(person.uid), "--regid", str(person.uid),
                 "--clear-groups", person.binaries / "cloche", *arguments]  # fmt: skip
        return subprocess.run(words, cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)

    answer = entered("run", "--backend", "namespaces", "touch", "made")
    assert refused(answer, "/proc of this pid namespace") and not (person.project / "made").exists()
    answer = entered("run", "sh", "-c", "echo x >new; cat new")
    assert (answer.returncode, answer.stdout) == (0, "x\n") and "Landlock alone" in answer.stderr, answer
    assert json.loads(entered("explain", "--json").stdout)["backend"] == "landlock"
    assert "with Landlock alone" in entered("doctor").stdout
    own = {"options": ["--mount-proc"]}
    assert entered("run", "--backend", "namespaces", "touch", "made", **own).returncode == 0
    assert json.loads(entered("explain", "--json", **own).stdout)["backend"] == "namespaces"
    assert "with Landlock alone" not in entered("doctor", **own).stdout


# Between plan and mount


class Paused:
    """A run that strace holds for a moment after its plan is made and before pid 1 is told it."""

    def __init__(self, person, *arguments):
        self.trace = person.base / "trace"
        self.run = subprocess.Popen(
            ["strace", "-qq", "-o", self.trace, "-e", "trace=signalfd4,rt_sigpending",
             "-e", "inject=rt_sigpending:delay_enter=400000", person.binaries / "cloche", "run", *arguments], cwd=person.project, env=person.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **as_person(person))
        assert wait_until(lambda: self.trace.exists() and "signalfd4" in self.trace.read_text())

    def go_on(self):
        said, complaints = self.run.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess([], self.run.returncode, said, complaints)


MEANWHILE = {
    "nothing": ("", None),
    "it is deleted": ("rm -r {0}", "no longer"),
    "it becomes a link": ("mv {0} {0}.away; ln -s /etc {0}", "symbolic link"),
    "it becomes a file": ("rm -r {0}; touch {0}", "cannot mount"),
    "what is above it becomes a link": ("mv {1} {1}.away; ln -s {1}.away {1}", "symbolic link"),
}


@pytest.mark.parametrize("change", MEANWHILE)
@pytest.mark.parametrize("rule", ["--deny-read", "--allow-write"])
def test_path_that_changes_between_plan_and_mount_refuses_the_run(person, rule, change):
    place = person.directory("area/above/place")
    # What is hidden lies in the project, or nothing of it would be seen anyway.
    options = ["--allow-read", person.home / "area"] if rule == "--deny-read" else []
    paused = Paused(person, *options, rule, place, "touch", "made")
    command, words = MEANWHILE[change]
    subprocess.run(["sh", "-c", command.format(place, place.parent)], check=True)
    answer = paused.go_on()
    if words is None:
        assert (answer.returncode, answer.stderr) == (0, "")
    else:
        assert refused(answer, place, words)
    assert (person.project / "made").exists() == (words is None)


def test_project_that_is_exchanged_for_another_between_plan_and_mount_refuses_the_run(person):
    paused = Paused(person, "touch", "made")
    person.project.rename(person.home / "away")
    person.directory(person.project)
    assert refused(paused.go_on(), person.project, "any more")
    assert os.listdir(person.project) == os.listdir(person.home / "away") == []


# Old kernels


def test_kernel_that_attaches_parts_only_to_what_is_attached_gets_the_same_mounts(person):
    # Calls are counted for each thread, and that which makes a network would attach masks, too: none for this run.
    shown = ["-s", '{"extends": ["preset:dev"], "network": {"mode": "host"}}',
             "sh", "-c", "grep -E ' /(dev|proc)(/| )' /proc/self/mountinfo | cut -d' ' -f4-"]
    trace = person.base / "trace"
    # The first parts of /dev and /proc, and the first copy of one of /proc.
    old = subprocess.run(
        ["strace", "-f", "-qq", "-o", trace, "-e", "trace=move_mount,open_tree",
         "-e", "inject=move_mount:error=EINVAL:when=3..4", "-e", "inject=open_tree:error=EINVAL:when=10",
         person.binaries / "cloche", "run", *shown], cwd=person.project, env=person.environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, **as_person(person))
    assert old.returncode == 0, old.stderr
    assert trace.read_text().count("INJECTED") == 3
    assert sorted(old.stdout.splitlines()) == sorted(person.cloche("run", *shown).stdout.splitlines())


def test_mask_that_one_of_two_threads_cannot_attach_refuses_the_run(person):
    """Both attach masks, and calls are counted for each: pid 1 can do without its third one, and the other thread cannot."""
    secrets = [str(person.file(f"secrets/secret{number}", "secret")) for number in range(200)]
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "filesystem": {"denyRead": secrets}})
    words = [person.binaries / "cloche", "run", "-s", policy, "touch", "made"]
    faults = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=move_mount", "-e", "inject=move_mount:error=EINVAL:when=3"]
    common = {"cwd": person.project, "env": person.environment, "stdin": subprocess.DEVNULL, "capture_output": True,
              "text": True, "timeout": PATIENCE, "check": False, **as_person(person)}  # fmt: skip
    done = subprocess.run([*faults, *words], **common)
    assert done.returncode == 125 and "cannot mount on" in done.stderr and not (person.project / "made").exists(), done
    done = subprocess.run(words, **common)
    assert done.returncode == 0 and (person.project / "made").exists(), done


def test_nobody_stands_in_a_hidden_directory_before_it_is_hidden(person):
    """Masks are still being attached while the command's process prepares itself; the deepest come last."""
    last = "deeper/than/others/hidden"
    person.file(f"{last}/secret", "of the host")
    person.file("open/secret", "of all")
    hidden = [str(person.file(f"{number}/secret", "secret")) for number in range(40)] + [str(person.project / last)]
    policy = person.file("../policy.json", {"extends": ["preset:dev"], "filesystem": {"denyRead": hidden}})
    for name, status, shown in [(last, 125, ""), ("open", 0, "of all")] * 30:
        done = person.cloche("run", "-C", person.project, "-s", policy, "cat", "secret", cwd=person.project / name)
        assert (done.returncode, done.stdout) == (status, shown), done


FILTERED = {"extends": ["preset:dev"], "network": {"mode": "filtered", "allowedDomains": ["example.org"]}}


def injected(person, faults, *arguments):
    """A run in which strace, which says nothing, lets system calls fail."""
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", *faults, person.binaries / "cloche", "run", *arguments],
                          cwd=person.project, env=person.environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE, check=False, **as_person(person))  # fmt: skip


@pytest.mark.parametrize("kept", [0, 600], ids=["few descriptors", "many descriptors"])
@pytest.mark.parametrize("call", ["bind", "listen", "epoll_create1"])
def test_filtered_network_that_cannot_be_set_up_inside_refuses_the_run(person, call, kept):
    held = [str(person.file(f"held/held{number}")) for number in range(kept)]
    policy = person.file("../policy.json", {**FILTERED, "filesystem": {"denyWrite": held}})
    faults = ["-f", "-e", f"trace={call}", "-e", f"inject={call}:error=EPERM"]
    answer = injected(person, faults, "-s", policy, "touch", "made")
    assert answer.returncode == 125 and not (person.project / "made").exists(), answer
    assert person.cloche("run", "-s", policy, "touch", "made").returncode == 0


def test_descriptors_that_cannot_be_sent_for_a_moment_are_sent_later(person):
    policy = person.file("../policy.json", FILTERED)
    busy = ["-e", "trace=sendmsg", "-e", "inject=sendmsg:error=ETOOMANYREFS:when=1..20"]
    answer = injected(person, busy, "-s", policy, "echo", "ran")
    assert (answer.returncode, answer.stdout) == (0, "ran\n"), answer


@pytest.mark.parametrize("error, sends", [("EPERM", "1"), ("EPERM", "1+"), ("ETOOMANYREFS", "1+")])
def test_descriptors_that_cannot_be_sent_at_all_end_the_run(person, error, sends):
    """Pid 1 waited for them for ever."""
    policy = person.file("../policy.json", FILTERED)
    answer = injected(person, ["-e", "trace=sendmsg", "-e", f"inject=sendmsg:error={error}:when={sends}"],
                      "-s", policy, "touch", "made")  # fmt: skip
    assert answer.returncode in (125, 137) and answer.stderr.startswith("cloche: "), answer
    assert not (person.project / "made").exists()


def test_names_are_judged_alike_on_a_kernel_that_does_not_list_mounts(person):
    listmount, enosys = "458", "38"
    old = ["/usr/bin/python3", "-", "answer", listmount, enosys]
    script = ("echo x >made && mkdir -p a/b && mv made a/b/made && cat a/b/made; echo evil >.bashrc; "
              "ln -s /etc out; echo evil >out/evil; cd a && rm -r b && ls -A")
    done = subprocess.run([*old, person.binaries / "cloche", "run", "bash", "-c", script], cwd=person.project,
                          env=person.environment, input=CHANGED_HOST.read_text(encoding="utf-8"), capture_output=True,
                          text=True, check=False, timeout=PATIENCE, **as_person(person))
    assert (done.returncode, done.stdout) == (0, "x\n"), done
    assert ".bashrc: Permission denied" in done.stderr and not (person.project / ".bashrc").exists(), done
    assert os.listdir(person.project / "a") == [] and not os.path.exists("/etc/evil")


@pytest.mark.parametrize("most", [10, 11, 12])
def test_too_few_descriptors_to_wait_with_end_the_run(person, most):
    """poll refuses more entries than there may be descriptors: that was asked again for ever."""
    policy = person.file("../policy.json", {"network": {"mode": "filtered", "allowedDomains": ["site.test"]}})
    limited = ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", person.binaries / "cloche"]
    done = subprocess.run([*limited, "run", "-s", policy, "true"], cwd=person.project, env=person.environment,
                          capture_output=True, text=True, check=False, timeout=PATIENCE, **as_person(person))
    assert done.returncode not in (0, 1) and "ulimit -n" in done.stderr, done.stderr
