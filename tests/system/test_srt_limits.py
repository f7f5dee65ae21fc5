"""What srt 0.0.83 cannot do on Linux, by the numbers its limits have in srt_rows.py, turned into what holds here, by the
name srt. Those that one command shows are rows there (limits 2 to 7, 9 to 12 and 14); here are those that need more
than one process, or a look from outside. What is left in /tmp and its like (limit 16): test_concurrency.py, and test_srt.py
for /tmp/claude. Through the package for Node: tests/node/limits.test.mjs."""

import json
import os
import pathlib
import signal
import subprocess
import uuid

import pytest

from judging import as_person, processes, wait_until

SETTINGS = {"network": {"allowedDomains": ["a-host-in-the-settings.test"], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": ["absent"]}}


@pytest.fixture
def mark():
    return f"mark-{uuid.uuid4().hex}"


@pytest.fixture
def run(person, mark):
    """Starts one by the name srt; it is ready when it says so."""
    person.file(person.home / ".srt-settings.json", SETTINGS)

    def start(command):
        process = subprocess.Popen([person.binaries / "srt", "-c", f": {mark}; {command}"], cwd=person.project, env=person.environment,
                                   text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **as_person(person))
        assert process.stdout.readline() == "ready\n", process.communicate()
        return process
    return start


def test_limit_1_the_end_of_one_run_opens_nothing_for_another(run, person):
    second = run("echo ready; read line; for n in .bashrc absent; do echo x >$n || echo held; done; mkdir .vscode || echo held; echo x >free")
    first = run("echo ready; read line")
    first.communicate("\n", timeout=20)
    said = second.communicate("\n", timeout=20)[0]
    assert said == "held\nheld\nheld\n"
    assert os.listdir(person.project) == ["free"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGHUP, None])
def test_limits_7_and_8_nothing_is_seen_or_left_on_the_host(run, person, mark, end):
    process = run("(setsid sleep 300 &); echo ready; read line")
    assert os.listdir(person.project) == [], "while it runs"
    assert len(processes(mark)) >= 2
    if end:
        process.send_signal(end)
    process.communicate(None if end else "\n", timeout=20)
    assert wait_until(lambda: not processes(mark)), "it and all below it have ended"
    assert os.listdir(person.project) == []


def test_limit_13_neither_token_nor_policy_is_on_a_command_line(run, mark):
    process = run("echo ready; echo ${HTTP_PROXY}; read line")
    token = process.stdout.readline().split("@")[0].rsplit(":", 1)[1]
    assert len(token) == 32
    lines = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            lines.append((entry / "cmdline").read_bytes() if entry.name.isdigit() else b"")
        except OSError:
            pass
    assert any(mark.encode() in line for line in lines), "it is found at all"
    assert not [line for line in lines if token.encode() in line or b"a-host-in-the-settings" in line]
    process.communicate("\n", timeout=20)


def test_limit_15_what_was_refused_is_in_the_log(run, person):
    process = run("echo ready; echo x >~/x; mkdir ~/y; cat ~/hidden; true")
    process.communicate("\n", timeout=20)
    told = [json.loads(line) for line in person.cloche("log", "--json").stdout.splitlines()]
    assert {(event["op"], event["object"]) for event in told if event["kind"] == "fs.write"} == {
        ("openat", f"{person.home}/x"), ("mkdir", f"{person.home}/y")}


def test_readme_descriptors_of_the_caller_stay_outside(person):
    """A socket that the caller has open would be a way around all that is said of sockets."""
    inside, outside = os.pipe()
    listing = "ls /proc/self/fd | wc -w"
    try:
        kept = person.srt("-c", listing, pass_fds=[inside])
    finally:
        os.close(inside)
        os.close(outside)
    assert kept.stdout == person.srt("-c", listing).stdout == "4\n"  # the three, and that of the listing


def test_readme_ten_thousand_entries_are_no_limit(person):
    """srt: at most 9000 arguments of bubblewrap."""
    secrets = [f"secret-{number}" for number in range(10000)]
    for name in secrets[::1000]:
        person.file(name, "secret")
    settings = {**SETTINGS, "filesystem": {**SETTINGS["filesystem"], "denyRead": secrets}}
    answer = person.srt("-s", person.file(person.home / "many.json", settings), "-c", "cat secret-* ; echo done")
    assert answer.stdout == "done\n", answer.stderr
    assert answer.stderr.count("Permission denied") == 10
