"""What goes wrong on a filtered network: servers and name servers that are slow, dead or
rude, clients by the thousand, processes that are killed. Each has an outcome within bounds."""

import contextlib
import hashlib
import json
import os
import re
import selectors
import signal
import socket
import struct
import threading
import time

import pytest

from judging import processes, wait_until
from remote_world import SERVER_V4, python


def network_process(run):
    """Host pid of the network process of a run: the child that is in the network of its parent and sees no file."""
    def children():
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{int(entry)}/stat") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
                if parent == run.pid and os.readlink(f"/proc/{entry}/ns/net") == os.readlink(f"/proc/{run.pid}/ns/net") \
                        and os.listdir(f"/proc/{entry}/root") == []:
                    yield int(entry)

    assert wait_until(lambda: list(children()))
    return next(children())


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_an_upstream_that_resets_is_a_reset_at_once(go, world):
    port = world.port()
    world.serve((SERVER_V4, port), reset)
    started = time.monotonic()
    answer = go(*python(f"""
        import socket
        s = socket.create_connection(("site.test", {port}), 9); s.settimeout(9)
        try:
            s.sendall(b"x"); print(s.recv(1))
        except OSError as error:
            print(error.strerror)
        """))
    assert answer.stdout in ("Connection reset by peer\n", "Broken pipe\n"), answer
    assert time.monotonic() - started < 5


def test_a_port_where_nobody_listens_is_refused_at_once(go, world):
    started = time.monotonic()
    assert "502" in go("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://site.test:{world.port()}/").stdout
    assert go("curl", "-s", "--noproxy", "*", f"http://site.test:{world.port()}/").returncode in (7, 35, 52, 56)
    assert time.monotonic() - started < 5


def test_an_upstream_that_never_answers_holds_nobody_else_up(go, world):
    port = world.port()
    world.serve((SERVER_V4, port), lambda c: time.sleep(60))
    answer = go("sh", "-c", f"curl -s -m 30 http://site.test:{port}/ & curl -s -m 30 --noproxy '*' http://site.test:{port}/ & "
                            "curl -s http://site.test/x; kill %1 %2; true")
    assert answer.stdout == "page /x of site.test\n", answer


def test_an_answer_byte_by_byte_arrives_whole(go, world):
    port = world.port()

    def drip(connection):
        connection.recv(65536)
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello":
            connection.sendall(bytes([byte]))
            time.sleep(0.002)

    world.serve((SERVER_V4, port), drip)
    for direct in ([], ["--noproxy", "*"]):
        assert go("curl", "-sS", *direct, f"http://site.test:{port}/").stdout == "hello"


def test_a_slow_name_server_delays_only_who_asks_it(world, person, site):
    world.names.add("slow.test", SERVER_V4)
    world.names.delay = 1
    try:
        started = time.monotonic()
        answer = world.cloche(person, "run", "--allow-domain", "slow.test", "--", "sh", "-c",
                              "for i in 1 2 3 4 5 6 7 8; do curl -s http://slow.test/x & done; wait")
        assert answer.stdout == "page /x of slow.test\n" * 8, answer
        assert time.monotonic() - started < 5
    finally:
        world.names.delay = 0


def test_a_dead_name_server_is_an_error_within_bounds(world, person, site):
    world.names.add("dead.test", SERVER_V4)
    world.names.silent = True
    try:
        started = time.monotonic()
        answer = world.cloche(person, "run", "--allow-domain", "dead.test", "--", "curl", "-s", "-o", "/dev/null", "-w",
                              "%{http_code}", "http://dead.test/")
        assert answer.stdout == "502", answer
        assert time.monotonic() - started < 45
    finally:
        world.names.silent = False


def test_a_name_server_that_wants_to_be_asked_over_tcp_is(world, go):
    world.names.add("long.test", SERVER_V4)
    world.names.only_tcp = True
    try:
        assert go("curl", "-sS", "--noproxy", "*", "http://long.test/x", options=["--allow-domain", "long.test"]).stdout == \
            "page /x of long.test\n"
    finally:
        world.names.only_tcp = False


def test_half_closed_connections_carry_the_rest(go, world):
    port = world.port()

    def count(connection):
        size = 0
        while data := connection.recv(65536):
            size += len(data)
        connection.sendall(f"{size} bytes".encode())

    world.serve((SERVER_V4, port), count)
    answer = go(*python(f"""
        import socket
        s = socket.create_connection(("site.test", {port}), 9)
        s.sendall(b"x" * 1000000); s.shutdown(socket.SHUT_WR)
        print(s.makefile().read())
        """))
    assert answer.stdout == "1000000 bytes\n", answer


@pytest.mark.parametrize("direct", [["--noproxy", "*"], [], ["-p"]], ids=["transparent", "proxy", "tunnel"])
def test_large_transfers_are_exact_both_ways(go, world, person, site, direct):
    content = os.urandom(1 << 20) * 48
    site.content["/large"] = content
    person.file("upload", content[::-1])
    before = len(site.requests)
    answer = go("sh", "-c", 'curl -sS "$@" http://site.test/large | sha256sum; curl -sS "$@" -T upload http://site.test/up', "sh",
                *direct, seconds=120)
    assert answer.stdout.split()[0] == hashlib.sha256(content).hexdigest(), answer
    assert hashlib.sha256(site.requests[before + 1][3]).digest() == hashlib.sha256(content[::-1]).digest()
    del site.content["/large"], site.requests[:]


def test_a_client_that_never_reads_does_not_fill_memory(world, person, site):
    port = world.port()
    sent = []

    def flood(connection):
        chunk = b"x" * 1000000
        while len(sent) < 500:
            connection.sendall(chunk)
            sent.append(1)

    world.serve((SERVER_V4, port), flood)
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--", *python(f"""
        import socket, sys
        s = socket.create_connection(("site.test", {port}), 9); print("connected", flush=True); sys.stdin.readline()
        """), stdin=-1)
    try:
        assert run.stdout.readline() == "connected\n"
        pid = network_process(run)
        time.sleep(1)
        with open(f"/proc/{pid}/status") as status:
            resident = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        assert resident < 32000, resident
        assert len(sent) < 60
    finally:
        run.communicate("\n")


IDLE_TUNNELS = """
import os, re, resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
def echo(s, text):
    s.sendall(text); return s.recv(100) == text
all = []
for i in range(COUNT):
    s = socket.create_connection(("site.test", PORT), 30); s.settimeout(30)
    all.append(s)
assert all[0].getpeername()[0].startswith("198.1")
print(sum(echo(s, b"%d" % i) for i, s in enumerate(all)), flush=True)
sys.stdin.readline()
print(sum(echo(s, b"again %d" % i) for i, s in enumerate(all)), flush=True)
"""


def echo_server(world):
    port = world.port()

    def echo(connection):
        while data := connection.recv(65536):
            connection.sendall(data)

    world.serve((SERVER_V4, port), echo)
    return port


def test_a_thousand_idle_tunnels_stay_open_in_little_memory(world, person, site):
    port = echo_server(world)
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--", "/usr/bin/python3", "-c",
                      IDLE_TUNNELS.replace("PORT", str(port)).replace("COUNT", "1000"), stdin=-1)
    try:
        assert run.stdout.readline() == "1000\n", run.communicate("\n")
        with open(f"/proc/{network_process(run)}/smaps_rollup") as rollup:
            private = sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+)", rollup.read(), re.MULTILINE))
        assert private < 64 * 1000, private
    finally:
        stdout, stderr = run.communicate("\n", timeout=60)
    assert stdout == "1000\n", stderr


def answering_server(world):
    """As quick as Python can be: one thread answers everybody once."""
    listener = world.listener((SERVER_V4, port := world.port()))
    listener.setblocking(False)
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)

    def accept():
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)

    def serve_one(connection):
        waiting.unregister(connection)
        connection.sendall(b"answer to " + connection.recv(100))
        connection.close()

    def serve():
        while listener.fileno() >= 0:
            for key, _ in waiting.select(1):
                with contextlib.suppress(OSError, KeyError, ValueError):
                    if key.fileobj is listener:
                        accept()
                    else:
                        serve_one(key.fileobj)

    threading.Thread(target=serve, daemon=True).start()
    return port


BURSTS = """
import selectors, socket, time
address = socket.getaddrinfo("site.test", PORT, socket.AF_INET, socket.SOCK_STREAM)[0][4]
waiting = selectors.DefaultSelector()
good = 0
for burst in range(20):
    for number in range(500):
        s = socket.socket(); s.setblocking(False)
        s.connect_ex(address)
        waiting.register(s, selectors.EVENT_WRITE, b"%d" % (500 * burst + number))
    end = time.monotonic() + 60
    while waiting.get_map() and time.monotonic() < end:
        for key, events in waiting.select(1):
            if events == selectors.EVENT_WRITE:
                key.fileobj.send(key.data)
                waiting.modify(key.fileobj, selectors.EVENT_READ, key.data)
                continue
            good += key.fileobj.recv(100) == b"answer to " + key.data
            waiting.unregister(key.fileobj)
            key.fileobj.close()
print(good)
"""


def test_ten_thousand_short_requests_in_bursts_all_succeed(go, world):
    port = answering_server(world)
    answer = go(*python(BURSTS.replace("PORT", str(port))), seconds=120)
    assert answer.stdout == "10000\n", answer


def test_few_descriptors_are_a_bounded_number_of_connections_and_no_crash(world, person, site):
    port = echo_server(world)
    script = python(f"""
        import socket
        good = 0
        all = []
        for i in range(300):
            try:
                s = socket.create_connection(("site.test", {port}), 3); s.settimeout(3)
                s.sendall(b"x")
                all.append(s)
                good += s.recv(1) == b"x"
            except OSError:
                break
        for s in all:
            s.close()
        import time; time.sleep(0.5)
        s = socket.create_connection(("site.test", {port}), 10); s.settimeout(10); s.sendall(b"y")
        print(good > 20, s.recv(1))
        """)
    answer = world.run(person, "sh", "-c", 'ulimit -n 256; exec "$@"', "sh", person.binaries / "cloche", "run", "--allow-domain",
                       "site.test", "--", *script, seconds=90)
    assert answer.stdout == "True b'y'\n", answer


def test_the_network_process_killed_is_said_and_nothing_is_let_through(world, person, site):
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--", "sh", "-c",
                      "curl -sf http://site.test/x; read line; curl -sSf -m 5 --noproxy '*' http://site.test/x; echo $?; "
                      f"curl -sSf -m 5 --noproxy '*' http://{SERVER_V4}/x; echo $?", stdin=-1)
    assert run.stdout.readline() == "page /x of site.test\n"
    os.kill(network_process(run), signal.SIGKILL)
    started = time.monotonic()
    stdout, stderr = run.communicate("\n", timeout=60)
    assert stdout.split()[-1] == "7" and "page" not in stdout, (stdout, stderr)
    assert "the network process has ended" in stderr
    assert run.returncode == 0


def test_the_supervisor_killed_leaves_nothing_behind(world, person, site):
    port = world.port()
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--publish", port, "--", "sh", "-c",
                      "curl -sf http://site.test/x; exec sleep 1000")
    assert run.stdout.readline() == "page /x of site.test\n"
    network = network_process(run)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert wait_until(lambda: not os.path.exists(f"/proc/{network}"))
    assert wait_until(lambda: world.run(person, "curl", "-s", f"http://127.0.0.1:{port}/").returncode == 7)


class Endless:
    """A server that sends without end, and knows when nobody takes it any more."""

    def __init__(self, world):
        self.port = world.port()
        self.sent = 0
        self.ended = threading.Event()
        world.serve((SERVER_V4, self.port), self.talk)

    def talk(self, connection):
        try:
            while True:
                self.sent += connection.send(b"x" * 65536)
        except OSError:
            self.ended.set()

    def flows(self):
        before = self.sent
        return wait_until(lambda: self.sent > before + (1 << 20))


TAKE = """
import os, socket, sys, time
s = socket.create_connection(("site.test", {port}), 9); s.settimeout(9)
print(len(s.recv(65536)) > 0, flush=True)
size = 0
try:
    while data := s.recv(65536):
        size += len(data)
    print("end", size > 0)
except OSError as error:
    print(error.strerror, size > 0)
time.sleep(0.5)  # else the run may be over before anybody notices
"""


def test_the_network_process_killed_in_the_middle_of_a_transfer_is_an_error_at_once(world, person, site):
    server = Endless(world)
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--",
                      *python(TAKE.format(port=server.port)))
    assert run.stdout.readline() == "True\n"
    assert server.flows()
    os.kill(network_process(run), signal.SIGKILL)
    killed = time.monotonic()
    stdout, stderr = run.communicate(timeout=60)
    assert stdout in ("Connection reset by peer True\n", "end True\n"), (stdout, stderr)
    assert time.monotonic() - killed < 5
    assert "the network process has ended" in stderr and run.returncode == 0
    assert server.ended.wait(10)


def test_the_supervisor_killed_in_the_middle_of_a_transfer_ends_all_of_it(world, person, site):
    server = Endless(world)
    mark = f"mark-{os.urandom(6).hex()}"
    run = world.start(person, person.binaries / "cloche", "run", "--allow-domain", "site.test", "--",
                      *python(TAKE.format(port=server.port)), mark)
    assert run.stdout.readline() == "True\n"
    assert server.flows()
    network = network_process(run)
    os.kill(run.pid, signal.SIGKILL)
    assert wait_until(lambda: not processes(mark), 5)
    assert wait_until(lambda: not os.path.exists(f"/proc/{network}"), 5)
    assert server.ended.wait(10)
    run.communicate()


NAMES_MAX = 32768
FILL_NAMES = """
import socket, struct
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asking.settimeout(20); asking.connect(("8.8.8.8", 53))
def ask(number):
    label = b"n%d" % number
    asking.send(struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + bytes([len(label)]) + label + b"\\4site\\4test\\0" + struct.pack("!HH", 1, 1))
def status():
    return asking.recv(4096)[3] & 15
given = 0
for first in range(0, COUNT, 64):
    for number in range(first, first + 64):
        ask(number)
    given += sum(status() == 0 for _ in range(64))
print(given)
for number in (COUNT, 0, COUNT - 1):
    ask(number)
    print(status())
"""


def test_a_full_table_of_names_is_a_failure_of_the_server_and_old_names_stay(world, person, site):
    """Names that a parent proxy resolves are given out without asking anybody."""
    policy = person.file("policy.json", {"extends": ["preset:dev"], "network": {
        "allowedDomains": ["*.site.test"], "parentProxy": {"http": f"http://{SERVER_V4}:1", "https": f"http://{SERVER_V4}:1"}}})
    script = FILL_NAMES.replace("COUNT", str(NAMES_MAX))
    answer = world.cloche(person, "run", "-s", policy, "--", "/usr/bin/python3", "-c", script)
    no_error, server_failure = 0, 2
    assert list(map(int, answer.stdout.split())) == [NAMES_MAX, server_failure, no_error, no_error], answer


def test_a_refused_name_is_told_with_the_reason_to_who_can_read_it(go):
    """NXDOMAIN with extended error 15 (blocked): musl ignores REFUSED."""
    answer = go(*python(r"""
        import socket, struct
        def ask(name):
            labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
            edns = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)
            message = struct.pack("!6H", 9, 0x100, 1, 0, 0, 1) + labels + b"\0" + struct.pack("!HH", 1, 1) + edns
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(9); s.connect(("8.8.8.8", 53)); s.send(message)
            reply = s.recv(4096)
            at = reply.find(struct.pack("!H", 41), 12 + len(labels) + 4)
            options = reply[at + 10:]
            extended = struct.unpack("!HHH", options[:6])[2] if options[:2] == b"\0\x0f" else None
            return reply[3] & 15, extended
        print(*ask("other.test"), *ask("site.test"))
        """))
    assert answer.stdout == "3 15 0 None\n", answer


def test_a_run_that_ends_ends_its_connections(world, person, site):
    port = world.port()
    ended = threading.Event()

    def wait_for_end(connection):
        connection.sendall(b"hello\n")
        try:
            while connection.recv(1000):
                pass
        except OSError:
            pass
        ended.set()

    world.serve((SERVER_V4, port), wait_for_end)
    answer = world.cloche(person, "run", "--allow-domain", "site.test", "--", *python(
        f"import os, socket; s = socket.create_connection(('site.test', {port})); s.recv(10); os.fork() or os._exit(0); os._exit(3)"))
    assert answer.returncode == 3
    assert ended.wait(10)


# -- --control-fd

class Controlled:
    """A run whose lists of hosts are replaced while it runs: each line on stdin is a shell command."""

    def __init__(self, world, person, *options, program="cloche"):
        self.read, self.write = os.pipe()
        words = ["run"] if program == "cloche" else []
        self.run = world.start(person, person.binaries / program, *words, *options, "--control-fd", self.read,
                               "sh", "-c", 'while read line; do eval "$line"; echo; done', stdin=-1, pass_fds=[self.read])
        os.close(self.read)

    def tell(self, line):
        os.write(self.write, (line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")

    def reaches(self, name):
        self.run.stdin.write(f"curl -s -m 9 -o /dev/null -w '%{{http_code}}' http://{name}/\n")
        self.run.stdin.flush()
        return self.run.stdout.readline() == "200\n"

    def ask(self, line):
        self.run.stdin.write(line + "\n")
        self.run.stdin.flush()
        return self.run.stdout.readline()

    def end(self):
        os.close(self.write)
        return self.run.communicate()[1]


def test_lists_of_hosts_are_replaced_while_the_command_runs(world, person, site):
    world.names.add("later.test", SERVER_V4)
    run = Controlled(world, person, "--allow-domain", "site.test")
    assert run.reaches("site.test") and not run.reaches("later.test")
    run.tell({"network": {"allowedDomains": ["later.test"]}})
    assert wait_until(lambda: run.reaches("later.test")) and not run.reaches("site.test")
    run.tell({"network": {"allowedDomains": ["*"], "deniedDomains": ["later.test"]}})
    assert wait_until(lambda: run.reaches("site.test")) and not run.reaches("later.test")
    # Several policies, as --settings takes them.
    run.tell(["preset:dev", '{"network": {"allowedDomains": ["later.test"]}}'])
    assert wait_until(lambda: run.reaches("later.test")) and not run.reaches("site.test")
    assert "site.test" in run.end()


@pytest.mark.parametrize("line", ["not json", "[]", '["preset:nowhere"]', '[{"network": {}}]', '{"network": {"allowedDomains": ["a b"]}}', '{"network": {"allowedDomain": []}}',
                                  '{"network": {"allowedDomains": "*"}}', '{"network": ', "\0", "{" * 100000, "x" * 2000000])
def test_94_a_line_that_is_no_policy_keeps_the_old_one(world, person, site, line):
    world.names.add("never.test", SERVER_V4)
    run = Controlled(world, person, "--allow-domain", "site.test")
    assert run.reaches("site.test")
    run.tell(line)
    time.sleep(0.1)
    assert run.reaches("site.test") and not run.reaches("never.test")
    run.tell({"network": {"allowedDomains": ["never.test"]}})
    assert wait_until(lambda: run.reaches("never.test"))
    assert re.search("--control-fd", run.end())


def test_the_descriptor_is_not_visible_inside_and_its_end_changes_nothing(world, person, site):
    run = Controlled(world, person, "--allow-domain", "site.test")
    assert run.ask("printf %s $(ls /proc/self/fd | wc -w)") == "4\n"  # the three and that of the listing
    os.close(run.write)
    run.write = os.open("/dev/null", os.O_RDONLY)
    assert run.reaches("site.test")
    run.end()


def test_srt_takes_new_settings_too(world, person, site):
    world.names.add("later.test", SERVER_V4)

    def settings(*allowed):
        return {"network": {"allowedDomains": list(allowed), "deniedDomains": []},
                "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}

    run = Controlled(world, person, "-s", person.file("settings.json", settings("site.test")), program="srt")
    assert run.reaches("site.test") and not run.reaches("later.test")
    run.tell({"network": {"allowedDomains": ["later.test"]}})  # not all that srt wants
    assert not run.reaches("later.test")
    run.tell(settings("later.test"))
    assert wait_until(lambda: run.reaches("later.test")) and not run.reaches("site.test")
    assert "denied:" not in run.end()


def test_control_needs_a_descriptor_that_can_be_read(world, person, site):
    for number in ("2", "77", "x", "-1"):
        answer = world.cloche(person, "run", f"--control-fd={number}", "true")
        assert answer.returncode == 125 and "--control-fd" in answer.stderr, answer
    read, write = os.pipe()
    answer = world.cloche(person, "run", "-p", "strict", f"--control-fd={read}", "true", pass_fds=[read])
    assert answer.returncode == 125 and "network.mode is none (preset:strict: network.mode)" in answer.stderr, answer
    os.close(read)
    os.close(write)
