"""A filtered network where the kernel diverts no connections (nf_tables or TPROXY is missing):
the doorman, who connects sockets for the command, leads them to the network process. The same
hosts are reached and the same ones are not."""

import re

import pytest

from changed_host import NO_NETFILTER
from remote_world import OTHER_V4, SERVER_V4, SERVER_V6, python


@pytest.fixture
def without(world, person, site):
    """Runs something inside with site.test allowed, on a kernel without nf_tables."""
    def run(*command, allow=("site.test",), options=(), **keywords):
        allowed = [word for name in allow for word in ("--allow-domain", name)]
        return world.run(person, *NO_NETFILTER, person.binaries / "cloche", "run", *allowed, *options, "--", *command, **keywords)
    return run


def test_doctor_tells_the_way(world, person):
    doctor = world.run(person, *NO_NETFILTER, person.binaries / "cloche", "doctor").stdout
    assert re.search(r"nf_tables with TPROXY +missing", doctor), doctor
    assert "the doorman leads connections" in doctor
    assert "the doorman leads connections" not in world.cloche(person, "doctor").stdout


@pytest.mark.parametrize("client", [
    ["curl", "-sS", "--noproxy", "*", "http://site.test/x"],
    ["curl", "-sS", "http://site.test/x"],
    ["curl", "-sS", "-6", "--noproxy", "*", "http://site.test/x"],
    ["wget", "-q", "--no-proxy", "-O-", "http://site.test/x"],
    ["node", "-e", "fetch('http://site.test/x').then(r => r.text()).then(t => process.stdout.write(t))"],
    python("""
        import asyncio
        async def main():
            reader, writer = await asyncio.open_connection("site.test", 80)
            writer.write(b"GET /x HTTP/1.0\\r\\nHost: site.test\\r\\n\\r\\n")
            print((await reader.read()).decode().split("\\r\\n\\r\\n")[1], end="")
        asyncio.run(main())
        """),
], ids=["curl direct", "curl proxy", "curl over IPv6", "wget", "fetch", "asyncio"])
def test_an_allowed_host_is_reached(without, client):
    answer = without(*client)
    assert answer.returncode == 0 and answer.stdout == "page /x of site.test\n", answer
    assert answer.stderr == ""


def test_tls_and_addresses_and_ipv6_are_carried(without, world):
    authority = world.certificates / "authority.pem"
    assert without("curl", "-sS", "--noproxy", "*", "--cacert", authority, "https://site.test/x",
                   options=["--allow-read", authority]).stdout == "page /x of site.test\n"
    assert without("curl", "-sS", "--noproxy", "*", f"http://{SERVER_V4}/x", allow=[SERVER_V4]).stdout == f"page /x of {SERVER_V4}\n"
    assert without("curl", "-sS", "--noproxy", "*", f"http://[{SERVER_V6}]/x", allow=[f"[{SERVER_V6}]"]).stdout == \
        f"page /x of [{SERVER_V6}]\n"


def test_what_is_not_named_is_refused_at_once_and_told(without, site, world):
    before, asked = len(site.requests), len(world.names.asked)
    for target in ("http://other.test/", f"http://{OTHER_V4}/", f"http://[{SERVER_V6}]/", f"http://{SERVER_V4}:81/"):
        answer = without("curl", "-sSf", "-m", "9", "--noproxy", "*", target)
        assert answer.returncode not in (0, 28), answer
        assert "cloche: denied" in answer.stderr and "to allow it: --allow-domain " in answer.stderr, answer
    assert len(site.requests) == before
    assert world.names.asked[asked:] == []


def test_many_at_once_blocking_or_not_get_their_own_servers(without, world):
    ports = [world.port() for _ in range(3)]
    for port in ports:
        world.serve((SERVER_V4, port), lambda c, port=port: c.sendall(b"%d " % port + c.recv(100)))
    answer = without(*python(f"""
        import concurrent.futures, selectors, socket
        address = socket.getaddrinfo("site.test", 0, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        def blocking(number):
            port = {ports}[number % 3]
            with socket.create_connection((address, port), 30) as s:
                s.sendall(b"%d" % number)
                return s.makefile("rb").read() == b"%d %d" % (port, number)
        def not_blocking(number):
            port = {ports}[number % 3]
            with socket.socket() as s:
                s.setblocking(False)
                s.connect_ex((address, port))
                waiting = selectors.DefaultSelector(); waiting.register(s, selectors.EVENT_WRITE)
                waiting.select(30)
                assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
                again = s.connect_ex((address, port))
                s.setblocking(True); s.settimeout(30)
                s.sendall(b"%d" % number)
                return again == 106 and s.makefile("rb").read() == b"%d %d" % (port, number)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            print(sum(pool.map(blocking, range(150))), sum(pool.map(not_blocking, range(150))))
        """))
    assert answer.stdout == "150 150\n", answer


def test_the_sandboxs_own_servers_and_the_hosts_ports_are_as_ever(without, world):
    port = world.port()
    world.web(("127.0.0.1", port), on_machine=True)
    answer = without(*python(f"""
        import http.server, socket, threading, urllib.request
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
        server = http.server.HTTPServer(("0.0.0.0", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("127.0.0.1", "0.0.0.0", "198.19.255.254"):
            print(direct.open(f"http://{{name}}:{{server.server_port}}/").status)
        print(direct.open("http://localhost:{port}/x").read().decode(), end="")
        try:
            socket.create_connection(("127.0.0.1", 9), 3)
        except ConnectionRefusedError:
            print("refused")
        """), options=["--host-port", port])
    assert answer.stdout == f"200\n200\n200\npage /x of localhost:{port}\nrefused\n", answer


ANNOUNCING = """
import socket, struct, sys
def announce(address, port, rest):
    # One's own words at the listener, where the doorman's stand else; MSG_FASTOPEN passes the doorman by.
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address).ljust(16, b"\\0")
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 9, 0))
        try:
            s.sendto(struct.pack("!BBH", family == socket.AF_INET6, 0, port) + packed + rest, 0x20000000, ("198.19.255.253", 1))
            return s.makefile("rb").read()[:15]
        except OSError as error:
            return error.strerror
"""


def test_nobody_gets_further_by_announcing_himself(without, site):
    """The listener takes anybody's word for where he wants to go, and asks whether he may."""
    request = b"GET /forged HTTP/1.0\r\nHost: x\r\n\r\n"
    places = [SERVER_V4, OTHER_V4, f"::ffff:{SERVER_V4}", SERVER_V6, "127.0.0.1", "::1", "169.254.169.254", "0.0.0.0"]
    script = ["/usr/bin/python3", "-c", ANNOUNCING + f"print([announce(place, 80, {request!r}) for place in {places}])\n"
              f"print(announce({SERVER_V4!r}, 80, b'')); s = socket.create_connection(('site.test', 80)); print('still there')"]
    before = len(site.requests)
    answer = without(*script)
    assert "200" not in answer.stdout and answer.stdout.endswith("still there\n"), answer
    assert len(site.requests) == before
    assert "200" in without(*script, allow=[SERVER_V4, "site.test"]).stdout, "the positive control"
    assert [path for _, path, *_ in site.requests[before:]] == ["/forged", "/forged"]


def test_srt_has_its_proxies_all_the_same(world, person, site):
    settings = person.file("settings.json", {"network": {"allowedDomains": ["site.test"], "deniedDomains": []},
                                             "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}})

    def run(*command):
        return world.run(person, *NO_NETFILTER, person.binaries / "srt", "-s", settings, *command)

    assert run("curl", "-sS", "http://site.test/x").stdout == "page /x of site.test\n"
    assert "blocked-by-allowlist" in run("curl", "-sSi", "http://other.test/x").stdout
    assert run("curl", "-sS", "-m", "9", "--noproxy", "*", f"http://{OTHER_V4}/x").returncode in (7, 56, 52)


def test_a_policy_without_a_doorman_is_refused_by_name(world, person, site):
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["site.test"],
                                                                              "allowAllUnixSockets": True}})
    words = [*NO_NETFILTER, person.binaries / "cloche", "run"]
    answer = world.run(person, *words, "-s", policy, "--", "echo", "ran")
    assert answer.returncode == 125 and "ran" not in answer.stdout, answer
    assert "nf_tables" in answer.stderr and "cloche doctor" in answer.stderr, answer
    assert world.run(person, *words, "--", "echo", "ran").stdout == "ran\n"
