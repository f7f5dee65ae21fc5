"""The two proxies inside, with clients and servers that are not as they should be."""

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
    """Whatever the server says: the next request is judged anew."""
    answer = go("curl", "-sSi", "http://site.test/x")
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
        for byte in b"GET http://site.test/slow HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n":
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
