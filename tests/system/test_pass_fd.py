"""--pass-fd: descriptors that the user names reach the command under their numbers, and
nobody else holds them; what would be more than a descriptor is refused by name."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import pathlib
import random
import select
import socket
import subprocess
import tempfile

import pytest

from judging import PATIENCE, as_person, outside, start, where_mounted

PYTHON = "/usr/bin/python3"
GET = "curl -s -o /dev/null --max-time 20 --noproxy '' -x http://localhost:3128 http://127.0.0.1:9/"
HOST_NETWORK = ("--settings", '{"extends": ["preset:dev"], "network": {"mode": "host"}}')


@pytest.fixture(params=["namespaces", "landlock"])
def backend(request):
    return ("-q", "--backend", request.param)


# Puts descriptors where the test wants them, and becomes the program.
RENUMBER = """
import fcntl, os, sys
pairs = [tuple(map(int, pair.split(":"))) for pair in sys.argv[1].split(",")]
away = [(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 960), number) for number, fd in pairs]
os.closerange(3, 960)
for fd, number in away:
    os.dup2(fd, number)
os.execv(sys.argv[2], sys.argv[2:])
"""


def with_numbers(person, given, *command):
    """Runs the command with descriptors under numbers of our choice: {number: ours}."""
    pairs = ",".join(f"{number}:{fd}" for number, fd in given.items())
    return subprocess.run([PYTHON, "-c", RENUMBER, pairs, *command], cwd=person.project, env=person.environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
                          pass_fds=tuple(set(given.values())), **as_person(person))


def run_with(person, given, *arguments, named=None):
    """A run that is passed those of them that are `named`: all, unless it says otherwise."""
    options = [word for number in (given if named is None else named) for word in ("--pass-fd", str(number))]
    return with_numbers(person, given, person.binaries / "cloche", "run", *options, *arguments)


def read_to_end(fd):
    """All that comes, if the end comes too."""
    got = b""
    while select.select([fd], [], [], PATIENCE)[0]:
        part = os.read(fd, 65536)
        if not part:
            return got
        got += part
    raise AssertionError("somebody still holds the other end")


def passed(person, fd, *arguments, **keywords):
    return person.cloche("run", "--pass-fd", str(fd), *arguments, pass_fds=[fd, *keywords.pop("pass_fds", ())], **keywords)


# -- what is passed


def test_the_command_reads_one_descriptor_and_writes_another(person, backend):
    script = 'read line <&5 && echo "got $line" >&7 && readlink /proc/self/fd/5 /proc/self/fd/7 | wc -l'
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    os.write(our_out, b"a line\n")
    os.close(our_out)
    given = {5: their_in, 7: their_out}
    denied = run_with(person, given, *backend, "bash", "-c", script, named=[])
    answer = run_with(person, given, *backend, "bash", "-c", script)
    os.close(their_out)
    assert denied.returncode != 0 and "ad file descriptor" in denied.stderr
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "2\n", "")
    assert read_to_end(our_in) == b"got a line\n"
    os.close(their_in)
    os.close(our_in)


def test_nothing_else_is_open(person, backend):
    look = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind("\0" + os.urandom(8).hex())
        theirs.listen()
        given = dict.fromkeys([4, 9, 10, 11, 700, 900], theirs.fileno())
        answer = run_with(person, given, *backend, PYTHON, "-c", look, named=[4, 10, 900])
        plain = with_numbers(person, given, PYTHON, "-c", look)
    assert answer.stdout == "[0, 1, 2, 3, 4, 10, 900]\n", answer.stderr  # 3 is the listing itself
    assert plain.stdout == "[0, 1, 2, 3, 4, 9, 10, 11, 700, 900]\n"


@pytest.mark.parametrize("first", [3, 9, 30])
def test_as_many_as_can_be_under_numbers_that_cloche_uses_itself(person, backend, first):
    numbers = list(range(first, first + 32))
    random.Random(first).shuffle(numbers)
    write = f"import os\nfor number in {numbers}: os.write(number, b'%d' % number)"
    pipes = [os.pipe() for _ in numbers]
    answer = run_with(person, {number: writing for number, (_, writing) in zip(numbers, pipes)}, *backend, PYTHON, "-c", write)
    for _, writing in pipes:
        os.close(writing)
    assert answer.returncode == 0, answer.stderr
    assert [read_to_end(reading) for reading, _ in pipes] == [b"%d" % number for number in numbers]
    for reading, _ in pipes:
        os.close(reading)


def test_a_number_beyond_the_soft_limit(person, backend):
    options = " ".join(backend)
    run = f'"{person.binaries}/cloche" run {options} --pass-fd 900 {PYTHON} -c "import os; os.write(900, b\'x\')"'
    outside(person, f"exec 900>beyond; ulimit -Sn 64; {run}")
    assert (person.project / "beyond").read_text() == "x"
    said = outside(person, f"exec 900>refused; ulimit -n 512; {run} 2>&1; echo $?", check=False)
    assert said.endswith("\n125\n") and "--pass-fd 900 is beyond the hard limit of open files, 512" in said
    assert (person.project / "refused").read_text() == ""


def test_a_file_is_read_from_where_the_caller_is_who_goes_on_where_it_ended(person, backend):
    given = person.file("lines", "one\ntwo\nthree\n")
    code = "import os; print(os.read(6, 4))"
    with given.open("rb", buffering=0) as file:
        assert file.read(4) == b"one\n"
        answer = run_with(person, {6: file.fileno()}, *backend, PYTHON, "-c", code)
        assert answer.stdout == "b'two\\n'\n", answer.stderr
        assert file.read() == b"three\n"


def test_a_file_for_reading_is_not_opened_again_for_writing(person, backend):
    given = person.file("../given", "original")
    code = ("import os\nprint(os.read(6, 100))\n"
            "for flags in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC):\n"
            "    try: os.open('/proc/self/fd/6', flags)\n"
            "    except OSError as problem: print(problem.errno)\n")
    with given.open() as file:
        answer = run_with(person, {6: file.fileno()}, *backend, PYTHON, "-c", code)
        file.seek(0)
        plain = with_numbers(person, {6: file.fileno()}, PYTHON, "-c", code)
    said = answer.stdout.split()
    assert said[0] == "b'original'" and len(said) == 3 and set(said[1:]) <= {"13", "30"}, answer
    assert plain.stdout == "b'original'\n" and given.read_text() == ""


def test_a_file_for_reading_without_a_name_is_not_emptied(person, backend):
    given = person.file("../given", "original")
    code = ("import os\nprint(os.read(6, 100))\n"
            "try: os.truncate('/proc/self/fd/6', 0)\n"
            "except OSError as problem: print(problem.errno)\n")
    with given.open() as file:
        given.unlink()
        answer = run_with(person, {6: file.fileno()}, *backend, PYTHON, "-c", code)
        assert answer.stdout.split() == ["b'original'", "13"], answer
        assert os.fstat(file.fileno()).st_size == len("original")
        file.seek(0)
        with_numbers(person, {6: file.fileno()}, PYTHON, "-c", code)
        assert os.fstat(file.fileno()).st_size == 0


def test_a_file_outside_that_is_open_for_writing_can_be_written_and_no_other_beside_it(person, backend):
    given = person.file("../given", "")
    beside = person.file("../beside", "kept")
    with given.open("w") as file:
        answer = passed(person, file.fileno(), *backend, "bash", "-c",
                        f"echo written >&{file.fileno()}; echo changed >../beside")
    assert answer.returncode != 0
    assert (given.read_text(), beside.read_text()) == ("written\n", "kept")


# -- who holds it


@pytest.mark.parametrize("options, helpers", [(("--backend", "landlock"), 0), (("--backend", "namespaces"), 1),
                                              (("--allow-domain", "listed.test"), 2)])
def test_the_end_is_seen_when_the_command_closes_its_end_and_goes_on(person, options, helpers):
    reading, writing = os.pipe()
    # The doorman and the network process have work to do meanwhile.
    script = (f"{GET}; echo x >made; echo one >&{writing}; exec {writing}>&-; echo closed; read line; "
              "echo two")
    run = start(person, "run", "-q", *options, "--pass-fd", str(writing), "bash", "-c", script, stdin=subprocess.PIPE,
                pass_fds=[writing])
    os.close(writing)
    assert run.stdout.readline() == "closed\n", run.communicate()
    assert read_to_end(reading) == b"one\n"
    children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    assert len(children) == 1 + helpers
    assert run.communicate("go on\n")[0] == "two\n" and run.returncode == 0
    os.close(reading)


def test_the_end_is_seen_when_the_command_ends(person, backend):
    reading, writing = os.pipe()
    run = start(person, "run", *backend, "--pass-fd", str(writing), "bash", "-c", "read line; sleep 1000 &", stdin=subprocess.PIPE,
                pass_fds=[writing])
    os.close(writing)
    assert not select.select([reading], [], [], 0.2)[0]
    run.communicate("end\n")
    assert read_to_end(reading) == b""
    os.close(reading)


def test_a_command_that_is_not_there_leaves_nobody_with_it(person, backend):
    reading, writing = os.pipe()
    assert passed(person, writing, *backend, "no-such-command").returncode == 127
    os.close(writing)
    assert read_to_end(reading) == b""
    os.close(reading)


def test_together_with_all_that_cloche_talks_by(person):
    """A session's socket with questions, events, a lifeline, a filtered network."""
    ours, theirs = socket.socketpair()
    (reading, writing), (events, told), (alive, lifeline) = os.pipe(), os.pipe(), os.pipe()
    given = [theirs.fileno(), writing, told, alive]
    with ours, theirs:
        run = start(person, "run", "-q", "--ask", "--session-fd", str(theirs.fileno()), "--events", f"fd:{told}", "--lifeline-fd",
                    str(alive), "--allow-domain", "listed.test", "--pass-fd", str(writing), "bash", "-c",
                    f"{GET}; echo here >&{writing}; ls /proc/self/fd | wc -l", pass_fds=given)
        for fd in (writing, told, alive):
            os.close(fd)
        theirs.close()
        ours.sendall(b'{"ready":true,"asks":false}\n')
        assert run.communicate(timeout=PATIENCE)[0] == "5\n"
    assert read_to_end(reading) == b"here\n"
    assert b'"kind":"run"' in read_to_end(events)
    for fd in (reading, events, lifeline):
        os.close(fd)


FSOPEN, EPERM = "430", "1"
NO_MOUNTS = (PYTHON, str(pathlib.Path(__file__).with_name("changed_host.py")), "answer", FSOPEN, EPERM)


def test_where_namespaces_fail_the_other_backend_has_it_too(person):
    reading, writing = os.pipe()
    run = subprocess.run([*NO_MOUNTS, person.binaries / "cloche", "run", "--pass-fd", str(writing), "bash", "-c",
                          f"echo here >&{writing}"], cwd=person.project, env=person.environment, pass_fds=[writing],
                         capture_output=True, text=True, check=False, timeout=PATIENCE, **as_person(person))
    os.close(writing)
    assert run.returncode == 0 and "Landlock" in run.stderr, run
    assert read_to_end(reading) == b"here\n"
    os.close(reading)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can cover parts of /proc")
def test_where_a_fresh_proc_is_refused_the_second_attempt_has_it_too(person):
    reading, writing = os.pipe()
    run = where_mounted(person, "mount -t tmpfs -o ro none /proc/irq", "run", "--pass-fd", str(writing), "bash", "-c",
                        f"echo here >&{writing}", pass_fds=[writing])
    os.close(writing)
    assert run.returncode == 0 and "a fresh /proc is refused here" in run.stderr, run
    assert read_to_end(reading) == b"here\n"
    os.close(reading)


# -- kinds


@contextlib.contextmanager
def unix_pair(kind):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    with ours, theirs:
        yield theirs.fileno()


@contextlib.contextmanager
def closing(opened):
    """A descriptor, or an object that has one, until the end."""
    try:
        yield opened if isinstance(opened, int) else opened.fileno()
    finally:
        os.close(opened) if isinstance(opened, int) else opened.close()


@contextlib.contextmanager
def connected(kind):
    with socket.socket(socket.AF_INET, kind) as server, socket.socket(socket.AF_INET, kind) as client:
        server.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        client.connect(server.getsockname())
        yield client.fileno()


@contextlib.contextmanager
def terminal_slave(_person):
    master, slave = os.openpty()
    try:
        yield slave
    finally:
        os.close(master)
        os.close(slave)


def made_by(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = getattr(libc, name)(*arguments)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def listening():
    server = socket.create_server(("127.0.0.1", 0))
    return server


REFUSED = {
    "directory": (lambda p: closing(os.open(p.project, os.O_RDONLY)), "is a directory"),
    "name of a directory": (lambda p: closing(os.open(p.project, os.O_PATH)), "is a directory"),
    "name of a file": (lambda p: closing(os.open(p.file("a-file"), os.O_PATH)), "only names a file"),
    "tcp, connected": (lambda p: connected(socket.SOCK_STREAM), "socket of the host's network"),
    "tcp, listening": (lambda p: closing(listening()), "socket of the host's network"),
    "tcp, neither": (lambda p: closing(socket.socket(socket.AF_INET6)), "socket of the host's network"),
    "udp, connected": (lambda p: connected(socket.SOCK_DGRAM), "socket of the host's network"),
    "unix datagrams": (lambda p: unix_pair(socket.SOCK_DGRAM), "unix datagrams"),
    "unix, unconnected": (lambda p: closing(socket.socket(socket.AF_UNIX)), "neither connected nor listening"),
    "netlink": (lambda p: closing(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)), "of a kind"),
    "proc": (lambda p: closing(os.open("/proc/self/status", os.O_RDONLY)), "one of the kernel's own"),
    "memory of a process": (lambda p: closing(os.open("/proc/self/mem", os.O_RDWR)), "one of the kernel's own"),
    "sys": (lambda p: closing(os.open("/sys/kernel/uevent_seqnum", os.O_RDONLY)), "one of the kernel's own"),
    "namespace": (lambda p: closing(os.open("/proc/self/ns/net", os.O_RDONLY)), "one of the kernel's own"),
    "process": (lambda p: closing(os.pidfd_open(os.getpid())), "one of the kernel's own"),
    "epoll": (lambda p: closing(select.epoll()), "one of the kernel's own"),
    "eventfd": (lambda p: closing(made_by("eventfd", 0, 0)), "one of the kernel's own"),
    "inotify": (lambda p: closing(made_by("inotify_init1", 0)), "one of the kernel's own"),
    "ptmx": (lambda p: closing(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)), "is a device: allow its path"),
    "device": (lambda p: closing(os.open("/dev/fuse", os.O_RDWR)), "is a device: allow its path"),
    "terminal": (terminal_slave, "terminal that the command has neither"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_could_be_a_way_out_is_refused(person, backend, kind):
    make, words = REFUSED[kind]
    try:
        given = make(person)
    except OSError as problem:
        pytest.skip(f"there is none here: {problem}")
    with given as fd:
        answer = passed(person, fd, *backend, "touch", "ran")
    assert answer.returncode == 125 and words in answer.stderr and f"descriptor {fd} (--pass-fd)" in answer.stderr, answer
    assert not (person.project / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make and open one")
def test_a_disk_is_refused(person, backend):
    with tempfile.TemporaryDirectory() as directory:
        image = pathlib.Path(directory, "image")
        image.write_bytes(bytes(1 << 20))
        made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip("there are no loop devices here")
        try:
            with closing(os.open(made.stdout.strip(), os.O_RDONLY)) as fd:
                answer = passed(person, fd, *backend, "touch", "ran")
        finally:
            subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)
    assert answer.returncode == 125 and "is a disk" in answer.stderr
    assert not (person.project / "ran").exists()


@contextlib.contextmanager
def memory():
    fd = os.memfd_create("shared")
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def named_pipe(person):
    path = person.project / "pipe"
    os.mkfifo(path)
    with closing(os.open(path, os.O_RDWR)) as fd:
        yield fd


@pytest.mark.parametrize("make", [lambda p: unix_pair(socket.SOCK_STREAM), lambda p: unix_pair(socket.SOCK_SEQPACKET),
                                  lambda p: memory(), named_pipe, lambda p: closing(os.open("/dev/null", os.O_RDWR)),
                                  lambda p: closing(os.open("/dev/shm", os.O_RDWR | os.O_TMPFILE))],
                         ids=["unix stream", "unix packets", "memory", "named pipe", "null", "shm"])
def test_what_can_only_be_read_and_written_is_passed(person, backend, make):
    with make(person) as fd:
        answer = passed(person, fd, *backend, PYTHON, "-c", f"import os; print(os.write({fd}, b'x'))")
    assert (answer.returncode, answer.stdout) == (0, "1\n"), answer.stderr


def test_memory_is_shared(person, backend):
    with memory() as fd:
        os.truncate(fd, 4096)
        view = mmap.mmap(fd, 4096)
        code = f"import mmap; mmap.mmap({fd}, 4096)[:5] = b'hello'"
        assert passed(person, fd, *backend, PYTHON, "-c", code).returncode == 0
        assert view[:5] == b"hello"


def test_a_listening_unix_socket_is_passed_and_connections_come_in(person, backend):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(person.base / "activated"))
        server.listen()
        code = (f"import socket; s = socket.socket(fileno={server.fileno()}); print('ready', flush=True)\n"
                "c, _ = s.accept(); c.sendall(c.recv(10).upper())")
        run = start(person, "run", *backend, "--pass-fd", str(server.fileno()), PYTHON, "-c", code, pass_fds=[server.fileno()])
        assert run.stdout.readline() == "ready\n", run.communicate()
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(person.base / "activated"))
            client.sendall(b"hello")
            assert client.recv(10) == b"HELLO"
        assert run.wait(PATIENCE) == 0
        run.communicate()


@pytest.mark.parametrize("standard", [False, True])
def test_who_gets_the_signals_of_a_descriptor_is_not_sent_others(person, backend, standard):
    with unix_pair(socket.SOCK_STREAM) as fd:
        def run():
            if standard:
                return person.cloche("run", *backend, "true", stdin=fd)
            return passed(person, fd, *backend, "true")
        for owner in (os.getpid(), -os.getpgrp()):
            fcntl.fcntl(fd, fcntl.F_SETOWN, owner)
            refused = run()
            assert refused.returncode == 125 and "F_SETOWN" in refused.stderr, refused
        fcntl.fcntl(fd, fcntl.F_SETOWN, 0)
        assert run().returncode == 0


def test_a_stream_of_the_hosts_network_gets_no_name_there(person):
    code = ("import socket\ngiven = socket.socket(fileno=6)\n"
            "try: given.bind('\\0cloche-test-name')\n"
            "except OSError as problem: print(problem.errno)\n"
            "listening = socket.socket(socket.AF_UNIX)\nlistening.bind('\\0cloche-test-own')\nprint(given.recv(9))\n")
    for plain in (False, True):
        ours, theirs = socket.socketpair()
        ours.send(b"still here")
        with ours, theirs:
            run = with_numbers if plain else run_with
            answer = run(person, {6: theirs.fileno()}, PYTHON, "-c", code)
            names = pathlib.Path("/proc/net/unix").read_text()
        assert answer.stdout == ("" if plain else "22\n") + "b'still her'\n", answer
        assert ("@cloche-test-name" in names) == plain


def test_a_socket_of_the_hosts_network_is_passed_where_the_command_has_that_network(person, backend):
    with connected(socket.SOCK_STREAM) as fd:
        answer = passed(person, fd, *backend, *HOST_NETWORK, PYTHON, "-c", f"import os; print(os.write({fd}, b'x'))")
    assert (answer.returncode, answer.stdout) == (0, "1\n"), answer.stderr


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_socket_of_the_hosts_network_is_no_standard_descriptor_either(person, backend, number):
    name = ("stdin", "stdout", "stderr")[number]
    say = "" if name == "stderr" else "socket of the host's network"
    with connected(socket.SOCK_STREAM) as fd:
        answer = person.cloche("run", *backend, "touch", "ran", **{name: fd})
        assert answer.returncode == 125 and say in (answer.stderr or "")
        assert not (person.project / "ran").exists()
        assert person.cloche("run", *backend, *HOST_NETWORK, "touch", "ran", **{name: fd}).returncode == 0
    with unix_pair(socket.SOCK_STREAM) as fd:
        assert person.cloche("run", *backend, "true", **{name: fd}).returncode == 0


# -- numbers


@pytest.mark.parametrize("words, said", [
    (["--pass-fd", "0"], "the command has 0, 1 and 2 in any case"),
    (["--pass-fd=2"], "the command has 0, 1 and 2 in any case"),
    (["--pass-fd", "77"], "--pass-fd 77 is not open"),
    (["--pass-fd", "99999999999"], "from 3 on"),
    (["--pass-fd", "-1"], "from 3 on"),
    (["--pass-fd", "x"], "from 3 on"),
    (["--pass-fd", ""], "from 3 on"),
    (["--pass-fd", "5", "--pass-fd", "5"], "--pass-fd 5 was given twice"),
    ([f"--pass-fd={number}" for number in range(3, 36)], "more than 32 times"),
])
def test_numbers_that_mean_nothing_are_refused(person, words, said):
    answer = person.cloche("run", *words, "touch", "ran")
    assert answer.returncode == 125 and said in answer.stderr, answer
    assert not (person.project / "ran").exists()


def test_what_is_not_open_is_not_what_cloche_opens_itself(person):
    policy = person.file("policy.json", {"extends": ["preset:dev"]})
    for number in range(3, 20):
        answer = person.cloche("run", "--settings", policy, "--events", "events", "--pass-fd", str(number), "touch", "ran")
        assert answer.returncode == 125 and f"--pass-fd {number} is not open" in answer.stderr, answer
    assert not (person.project / "ran").exists()


@pytest.mark.parametrize("option, end", [("--control-fd", 0), ("--lifeline-fd", 0), ("--events", 1)])
def test_what_cloche_itself_talks_by_is_refused_by_any_number_and_end(person, option, end):
    pipe = os.pipe()
    again = os.dup(pipe[end])
    value = f"fd:{pipe[end]}" if option == "--events" else str(pipe[end])
    for fd in (*pipe, again):
        answer = person.cloche("run", "--allow-domain", "x.test", option, value, "--pass-fd", str(fd), "touch", "ran",
                               pass_fds=[*pipe, again])
        assert answer.returncode == 125 and f"--pass-fd {fd} is what {option} is for" in answer.stderr, answer
    assert not (person.project / "ran").exists()
    for fd in (*pipe, again):
        os.close(fd)


def test_a_file_of_events_is_refused(person):
    with person.file("../events", "").open("a") as file:
        answer = passed(person, file.fileno(), "--events", "../events", "touch", "ran")
    assert answer.returncode == 125 and "is what --events is for" in answer.stderr
    assert not (person.project / "ran").exists()


# -- terminals


def test_the_terminal_that_the_command_has_anyway_can_have_another_number(person, terminal):
    code = "import os; print(os.ttyname(1) and [os.isatty(n) for n in (4, 5)], os.write(4, b'by four '), os.write(5, b'by five '))"
    script = f'exec 4<>/dev/tty 5<>$(tty); "$cloche" run --pass-fd 4 --pass-fd 5 {PYTHON} -c "{code}" </dev/null; echo status $?'
    session = terminal("bash", "-c", script)
    seen = session.expect("status 0")
    assert "by four by five [True, True] 8 8" in seen


def test_without_it_as_a_standard_one_it_is_refused(person, terminal):
    script = '"$cloche" run --pass-fd 4 touch ran 4<>/dev/tty </dev/null 2>&1 | cat; echo done'
    assert "terminal that the command has neither" in terminal("bash", "-c", script).expect("done")
    assert not (person.project / "ran").exists()


def test_explain_lists_what_the_command_would_be_given(person):
    options = ["--pass-fd", "7", "--pass-fd", "9"]
    assert person.explain(*options)["descriptors"] == [7, 9] and person.explain()["descriptors"] == []
    assert "\ndescriptors  7 9  (command line: --pass-fd)\n" in person.cloche("explain", *options).stdout
    assert "descriptors" not in person.cloche("explain").stdout
