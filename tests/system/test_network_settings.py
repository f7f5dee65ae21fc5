"""Settings of the filtered network beside its lists: proxies above and beside it, the
variables inside, and where it cannot be had."""

import base64
import pathlib
import re
import socket
import threading

import pytest

from remote_world import OTHER_V4

CHANGED_HOST = pathlib.Path(__file__).with_name("changed_host.py")


@pytest.fixture
def under(world, person, site):
    """Runs something under a policy that adds these network settings to site.test and direct.test."""
    def run(network, *command, options=(), **keywords):
        policy = person.file("policy.json", {"extends": ["preset:dev"],
                                             "network": {"allowedDomains": ["site.test", "direct.test"], **network}})
        return world.cloche(person, "run", "-s", policy, *options, "--", *command, **keywords)
    return run


class Proxy:
    """Understands as much of HTTP as the test needs: tunnels lead to the site, requests are answered."""

    def __init__(self, name):
        self.name = name
        self.heads = []

    def __call__(self, connection):
        head = b""
        while b"\r\n\r\n" not in head:
            data = connection.recv(65536)
            if not data:
                return
            head += data
        head, _, rest = head.partition(b"\r\n\r\n")
        self.heads.append(head.decode())
        if head.startswith(b"CONNECT"):
            connection.sendall(b"HTTP/1.1 200 go on\r\n\r\n")
            while b"\r\n\r\n" not in rest:
                rest += connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n"
                           % (len(self.name) + 1, self.name.encode()))

    def first_lines(self):
        return [head.split("\r\n")[0] for head in self.heads]


@pytest.fixture
def parent(world):
    proxy = Proxy("parent")
    proxy.port = world.port()
    world.serve((OTHER_V4, proxy.port), proxy)
    proxy.url = f"http://{OTHER_V4}:{proxy.port}"
    return proxy


def test_a_parent_proxy_carries_what_leaves(under, world, parent, site):
    before, asked = len(site.requests), len(world.names.asked)
    network = {"parentProxy": {"http": parent.url, "https": parent.url.replace("//", "//user:pass@"), "noProxy": "direct.test"}}
    assert under(network, "curl", "-sS", "http://site.test/x").stdout == "parent\n"
    assert under(network, "curl", "-sS", "--noproxy", "*", "http://site.test:81/y").stdout == "parent\n"
    assert parent.first_lines() == ["GET http://site.test/x HTTP/1.1", "CONNECT site.test:81 HTTP/1.1"]
    assert "Authorization" not in parent.heads[0]
    assert "Proxy-Authorization: Basic " + base64.b64encode(b"user:pass").decode() in parent.heads[1]
    assert len(site.requests) == before and world.names.asked[asked:] == []
    assert under(network, "curl", "-sS", "http://direct.test/z").stdout == "page /z of direct.test\n"
    assert "403" in under(network, "curl", "-sSi", "http://other.test/").stdout
    assert len(parent.heads) == 2


def test_the_users_own_proxy_is_the_parent(under, parent):
    for name in ("HTTP_PROXY", "http_proxy"):
        assert under({}, "curl", "-sS", "http://site.test/x", environment={name: parent.url}).stdout == "parent\n"
    assert under({}, "curl", "-sS", "http://site.test/x",
              environment={"HTTP_PROXY": parent.url, "NO_PROXY": "site.test"}).stdout == "page /x of site.test\n"
    assert len(parent.heads) == 2


def test_a_parent_proxy_that_cannot_be_one_is_refused_by_name(under):
    for url, words in (("https://proxy.test:3128", "TLS"), ("socks5://proxy.test:1080", "SOCKS"), ("http://a b", "URL")):
        answer = under({"parentProxy": {"http": url}}, "true")
        assert answer.returncode == 125 and "parent proxy" in answer.stderr and words in answer.stderr, answer


def test_a_dead_parent_proxy_is_an_error_at_once(under, world):
    answer = under({"parentProxy": {"http": f"http://{OTHER_V4}:{world.port()}"}}, "curl", "-s", "-o", "/dev/null", "-w",
                "%{http_code}", "http://site.test/")
    assert answer.stdout == "502", answer


@pytest.fixture
def own_proxy(person):
    """An HTTP proxy of the user's behind a unix socket of the host."""
    proxy = Proxy("own")
    path = person.home / "proxy.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    person.own(path)
    listener.listen()

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                proxy(connection)

    threading.Thread(target=accept, daemon=True).start()
    proxy.path = path
    yield proxy
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_some_hosts_go_through_a_proxy_behind_a_socket(under, own_proxy, site):
    before = len(site.requests)
    network = {"mitmProxy": {"socketPath": str(own_proxy.path), "domains": ["site.test"]}}
    assert under(network, "curl", "-sS", "http://site.test/x").stdout == "own\n"
    assert under(network, "curl", "-sS", "--noproxy", "*", "http://site.test:81/x").stdout == "own\n"
    assert own_proxy.first_lines() == ["GET http://site.test/x HTTP/1.1", "CONNECT site.test:81 HTTP/1.1"]
    assert len(site.requests) == before
    assert under(network, "curl", "-sS", "http://direct.test/x").stdout == "page /x of direct.test\n"
    assert "403" in under(network, "curl", "-sSi", "http://other.test/").stdout


def test_an_external_proxy_takes_the_place_of_ours(under, world, person):
    proxy = Proxy("external")
    port = world.port()
    world.serve(("127.0.0.1", port), proxy, on_machine=True)
    answer = under({"httpProxyPort": port}, "sh", "-c", "curl -sS http://anything.test/x; env")
    assert answer.stdout.startswith("external\n"), answer
    assert "HTTP_PROXY=http://localhost:3128\n" in answer.stdout
    assert proxy.first_lines() == ["GET http://anything.test/x HTTP/1.1"]


def test_hosts_must_match_where_the_policy_says_so(under):
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: other.test", "http://site.test/"]
    assert under({"requireHostMatch": True}, *words).stdout == "421"
    assert under({"requireHostMatch": True}, *words[:6], "http://site.test/").stdout == "200"


def test_the_variables_are_srts(under):
    answer = under({}, "env", environment={"HTTPS_PROXY": "", "GRPC_PROXY": "http://of.the.user"})
    found = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    url = re.fullmatch(r"http://(srt\.[A-Za-z0-9%]+):([0-9a-f]{32})@localhost:3128", found["HTTP_PROXY"])
    assert url and base64.b64decode(url.group(1)[4:].replace("%3D", "=") + "==").decode() == "env"
    for name in ("HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "GRPC_PROXY", "grpc_proxy",
                 "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY"):
        assert found[name] == found["HTTP_PROXY"], name
    assert found["FTP_PROXY"] == found["ftp_proxy"] == f"socks5h://{url.group(1)}:{url.group(2)}@localhost:1080"
    assert found["RSYNC_PROXY"] == "localhost:1080"
    assert found["NO_PROXY"] == found["no_proxy"] == (
        "localhost,127.0.0.1,::1,169.254.0.0/16,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16")
    assert found["GIT_CONFIG_PARAMETERS"] == "'http.proxyAuthMethod=basic'"
    assert (found["CLOUDSDK_PROXY_TYPE"], found["CLOUDSDK_PROXY_ADDRESS"], found["CLOUDSDK_PROXY_PORT"]) == ("http", "localhost", "3128")
    assert found["CLOUDSDK_PROXY_PASSWORD"] == url.group(2)
    again = dict(line.split("=", 1) for line in under({}, "env").stdout.splitlines() if "=" in line)
    assert again["HTTP_PROXY"] != found["HTTP_PROXY"], "each run has a token of its own"


def test_without_a_filter_proxy_variables_are_the_users(world, person, site):
    answer = world.cloche(person, "run", "--", "env", environment={"HTTP_PROXY": "http://mine:1"})
    assert "HTTP_PROXY=http://mine:1\n" in answer.stdout and "FTP_PROXY" not in answer.stdout


def test_a_variable_that_the_policy_sets_is_the_policys(under):
    answer = under({}, "sh", "-c", "echo $HTTP_PROXY $http_proxy", options=["--env", "HTTP_PROXY=mine"])
    assert answer.stdout.startswith("mine http://srt."), answer


def test_a_filtered_run_inside_a_run_is_refused_by_name(under, person):
    """The outer run's filter lets nobody inside touch nf_tables."""
    nested = person.file("nested.json", {"extends": [], "allowNestedUserNamespaces": True})
    weaker = ["--allow-degraded", "late-names", "--allow-degraded", "protected-names"]  # there is no doorman in either
    answer = under({}, person.binaries / "cloche", "run", *weaker, "--allow-domain", "site.test", "--", "echo", "ran",
                options=["-s", nested, *weaker, "--allow-read", person.binaries])
    assert answer.returncode == 125 and "ran" not in answer.stdout, answer
    assert "network" in answer.stderr and "cloche doctor" in answer.stderr, answer


def test_without_namespaces_a_filtered_network_is_refused_by_name(world, person, site):
    answer = world.cloche(person, "run", "--backend", "landlock", "--allow-domain", "site.test", "--", "true")
    assert answer.returncode == 125 and "network.mode filtered" in answer.stderr and "Landlock alone" in answer.stderr, answer


def test_where_there_is_no_ipv6_all_goes_by_ipv4(world, person, site):
    no_ipv6 = ["/usr/bin/python3", CHANGED_HOST, "family", "10", person.binaries / "cloche"]
    port = world.port()
    world.web(("127.0.0.1", port), on_machine=True)
    answer = world.run(person, *no_ipv6, "run", "--allow-domain", "site.test", "--host-port", port, "--publish", world.port(), "--",
                       "sh", "-c", "curl -sS --noproxy '*' http://site.test/a; curl -sS http://site.test/b; "
                                   f"curl -sS http://localhost:{port}/c; getent hosts site.test | cut -d. -f1; "
                                   "getent hosts other.test || echo none")
    assert answer.stdout == (f"page /a of site.test\npage /b of site.test\npage /c of localhost:{port}\n198\nnone\n"), answer
