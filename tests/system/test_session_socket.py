"""--session-fd: whoever started a run is asked about hosts, and told of events, over one socket."""

import json
import shlex
import socket
import subprocess

import pytest

from flooding import flood
from judging import as_person

GET = "curl -s -o /dev/null -w '%{http_code} ' --max-time 20 --noproxy '' -x http://localhost:3128 http://"


class Conversation:
    """A run and the other end of its socket."""

    def __init__(self, person, *arguments):
        self.ours, theirs = socket.socketpair()
        with theirs:
            self.run = subprocess.Popen(
                [person.binaries / "cloche", "run", "-q", "--allow-domain", "listed.test", "--session-fd",
                 str(theirs.fileno()), *arguments],
                cwd=person.project, env=person.environment, text=True, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **as_person(person))
        self.lines = self.ours.makefile("r")

    def say(self, *messages):
        self.ours.sendall("".join(json.dumps(message) + "\n" for message in messages).encode())

    def hear(self, key):
        for line in self.lines:
            said = json.loads(line)
            if key in said:
                return said
        raise AssertionError(f"never said: {key}")

    def end(self):
        self.lines.close()
        self.ours.close()
        return self.run.communicate(timeout=60)


@pytest.fixture
def converse(person):
    made = []

    def start(*arguments):
        made.append(Conversation(person, *arguments))
        return made[-1]

    yield start
    for conversation in made:
        conversation.run.kill()
        conversation.end()


def test_a_yes_is_for_one_connection(converse):
    talk = converse("-c", f"{GET}127.0.0.1:9/; {GET}127.0.0.1:9/")
    assert talk.hear("hello")["version"]
    talk.say({"ready": True, "asks": True})
    first = talk.hear("ask")
    assert (first["host"], first["port"]) == ("127.0.0.1", 9)
    talk.say({"answer": first["ask"], "allow": True})
    second = talk.hear("ask")
    assert second["ask"] != first["ask"]
    talk.say({"answer": second["ask"], "allow": False, "reason": "once is enough"})
    assert talk.hear("reason")["reason"] == "once is enough"
    talk.hear("end")
    assert talk.end()[0] == "502 403 "  # nobody listens there


@pytest.mark.parametrize("answer", [{"allow": "yes"}, {"allow": 1}, {}, {"allow": None}, {"allow": False}])
def test_only_true_allows(converse, answer):
    talk = converse("-c", f"{GET}127.0.0.1:9/")
    talk.say({"ready": True, "asks": True})
    talk.say({"answer": talk.hear("ask")["ask"], **answer})
    talk.hear("end")
    assert talk.end()[0] == "403 "


def test_questions_are_asked_and_answered_in_a_flood_of_denials(converse, person):
    place = person.directory(person.base / "out")
    words = shlex.join(flood(str(place), 10**9))
    talk = converse("--allow-read", place, "-c", f"{words} & {GET}127.0.0.1:9/; sleep 1; {GET}127.0.0.1:9/; kill $!")
    talk.say({"ready": True, "asks": True})
    for _ in range(2):
        talk.say({"answer": talk.hear("ask")["ask"], "allow": True})
    assert talk.end()[0].replace("here\n", "") == "502 502 "


def test_what_lists_decide_is_not_asked(converse):
    talk = converse("--allow-domain", "127.0.0.1", "--deny-domain", "evil.test", "-c", f"{GET}evil.test/; {GET}127.0.0.1:9/")
    talk.say({"ready": True, "asks": True})
    said = talk.hear("end")
    assert "ask" not in said
    assert talk.end()[0] == "403 502 "


@pytest.mark.parametrize("talking", ["never greets", "asks nobody", "ends", "talks nonsense"])
def test_without_an_answer_nothing_is_let_out(converse, talking):
    talk = converse("-c", f"{GET}127.0.0.1:9/; echo end")
    if talking == "asks nobody":
        talk.say({"ready": True, "asks": False})
    elif talking == "ends":
        talk.say({"ready": True, "asks": True})
        talk.hear("ask")
    elif talking == "talks nonsense":
        talk.ours.sendall(b'{"answer":\n{"ready":true,"asks":true\n{"answer":1,"allow":true}\n\0\xff\n')
    if talking != "never greets":
        assert talk.end()[0] == "403 end\n"
    else:
        assert talk.run.stdout.read() == "403 end\n"


def test_new_lists_count_for_questions_that_wait_for_the_greeting(converse):
    talk = converse("--allow-domain", "127.0.0.1", "-c", f"{GET}127.0.0.1:9/")
    talk.say({"extends": [], "network": {"allowedDomains": [], "deniedDomains": ["127.0.0.1"]}}, {"ready": True, "asks": True})
    talk.hear("end")
    assert talk.end()[0] == "403 "


def test_the_command_cannot_reach_the_socket(converse):
    talk = converse("-c", "ls /proc/self/fd | wc -l; ls -l /proc/1/fd 2>/dev/null | grep -c socket || :")
    assert talk.run.stdout.read().split() == ["4", "0"]


def test_misuse_is_refused(person):
    for words, expected in ((("--session-fd", "0"), "from 3 on"), (("--session-fd", "77"), "--session-fd 77")):
        ran = person.cloche("run", *words, "true")
        assert ran.returncode == 125 and expected in ran.stderr, ran.stderr
    with open("/dev/null") as file:
        ran = person.cloche("run", "--session-fd", str(file.fileno()), "true", pass_fds=[file.fileno()])
    assert ran.returncode == 125 and "--session-fd" in ran.stderr
