"""Ways past the network filter that play with spellings and pieces (attacks 76 to 87). Judged
at the other end: which servers were reached, which questions the name server heard."""

import contextlib
import json
import pathlib
import socket
import ssl

import pytest

from remote_world import MACHINE_V4, METADATA, OTHER_V4, SERVER_V4, SERVER_V6

PROBE = pathlib.Path(__file__).with_name("network_probe.py")
SITE = ["site.test", "*.site.test"]
A, TXT, AAAA, HTTPS, ANY = 1, 16, 28, 65, 255
NO_SUCH_NAME = 3


def hexadecimal(text):
    return (text.encode() if isinstance(text, str) else text).hex()


def labels(name):
    return ".".join(hexadecimal(label) for label in name.split("."))


class Inside:
    """Runs probes in one sandbox; what came of each."""

    def __init__(self, world, person):
        self.world, self.person = world, person
        self.probe = person.file("network_probe.py", PROBE.read_text())

    def attacks(self, *operations, allow=("site.test",), options=(), policy=None, way=None):
        if policy is not None:
            options = (*options, "-s", self.person.file("policy.json", {"extends": ["preset:dev"], "network": policy}))
        words = [word for name in allow for word in ("--allow-domain", name)]
        probes = [str(word) for operation in operations for word in (*operation, "--")][:-1]
        answer = self.world.cloche(self.person, "run", *words, *options, "--", "/usr/bin/python3", self.probe, *probes,
                                   seconds=120)
        assert answer.returncode == 0, answer
        found = [json.loads(line) for line in answer.stdout.splitlines()]
        assert len(found) == len(operations), answer
        return found

    def attack(self, *words, **keywords):
        return self.attacks(words, **keywords)[0]


@pytest.fixture
def inside(world, person, site):
    return Inside(world, person)


@pytest.fixture(scope="module")
def site(world):
    """The allowed site, the other ones, and traps where nobody may get to."""
    for name in ("site.test", "sub.site.test", "other.test", "evilsite.test"):
        world.names.add(name, SERVER_V4)
    world.names.add_text("site.test", b"hello")
    site = world.web((SERVER_V4, 80))
    site.tls = world.web((SERVER_V4, 443), tls=["site.test", "other.test"])
    return site


@pytest.fixture(scope="module")
def traps(world, site):
    """Services that an allowed name must not lead to: each list grows when it is reached."""
    def talk(connection):
        connection.recv(1000)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\ntrapped")

    return {
        "loopback": world.serve(("127.0.0.1", 8000), talk, on_machine=True),
        "loopback6": world.serve(("::1", 8000), talk, on_machine=True),
        "own": world.serve((MACHINE_V4, 8000), talk, on_machine=True),
        "metadata": world.serve((METADATA, 8000), talk),
        "intranet": world.serve(("10.20.30.40", 8000), talk),
        "other": world.serve((OTHER_V4, 8000), talk),
    }


def caught(traps):
    return sorted(name for name, came in traps.items() if came)


@pytest.fixture(autouse=True)
def traps_empty(traps):
    for came in traps.values():
        came.clear()


def reached(outcome, words="200 OK"):
    return words in str(outcome.get("got", ""))


# -- 76, 77: spellings

NO_HOSTS = [b"other.test\0.site.test", b"site.test\0", b"\0site.test", b"other.test\n.site.test", b"a b.site.test",
            b"other.test/.site.test", b"user@site.test", b"other.test#.site.test", b"other.test%00.site.test",
            b"other.test\\.site.test", b"-.site.test", b"a..site.test", b".site.test", b"*.site.test",
            b"x" * 64 + b".site.test", b"\xc3\xbc.site.test", b"site.test:80", b"0x7f.1", b"127.1", b"2130706433",
            b"0177.0.0.1", b"017700000001", b"[::1", b"fe80::1%lo", b""]


def test_a_socks_name_that_is_no_host_goes_nowhere(inside, world, site, traps):
    asked, requests = len(world.names.asked), len(site.requests)
    found = inside.attacks(*(("socks", hexadecimal(name), 80) for name in NO_HOSTS), allow=["*.site.test", "site.test"])
    assert [outcome.get("words") for outcome in found] == ["reply 2"] * len(NO_HOSTS)
    assert world.names.asked[asked:] == [] and len(site.requests) == requests
    assert reached(inside.attack("socks", hexadecimal("Sub.Site.TEST."), 80, allow=["*.site.test"]))


@pytest.mark.parametrize("form", ["GET http://%b/x HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n",
                                  "CONNECT %b:80 HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n"], ids=["GET", "CONNECT"])
def test_an_http_target_that_is_no_host_goes_nowhere(inside, world, site, form):
    form = form.encode()
    names = [name for name in NO_HOSTS if not (b"GET" in form and (b":80" in name or b"/" in name))]
    asked, requests = len(world.names.asked), len(site.requests)
    found = inside.attacks(*(("proxy", hexadecimal(form % name)) for name in names), allow=["*.site.test", "site.test"])
    for name, outcome in zip(names, found):
        assert outcome["got"].startswith("HTTP/1.1 400 Bad Request\r\n"), (name, outcome)
    assert world.names.asked[asked:] == [] and len(site.requests) == requests
    assert reached(inside.attack("proxy", hexadecimal(form % b"SITE.test."), allow=["site.test"]), "HTTP/1.1 200")


def test_a_dns_label_with_a_dot_in_it_is_not_the_name_it_looks_like(inside, world):
    asked = len(world.names.asked)
    lies = [hexadecimal("sub.site.test"), hexadecimal("x\0") + "." + labels("site.test"), hexadecimal("sub.site") + "." +
            hexadecimal("test")]
    for outcome in inside.attacks(*(("query", "8.8.8.8", lie, A, "udp") for lie in lies), allow=SITE):
        assert outcome["got"]["status"] == NO_SUCH_NAME
    assert world.names.asked[asked:] == []
    assert inside.attack("query", "8.8.8.8", labels("SUB.site.test"), A, "udp", allow=SITE)["got"]["answers"] == 1


# -- 79, 80: names that lead home

FORBIDDEN = {
    "loopback": ["127.0.0.1"], "another loopback": ["127.9.8.7"], "loopback6": ["::1"], "unspecified": ["0.0.0.0"],
    "unspecified6": ["::"], "own": [MACHINE_V4], "metadata": [METADATA], "link-local": ["fe80::1"],
    "multicast": ["224.0.0.1"], "broadcast": ["255.255.255.255"], "Azure": ["168.63.129.16"],
    "mapped": ["::ffff:127.0.0.1"], "mapped own": [f"::ffff:{MACHINE_V4}"], "compatible": ["::127.0.0.1"],
    "6to4": ["2002:7f00:1::1"], "NAT64": ["64:ff9b::7f00:1"], "mapped metadata": [f"::ffff:{METADATA}"],
    "several": ["127.0.0.1", "::1", METADATA],
}


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_an_allowed_name_does_not_lead_to_a_forbidden_address(inside, world, traps, kind):
    name = f"{kind.replace(' ', '-').lower()}.rebound.test"
    if (name, A) not in world.names.records and (name, AAAA) not in world.names.records:
        world.names.add(name, *FORBIDDEN[kind])
    found = inside.attacks(*(("get", way, name, 8000) for way in ("direct", "tunnel", "socks")),
                           ("proxy", hexadecimal(f"GET http://{name}:8000/ HTTP/1.1\r\nHost: x\r\nLOGIN\r\n")),
                           allow=["*.rebound.test", "*"])
    assert caught(traps) == []
    direct, tunnel, socks, plain = found
    assert "error" in direct or reached(direct, "403"), direct
    assert tunnel["words"].startswith(("HTTP/1.1 403 resolved to a", "HTTP/1.1 403 resolved to the broadcast address",
                                       "HTTP/1.1 403 resolved to one of this host's addresses")), tunnel
    assert socks["words"] == "reply 2"
    assert plain["got"].startswith("HTTP/1.1 403 Forbidden\r\n") and "blocked-by-sandbox-runtime" in plain["got"]


def test_of_several_addresses_only_the_good_ones_are_dialled(inside, world, traps, site):
    world.names.add("mixed.test", "127.0.0.1", METADATA, SERVER_V4)
    for way in ("direct", "tunnel", "socks"):
        assert reached(inside.attack("get", way, "mixed.test", 80, allow=["mixed.test"]))
    assert caught(traps) == []


def test_a_name_is_not_resolved_again_between_check_and_connection(inside, world, traps):
    """The second answer would be another one."""
    class Turning(list):
        def __iter__(self):
            chosen, self[:] = list(self[:1]), [*self[1:], *self[:1]]
            return iter(chosen)

        def __len__(self):
            return 1

        def __getitem__(self, at):
            return list.__getitem__(self, at)

    good, bad = socket.inet_aton(OTHER_V4), socket.inet_aton("127.0.0.1")
    for way in ("direct", "tunnel", "socks"):
        name = f"turning-{way}.test"
        world.names.records[(name, A)] = Turning([good, bad, bad, bad, bad, bad, bad])
        assert reached(inside.attack("get", way, name, 8000, allow=[name]), "trapped"), way
    assert caught(traps) == ["other"]


def test_who_names_an_address_may_also_get_to_it_by_name(inside, world, traps):
    world.names.add("here.test", "127.0.0.1")
    assert reached(inside.attack("get", "direct", "here.test", 8000, allow=["here.test", "127.0.0.1:8000"]), "trapped")
    assert not reached(inside.attack("get", "direct", "here.test", 8000, allow=["here.test", "127.0.0.1:8001"]), "trapped")
    assert caught(traps) == ["loopback"] and len(traps["loopback"]) == 1


def test_everything_allowed_does_not_mean_this_machine_and_its_cloud(inside, traps):
    targets = [("127.0.0.1", "loopback"), (MACHINE_V4, "own"), (METADATA, "metadata"), ("::1", "loopback6"),
               (f"[::ffff:{METADATA}]", "metadata")]
    for address, trap in targets:
        for way in ("tunnel", "socks"):
            spelled = address if way == "socks" or ":" not in address or "[" in address else f"[{address}]"
            assert not reached(inside.attack("get", way, spelled, 8000, allow=["*"]), "trapped"), (way, trap)
    assert caught(traps) == []
    assert reached(inside.attack("get", "direct", METADATA, 8000, allow=["*", METADATA]), "trapped")
    assert caught(traps) == ["metadata"], "who names it gets it"


# -- 81, 82: nothing about a refused name leaves the machine

@pytest.mark.parametrize("server", ["8.8.8.8", "203.0.113.53", "127.0.0.53", "2001:db8::53"])
def test_a_refused_name_is_not_asked_for_by_any_server(inside, world, server):
    asked = len(world.names.asked)
    found = inside.attacks(*(("query", server, labels(name), kind, transport)
                             for name in ("stolen-secret.other.test", "other.test", "stolen.site.test")
                             for kind in (A, TXT, HTTPS, ANY) for transport in ("udp", "tcp")))
    assert {outcome["got"]["status"] for outcome in found} == {NO_SUCH_NAME}
    assert world.names.asked[asked:] == []
    assert inside.attack("query", server, labels("site.test"), A, "udp")["got"]["answers"] == 1


def test_a_refused_name_is_not_asked_for_by_the_proxies(inside, world):
    asked = len(world.names.asked)
    name = "stolen-secret.other.test"
    found = inside.attacks(("get", "tunnel", name, 80), ("get", "socks", name, 80),
                           ("proxy", hexadecimal(f"GET http://{name}/ HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n")),
                           ("proxy", hexadecimal(f"GET http://site.test/ HTTP/1.1\r\nHost: {name}\r\nLOGIN\r\n")))
    assert "403 host is not on the allow list" in found[0]["words"] and found[1]["words"] == "reply 2"
    assert reached(found[2], "403 Forbidden") and reached(found[3], "200 OK")
    assert name not in world.names.names_asked() and set(world.names.asked[asked:]) <= {("site.test", A), ("site.test", AAAA)}


def test_nothing_but_name_and_type_of_an_allowed_question_goes_upstream(inside, world):
    asked = len(world.names.asked)
    assert inside.attack("query", "8.8.8.8", labels("SiTe.TeSt"), TXT, "udp")["got"]["answers"] == 1
    assert world.names.asked[asked:] == [("site.test", TXT)]


def test_records_that_lead_past_the_filter_are_not_given_out(inside, world):
    """HTTPS records carry addresses, and keys that would hide the TLS name (attack 86)."""
    asked = len(world.names.asked)
    for kind in (HTTPS, 64, ANY):
        assert inside.attack("query", "8.8.8.8", labels("site.test"), kind, "udp")["got"]["answers"] == 0
    assert world.names.asked[asked:] == []


# -- 84 to 87: one name at the door, another within

@pytest.mark.parametrize("way", ["direct", "tunnel", "socks"])
def test_tls_for_another_name_is_cut_off(inside, site, way):
    before = len(site.tls.requests)
    outcome = inside.attack("hello", way, "site.test", 443, "other.test")
    assert outcome.get("error") in ("ECONNRESET", "TLS", "EPIPE"), outcome
    assert inside.attack("hello_in_pieces", way, "site.test", 443, "other.test").get("got", "") == ""
    assert len(site.tls.requests) == before
    assert reached(inside.attack("hello", way, "site.test", 443, "site.test"))
    assert reached(inside.attack("hello", way, "site.test", 443, "SITE.test"))
    assert inside.attack("hello_in_pieces", way, "site.test", 443, "site.test")["got"].startswith("16"), "a ServerHello"


@pytest.fixture(scope="module")
def choosy(world, site):
    """A TLS server that wants another key than clients offer, so that each has to say hello twice; and all it received."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*world.certificate(["site.test"]))
    context.set_ecdh_curve("secp384r1")
    port, received = world.port(), []

    def talk(connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(incoming, outgoing, server_side=True)
        while data := connection.recv(65536):
            received.append(data)
            incoming.write(data)
            with contextlib.suppress(ssl.SSLError):
                session.do_handshake()
            connection.sendall(outgoing.read())

    world.serve((SERVER_V4, port), talk)
    return port, received


@pytest.mark.parametrize("way", ["direct", "tunnel", "socks"])
def test_the_second_client_hello_is_judged_like_the_first(inside, choosy, way):
    port, received = choosy
    assert inside.attack("second_hello", way, "site.test", port, "site.test")["got"] > 500, "a certificate and more"
    del received[:]
    outcome = inside.attack("second_hello", way, "site.test", port, "evil.test")
    assert "error" in outcome or outcome["got"] == 0, outcome
    inside.attack("both_hellos", way, "site.test", port, "evil.test")
    assert b"site.test" in b"".join(received) and b"evil.test" not in b"".join(received)


def test_tls_to_an_allowed_address_must_be_for_an_allowed_name(inside, site):
    before = len(site.tls.requests)
    assert "error" in inside.attack("hello", "direct", SERVER_V4, 443, "other.test", allow=[SERVER_V4])
    assert len(site.tls.requests) == before
    assert reached(inside.attack("hello", "direct", SERVER_V4, 443, "other.test", allow=[SERVER_V4, "other.test"]))
    assert reached(inside.attack("hello", "direct", SERVER_V4, 443, "-", allow=[SERVER_V4])), "attack 86: nothing to check"


def test_another_host_in_the_header_of_a_request_is_not_passed_on(inside, site):
    request = ("proxy", hexadecimal("GET http://site.test/fronted HTTP/1.1\r\nHost: other.test\r\nLOGIN\r\n"))
    assert reached(inside.attack(*request))
    assert site.requests[-1][1] == "/fronted" and site.requests[-1][2]["Host"] == "site.test"
    policy = {"allowedDomains": ["site.test"], "requireHostMatch": True}
    before = len(site.requests)
    assert reached(inside.attack(*request, allow=(), policy=policy), "HTTP/1.1 421 Misdirected Request")
    assert len(site.requests) == before


SECOND = "GET http://other.test/smuggled HTTP/1.1\r\nHost: other.test\r\n\r\n"
INNER = "GET /smuggled HTTP/1.1\r\nHost: other.test\r\n\r\n"
SMUGGLED = {
    "length and chunks": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINContent-Length: %(inner)d\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "two lengths": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINContent-Length: 0\r\n"
                   "Content-Length: %(inner)d\r\n\r\n" + INNER,
    "a blank before the colon": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINContent-Length : %(inner)d\r\n"
                                "\r\n" + INNER,
    "folded": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINX: y\r\n Content-Length: %(inner)d\r\n\r\n" + INNER,
    "a bare line feed": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\nContent-Length: %(inner)d\r\nLOGIN\r\n" + INNER,
    "a bare carriage return": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\rContent-Length: %(inner)d\r\nLOGIN\r\n"
                              + INNER,
    "an unknown coding": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINTransfer-Encoding: xchunked\r\n\r\n"
                         + INNER,
    "two codings": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINTransfer-Encoding: chunked, identity\r\n\r\n"
                   "0\r\n\r\n" + INNER,
    "a negative length": "POST http://site.test/ HTTP/1.1\r\nHost: site.test\r\nLOGINContent-Length: -1\r\n\r\n" + INNER,
    "two hosts": "GET http://site.test/ HTTP/1.1\r\nHost: site.test\r\nHost: other.test\r\nLOGIN\r\n",
    "a target of two words": "GET http://site.test/ x HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n",
    "a NUL": "GET http://site.test/\0 HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n",
}


@pytest.mark.parametrize("shape", SMUGGLED)
def test_a_request_that_could_be_read_in_two_ways_is_read_in_none(inside, site, shape):
    before = len(site.requests)
    request = SMUGGLED[shape] % {"inner": len(INNER)} if "%(" in SMUGGLED[shape] else SMUGGLED[shape]
    outcome = inside.attack("proxy", hexadecimal(request))
    assert outcome["got"].split("\r\n")[0] in ("HTTP/1.1 400 Bad Request", "HTTP/1.1 501 Not Implemented"), outcome
    assert len(site.requests) == before


@pytest.mark.parametrize("first", [
    "GET http://site.test/first HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n",
    "POST http://site.test/first HTTP/1.1\r\nHost: site.test\r\nLOGINContent-Length: 4\r\n\r\nbody",
    "GET http://site.test/first HTTP/1.1\r\nHost: site.test\r\nLOGINConnection: keep-alive\r\n\r\n",
    "GET http://site.test/first HTTP/1.1\r\nHost: site.test\r\nLOGINConnection: content-length\r\nContent-Length: 0\r\n\r\n",
], ids=["GET", "POST", "keep-alive", "a length that is for one hop"])
@pytest.mark.parametrize("second", [SECOND, INNER, SECOND.replace("other", "site")], ids=["other", "inner", "same"])
def test_a_second_request_does_not_ride_on_the_first(inside, site, first, second):
    before = len(site.requests)
    outcome = inside.attack("proxy", hexadecimal(first + second))
    assert reached(outcome)
    assert [path for _, path, *_ in site.requests[before:] if path != "/first"] in ([], ["/smuggled"] if
            "site.test" in second else []), "judged anew, or not at all"
    assert all(headers["Host"] == "site.test" for *_, headers, _ in site.requests[before:])


def test_what_is_for_the_proxy_does_not_reach_the_origin(inside, site):
    request = ("GET http://site.test/clean HTTP/1.1\r\nHost: site.test\r\nLOGINProxy-Connection: keep-alive\r\n"
               "X-Hop: secret\r\nConnection: X-Hop\r\n\r\n")
    assert reached(inside.attack("proxy", hexadecimal(request)))
    _, path, headers, _ = site.requests[-1]
    assert path == "/clean"
    assert not {name.lower() for name in headers} & {"proxy-authorization", "proxy-connection", "x-hop"}


# -- 90: the proxies themselves

@pytest.mark.parametrize("way", ["tunnel", "socks"])
def test_the_proxy_does_not_lead_to_itself(inside, way):
    for target in ("localhost", "127.0.0.1"):
        for port in (3128, 1080):
            outcome = inside.attack("get", way, target, port, allow=["*"])
            assert "error" in outcome, outcome


# -- 92: around the names

@pytest.mark.parametrize("address", [SERVER_V4, SERVER_V6, "198.18.0.77", "198.19.3.4", "10.20.30.40"])
def test_an_address_is_refused_though_a_name_for_it_is_allowed(inside, site, world, address):
    before = len(site.requests)
    for way in ("direct", "tunnel", "socks"):
        spelled = f"[{address}]" if ":" in address and way == "tunnel" else address
        outcome = inside.attack("get", way, spelled, 80)
        assert "error" in outcome or reached(outcome, "403 Forbidden"), outcome
    assert len(site.requests) == before


def test_data_in_the_first_packet_is_judged_as_any(inside, site):
    before = len(site.requests)
    outcome = inside.attack("early", SERVER_V4, 80)
    assert not reached(outcome) and len(site.requests) == before
    assert reached(inside.attack("early", SERVER_V4, 80, allow=[SERVER_V4]))
