"""The two proxies inside, with clients and servers that are not as they should be."""

import json
import re
import socket
import struct

import pytest

from remote_world import SERVER_V4, python


def test_a_client_that_resolves_names_itself_means_the_name(go, world):
    asked = len(world.names.asked)
    own = ["curl", "-sS", "--noproxy", "nowhere", "--socks5", "localhost:1080"]
    assert go(*own, "http://site.test/x").stdout == "page /x of site.test\n"
    tunnel = python("""
        import socket
        address = socket.getaddrinfo("site.test", 80, socket.AF_INET)[0][4][0]
        proxy = socket.create_connection(("localhost", 3128), 10)
        proxy.sendall(f"CONNECT {address}:80 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n".encode())
        print(proxy.recv(1000).decode().split("\\r\\n")[0])
        """)
    assert go(*tunnel).stdout == "HTTP/1.1 200 Connection Established\n"
    assert {name for name, _ in world.names.asked[asked:]} == {"site.test"}
    assert go(*own, "http://198.18.0.99/x").returncode == 97, "an address that stands for no name"


NONSENSE = {
    "nothing": b"",
    "not HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "a head that does not end": b"HTTP/1.1 200 OK\r\nX: y\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "a head too long": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_server_that_talks_nonsense_is_a_bad_gateway(go, world, kind):
    port = world.port()
    world.serve((SERVER_V4, port), lambda c: (c.recv(1000), c.sendall(NONSENSE[kind])))
    answer = go("curl", "-sS", "-m", "20", "-i", f"http://site.test:{port}/")
    assert answer.stdout.startswith("HTTP/1.1 502 Bad Gateway\n"), answer
    assert "Bad Gateway: the server gave no answer in HTTP" in answer.stdout


def test_a_server_that_resets_before_it_answers_is_a_bad_gateway(go, world):
    def reset(connection):
        connection.recv(1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    port = world.port()
    world.serve((SERVER_V4, port), reset)
    assert "502 Bad Gateway" in go("curl", "-sS", "-i", f"http://site.test:{port}/").stdout


def test_answers_before_the_answer_are_handed_on(go, world):
    def talk(connection):
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    port = world.port()
    world.serve((SERVER_V4, port), talk)
    answer = go("curl", "-sS", "-i", f"http://site.test:{port}/")
    assert "103 Early Hints" in answer.stdout and answer.stdout.endswith("hello"), answer


def test_the_client_learns_that_the_connection_ends(go):
    answer = go("curl", "-sSi", "-H", "Proxy-Connection: close", "http://site.test/x")
    assert re.search(r"^connection: close\r?$", answer.stdout, re.MULTILINE | re.IGNORECASE), answer
    assert go("curl", "-sS", "http://site.test/a", "http://site.test/b").stdout == (
        "page /a of site.test\npage /b of site.test\n")


def test_a_websocket_is_carried_once_the_server_agrees(go, world):
    heard = []

    def talk(connection):
        head = connection.recv(1000)
        heard.append(head)
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
        while data := connection.recv(1000):
            heard.append(data)
            connection.sendall(data.upper())

    port = world.port()
    world.serve((SERVER_V4, port), talk)
    answer = go(*python(f"""
        import socket
        proxy = socket.create_connection(("localhost", 3128), 10)
        proxy.sendall(b"GET http://site.test:{port}/ws HTTP/1.1\\r\\nHost: site.test:{port}\\r\\n"
                      b"Connection: keep-alive, Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n"
                      b"GET /smuggled HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")
        print(proxy.recv(1000).split(b"\\r\\n")[0].decode())
        proxy.sendall(b"frames")
        print(proxy.recv(1000).decode())
        """))
    assert answer.stdout == "HTTP/1.1 101 Switching Protocols\nFRAMES\n", answer
    assert b"Upgrade: websocket\r\n" in heard[0] and b"Connection: upgrade\r\n" in heard[0]
    assert b"smuggled" not in b"".join(heard), "before the server agrees nothing but the request goes out"


def test_a_large_upload_in_chunks_arrives_whole(go, world, person):
    received = []

    def talk(connection):
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += connection.recv(65536)
        received.append(data)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    port = world.port()
    world.serve((SERVER_V4, port), talk)
    person.file("large", bytes(range(256)) * 8192)
    answer = go("curl", "-sS", "-H", "Transfer-Encoding: chunked", "-H", "Expect:", "--data-binary", "@large",
                f"http://site.test:{port}/")
    assert answer.stdout == "ok", answer
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        whole, body = whole + body[:int(size, 16)], body[int(size, 16) + 2:]
    assert whole == bytes(range(256)) * 8192


def test_a_chunk_that_lies_about_its_size_ends_the_request(go, world):
    heard = []

    def talk(connection):
        while data := connection.recv(1000):
            heard.append(data)

    port = world.port()
    world.serve((SERVER_V4, port), talk)
    answer = go(*python(f"""
        import socket
        proxy = socket.create_connection(("localhost", 3128), 10)
        proxy.sendall(b"POST http://site.test:{port}/ HTTP/1.1\\r\\nHost: site.test:{port}\\r\\n"
                      b"Transfer-Encoding: chunked\\r\\n\\r\\n3\\r\\nabcdef\\r\\n0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\n\\r\\n")
        try:
            print(proxy.recv(1000))
        except ConnectionResetError:
            print("reset")
        """))
    assert answer.stdout in ("reset\n", "b''\n"), answer
    assert b"smuggled" not in b"".join(heard)


def test_a_client_that_says_its_request_slowly_is_understood(go):
    answer = go(*python("""
        import socket, time
        proxy = socket.create_connection(("localhost", 3128), 10)
        proxy.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET http://site.test/slow HTTP/1.1\\r\\nHost: site.test\\r\\nConnection: close\\r\\n\\r\\n":
            proxy.send(bytes([byte]))
            time.sleep(0.002)
        page = b""
        while more := proxy.recv(1000):
            page += more
        print(page.decode().splitlines()[-1])
        """))
    assert answer.stdout == "page /slow of site.test\n", answer


def test_tls_at_the_http_proxy_is_told_that_it_is_wrong_there(go):
    answer = go("curl", "-sS", "--noproxy", "*", "-k", "https://localhost:3128/")
    assert answer.returncode == 35 and "wrong version number" in answer.stderr.lower(), answer


# -- one connection, several requests

CONVERSATION = """
import json, socket, sys
def read_answer(stream, method):
    status = stream.readline()
    if b" 103 " in status:
        stream.readline(), stream.readline()
        status = stream.readline()
    if not status:
        return "the end"
    headers = {}
    while (line := stream.readline()) not in (b"\\r\\n", b""):
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int(stream.readline(), 16):
            body += stream.read(size); stream.readline()
        stream.readline()
    elif method != "HEAD":
        length = headers.get("content-length")
        body = stream.read() if length is None else stream.read(int(length))
    return [int(status.split()[1]), body.decode(), headers.get("connection")]
connection = socket.create_connection(("localhost", 3128), 20); connection.settimeout(20)
stream = connection.makefile("rb")
for step in json.loads(sys.argv[1]):
    connection.sendall("".join(step).encode())
    for request in step:
        print(json.dumps(read_answer(stream, request.split()[0])), flush=True)
"""


def converse(go, *steps, **keywords):
    answer = go("/usr/bin/python3", "-c", CONVERSATION, json.dumps(steps), **keywords)
    assert answer.returncode == 0, answer
    return [json.loads(line) for line in answer.stdout.splitlines()]


def request(url, method="GET", headers="", body=""):
    if body:
        headers += f"Content-Length: {len(body)}\r\n"
    return f"{method} http://{url} HTTP/1.1\r\nHost: x\r\n{headers}\r\n{body}"


def chunked(url):
    return request(url, "POST", "Transfer-Encoding: chunked\r\n") + "4\r\nbody\r\n0\r\n\r\n"


def test_one_connection_carries_several_requests_each_judged(go, site):
    before = len(site.requests)
    answers = converse(go, [request("site.test/a")], [request("six.test/b", "POST", body="some")], [request("site.test/c", "HEAD")],
                       [request("site.test/d")], [request("other.test/e")], allow=["site.test", "six.test"])
    assert answers == [[200, "page /a of site.test\n", "keep-alive"], [200, "page /b of six.test\n", "keep-alive"],
                       [200, "", "keep-alive"], [200, "page /d of site.test\n", "keep-alive"],
                       [403, "Connection blocked by network allowlist\n", "close"]], answers
    assert [path for _, path, *_ in site.requests[before:]] == ["/a", "/c", "/d"]
    assert [(path, body) for _, path, _, body in site.six.requests if path == "/b"][-1:] == [("/b", b"some")]


def test_requests_sent_together_are_answered_in_order(go, site):
    before = len(site.requests)
    together = [request("site.test/1"), request("site.test/2", "PUT", body="x" * 50000), request("site.test/3"),
                request("site.test/4", headers="Connection: close\r\n")]
    answers = converse(go, together, ["GET http://site.test/never HTTP/1.1\r\n\r\n"])
    assert [answer[1] for answer in answers[:4]] == [f"page /{n} of site.test\n" for n in (1, 2, 3, 4)], answers
    assert answers[3][2] == "close" and answers[4] == "the end"
    assert [len(body) for *_, body in site.requests[before:]] == [0, 50000, 0, 0]


RESPONSES = {
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc", True),
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\nsmuggled", "abc", True),
    "nothing": (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "", True),
    "until the end": (b"HTTP/1.1 200 OK\r\n\r\nabc", "abc", False),
    "an old version": (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", False),
    "two heads": (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", True),
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_a_connection_goes_on_only_where_the_response_ends_beyond_doubt(go, world, site, kind):
    response, body, goes_on = RESPONSES[kind]
    port = world.port()
    world.serve((SERVER_V4, port), lambda c: (c.recv(1000), c.sendall(response)))
    answers = converse(go, [request(f"site.test:{port}/"), request("site.test/next")])
    assert answers[0][0] in (200, 204) and answers[0][1] == body and answers[0][2] == ("keep-alive" if goes_on else "close"), answers
    if goes_on:
        assert answers[1] == [200, "page /next of site.test\n", "keep-alive"]
    else:
        assert answers[1] != [200, "page /next of site.test\n", "keep-alive"], answers


def test_chunks_of_a_request_end_before_the_next(go, world, site):
    heads = []

    def keep(connection):
        heads.append(connection.recv(4000))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    port = world.port()
    world.serve((SERVER_V4, port), keep)
    answers = converse(go, [chunked(f"site.test:{port}/up"), request("site.test/next")])
    assert [answer[0] for answer in answers] == [200, 200], answers
    assert answers[1][1] == "page /next of site.test\n"
    assert heads[0].endswith(b"\r\n\r\n4\r\nbody\r\n0\r\n\r\n") or heads[0].endswith(b"\r\n\r\n")


def test_a_kept_connection_is_told_request_by_request(go, person):
    events = person.home / "events.jsonl"
    converse(go, [request("site.test/a")], [request("site.test/b")], [request("six.test/c")], allow=["site.test", "six.test"],
             options=["--events", events])
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    told = {(line["object"], line["count"]) for line in lines if line["kind"] == "net.connect"}
    assert told == {("site.test:80", 1), ("site.test:80", 2), ("six.test:80", 1)}
