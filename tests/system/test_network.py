"""A filtered network, seen from outside: hosts that the policy names are reached by every
kind of client, others by none, and about those nothing leaves the machine."""

import os
import re
import subprocess
import time

import pytest

from judging import processes, wait_until
from remote_world import MACHINE_V4, OTHER_V4, SERVER_V4, SERVER_V6, python

NO_PROXY_VARIABLES = "unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy ALL_PROXY all_proxy; "


# -- reaching what is allowed

@pytest.mark.parametrize("client", [
    ["curl", "-sS", "--noproxy", "*", "http://site.test/x"],
    ["curl", "-sS", "http://site.test/x"],
    ["curl", "-sS", "--proxytunnel", "http://site.test/x"],
    ["curl", "-sS", "--noproxy", "*", "--socks5-hostname", "localhost:1080", "http://site.test/x"],
    ["wget", "-q", "-O-", "http://site.test/x"],
    ["wget", "-q", "--no-proxy", "-O-", "http://site.test/x"],
    ["/usr/bin/python3", "-c", "import urllib.request as u; print(u.urlopen('http://site.test/x').read().decode(), end='')"],
    ["node", "-e", "fetch('http://site.test/x').then(r => r.text()).then(t => process.stdout.write(t))"],
    ["node", "-e", "require('http').get('http://site.test/x', r => r.pipe(process.stdout))"],
], ids=["curl direct", "curl proxy", "curl tunnel", "curl socks", "wget proxy", "wget direct", "urllib", "fetch", "node http"])
def test_an_allowed_host_is_reached(go, client):
    if client[1] == "-sS" and "--socks5-hostname" in client:
        client = ["sh", "-c", "curl -sS --noproxy '' -x \"$FTP_PROXY\" http://site.test/x"]
    answer = go(*client)
    assert answer.returncode == 0 and answer.stdout == "page /x of site.test\n", answer
    assert answer.stderr == ""


def test_clients_without_proxy_variables_are_carried_too(go):
    answer = go("sh", "-c", NO_PROXY_VARIABLES + "curl -sS http://site.test/a; wget -q -O- http://site.test/b")
    assert answer.stdout == "page /a of site.test\npage /b of site.test\n", answer


@pytest.mark.parametrize("options", [[], ["--noproxy", "*"]], ids=["proxy", "direct"])
def test_tls_reaches_its_server_untouched(go, world, options):
    person_file = world.certificates / "authority.pem"
    answer = go("curl", "-sS", *options, "--cacert", person_file, "https://site.test/x",
                options=["--allow-read", person_file])
    assert answer.returncode == 0 and answer.stdout == "page /x of site.test\n", answer


def test_raw_sockets_that_do_not_wait_are_carried(go, world):
    port = world.port()
    came = world.serve((SERVER_V4, port), lambda c: c.sendall(b"hello " + c.recv(100)))
    answer = go(*python(f"""
        import selectors, socket
        s = socket.socket(); s.setblocking(False)
        address = socket.getaddrinfo("site.test", {port}, socket.AF_INET, socket.SOCK_STREAM)[0][4]
        s.connect_ex(address)
        waiting = selectors.DefaultSelector(); waiting.register(s, selectors.EVENT_WRITE)
        waiting.select(5)
        assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        assert s.getpeername() == address
        s.send(b"you")
        waiting.modify(s, selectors.EVENT_READ); waiting.select(5)
        print(s.recv(100).decode())
        """))
    assert answer.stdout == "hello you\n", answer
    assert [peer[0] for peer in came] == [MACHINE_V4]


def test_a_server_that_speaks_first_is_heard(go, world):
    port = world.port()
    world.serve((SERVER_V4, port), lambda c: (c.sendall(b"220 ready\n"), c.recv(1)))
    answer = go(*python(f"import socket; print(socket.create_connection(('site.test', {port}), 5).recv(100).decode())"))
    assert answer.stdout == "220 ready\n\n", answer


def test_ipv6_is_carried(go):
    for allowed, words in (("six.test", ["-6", "--noproxy", "*"]), ("six.test", []), ("both.test", ["-6", "--noproxy", "*"])):
        answer = go("curl", "-sS", *words, f"http://{allowed}/x", allow=[allowed])
        assert answer.stdout == f"page /x of {allowed}\n", (allowed, words, answer)


def test_addresses_and_networks_can_be_allowed(go):
    direct = ["curl", "-sSf", "--noproxy", "*", "-m", "10"]
    for allowed in (SERVER_V4, "203.0.113.0/24", f"{SERVER_V4}:80"):
        assert go(*direct, f"http://{SERVER_V4}/x", allow=[allowed]).stdout == f"page /x of {SERVER_V4}\n"
    assert go(*direct, f"http://[{SERVER_V6}]/x", allow=[f"[{SERVER_V6}]"]).stdout == f"page /x of [{SERVER_V6}]\n"
    for refused in ("203.0.114.0/24", f"{SERVER_V4}:81", OTHER_V4):
        assert go(*direct, f"http://{SERVER_V4}/x", allow=[refused]).returncode != 0


def test_every_domain_can_be_allowed_and_some_of_them_denied(go):
    options = ["--deny-domain", "other.test"]
    assert go("curl", "-sS", "http://site.test/x", allow=["*"], options=options).stdout == "page /x of site.test\n"
    assert go("curl", "-sSf", "http://other.test/x", allow=["*"], options=options).returncode == 22


def test_ports_are_part_of_the_rule(go, world):
    place = f"site.test:{world.port()}"
    world.web((SERVER_V4, int(place[10:])))
    direct = ["curl", "-sSf", "--noproxy", "*"]
    assert go(*direct, f"http://{place}/x", allow=[place]).stdout == f"page /x of {place}\n"
    assert go(*direct, "http://site.test/x", allow=[place]).returncode != 0


# -- refusing what is not

REFUSED = {
    "curl direct": (["curl", "-sS", "--noproxy", "*", "http://other.test/"], "Could not resolve host"),
    "curl proxy": (["curl", "-sSi", "http://other.test/"], "X-Proxy-Error: blocked-by-allowlist"),
    "curl tunnel": (["curl", "-sS", "https://other.test/"], "403"),
    "wget": (["wget", "--no-proxy", "-O-", "http://other.test/"], "Name or service not known"),
    "fetch": (["node", "-e", "fetch('http://other.test/').catch(e => console.log(e.cause.code))"], "ENOTFOUND"),
    "address": (["curl", "-sSi", "--noproxy", "*", f"http://{OTHER_V4}/"], "X-Proxy-Error: blocked-by-allowlist"),
    "other protocol": (python(f"import socket; print(socket.create_connection(('{OTHER_V4}', 25), 9).recv(9))"), "reset by peer"),
    "urllib": (["/usr/bin/python3", "-c", "import urllib.request as u; u.urlopen('http://other.test/')"], "403"),
    "curl over IPv6": (["curl", "-sS", "-6", "--noproxy", "*", "http://other.test/"], "Could not resolve host"),
    "wget proxy": (["wget", "-O-", "http://other.test/"], "403"),
    "node https": (["node", "-e", "require('https').get('https://other.test/').on('error', e => console.log(e.code))"], "ENOTFOUND"),
    "asyncio": (python("import asyncio; asyncio.run(asyncio.open_connection('other.test', 80))"), "Name or service not known"),
    "epoll": (python(f"""
        import errno, select, socket
        s = socket.socket(); s.setblocking(False)
        s.connect_ex(("{OTHER_V4}", 25))
        waiting = select.epoll(); waiting.register(s, select.EPOLLOUT | select.EPOLLET)
        waiting.poll(9); waiting.modify(s, select.EPOLLIN | select.EPOLLET); waiting.poll(9)
        print(errno.errorcode[s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)])
        """), "ECONNRESET"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_host_that_is_not_named_is_refused_at_once(go, world, site, name):
    command, words = REFUSED[name]
    before, asked = len(site.requests), len(world.names.asked)
    started = time.monotonic()
    answer = go(*command)
    assert words in answer.stdout + answer.stderr, answer
    assert time.monotonic() - started < 5
    assert len(site.requests) == before
    assert world.names.asked[asked:] == [], "a refused name must leave no question on the wire (attacks 81, 82)"
    assert re.search(r"^cloche: denied(, \d+ times in all)?:$", answer.stderr, re.MULTILINE), answer.stderr


def test_what_was_refused_is_told_at_the_end_with_the_word_that_would_allow_it(go):
    answer = go("sh", "-c", "curl -s http://other.test/; curl -s http://other.test/; true")
    assert re.search(r"^cloche:   connect other\.test:80, 2 times, by curl: .*\n"
                     r"cloche:     to allow it: --allow-domain other\.test:80$", answer.stderr, re.MULTILINE), answer.stderr
    assert "denied" not in go("curl", "-s", "http://site.test/").stderr


def test_verbose_tells_what_was_let_through(go):
    answer = go("curl", "-s", "http://site.test/x", options=["-v"])
    assert re.search(r"^cloche: net: site\.test:80, HTTP proxy: \d+ bytes out, \d+ in, \d+ ms \(command line: "
                     r"--allow-domain\)$", answer.stderr, re.MULTILINE), answer.stderr


def test_a_reason_of_the_policy_reaches_the_client(world, person, site):
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {
        "allowedDomains": ["*"], "deniedDomains": ["other.test"], "deniedDomainReasons": {"other.test": "no shopping here"}}})
    answer = world.cloche(person, "run", "-s", policy, "--", "curl", "-sSv", "https://other.test/")
    assert "HTTP/1.1 403 no shopping here" in answer.stderr, answer


# -- what belongs to this machine

def test_own_servers_inside_work_and_closed_ports_refuse(go):
    answer = go(*python("""
        import http.server, socket, threading, urllib.request
        for address in ("127.0.0.1", "::1", "0.0.0.0"):
            class Server(http.server.HTTPServer):
                address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
            server = Server((address, 0), http.server.SimpleHTTPRequestHandler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            name = f"[{address}]" if ":" in address else address
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            print(direct.open(f"http://{name}:{server.server_port}/").status)
        for address in ("127.0.0.1", "127.9.9.9", "::1"):
            try:
                socket.create_connection((address, 9), 3)
            except ConnectionRefusedError:
                print("refused")
        """))
    assert answer.stdout.split() == ["200"] * 3 + ["refused"] * 3, answer


def test_the_hosts_loopback_is_reached_only_at_the_ports_that_are_named(world, person, go):
    first, second, third = world.port(), world.port(), world.port()
    for address, port in (("127.0.0.1", first), ("::1", second), ("127.0.0.1", third)):
        world.web((address, port), on_machine=True)
    asks = f"for port in {first} {second} {third}; do curl -s http://localhost:$port/x || echo refused; done"
    answer = go("sh", "-c", asks, options=["--host-port", first, "--host-port", second])
    assert answer.stdout == f"page /x of localhost:{first}\npage /x of localhost:{second}\nrefused\n", answer
    assert go("sh", "-c", asks).stdout == "refused\n" * 3
    assert go("sh", "-c", asks, allow=[], options=["--host-port", third]).stdout == (
        f"refused\nrefused\npage /x of localhost:{third}\n")


def test_a_published_port_is_reached_from_the_hosts_loopback_and_from_nowhere_else(world, person):
    for address in ("127.0.0.1", "::1"):
        port = world.port()
        run = world.start(person, person.binaries / "cloche", "run", "--publish", port, "--", "/usr/bin/python3", "-m",
                          "http.server", "--bind", address, port)
        try:
            def page(port=port):
                answer = world.run(person, "curl", "-s", f"http://localhost:{port}/")
                return "Directory listing" in answer.stdout
            assert wait_until(page), address
            assert world.run(person, "curl", "-s", f"http://{MACHINE_V4}:{port}/").returncode == 7
        finally:
            run.terminate()
            run.communicate()


def test_a_port_that_is_taken_cannot_be_published(world, person):
    port = world.port()
    world.listener(("127.0.0.1", port), on_machine=True)
    answer = world.cloche(person, "run", "--publish", port, "--", "true")
    assert answer.returncode == 125 and f"port {port}" in answer.stderr, answer
    assert "in use; end the program that listens there, or use another port\n" in answer.stderr, answer


# -- when it is started

def test_a_command_that_wants_nothing_of_the_network_starts_no_network_process(world, person, site):
    mark = f"mark-{os.urandom(6).hex()}"
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--", "sh", "-c",
                      "echo up; read first; curl -sS --noproxy '*' http://site.test/x; echo; read second", mark,
                      stdin=subprocess.PIPE)

    def own():
        """Those of the run that see no file."""
        return [pid for pid in processes(mark) if os.listdir(f"/proc/{pid}/root") == []]
    try:
        assert run.stdout.readline() == "up\n"
        assert own() == []
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == "page /x of site.test\n"
        assert len(own()) == 1, "the positive control: one that does has one"
    finally:
        run.communicate()
    assert wait_until(lambda: own() == [])
