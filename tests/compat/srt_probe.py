"""Runs inside a sandbox and prints what came of each operation, one line each:

    python3 -I srt_probe.py write:FILE read:FILE http:HOST:PORT ...

Files: read list write make mkdir rmdir unlink chmod rename:A:B link:A:B symlink:A:B kind
Sockets: http connect socks (through the proxies) tcp udp name unix pair family bind
Others: fd:NUMBER, mount, uring, process:PID"""

import base64
import ctypes
import errno
import os
import socket
import stat
import sys
import tempfile
import urllib.parse

PATIENCE = 10
SYS_IO_URING_SETUP = 425
libc = ctypes.CDLL(None, use_errno=True)


def kind(path):
    status = os.lstat(path)
    names = {stat.S_IFDIR: "directory", stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFCHR: "device"}
    return names.get(stat.S_IFMT(status.st_mode), "other")


def read(path):
    with open(path, "rb") as file:
        return repr(file.read(60).decode())


def write(path):
    with open(path, "ab", buffering=0) as file:
        file.write(b"+")


def make(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))


def host_and_port(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def proxy(name):
    url = urllib.parse.urlsplit(os.environ[name])
    return url.port, urllib.parse.unquote(url.username or ""), url.password or ""


def asked(request):
    """What the HTTP proxy says, in a few words."""
    port, user, token = proxy("HTTP_PROXY")
    login = f"Proxy-Authorization: Basic {base64.b64encode(f'{user}:{token}'.encode()).decode()}\r\n"
    with socket.create_connection(("localhost", port), PATIENCE) as connection:
        connection.sendall(request.replace("LOGIN", login).encode())
        answer = b""
        while not (request.startswith("CONNECT") and b"\r\n\r\n" in answer) and (more := connection.recv(65536)):
            answer += more
    head, _, body = answer.decode("latin-1").partition("\r\n\r\n")
    lines = head.split("\r\n")
    told = [line.split(":")[1].strip() for line in lines if line.lower().startswith("x-proxy-error")]
    code, phrase = (lines[0].split(" ", 2) + ["", ""])[1:3]
    return " ".join([code, *([phrase] if request.startswith("CONNECT") else []), *told,
                     *([body.strip()] if code == "200" and request.startswith("GET") else [])])


def http(text):
    return asked(f"GET http://{text}/ HTTP/1.1\r\nHost: {text}\r\nConnection: close\r\nLOGIN\r\n")


def connect(text):
    return asked(f"CONNECT {text} HTTP/1.1\r\nHost: {text}\r\nLOGIN\r\n")


def socks(text):
    """The number of the reply."""
    port, user, token = proxy("FTP_PROXY")
    host, to = host_and_port(text)
    with socket.create_connection(("localhost", port), PATIENCE) as connection:
        connection.sendall(b"\5\1\2")
        connection.recv(2)
        connection.sendall(bytes([1, len(user)]) + user.encode() + bytes([len(token)]) + token.encode())
        connection.recv(2)
        connection.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + to.to_bytes(2, "big"))
        return str(connection.recv(100)[1])


def tcp(text):
    """Whether it is connected to; what it says is not asked for."""
    socket.create_connection(host_and_port(text), PATIENCE).close()


def udp(text):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", host_and_port(text))


def name(text):
    try:
        socket.getaddrinfo(text, 80)
    except socket.gaierror as error:
        return {socket.EAI_AGAIN: "EAI_AGAIN", socket.EAI_NONAME: "EAI_NONAME"}.get(error.errno, str(error.errno))
    return "resolved"


def unix(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)


def pair(path):
    """A datagram by one end of a pair to somebody outside."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.connect(path)
    one.send(b"from inside")


def family(text):
    socket.socket(getattr(socket, text)).close()


def bind(_):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        socket.create_connection(server.getsockname(), PATIENCE).close()


def uring(_):
    if libc.syscall(SYS_IO_URING_SETUP, 1, ctypes.create_string_buffer(256)) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_setup")


def namespace(_):
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "unshare")


def mktemp(_):
    descriptor, path = tempfile.mkstemp(dir=os.environ.get("TMPDIR"))
    os.close(descriptor)
    os.unlink(path)


OPERATIONS = {
    "read": read, "write": write, "make": make, "kind": kind, "http": http, "connect": connect, "socks": socks, "tcp": tcp,
    "udp": udp, "name": name, "unix": unix, "pair": pair, "family": family, "bind": bind, "uring": uring,
    "namespace": namespace, "mktemp": mktemp, "list": lambda path: " ".join(sorted(os.listdir(path))), "mkdir": os.mkdir,
    "rmdir": os.rmdir, "unlink": os.unlink, "chmod": lambda path: os.chmod(path, 0o700),
    "process": lambda pid: os.kill(int(pid), 0), "fd": lambda number: os.readlink(f"/proc/self/fd/{number}"),
}  # fmt: skip
TWO = {"rename": os.rename, "link": os.link, "symlink": os.symlink}

for word in sys.argv[1:]:
    operation, _, rest = word.partition(":")
    try:
        if operation in TWO:
            answer = TWO[operation](*rest.split(":"))
        else:
            answer = OPERATIONS[operation](rest)
        print(f"{word} {'done' if answer is None else answer}")
    except OSError as problem:
        print(word, errno.errorcode.get(problem.errno, problem))
