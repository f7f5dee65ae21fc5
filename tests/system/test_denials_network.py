"""What is refused on a filtered network is told once, with the program that tried, the rule and
the option that would allow it; with that option it works, and that is told, too."""

import json
import os
import shlex
import subprocess

import pytest

from changed_host import NO_NETFILTER
from judging import wait_until
from remote_world import METADATA, SERVER_V4, SERVER_V6, python

SITE_81 = ("site.test:81",)


class Told:
    """Runs something and reads the events of the run."""

    def __init__(self, world, person):
        self.world, self.person = world, person
        self.file = person.home / "events.jsonl"

    def __call__(self, command, allow=("site.test",), options=(), kernel=()):
        self.file.unlink(missing_ok=True)
        words = [word for name in allow for word in ("--allow-domain", name)]
        self.answer = self.world.run(self.person, *kernel, self.person.binaries / "cloche", "run", "--events", self.file, *words, *options, "--", *command)
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        assert lines[0]["kind"] == "run" and lines[-1]["kind"] == "run", lines
        assert lines[0]["op"] == "start" and lines[-1]["op"] == "end"
        return [line for line in lines[1:-1] if not line.get("folded")]

    def denied(self, *arguments, **keywords):
        events = self(*arguments, **keywords)
        return [event for event in events if event["verdict"] == "denied"]


@pytest.fixture
def told(world, person, site):
    return Told(world, person)


def fetch(address, port=80):
    return python(f"""
        import socket
        s = socket.create_connection(({address!r}, {port}), 9); s.settimeout(9)
        s.sendall(b"GET /x HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n")
        assert b" 200 " in s.recv(1000)
        """)


# name: (command, what is allowed, kind, object, protocol, hint)
REFUSED = {
    "proxy": (["curl", "-sSf", "http://other.test/x"], ("site.test",),
              "net.connect", "other.test:80", "http", "--allow-domain other.test:80"),
    "tunnel": (["curl", "-sSfk", "https://packages.test/x"], ("site.test",),
               "net.connect", "packages.test:443", "http-connect", "--allow-domain packages.test:443"),
    "socks": (["curl", "-sSf", "--noproxy", "nowhere", "--socks5-hostname", "localhost:1080", "http://other.test/x"], ("site.test",),
              "net.connect", "other.test:80", "socks", "--allow-domain other.test:80"),
    "DNS": (["curl", "-sSf", "--noproxy", "*", "http://other.test/x"], ("site.test",),
            "net.dns", "other.test", "dns", "--allow-domain other.test"),
    "address": (fetch(SERVER_V4), ("site.test",),
                "net.connect", f"{SERVER_V4}:80", "tcp", f"--allow-domain {SERVER_V4}:80"),
    "IPv6 address": (fetch(SERVER_V6), ("site.test",),
                     "net.connect", f"[{SERVER_V6}]:80", "tcp", f"--allow-domain '[{SERVER_V6}]:80'"),
    "port": (["curl", "-sSf", "--noproxy", "*", "http://site.test/x"], SITE_81,
             "net.connect", "site.test:80", "tcp", "--allow-domain site.test:80"),
    "port by proxy": (["curl", "-sSf", "http://site.test/x"], SITE_81,
                      "net.connect", "site.test:80", "http", "--allow-domain site.test:80"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_told_once_and_its_hint_allows_it(told, name):
    command, allow, kind, place, protocol, hint = REFUSED[name]
    events = told.denied(command, allow=allow)
    assert told.answer.returncode != 0
    assert len(events) == 1, events
    event = events[0]
    assert (event["kind"], event["object"], event["protocol"]) == (kind, place, protocol), event
    assert event.get("port", 0) == (0 if kind == "net.dns" else int(place.rsplit(":", 1)[1]))
    assert os.path.basename(event["program"]).startswith(os.path.basename(command[0])) and event["pid"] > 0
    assert event["parent"]["pid"] > 0 and event["parent"]["program"]
    assert event["rule"]["file"] and event["reason"], event
    assert event["hint"] == hint
    assert f"{place}" in told.answer.stderr and hint in told.answer.stderr, "the person is told the same"

    events = told(command, allow=allow, options=shlex.split(hint))
    assert told.answer.returncode == 0, told.answer
    assert [event["verdict"] for event in events] == ["allowed"], events
    assert "denied" not in told.answer.stderr


def test_what_was_allowed_is_told_with_all_that_is_known_of_it(told):
    events = told(["sh", "-c", "curl -sS http://site.test/a; curl -sS http://site.test/b"])
    assert len(events) == 1, events
    event = events[0]
    assert (event["kind"], event["object"], event["verdict"], event["protocol"], event["port"]) == \
        ("net.connect", "site.test:80", "allowed", "http", 80)
    assert event["program"].endswith("/curl") and event["parent"]["program"].endswith("sh"), event
    assert event["rule"] == {"file": "command line", "path": "--allow-domain"}
    assert event["bytes"]["out"] > 30 and event["bytes"]["in"] > 100 and event["ms"] >= 0
    folded = [line for line in map(json.loads, told.file.read_text().splitlines()) if line.get("folded")]
    assert [line["count"] for line in folded] == [2]
    assert folded[0]["bytes"]["in"] >= 2 * event["bytes"]["in"] - 10


def test_repeats_are_one_event_each_program_has_its_own(told):
    script = "; ".join(["curl -s --noproxy '*' http://%s/" % SERVER_V4] * 3 + ["wget -qT 9 -t 1 --no-proxy http://%s/" % SERVER_V4])
    events = told.denied(["sh", "-c", script + "; true"])
    assert sorted(os.path.basename(event["program"]) for event in events) == ["curl", "wget"], events


def test_a_host_that_the_policy_denies_has_its_rule_and_no_hint(told, person):
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {
        "allowedDomains": ["*"], "deniedDomains": ["other.test"], "deniedDomainReasons": {"other.test": "no shopping here"}}})
    event, = told.denied(["curl", "-sS", "http://other.test/x"], allow=(), options=["-s", policy])
    assert event["object"] == "other.test:80" and event["reason"].startswith("no shopping here")
    assert event["rule"]["file"].endswith("policy.json") and "deniedDomains" in event["rule"]["path"], event
    assert "hint" not in event


@pytest.mark.parametrize("way", ["proxy", "transparent"])
def test_a_name_that_leads_where_none_may_has_no_hint(told, world, way):
    world.names.add(f"{way}.rebound.test", METADATA)
    words = ["--noproxy", "*"] if way == "transparent" else []
    event, = told.denied(["curl", "-sS", *words, f"http://{way}.rebound.test/x"], allow=["*.rebound.test"])
    assert event["object"] == f"{way}.rebound.test:80" and "hint" not in event, event
    assert "metadata" in event["reason"] or "link-local" in event["reason"], event


def test_a_tls_name_that_is_not_the_connections_is_told(told):
    script = python("""
        import socket, ssl
        context = ssl.create_default_context(); context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            context.wrap_socket(socket.create_connection(("site.test", 443), 9), server_hostname="packages.test")
        except OSError:
            print("cut off")
        """)
    event, = told.denied(script)
    assert told.answer.stdout == "cut off\n"
    assert event["object"] == "site.test:443" and "another name" in event["reason"] and "hint" not in event, event


def test_a_port_of_the_host_is_told_when_it_is_used(told, world):
    port = world.port()
    world.web(("127.0.0.1", port), on_machine=True)
    command = ["curl", "-sSf", f"http://localhost:{port}/x"]
    assert told(command) == [] and told.answer.returncode == 7, "inside, nobody listens there: no refusal of ours"
    event, = told(command, options=["--host-port", port])
    assert told.answer.returncode == 0
    assert (event["object"], event["verdict"], event["protocol"]) == (f"localhost:{port}", "allowed", "host-port")
    assert event["bytes"]["in"] > 100


def test_what_does_not_answer_is_no_denial(told, world):
    events = told(["curl", "-s", "--noproxy", "*", f"http://site.test:{world.port()}/x"])
    assert [event["verdict"] for event in events] == ["observed"], events
    assert "denied:" not in told.answer.stderr


# Without a network

@pytest.mark.parametrize("address", [METADATA, "169.254.0.1", "fd00:ec2::254"])
def test_nobody_is_led_to_allow_the_metadata_of_a_cloud_or_the_link(person, address):
    file = person.home / "events.jsonl"
    place = f"http://[{address}]/" if ":" in address else f"http://{address}/"
    for options in ([], ["--allow-domain", "other.test"]):
        file.unlink(missing_ok=True)
        person.cloche("run", *options, "--events", file, "curl", "-s", "-m", "9", "--noproxy", "*", place)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        event, = [line for line in lines if line["kind"] == "net.connect" and not line.get("folded")]
        assert "hint" not in event and "nobody should be led there: it is a" in event["reason"], event


LOOK_UP = "--allow-domain HOST, with the name it wanted"
NONE = {
    "an address": ("connect 192.0.2.1 80", "net.connect", "192.0.2.1:80", "--allow-domain 192.0.2.1:80"),
    "an IPv6 address": ("connect 2001:db8::1 443", "net.connect", "[2001:db8::1]:443",
                        "--allow-domain '[2001:db8::1]:443'"),
    "a name server": ("udp 192.0.2.53 53", "net.dns", "192.0.2.53:53", LOOK_UP),
    "the stub of the host's resolver": ("udp 127.0.0.53 53", "net.dns", "127.0.0.53:53", LOOK_UP),
}
CONNECT = """
import socket, sys
how, address, port = sys.argv[1:]
kind = socket.SOCK_DGRAM if how == "udp" else socket.SOCK_STREAM
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
try:
    s.connect((address, int(port)))
    s.send(b"x")
except OSError as reason:
    print(reason.errno)
"""


@pytest.mark.parametrize("name", NONE)
def test_who_wants_to_leave_a_run_without_a_network_is_told_of(person, name):
    words, kind, wanted, hint = NONE[name]
    file = person.home / "events.jsonl"
    answer = person.cloche("run", "--events", file, "/usr/bin/python3", "-c", CONNECT, *words.split())
    events = [json.loads(line) for line in file.read_text().splitlines()]
    told = [event for event in events if event["kind"].startswith("net.") and not event.get("folded")]
    assert [(e["kind"], e["object"], e["verdict"], e["errno"], e["hint"]) for e in told] == [
        (kind, wanted, "denied", "ENETUNREACH", hint)]  # fmt: skip
    assert told[0]["program"] == os.path.realpath("/usr/bin/python3") and told[0]["rule"]["path"] == "network.mode"
    if kind == "net.dns":
        assert f"look up a name (at {words.split()[1]}), by python3" in answer.stderr


def test_connections_inside_are_nobodys_news(person):
    file = person.home / "events.jsonl"
    server = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('met')"
    answer = person.cloche("run", "--events", file, "/usr/bin/python3", "-c", server)
    assert answer.stdout == "met\n" and [json.loads(line)["kind"] for line in file.read_text().splitlines()] == ["run", "run"]


DATAGRAMS = """
import socket, sys
kept = []
for address in ADDRESSES:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(9)
    s.connect(socket.getaddrinfo(address, 443, family, socket.SOCK_DGRAM)[0][4])
    for _ in range(2):
        try:
            s.send(b"hello"); s.recv(10)
        except OSError as error:
            print(error.strerror)
    kept.append(s)
sys.stdin.read()
"""


@pytest.mark.parametrize("kernel", [[], NO_NETFILTER], ids=["as it is", "without nf_tables"])
def test_datagrams_are_refused_at_once_and_told(world, person, site, kernel):
    """By address, over IPv6, and by a name that is allowed for connections."""
    file = person.home / "events.jsonl"
    places = [SERVER_V4, SERVER_V6, "site.test"]

    def events():
        lines = map(json.loads, file.read_text().splitlines()) if file.exists() else []
        return [line for line in lines if line["verdict"] == "denied" and not line.get("folded")]

    run = world.start(person, *kernel, person.binaries / "cloche", "run", "--events", file, "--allow-domain", "site.test", "--allow-domain",
                      SERVER_V4, "--", "/usr/bin/python3", "-c", DATAGRAMS.replace("ADDRESSES", str(places)), stdin=subprocess.PIPE)
    assert wait_until(lambda: len(events()) >= 3), events()
    stdout, stderr = run.communicate("")
    assert stdout == "Connection refused\n" * 6, stderr
    assert [event["object"] for event in events()] == [f"{SERVER_V4}:443", f"[{SERVER_V6}]:443", "site.test:443"], events()
    for event in events():
        assert (event["kind"], event["protocol"], event["port"]) == ("net.connect", "udp", 443)
        assert os.path.basename(event["program"]).startswith("python3") and event["pid"] > 0, event
        assert "UDP" in event["reason"] and "hint" not in event and event["rule"]["file"] == "built-in"


@pytest.mark.parametrize("kernel", [[], NO_NETFILTER], ids=["as it is", "without nf_tables"])
def test_names_and_the_sandboxs_own_datagrams_are_no_refusals(told, kernel):
    command = python("""
        import socket
        for address in ("127.0.0.1", "::1", "198.19.255.254"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            a, b = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
            a.bind((address, 0)); a.settimeout(9); b.sendto(b"own", a.getsockname()); print(a.recv(10).decode())
        socket.getaddrinfo("site.test", 80)
        """)
    assert told.denied(command, kernel=kernel) == [] and told.answer.stdout == "own\n" * 3, told.answer
