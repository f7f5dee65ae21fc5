"""ssh takes the files its configuration includes only from root or from its user.
In an ordinary user's namespace root's look like nobody's, so the run shows copies
of the user's own; never of what it could not read, or what ssh would not take
without cloche either."""

import os
import pathlib
import shutil

import pytest

from judging import where_mounted

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root's"),
              pytest.mark.skipif(not shutil.which("ssh"), reason="ssh is not installed")]

INCLUDED = pathlib.Path("/etc/ssh/ssh_config.d")


class Machine:
    """One whose /etc/ssh is what a test made of it, for this person alone."""

    def __init__(self, person):
        self.person = person
        self.ssh = person.base / "ssh"
        self.included = self.ssh / "ssh_config.d"
        self.included.mkdir(parents=True)
        self.add("../ssh_config", f"Include {INCLUDED}/*.conf\n")
        passwd = person.base / "passwd"
        passwd.write_text(f"root:x:0:0::/root:/bin/sh\nsomebody:x:{person.uid}:{person.uid}::{person.home}:/bin/sh\n")
        self.mounting = f"mount --bind {self.ssh} /etc/ssh; mount --bind {passwd} /etc/passwd"

    def add(self, name, text, owner=0, mode=0o644):
        path = self.included / name
        path.write_text(text)
        path.chmod(mode)
        os.chown(path, owner, owner)
        return path

    def inside(self, *command, options=(), **keywords):
        return where_mounted(self.person, self.mounting, "run", *options, *command, **keywords)

    def outside(self, *command):
        return where_mounted(self.person, self.mounting, *command[1:], call=shutil.which(command[0]))

    def hostname(self, run):
        answer = run("ssh", "-G", "box")
        names = [line.split()[1] for line in answer.stdout.splitlines() if line.startswith("hostname ")]
        return names[0] if names else answer.stderr


@pytest.fixture
def machine(person):
    return Machine(person)


def box(name):
    return f"Host box\n  HostName {name}\n"


def test_included_configuration_of_the_system_is_taken(machine):
    machine.add("10-box.conf", box("10.11.12.13"))
    assert machine.hostname(machine.inside) == machine.hostname(machine.outside) == "10.11.12.13"


def test_link_to_a_file_of_the_system_is_taken(machine):
    """As systemd's own is one."""
    (machine.ssh / "elsewhere").write_text(box("10.11.12.14"))
    (machine.included / "20-box.conf").symlink_to("/etc/ssh/elsewhere")
    assert machine.hostname(machine.inside) == machine.hostname(machine.outside) == "10.11.12.14"


def test_everything_else_in_that_directory_is_as_it_was(machine):
    machine.add("10-box.conf", box("10.11.12.13"))
    machine.add("README", "for people\n")
    look = f"cd {INCLUDED} && ls && cat README 10-box.conf && stat -c %a README 10-box.conf"
    inside = machine.inside("sh", "-c", look)
    assert inside.stdout == machine.outside("sh", "-c", look).stdout.replace("644\n644\n", "644\n444\n" if machine.person.uid
                                                                             else "644\n644\n"), inside.stderr


def test_copy_cannot_be_written(machine):
    original = machine.add("10-box.conf", box("10.11.12.13"))
    look = f"echo x >> {INCLUDED}/10-box.conf || chmod 666 {INCLUDED}/10-box.conf || rm {INCLUDED}/10-box.conf"
    assert machine.inside("sh", "-c", look).returncode != 0
    assert original.read_text() == box("10.11.12.13")
    assert machine.hostname(machine.inside) == "10.11.12.13"


@pytest.mark.parametrize("owner, mode", [(65533, 0o644), (0, 0o646)])
def test_what_ssh_refuses_outside_it_refuses_inside(machine, owner, mode):
    machine.add("10-box.conf", box("10.11.12.13"), owner, mode)
    assert "Bad owner or permissions" in machine.hostname(machine.outside)
    assert "Bad owner or permissions" in machine.hostname(machine.inside)


def test_hidden_file_is_not_copied_through_a_link(machine):
    """The link is root's; what it leads to is hidden by the policy all the same."""
    secret = f"secret-{os.urandom(8).hex()}"
    hidden = machine.person.file(machine.person.home / ".ssh/hidden", secret)
    os.chown(hidden, 0, 0)
    (machine.included / "10-box.conf").symlink_to(hidden)
    answer = machine.inside("sh", "-c", f"cat {INCLUDED}/10-box.conf {hidden}; ssh -G box")
    assert secret not in answer.stdout + answer.stderr
    assert secret in machine.outside("cat", INCLUDED / "10-box.conf").stdout


def test_rule_of_the_users_about_such_a_file_holds(machine):
    machine.add("10-box.conf", box("10.11.12.13"))
    answer = machine.inside("cat", f"{INCLUDED}/10-box.conf", options=("--deny-read", f"{INCLUDED}/10-box.conf"))
    assert answer.returncode == 1 and answer.stdout == ""
    answer = machine.inside("cat", f"{INCLUDED}/10-box.conf", options=("--deny-read", INCLUDED))
    assert answer.returncode == 1 and answer.stdout == ""
    assert machine.inside("cat", f"{INCLUDED}/10-box.conf").stdout == box("10.11.12.13")


def test_large_and_many_files_cost_no_run(machine):
    machine.add("large.conf", "#" * (1 << 20))
    for number in range(3000):
        machine.add(f"{number}.conf", box("10.11.12.13"))
    answer = machine.inside("true")
    assert (answer.returncode, answer.stderr) == (0, "")


def test_circle_of_links_costs_no_run(machine):
    (machine.included / "a.conf").symlink_to("b.conf")
    (machine.included / "b.conf").symlink_to("a.conf")
    machine.add("c.conf", box("10.11.12.13"))
    assert machine.inside("cat", f"{INCLUDED}/c.conf").stdout == box("10.11.12.13")


def test_listed_reads_show_the_copies_too(machine):
    machine.add("10-box.conf", box("10.11.12.13"))
    policy = machine.person.file("../policy.json", {"extends": ["preset:strict"]})
    answer = machine.inside("cat", f"{INCLUDED}/10-box.conf", options=("--settings", policy))
    assert answer.stdout == box("10.11.12.13"), answer.stderr


def test_explain_shows_the_copies(machine):
    machine.add("10-box.conf", box("10.11.12.13"))
    plan = where_mounted(machine.person, machine.mounting, "explain").stdout
    assert (f"{INCLUDED}/10-box.conf" in plan) == (machine.person.uid != 0)
