"""A small internet of the test's own, in network namespaces that are gone afterwards.

    machine  where cloche runs: one address of its own, a resolv.conf that names the
             world's name server, and a wire to
    world    the other end of it: a name server that writes down every question, and
             whatever servers a test starts. They are threads of the test whose
             sockets were made there.

Needs root, who makes namespaces; the person who runs cloche need not be root."""

import base64
import contextlib
import ctypes
import hashlib
import http.server
import io
import json
import os
import pathlib
import socket
import socketserver
import ssl
import struct
import subprocess
import tarfile
import tempfile
import textwrap
import threading
import time
import zipfile

CLONE_NEWNET = 0x40000000
A, PTR, TXT, AAAA = 1, 12, 16, 28

MACHINE_V4, MACHINE_V6 = "203.0.113.1", "2001:db8:77::1"
NAMES_V4 = "203.0.113.53"
SERVER_V4, SERVER_V6 = "203.0.113.10", "2001:db8:77::10"
OTHER_V4 = "203.0.113.11"
METADATA = "169.254.169.254"
PATIENCE = 30
ORDINARY_UID = 60321

def publish_npm_package(site, name):
    """On packages.test, as a registry of npm's would have it; it exports 42."""
    package = io.BytesIO()
    with tarfile.open(fileobj=package, mode="w:gz") as archive:
        for file, content in (("package.json", json.dumps({"name": name, "version": "1.0.0"}).encode()),
                              ("index.js", b"module.exports = 42\n")):  # fmt: skip
            info = tarfile.TarInfo(f"package/{file}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    content = package.getvalue()
    site.content[f"/{name}/-/{name}-1.0.0.tgz"] = content
    site.content[f"/{name}"] = json.dumps({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": name, "version": "1.0.0", "dist": {
            "tarball": f"http://packages.test/{name}/-/{name}-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()}}}}).encode()


def publish_python_package(site, name):
    """On packages.test, as an index of pip's would have it; it says 42 if it is run. The wheel is returned."""
    made = io.BytesIO()
    wheel, facts = f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{name}.py", "print(42)\n")
        archive.writestr(f"{facts}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{facts}/RECORD", "".join(f"{file},,\n" for file in (
            f"{name}.py", f"{facts}/METADATA", f"{facts}/WHEEL", f"{facts}/RECORD")))
    site.content[f"/simple/{name}/"] = f'<a href="/{wheel}">{wheel}</a>'.encode()
    site.content[f"/{wheel}"] = made.getvalue()
    return made.getvalue()


def python(text):
    """The words of a command that is a script of the test's."""
    return ["/usr/bin/python3", "-c", textwrap.dedent(text)]


_libc = ctypes.CDLL(None, use_errno=True)


def _enter_network(pid):
    with open(f"/proc/{pid}/ns/net", "rb") as namespace:
        if _libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


class NameServer:
    """Answers from a table; a name that is not in it does not exist. Remembers what was asked."""

    def __init__(self, sockets):
        self.udp, self.tcp = sockets
        self.records = {}
        self.asked = []
        self.delay = 0
        self.silent = False
        self.only_tcp = False  # over UDP it says no more than that
        threading.Thread(target=self._serve_udp, daemon=True).start()
        threading.Thread(target=self._serve_tcp, daemon=True).start()

    def add(self, name, *addresses):
        """A name with addresses of both kinds."""
        for address in addresses:
            kind = AAAA if ":" in address else A
            packed = socket.inet_pton(socket.AF_INET6 if kind == AAAA else socket.AF_INET, address)
            self.records.setdefault((name.lower(), kind), []).append(packed)

    def add_text(self, name, text):
        self.records.setdefault((name.lower(), TXT), []).append(bytes([len(text)]) + text)

    def names_asked(self):
        return {name for name, _ in self.asked}

    @staticmethod
    def _question(message):
        labels, at = [], 12
        while message[at]:
            labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1"))
            at += 1 + message[at]
        kind = struct.unpack("!H", message[at + 1:at + 3])[0]
        return ".".join(labels).lower(), kind, message[12:at + 5]

    def _answer(self, message):
        name, kind, question = self._question(message)
        self.asked.append((name, kind))
        if self.silent:
            return None
        if self.delay:
            time.sleep(self.delay)
        found = self.records.get((name, kind), [])
        exists = any(name == known for known, _ in self.records)
        flags = 0x8180 if exists else 0x8183
        head = message[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0)
        return head + question + b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data for data in found)

    def _serve_udp(self):
        def reply(message, sender):
            if self.only_tcp:
                _, _, question = self._question(message)
                self.udp.sendto(message[:2] + struct.pack("!HHHHH", 0x8380, 1, 0, 0, 0) + question, sender)
                return
            answer = self._answer(message)
            if answer:
                self.udp.sendto(answer, sender)

        while True:
            try:
                message, sender = self.udp.recvfrom(4096)
            except OSError:
                return
            if len(message) < 12:
                return  # the socket was shut down
            threading.Thread(target=reply, args=(message, sender), daemon=True).start()

    def _serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                length = struct.unpack("!H", connection.recv(2))[0]
                answer = self._answer(connection.recv(length))
                if answer:
                    connection.sendall(struct.pack("!H", len(answer)) + answer)


class Pages(http.server.BaseHTTPRequestHandler):
    """Says who was asked for what; keeps the heads it was sent."""

    protocol_version = "HTTP/1.1"

    def _reply(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        content = self.server.content.get(self.path)
        if content is None:
            content = f"page {self.path} of {self.headers.get('Host')}\n".encode()
        self.send_response(200)
        kind = "json" if content[:1] == b"{" else "octet-stream"
        self.send_header("Content-Type", "text/html" if content[:1] == b"<" else f"application/{kind}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_HEAD = _reply

    def log_message(self, *arguments):
        pass


class _WebServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, request, client_address):
        pass


class World:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self._holders = []
        self._sockets = []
        self.world = self._hold("--net")
        self.machine = self._hold("--net", "--mount")
        self._connect()
        self._tell_names()
        self.names = NameServer((self.socket(socket.SOCK_DGRAM, (NAMES_V4, 53)),
                                 self.listener((NAMES_V4, 53))))
        self.certificates = None
        self._ports = iter(range(7000, 9000))

    def port(self):
        """One that nobody else in this world uses."""
        return next(self._ports)

    # -- namespaces

    def _hold(self, *kinds):
        holder = subprocess.Popen(["unshare", *kinds, "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
        holder.stdout.readline()
        self._holders.append(holder)
        return holder.pid

    def _in(self, pid, *words):
        subprocess.run(["nsenter", "-t", str(pid), "-n", "-m", "--", *words], check=True, timeout=PATIENCE)

    def _connect(self):
        subprocess.run(["ip", "link", "add", "wire", "netns", str(self.machine), "type", "veth",
                        "peer", "name", "wire", "netns", str(self.world)], check=True)
        for pid, addresses in ((self.machine, (f"{MACHINE_V4}/24", f"{MACHINE_V6}/64")),
                               (self.world, (f"{NAMES_V4}/24", f"{SERVER_V4}/24", f"{OTHER_V4}/24", f"{METADATA}/32",
                                             "10.20.30.40/32", f"{SERVER_V6}/64"))):
            self._in(pid, "ip", "link", "set", "lo", "up")
            self._in(pid, "ip", "link", "set", "wire", "up")
            for address in addresses:
                self._in(pid, "ip", "address", "add", address, "dev", "wire", *(["nodad"] if ":" in address else []))
        self._in(self.machine, "ip", "route", "add", "default", "via", SERVER_V4)
        self._in(self.machine, "ip", "-6", "route", "add", "default", "via", SERVER_V6)

    def _tell_names(self):
        """A machine's files: its resolver, its hosts and its people (ssh wants to know who calls), seen by nobody else."""
        people = pathlib.Path("/etc/passwd").read_text() + f"somebody:x:{ORDINARY_UID}:{ORDINARY_UID}::/nonexistent:/bin/sh\n"
        for name, content in (("resolv.conf", f"nameserver {NAMES_V4}\noptions timeout:1 attempts:2\n"),
                              ("hosts", "127.0.0.1 localhost\n::1 localhost\n"), ("passwd", people)):
            file = self.directory / name
            file.write_text(content)
            file.chmod(0o644)
            self._in(self.machine, "mount", "--bind", str(file), f"/etc/{name}")

    def close(self):
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for holder in self._holders:
            holder.kill()
            holder.wait()

    # -- servers

    def _made_in(self, pid, make):
        made = []

        def work():
            try:
                _enter_network(pid)
                made.append(make())
            except OSError as error:
                made.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if isinstance(made[0], OSError):
            raise made[0]
        self._sockets += made
        return made[0]

    def socket(self, kind, address, pid=None):
        def make():
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            made = socket.socket(family, kind)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            return made

        return self._made_in(pid or self.world, make)

    def listener(self, address, on_machine=False):
        made = self.socket(socket.SOCK_STREAM, address, self.machine if on_machine else None)
        made.listen(1024)
        return made

    def connection(self, address):
        """From the machine, as its own programs would connect."""
        return self._made_in(self.machine, lambda: socket.create_connection(address, timeout=PATIENCE))

    def web(self, address, tls=None, on_machine=False):
        """A web server that answers everything; with `tls`, a list of names it has a certificate for."""
        server = _WebServer(address, Pages, bind_and_activate=False)
        server.socket.close()
        server.socket = self.listener(address, on_machine)
        server.requests, server.content = [], {}
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate(tls))
            context.set_alpn_protocols(["http/1.1"])
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def serve(self, address, talk, on_machine=False):
        """Each connection to `talk`, in a thread of its own. The list of those that came is given back."""
        return self.attend(self.listener(address, on_machine), talk)

    @staticmethod
    def attend(listener, talk):
        """The same with a socket that listens already."""
        came = []

        def handle(connection, peer):
            came.append(peer)
            with contextlib.suppress(OSError), connection:
                talk(connection)

        def accept():
            while True:
                try:
                    connection, peer = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(connection, peer), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return came

    @contextlib.contextmanager
    def program(self, address, *words, user=0, cwd="/", environment=None):
        """A server that is a program of its own, in the world, from when it listens at `address` until the end."""
        with open(self.directory / "program.log", "ab") as log:
            server = subprocess.Popen(["nsenter", "-t", str(self.world), "--net", "-S", str(user), "-G", str(user), "--",
                                       *(str(word) for word in words)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", **(environment or {})})
        end = time.monotonic() + PATIENCE
        try:
            while server.poll() is None and time.monotonic() < end:
                try:
                    self.connection(address).close()
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                raise AssertionError(f"{words[0]} does not listen: " + (self.directory / "program.log").read_text())
            yield server
        finally:
            server.terminate()
            server.wait()

    def certificate(self, names):
        """(certificate, key) for these names, and authority.pem, which signed it."""
        if not self.certificates:
            self.certificates = self.directory / "certificates"
            self.certificates.mkdir()
            self.certificates.chmod(0o755)
            self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                          "-subj", "/CN=the test's own authority", "-keyout", "authority.key", "-out", "authority.pem")
        alternatives = ",".join(("IP:" if name[-1].isdigit() else "DNS:") + name for name in names)
        stem = names[0].replace("*", "any")
        (self.certificates / f"{stem}.ext").write_text(f"subjectAltName={alternatives}\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={names[0]}",
                      "-keyout", f"{stem}.key", "-out", f"{stem}.csr")
        self._openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
                      "-CAcreateserial", "-days", "2", "-extfile", f"{stem}.ext", "-out", f"{stem}.pem")
        return self.certificates / f"{stem}.pem", self.certificates / f"{stem}.key"

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.certificates, check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # -- people

    def words(self, person, program, *arguments, cwd=None):
        """The command line of something that a person does on the machine."""
        return ["nsenter", "-t", str(self.machine), "--net", "--mount", f"--wdns={cwd or person.project}",
                "-S", str(person.uid), "-G", str(person.uid), "--", str(program), *(str(word) for word in arguments)]

    def start(self, person, program, *arguments, environment=None, cwd=None, **keywords):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "errors": "surrogateescape", **keywords}
        return subprocess.Popen(self.words(person, program, *arguments, cwd=cwd),
                                env={**person.environment, **(environment or {})}, **options)

    def run(self, person, program, *arguments, seconds=60, **keywords):
        process = self.start(person, program, *arguments, **keywords)
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            raise AssertionError(f"no end after {seconds} seconds: {stdout} {stderr}") from None
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def cloche(self, person, *arguments, **keywords):
        return self.run(person, person.binaries / "cloche", *arguments, **keywords)


@contextlib.contextmanager
def new_world():
    with tempfile.TemporaryDirectory(prefix="cloche-world-") as directory:
        os.chmod(directory, 0o755)
        world = World(directory)
        try:
            yield world
        finally:
            world.close()
