"""Attacks on the network filter, from inside. Each operation prints one line of JSON:
what came back, or the error's name.

    network_probe.py OPERATION WORD... [-- OPERATION WORD...]...
"""

import base64
import errno
import json
import os
import socket
import ssl
import struct
import sys
import urllib.parse

PATIENCE = 10


def proxy_token():
    """User and password as clients find them."""
    url = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
    return urllib.parse.unquote(url.username), url.password


def everything(connection, most=65536):
    received = b""
    while len(received) < most:
        more = connection.recv(most)
        if not more:
            break
        received += more
    return received


def direct(host, port):
    return socket.create_connection((host, int(port)), PATIENCE)


def tunnel(host, port):
    """By CONNECT."""
    user, token = proxy_token()
    connection = socket.create_connection(("localhost", 3128), PATIENCE)
    login = base64.b64encode(f"{user}:{token}".encode()).decode()
    connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n"
                       f"Proxy-Authorization: Basic {login}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        more = connection.recv(1)
        if not more:
            break
        head += more
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise ConnectionError(head.decode("latin-1"))
    return connection


def socks_tunnel(name, port, with_token=True):
    """`name` in any bytes."""
    user, token = proxy_token()
    connection = socket.create_connection(("localhost", 1080), PATIENCE)
    connection.sendall(b"\5\1\2" if with_token else b"\5\1\0")
    connection.recv(2)
    if with_token:
        connection.sendall(b"\1" + bytes([len(user)]) + user.encode() + bytes([len(token)]) + token.encode())
        connection.recv(2)
    connection.sendall(b"\5\1\0\3" + bytes([len(name)]) + name + struct.pack("!H", int(port)))
    reply = connection.recv(10)
    if reply[1:2] != b"\0":
        raise ConnectionError(f"reply {reply[1] if len(reply) > 1 else 'none'}")
    return connection


WAYS = {"direct": direct, "tunnel": tunnel, "socks": lambda host, port: socks_tunnel(host.encode(), port)}


def get(way, host, port):
    """A page, over a connection made in one of the ways."""
    with WAYS[way](host, port) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(f"GET /{way} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return everything(connection).decode("latin-1")


def socks(name, port, token="token"):
    """The bytes of `name` in hexadecimal."""
    with socks_tunnel(bytes.fromhex(name), port, token == "token") as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(b"GET /socks HTTP/1.0\r\n\r\n")
        return everything(connection).decode("latin-1")


def proxy(request, *, ends=True):
    """The bytes of a request to the HTTP proxy in hexadecimal; LOGIN in it is the right header."""
    user, token = proxy_token()
    login = b"Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{token}".encode()) + b"\r\n"
    with socket.create_connection(("localhost", 3128), PATIENCE) as connection:
        connection.sendall(bytes.fromhex(request).replace(b"LOGIN", login))
        if ends:
            connection.shutdown(socket.SHUT_WR)
        return everything(connection).decode("latin-1")


def query(server, name, kind, transport):
    """One DNS question, its name's labels given in hexadecimal between dots; the status code and the addresses."""
    labels = b"".join(bytes([len(label)]) + label for label in map(bytes.fromhex, name.split(".")))
    message = struct.pack("!6H", 77, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", int(kind), 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM) as asking:
        asking.settimeout(PATIENCE)
        asking.connect((server, 53))
        asking.send(struct.pack("!H", len(message)) + message if transport == "tcp" else message)
        answer = asking.recv(4096)[2 if transport == "tcp" else 0:]
    status, answers = answer[3] & 15, struct.unpack("!H", answer[6:8])[0]
    records = answer[len(message):]
    return {"status": status, "answers": answers, "records": records.hex()}


def hello(way, host, port, name):
    """TLS for `name` over a connection for `host`; "-": for nobody by name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with WAYS[way](host, port) as connection:
        connection.settimeout(PATIENCE)
        with context.wrap_socket(connection, server_hostname=None if name == "-" else name) as secured:
            secured.sendall(f"GET /tls HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return everything(secured).decode("latin-1")


def hello_in_pieces(way, host, port, name):
    """The same ClientHello in records of one byte, sent a few at a time. What comes back, if anything does."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    session = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        pass
    message = outgoing.read()[5:]
    with WAYS[way](host, port) as connection:
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(message), 50):
            connection.sendall(b"".join(b"\x16\3\1\0\1" + message[at:at + 1]
                                        for at in range(start, min(start + 50, len(message)))))
        return connection.recv(100).hex()


def second_hello(way, host, port, name, *, at_once=False):
    """TLS with a server that asks for another ClientHello, which is for `name` (as long as `host`). With `at_once` both
    are sent together, by somebody who knows what the server will say. How much comes back to the second."""
    def begin():
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        session = context.wrap_bio(incoming, outgoing, server_hostname=host)

        def go_on(received=b""):
            incoming.write(received)
            try:
                session.do_handshake()
            except ssl.SSLWantReadError:
                pass
            return outgoing.read()
        return go_on

    def ask(send_both):
        with WAYS[way](host, port) as connection:
            connection.settimeout(PATIENCE)
            if send_both:
                connection.sendall(send_both)
                return everything(connection)
            go_on = begin()
            first = go_on()
            connection.sendall(first)
            second = go_on(connection.recv(4096)).replace(host.encode(), name.encode())
            if at_once:
                return first + second
            connection.sendall(second)
            return connection.recv(4096)

    answer = ask(None)
    return len(ask(answer) if at_once else answer)


def both_hellos(way, host, port, name):
    return second_hello(way, host, port, name, at_once=True)


def early(host, port):
    """TCP with data in its first packet, without connect()."""
    with socket.socket() as sending:
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", PATIENCE, 0))
        sending.sendto(b"GET /early HTTP/1.0\r\n\r\n", 0x20000000, (host, int(port)))  # MSG_FASTOPEN
        return everything(sending).decode("latin-1")


OPERATIONS = {function.__name__: function for function in (
    get, socks, proxy, query, hello, hello_in_pieces, second_hello, both_hellos, early)}


def outcome(words):
    try:
        return {"got": OPERATIONS[words[0]](*words[1:])}
    except ssl.SSLError as error:
        return {"error": "TLS", "words": str(error)}
    except ConnectionError as error:
        return {"error": errno.errorcode.get(error.errno or 0, "refused"), "words": str(error)}
    except OSError as error:
        return {"error": errno.errorcode.get(error.errno or 0, type(error).__name__), "words": str(error)}


def main(words):
    while words:
        end = words.index("--") if "--" in words else len(words)
        print(json.dumps(outcome(words[:end])), flush=True)
        words = words[end + 1:]


main(sys.argv[1:])
