"""Patterns over what may be read, and files that come later (A 14): whatever way a file is opened in, and wherever a name
or a directory is moved to meanwhile, its contents are not read; and the file beside it is, in every one of these ways.

late_reader.py makes the attempts inside. That each of them is one is shown by the same program without the rule, and
without cloche."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from attacking import PATIENCE, unchanged
from judging import wait_until

READER = pathlib.Path(__file__).with_name("late_reader.py")
# A directory may be moved where the pattern matches at any depth: the names in it stay what they are.
STAY_HIDDEN = {"rename-directory", "exchange-directory"}


@pytest.fixture
def backend():
    return "namespaces"


@pytest.fixture
def reader(jail):
    program = jail.attacker.with_name("late_reader.py")
    shutil.copy(READER, program)
    program.chmod(0o755)
    jail.person.own(program)
    return program


@pytest.fixture
def tree(jail, secret):
    jail.person.file("deep/x.key", secret)
    jail.person.file("deep/x.pub", "public")
    return jail.person.project / "deep"


def late(jail, *denied, **sections):
    return jail.policy(filesystem={"allowWrite": ["."], "denyRead": list(denied), **sections})


def lines(answer):
    assert answer.returncode == 0, answer
    return dict(line.split(" ", 1) for line in answer.stdout.splitlines())


def meet(jail, policy, program, act):
    """Runs a script; `act` is done on the host when the script has made `started`, and `go` is there when that is over."""
    project = jail.person.project
    script = f"touch started; until [ -e go ]; do sleep 0.02; done; {program}"
    with subprocess.Popen([jail.person.binaries / "cloche", *jail.command("sh", "-c", script, policy=policy)], cwd=project,
                          env=jail.person.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **jail.identity()) as run:
        try:
            wait_until((project / "started").exists)
            act()
        finally:
            jail.person.file("go", "")
        said, _ = run.communicate(timeout=PATIENCE)
    for name in ("started", "go"):
        (project / name).unlink()
    jail.heard += said
    return said


@pytest.mark.parametrize("pattern", ["**/*.key", "deep/*.key", "d??p/*.[jk]ey"])
def test_a14_no_way_of_opening_reads_what_a_pattern_hides(jail, reader, tree, secret, pattern):
    with unchanged(tree):
        hidden = lines(jail.run("python3", reader, "deep/x.key", policy=late(jail, pattern)))
    assert jail.never_told(secret), hidden
    assert {way for way, what in hidden.items() if what not in ("13", "16", "nothing")} == set(), hidden
    beside = lines(jail.run("python3", reader, "deep/x.pub", policy=late(jail, pattern)))
    shut = {way for way, what in beside.items() if what != "public"}
    # Moved elsewhere, the file with the other name would be out of reach of a pattern that names the directory.
    assert shut == (set() if pattern.startswith("**") else STAY_HIDDEN), beside


# What else may decide whether, and for what, there is a doorman.
AROUND = {
    "plain": {},
    "not watched": {"violation": {"watch": "off"}},
    "detection off": {"violation": {"enableDetection": False}},
    "all watched": {"violation": {"watch": "all"}},
    "no unix sockets": {"seccomp": {"blockUnixSockets": True}},
    "all unix sockets": {"network": {"allowAllUnixSockets": True}},
    "neither watched nor sockets": {"seccomp": {"blockUnixSockets": True}, "violation": {"watch": "off"}},
}  # fmt: skip
WRITABLE = {"writable": {"allowWrite": ["."]}, "nothing writable": {"allowWrite": []}}


@pytest.mark.parametrize("files", WRITABLE)
@pytest.mark.parametrize("around", AROUND)
def test_a14_patterns_hold_whatever_else_calls_for_a_doorman(jail, tree, secret, around, files):
    """One filter lets opens for reading through to nobody: it must not be chosen where a rule depends on them."""
    jail.person.file("vault/key", secret)
    jail.person.file("vault/a.pub", "public")
    rules = {"denyRead": ["**/*.key", "vault", "not-there-yet"], "allowRead": ["vault/*.pub"]}
    policy = {"extends": [], **AROUND[around], "filesystem": {**WRITABLE[files], **rules}}
    answer = jail.run("sh", "-c", "cat deep/x.pub vault/a.pub; cat deep/x.key; cat vault/key", policy=policy)
    assert answer.stdout == "publicpublic" and answer.stderr.count("Permission denied") == 2, answer
    # This pattern alone calls for one.
    alone = {**policy, "filesystem": {**WRITABLE[files], "denyRead": ["**/*.key"]}}
    answer = jail.run("sh", "-c", "cat deep/x.pub; cat deep/x.key", policy=alone)
    assert answer.stdout == "public" and "Permission denied" in answer.stderr, answer
    assert jail.never_told(secret)
    open_to_all = {**policy, "filesystem": WRITABLE[files]}
    assert jail.run("cat", "deep/x.key", "vault/key", policy=open_to_all).stdout == secret * 2


def test_without_the_rule_or_without_cloche_each_of_these_ways_reads(jail, reader, tree, secret):
    inside = lines(jail.run("python3", reader, "deep/x.key", policy=late(jail)))
    assert {way for way, what in inside.items() if what != secret} == set(), inside
    outside = lines(subprocess.run(["python3", reader, "deep/x.key"], cwd=jail.person.project, text=True, check=False,
                                   env=jail.person.environment, capture_output=True, timeout=PATIENCE, **jail.identity()))
    assert outside == inside
    assert tree.exists()


def test_a14_file_that_comes_while_the_command_runs_is_not_read(jail, secret):
    def come():
        jail.person.file("new/deeper/x.key", secret)
        jail.person.file("new/deeper/x.pub", "public")

    script = "cat new/deeper/x.pub new/deeper/x.key; cat new/deeper/x.key"
    said = meet(jail, late(jail, "**/*.key"), script, come)
    assert "public" in said and jail.never_told(secret) and "Permission denied" in said
    shutil.rmtree(jail.person.project / "new")
    assert secret in meet(jail, late(jail), script, come)


def test_a14_path_that_is_not_there_yet_is_hidden_when_it_comes(jail, secret):
    def come():
        jail.person.file("later", secret)
        jail.person.file("other", "public")

    said = meet(jail, late(jail, "later"), "cat other later", come)
    assert "public" in said and jail.never_told(secret)
    for name in ("later", "other"):
        (jail.person.project / name).unlink()
    assert secret in meet(jail, late(jail), "cat other later", come)


def test_file_held_as_a_mere_path_is_not_read_when_the_host_has_replaced_it(jail, secret):
    """Editors replace by renaming: the old file has no name any more then."""
    person = jail.person

    def replace():
        for name in ("x.key", "x.pub"):
            person.file("new", "replaced")
            os.rename(person.project / "new", person.project / name)

    program = ('python3 -c "import os, time\n'
               'held = [os.open(name, os.O_PATH) for name in (\'x.pub\', \'x.key\')]\n'
               'open(\'held\', \'w\').close()\n'
               'while not os.path.exists(\'replaced\'): time.sleep(0.02)\n'
               'for each in held:\n'
               '  for flags in (os.O_RDONLY, os.O_RDWR):\n'
               '    try: print(os.read(os.open(f\'/proc/self/fd/{each}\', flags), 100))\n'
               '    except OSError as error: print(error)"')

    def come():
        person.file("go", "")
        wait_until((person.project / "held").exists)
        replace()
        person.file("replaced", "")

    for policy, is_read in ((late(jail, "**/*.key"), False), (late(jail), True)):
        person.file("x.key", secret)
        person.file("x.pub", "public")
        jail.heard = ""
        said = meet(jail, policy, program, come)
        assert said.count("public") == 2, said
        assert (secret in said) == is_read, said
        for name in ("held", "replaced"):
            (person.project / name).unlink()


def test_directory_that_matches_is_not_listed_and_nothing_in_it_is_read(jail, secret):
    jail.person.file("a/vault/below/inner", secret)
    jail.person.file("a/open/inner", "public")
    script = 'cat a/open/inner; ls a/open; ls a/vault; cat a/vault/below/inner; cd a/vault/below && cat inner; ls .'
    answer = jail.run("sh", "-c", script, policy=late(jail, "**/vault"))
    assert "public" in answer.stdout and answer.stdout.count("inner") == 1
    assert jail.never_told(secret) and answer.stderr.count("Permission denied") >= 4, answer
    assert secret in jail.run("sh", "-c", script, policy=late(jail)).stdout


def test_what_matches_cannot_be_made_removed_or_replaced_by_the_command(jail, tree, secret):
    script = ('echo x >deep/new.key; mkdir deep/dir.key; ln -s x.pub deep/link.key; mv deep/x.pub deep/x.key; '
              'ln deep/x.pub deep/hard.key; rm -f deep/x.key; chmod 755 deep/x.key; true >deep/x.key; truncate -s 0 deep/x.key; '
              'setfattr -n user.a -v b deep/x.key; touch deep/fine; mv deep/fine deep/fine2; rm deep/fine2')
    with unchanged(tree / "x.key"):
        answer = jail.run("sh", "-c", script, policy=late(jail, "**/*.key"))
    assert answer.returncode == 0 and sorted(os.listdir(tree)) == ["x.key", "x.pub"], answer
    assert jail.never_told(secret)


def test_pattern_lets_be_read_what_it_matches_inside_of_what_is_hidden(jail, secret):
    person = jail.person
    for name in ("a.pub", "deep/b.pub"):
        person.file(f"vault/{name}", "public")
    for name in ("a", "deep/b", "deep/own/c.pub"):
        person.file(f"vault/{name}", secret)
    policy = jail.policy(filesystem={"denyRead": ["vault", "vault/deep/own/c.pub"], "allowRead": ["vault/**/*.pub"]})

    def come():
        person.file("vault/late.pub", "public")
        person.file("vault/late", secret)

    script = ("cat vault/a.pub vault/deep/b.pub vault/late.pub; cat vault/a vault/deep/b vault/late vault/deep/own/c.pub; "
              "ls vault; ls vault/deep; echo x >vault/made.pub; stat -c %s vault/a >/dev/null && echo seen")
    said = meet(jail, policy, script, come)
    assert said.count("public") == 3 and "seen" in said, said
    assert jail.never_told(secret)
    assert "deep" not in said.replace("vault/deep", ""), said
    assert said.count("Permission denied") >= 6, said


def test_no_link_leads_elsewhere_what_the_host_puts_where_a_pattern_hides_it(jail, secret):
    """The pattern begins with a directory that is not there, or can be removed."""
    person = jail.person
    person.directory("empty")
    script = "mkdir mine; ln -s mine conf; rmdir empty; ln -s mine empty; ln -s mine other; ls"
    for denied in (["conf/*.key", "empty/*.key"], []):
        answer = jail.run("sh", "-c", script, policy=late(jail, *denied))
        links = {name for name in os.listdir(person.project) if (person.project / name).is_symlink()}
        assert links == {"other"} | (set() if denied else {"conf", "empty"}), answer
        for name in links:
            (person.project / name).unlink()
        (person.project / "mine").rmdir()
        person.directory("empty")


def test_first_process_is_not_read_by_way_of_the_doorman(jail):
    ways = [("read", f"/proc/{who}/{what}") for what in ("environ", "maps", "mem", "auxv") for who in ("1", "self")]
    found = jail.attacks(*ways, policy=late(jail, "**/*.key"))
    assert [outcome.verdict for outcome in found[0::2]] == ["EACCES"] * 4, found
    # Of the own memory the beginning is nobody's.
    assert [outcome.verdict for outcome in found[1::2]] == ["ok", "ok", "EIO", "ok"], found


def test_pattern_shows_files_as_empty(jail, tree, secret):
    policy = jail.policy(rules=[{"path": "**/*.key", "access": "ro-bind-null"}])
    answer = jail.run("sh", "-c", "cat deep/x.key && cat deep/x.pub; echo x >>deep/x.key", policy=policy)
    assert answer.stdout == "public" and jail.never_told(secret), answer
    assert (tree / "x.key").read_text() == secret


def test_refused_reading_is_told_with_rule_and_hint(jail, tree):
    events = jail.person.base / "events"
    policy = late(jail, "**/*.key")
    jail.run("sh", "-c", "cat deep/x.key; cat deep/x.pub", policy=policy, options=("--events", events))
    told = [event for event in map(json.loads, events.read_text().splitlines()) if event["kind"] == "fs.read"]
    assert [(event["object"], event["verdict"], event["errno"]) for event in told] == [
        (str(tree / "x.key"), "denied", "EACCES")]
    assert told[0]["rule"]["path"] == "filesystem.denyRead[0]" and told[0]["program"].endswith("cat")
    hint = told[0]["hint"]
    assert "allow" in hint and str(tree / "x.key") in hint
    allowed = late(jail, "**/*.key", allowRead=["deep/x.key"])
    assert jail.run("cat", "deep/x.key", policy=allowed).returncode == 0


def test_ordinary_work_goes_on_where_every_open_is_performed(jail):
    script = ("git init -q . && git -c user.name=a -c user.email=b@c commit -q --allow-empty -m x && git log --format=%s; "
              "python3 -c 'import json, subprocess; print(subprocess.check_output([\"echo\", \"child\"]).decode())'; "
              "head -c4 /proc/self/maps >/dev/null && tr '\\0' '\\n' </proc/self/environ | grep -c ^PATH=; "
              "echo piped | cat /dev/stdin; cat /proc/self/status | grep ^Name; ls /proc/self/fd | wc -l; "
              "mkfifo f; (echo fifo >f &) ; cat f; cat /etc/mtab | grep -c ' / '; echo x 2>/dev/null >/dev/tty; true")
    answer = jail.run("sh", "-c", script, policy=late(jail, "**/*.key"))
    plain = jail.run("sh", "-c", "rm -rf .git f;" + script, policy=late(jail))
    assert answer.stdout == plain.stdout and "child" in answer.stdout and "fifo" in answer.stdout, (answer, plain)


@pytest.mark.parametrize("weaker", [{"seccomp": {"enabled": False}}, {"allowNestedUserNamespaces": True},
                                    {"seccomp": {"allow": ["keyctl", "openat"]}}, {"seccomp": {"allow": ["io_uring_setup"]}}])
def test_where_no_doorman_can_be_the_run_is_refused_by_name(jail, weaker):
    answer = jail.run("true", policy={**late(jail, "**/*.key"), **weaker})
    assert answer.returncode == 125 and "**/*.key is a pattern over a whole tree, which cannot be held" in answer.stderr
    jail.backend = "landlock"
    answer = jail.run("true", policy=late(jail, "**/*.key"))
    assert answer.returncode == 125 and "**/*.key is a pattern over a whole tree" in answer.stderr
