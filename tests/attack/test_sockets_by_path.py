"""Unix sockets by path (section C, 40, 43, 47-50): what the host listens at is out of reach unless allowUnixSockets
names it; what was made inside works.

Judged by who came: the host's servers count their visitors and greet with a secret."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from attacking import OK, PATIENCE, HostSocket, unchanged

STREAM, DATAGRAM, PACKETS = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET
REFUSED = {"EACCES", "EPERM"}
HIDDEN = REFUSED | {"ENOENT"}


@pytest.fixture
def backend():
    """One socket among many needs the doorman, and it a namespace."""
    return "namespaces"


class Host(HostSocket):
    """One at a path that everybody may connect to, which knows what was sent."""

    def __init__(self, person, path, secret, kind=STREAM):
        super().__init__(str(path), secret, kind)
        self.path = pathlib.Path(path)
        person.own(self.path)
        self.path.chmod(0o777)

    def received(self):
        """What was sent, as far as it is there."""
        found = []
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self.socket.recv(100).decode())
        return found


def allowing(jail, *paths, **network):
    return jail.policy(network={"allowUnixSockets": [str(path) for path in paths], **network})


CONNECTS = [["connect", "X"], ["connect-without-waiting", "X"], ["connect-in-child", "X"]]
SPELLINGS = ["X", "./X", "deep/../X", "{project}/X", "/proc/self/cwd/X", "/proc/thread-self/cwd/X",
             "/proc/self/root{project}/X", "way/X", "link", "chain", "/dev/fd/../cwd/X"]


@pytest.fixture
def project(jail):
    jail.person.directory(jail.person.project / "deep")
    jail.person.link("way", ".")
    jail.person.link("link", "socket")
    jail.person.link("chain", "way/link")
    return jail.person.project


def spelled(ways, name):
    return [[name if word == "X" else word for word in way] for way in ways]


def every_way(project, name):
    return [way for spelling in SPELLINGS for way in
            spelled(CONNECTS, spelling.replace("X", name).format(project=project))]


# --- 40: streams and packets ------------------------------------------------------


def test_c40_a_socket_of_the_host_in_the_project_is_reached_by_no_spelling(jail, project, secret):
    tried = every_way(project, "socket")
    with Host(jail.person, project / "socket", secret) as host, Host(jail.person, project / "other", secret) as other:
        found = jail.attacks(*tried)
        assert [(*way, outcome.verdict) for way, outcome in zip(tried, found) if outcome.verdict not in REFUSED] == []
        assert host.visitors == 0 and jail.never_told(secret)
        # Named, it is reached by all of them, and still no other is.
        found = jail.attacks(*tried, policy=allowing(jail, project / "socket"))
        assert [(*way, outcome.verdict) for way, outcome in zip(tried, found) if outcome.verdict != "ok"] == []
        assert host.visitors == len(tried) and not jail.never_told(secret)
        assert jail.attack("connect", "other", policy=allowing(jail, project / "socket")).verdict in REFUSED
        assert other.visitors == 0


def test_c40_packets_are_judged_like_streams(jail, project, secret):
    with Host(jail.person, project / "socket", secret, PACKETS) as host:
        assert jail.attack("connect-packets", "socket").verdict in REFUSED
        assert host.visitors == 0
        assert jail.attack("connect-packets", "socket", policy=allowing(jail, "socket")).shown == secret
        assert host.visitors == 1
    assert jail.attack("connect-to-own", "own") == OK


@pytest.mark.parametrize("where", ["home", "readable", "/tmp", "/var/tmp", "/run"])
def test_c40_a_socket_elsewhere_is_reached_only_when_it_is_named(jail, project, secret, where):
    person = jail.person
    with contextlib.ExitStack() as stack:
        if where in ("home", "readable"):
            directory = person.directory(person.home / ("agent" if where == "home" else ".config/git"))
        elif os.access(where, os.W_OK):
            directory = pathlib.Path(tempfile.mkdtemp(prefix="cloche-attack-", dir=where))
            person.own(directory)
            stack.callback(shutil.rmtree, directory)
        else:
            pytest.skip(f"only root can put a socket into {where}")
        host = stack.enter_context(Host(person, directory / "socket", secret))
        person.link("deep/to-it", directory / "socket")
        ways = [["connect", host.path], ["connect", f"/proc/self/root{host.path}"], ["connect", "deep/to-it"]]
        assert {outcome.verdict for outcome in jail.attacks(*ways)} <= HIDDEN
        assert host.visitors == 0 and jail.never_told(secret)
        found = jail.attacks(*ways, policy=allowing(jail, host.path))
        assert [outcome.shown for outcome in found] == [secret] * 3, found
        assert host.visitors == 3


def test_c40_a_docker_like_socket_that_is_a_link_is_judged_by_what_it_is(jail, secret):
    """/var/run/docker.sock, where /var/run is a link: either spelling in the policy names it."""
    person = jail.person
    host_directory = person.directory(person.home / "run")
    person.link(person.home / "var-run", host_directory)
    with Host(person, host_directory / "docker.sock", secret) as host:
        ways = [["connect", person.home / "var-run/docker.sock"], ["connect", host.path]]
        assert {outcome.verdict for outcome in jail.attacks(*ways)} <= HIDDEN
        assert host.visitors == 0
        for named in (person.home / "var-run/docker.sock", host.path):
            found = jail.attacks(*ways, policy=allowing(jail, named))
            assert found[1].shown == secret, (named, found)
        with Host(person, host_directory / "other.sock", secret) as other:
            assert jail.attack("connect", other.path, policy=allowing(jail, host.path)).verdict in HIDDEN
            assert other.visitors == 0


def test_c40_the_command_line_names_a_socket_too(jail, project, secret):
    with Host(jail.person, project / "socket", secret):
        assert jail.attack("connect", "socket", options=["--allow-unix", "socket"]).shown == secret
        assert jail.attack("connect", "socket", options=["--allow-unix", "other"]).verdict in REFUSED


@pytest.mark.parametrize("way", ["rename", "exchange", "link", "symlink", "rename-below"])
def test_c40_another_name_for_a_socket_of_the_host_does_not_open_it(jail, project, secret, way):
    """A socket of one's own lends its name to the host's."""
    with Host(jail.person, project / "socket", secret) as host:
        own = "own" if way == "exchange" else "fresh"
        found = jail.attacks(["connect-to-own", "own"], [way, "socket", own], ["connect", own])
        assert found[0] == OK
        assert host.visitors == 0 and jail.never_told(secret), found
        assert found[2].verdict in REFUSED | {"ENOENT"}, found


def test_c40_a_socket_of_the_host_in_place_of_an_own_one_is_the_hosts(jail, project, secret):
    """By then a new server of the host listens at the path where the run had one."""
    answers = []
    operations = [["connect-to-own", "deep/socket"], ["unlink", "deep/socket"], ["create", "ready", ""],
                  ["wait-for", "go"], ["connect", "deep/socket"]]
    run = threading.Thread(target=lambda: answers.append(jail.attacks(*operations)))
    run.start()
    end = time.monotonic() + PATIENCE
    while not (project / "ready").exists() and run.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    with Host(jail.person, project / "deep/socket", secret) as host:
        jail.person.file("go")
        run.join(PATIENCE)
        assert [outcome.verdict for outcome in answers[0][:4]] == ["ok"] * 4
        assert answers[0][4].verdict in REFUSED
        assert host.visitors == 0


def test_c40_the_run_beside_it_is_not_inside(jail, project, secret):
    """What one run listens at is the host's to another one."""
    command = jail.command("python3", "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('neighbour'); "
                           "s.listen(); print('there', flush=True); sys.stdin.read()")
    with subprocess.Popen([jail.person.binaries / "cloche", *command], cwd=project, env=jail.person.environment,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **jail.identity()) as neighbour:
        assert neighbour.stdout.readline() == "there\n"
        assert jail.attack("connect", "neighbour").verdict in REFUSED
        neighbour.stdin.close()


def test_c40_explain_and_the_run_agree(jail, project, secret):
    with Host(jail.person, project / "socket", secret):
        for named in ([], ["--allow-unix", "socket"]):
            said = jail.person.cloche("explain", *named, f"unix:{project}/socket").returncode == 0
            assert said == bool(named)
            assert (jail.attack("connect", "socket", options=named).verdict == "ok") == said


def test_c40_all_sockets_can_be_opened_at_once(jail, project, secret):
    with Host(jail.person, project / "socket", secret):
        policy = jail.policy(network={"allowAllUnixSockets": True})
        assert jail.attack("connect", "socket", policy=policy).shown == secret
        assert jail.attack("connect", "socket").verdict in REFUSED


# --- pairs, abstract names, odd addresses ------------------------------------------


@pytest.mark.parametrize("kind", [STREAM, PACKETS], ids=["stream", "packets"])
def test_c48_a_pair_is_not_led_to_a_socket_of_the_host(jail, project, secret, kind):
    with Host(jail.person, project / "socket", secret, kind) as host:
        found = jail.attacks(["connect-from-pair", int(kind), "socket"], ["send-on-pair-to", int(kind), "socket", "x"])
        assert host.visitors == 0 and found[0].verdict != "ok"
    assert jail.attack("hand-over", "own", "handed", int(kind)) == OK
    assert (project / "handed").read_text() == "handed over"


@pytest.mark.parametrize("kind", [STREAM, PACKETS], ids=["stream", "packets"])
def test_c50_descriptors_are_handed_over_between_processes_inside(jail, project, kind):
    assert jail.attacks(["hand-over", "own", "one", int(kind)], ["hand-over", "@own", "two", int(kind)]) == [OK, OK]
    assert (project / "one").read_text() == (project / "two").read_text() == "handed over"


def test_c46_abstract_sockets_work_inside_and_the_hosts_do_not(jail, secret):
    with socket.socket(socket.AF_UNIX) as server:
        name = f"cloche-attack-{os.getpid()}"
        server.bind(f"\0{name}")
        server.listen()
        server.settimeout(0.2)
        found = jail.attacks(["connect", f"@{name}"], ["connect-to-own", "@mine"])
        assert found[0].verdict in REFUSED | {"ECONNREFUSED"}
        assert found[1] == OK
        with pytest.raises(TimeoutError):
            server.accept()


# --- 47: datagrams --------------------------------------------------------------------


SENDS = ["send-to", "send-message", "send-messages", "connect-and-send", "connect-and-write", "send-to-from-pair",
         "send-message-from-pair"]


@pytest.mark.parametrize("way", SENDS)
def test_c47_no_datagram_is_sent_without_leave(jail, project, secret, way):
    with Host(jail.person, project / "socket", secret, DATAGRAM) as host:
        assert jail.attack(way, "socket", "smuggled").verdict in REFUSED
        assert jail.attack(way, "socket", "smuggled", policy=allowing(jail, project / "socket")).verdict in REFUSED
        assert host.received() == []
        assert jail.attack_outside(way, "socket", "worth") == OK
        assert host.received()


@pytest.mark.parametrize("way", SENDS)
def test_c47_supervised_datagrams_reach_only_what_is_named(jail, project, secret, way):
    with Host(jail.person, project / "socket", secret, DATAGRAM) as host:
        supervised = jail.policy(network={"unixDatagram": True})
        found = jail.attacks([way, "socket", "smuggled"], [way, "link", "smuggled"], [way, f"{project}/socket", "x"],
                             [way, "/proc/self/cwd/socket", "x"], policy=supervised)
        assert {outcome.verdict for outcome in found} <= REFUSED, found
        assert host.received() == []
        found = jail.attacks([way, "socket", "one"], [way, "link", "two"], [way, f"{project}/socket", "three"],
                             policy=allowing(jail, project / "socket", unixDatagram=True))
        assert found == [OK] * 3
        assert host.received() == [text for text in ("one", "two", "three")
                                   for _ in range(2 if way == "send-messages" else 1)]


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_c47_datagrams_between_processes_inside_work_with_leave(jail, project, kind):
    policy = jail.policy(network={"unixDatagram": True})
    names = ("own", "mine") if kind == "path" else ("@own", "@mine")
    assert jail.attack("datagrams-to-own", *names, policy=policy) == OK
    assert jail.attack("datagrams-to-own", *names).verdict in REFUSED


def test_c47_descriptors_go_with_datagrams_inside(jail, project):
    policy = jail.policy(network={"unixDatagram": True})
    assert jail.attack("hand-over", "own", "handed", int(DATAGRAM), policy=policy) == OK
    assert (project / "handed").read_text() == "handed over"


def test_c47_a_pair_of_datagram_sockets_works_with_leave(jail):
    policy = jail.policy(network={"unixDatagram": True})
    script = ("import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.send(b'x'); "
              "print(b.recv(9)); b.sendmsg([b'y', b'z']); print(a.recv(9))")
    answer = jail.run("python3", "-c", script, policy=policy)
    assert answer.stdout == "b'x'\nb'yz'\n", answer
    assert jail.run("python3", "-c", script).returncode != 0


# --- programs that people use -----------------------------------------------------------


@pytest.fixture
def agent(jail):
    """A real ssh-agent of the host with one key."""
    directory = jail.person.directory(jail.person.home / "agent")
    path = directory / "socket"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], env=jail.person.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, **jail.identity())
    key = directory / "key"
    run = {"env": {**jail.person.environment, "SSH_AUTH_SOCK": str(path)}, "check": True, "capture_output": True}
    # By the tests' own user: it refuses one that has no name.
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "the-key", "-f", key], **run)
    jail.person.own(key)
    end = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    subprocess.run(["ssh-add", key], **run, **jail.identity())
    yield path
    process.terminate()
    process.wait()


@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="there is no ssh-agent")
def test_c43_the_ssh_agent_answers_only_when_its_socket_is_named(jail, agent):
    jail.person.environment["SSH_AUTH_SOCK"] = str(agent)
    environment = {"pass": ["SSH_AUTH_SOCK"]}
    closed = jail.run("ssh-add", "-l", policy=jail.policy(environment=environment))
    assert closed.returncode != 0 and "the-key" not in closed.stdout
    opened = jail.run("ssh-add", "-l", policy={**allowing(jail, agent), "environment": environment})
    assert opened.returncode == 0 and "the-key" in opened.stdout, opened


@pytest.mark.skipif(shutil.which("gpg-agent") is None, reason="there is no gpg-agent")
def test_c43_the_gpg_agent_answers_only_when_its_socket_is_named(jail):
    person = jail.person
    home = person.directory(person.home / "keys")
    home.chmod(0o700)
    process = subprocess.Popen(["gpg-agent", "--homedir", home, "--daemon", "--no-detach", "sleep", "60"],
                               env=person.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True, **jail.identity())
    try:
        path = home / "S.gpg-agent"
        end = time.monotonic() + PATIENCE
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.01)
        if not path.exists():
            pytest.skip("this gpg-agent has its socket elsewhere")
        asking = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                  "print(s.recv(100).decode())")
        assert jail.run("python3", "-c", asking, path).returncode != 0
        answer = jail.run("python3", "-c", asking, path, policy=allowing(jail, path))
        assert answer.stdout.startswith("OK"), answer
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


SERVER = """
import asyncio, os, sys, tempfile
directory = tempfile.mkdtemp(prefix="playwright-")
path = os.path.join(directory, "browser.sock")
async def serve(reader, writer):
    writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
async def main():
    server = await asyncio.start_unix_server(serve, path)
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, path, stdout=asyncio.subprocess.PIPE)
    out, _ = await client.communicate()
    print(out.decode(), end="")
CLIENT = '''
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"hello\\\\n"); print(s.recv(100).decode(), end="")
'''
asyncio.run(main())
"""


@pytest.mark.parametrize("where", ["/tmp", "the project"])
def test_a_server_and_its_clients_talk_inside_like_playwrights(jail, project, where):
    if where == "the project":
        jail.person.environment["TMPDIR"] = str(project)
    with unchanged(project / "deep"):
        answer = jail.run("python3", "-c", SERVER)
    assert answer.stdout == "HELLO\n", answer


def test_a_thousand_connections_inside_are_all_served(jail):
    script = ("import socket, threading\n"
              "s = socket.socket(socket.AF_UNIX); s.bind('many'); s.listen(128)\n"
              "def serve():\n"
              "    for _ in range(1000):\n"
              "        c, _ = s.accept(); c.sendall(b'x'); c.close()\n"
              "threading.Thread(target=serve).start()\n"
              "got = []\n"
              "def ask():\n"
              "    for _ in range(100):\n"
              "        c = socket.socket(socket.AF_UNIX); c.connect('many'); got.append(c.recv(9)); c.close()\n"
              "threads = [threading.Thread(target=ask) for _ in range(10)]\n"
              "[t.start() for t in threads]; [t.join() for t in threads]; print(got.count(b'x'))\n")
    assert jail.run("python3", "-c", script).stdout == "1000\n"
