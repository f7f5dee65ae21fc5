"""What programs do with sockets, one case per call: run inside and outside by
test_sending.py, which compares what it says.

    sending.py CASE
"""

import array
import ctypes
import errno
import functools
import hashlib
import http.server
import logging.handlers
import os
import pathlib
import signal
import socket
import struct
import sys
import threading
import time
import urllib.request

UNIX, STREAM, DATAGRAM, PACKETS = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET
LIBRARY = ctypes.CDLL(None, use_errno=True)
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def name_of(error):
    return errno.errorcode[error.errno]


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return name_of(error)


def bound(name, kind=DATAGRAM):
    receiver = socket.socket(UNIX, kind)
    receiver.bind(name)
    receiver.settimeout(10)
    return receiver


def pair(kind=DATAGRAM):
    both = socket.socketpair(UNIX, kind)
    for each in both:
        each.settimeout(None)
    return both


# --- unix datagrams -------------------------------------------------------------------


@case
def datagrams_by_every_way_of_naming():
    receiver = bound("receiver")
    os.symlink("receiver", "link")
    sender = bound("sender")
    for name in ("receiver", "./receiver", "link", os.path.abspath("receiver"), b"receiver\0"):
        print(sender.sendto(b"hello", name), receiver.recvfrom(100))
        print(sender.sendmsg([b"hel", b"lo"], [], 0, name), receiver.recvfrom(100))
    os.mkdir("directory")
    os.chdir("directory")
    print(sender.sendto(b"", "../receiver"), receiver.recvfrom(100))


@case
def datagrams_by_abstract_name():
    receiver = bound("\0own")
    sender = bound("\0sender")
    print(sender.sendto(b"hello", "\0own"), receiver.recvfrom(100))
    print(sender.sendmsg([b"hello"], [], 0, "\0own"), receiver.recvfrom(100))
    print(attempt(sender.sendto, b"hello", "\0nobody's"))


@case
def datagrams_over_a_connection():
    receiver = bound("receiver")
    sender = socket.socket(UNIX, DATAGRAM)
    sender.connect("receiver")
    print(sender.send(b"one"), receiver.recv(9), sender.sendmsg([b"two"]), receiver.recv(9))
    print(os.write(sender.fileno(), b"three"), receiver.recv(9), sender.sendto(b"four", "receiver"), receiver.recv(9))


@case
def a_log_is_written():
    receiver = bound("log")
    handler = logging.handlers.SysLogHandler(address=str(pathlib.Path("log").resolve()))
    handler.emit(logging.LogRecord("x", logging.ERROR, "x", 1, "it has happened", None, None))
    print(receiver.recv(100))


@case
def pairs_of_all_kinds():
    for kind in (STREAM, DATAGRAM, PACKETS):
        left, right = pair(kind)
        print(left.send(b"one"), right.recv(9), left.sendmsg([b"tw", b"", b"o"]), right.recv(9))
        print(right.sendmsg([b"three"], [], socket.MSG_DONTWAIT), left.recv(9))


@case
def an_address_where_none_belongs():
    bound("receiver")
    for kind in (STREAM, PACKETS):
        left, _ = pair(kind)
        print(attempt(left.sendto, b"x", "receiver"), attempt(left.sendto, b"x", "missing"))
        print(attempt(socket.socket(UNIX, kind).sendto, b"x", "receiver"))


@case
def errors_of_names():
    sender = socket.socket(UNIX, DATAGRAM)
    bound("stream", STREAM).listen()
    bound("dead").close()
    pathlib.Path("file").touch()
    os.mkdir("closed", 0)
    os.symlink("loop", "loop")
    for name in ("missing", "missing/x", "stream", "dead", "file", "file/x", "loop", "."):
        print(name, attempt(sender.sendto, b"x", name), attempt(sender.sendmsg, [b"x"], [], 0, name))
    if os.geteuid():
        print(attempt(sender.sendto, b"x", "closed/x"))
        bound("unwritable")
        os.chmod("unwritable", 0o400)
        print(attempt(sender.sendto, b"x", "unwritable"))
    print(attempt(sender.sendmsg, [b"x"]))


@case
def errors_of_arguments():
    sender = socket.socket(UNIX, DATAGRAM)
    receiver = bound("receiver")
    address = struct.pack("H108s", UNIX, b"receiver")
    strange = struct.pack("H108s", 77, b"receiver")

    def sendto(fd, data, size, flags, name, length):
        result = LIBRARY.sendto(fd, data, ctypes.c_size_t(size), flags, name, length)
        return result if result >= 0 else errno.errorcode[ctypes.get_errno()]

    fd = sender.fileno()
    print(sendto(fd, b"abc", 3, 0, address, len(address)), receiver.recv(9))
    print(sendto(fd, b"abc", 3, 0, address, 3), sendto(fd, b"abc", 3, 0, address, 2), sendto(fd, b"abc", 3, 0, address, -1))
    print(sendto(fd, b"abc", 3, 0, address, 129), sendto(fd, b"abc", 3, 0, strange, len(strange)))
    print(sendto(fd, ctypes.c_void_p(8), 3, 0, address, len(address)), sendto(fd, b"x", 1, 0, ctypes.c_void_p(8), 20))
    print(sendto(99, b"abc", 3, 0, address, len(address)), sendto(0, b"abc", 3, 0, address, len(address)))
    print(LIBRARY.sendmsg(fd, ctypes.c_void_p(8), 0), errno.errorcode[ctypes.get_errno()])
    print(LIBRARY.sendmsg(99, ctypes.c_void_p(8), 0), errno.errorcode[ctypes.get_errno()])
    print(attempt(sender.sendmsg, [b"x"] * 1024, [], 0, "receiver"), receiver.recv(2000) == b"x" * 1024)
    print(attempt(sender.sendmsg, [b"x"] * 1025, [], 0, "receiver"))


@case
def sizes():
    left, right = pair()
    for size in (0, 1, 4096, 65536, 200000, 212000, 250000, 600000, 2**21):
        print(size, attempt(left.sendmsg, [b"x" * size]), len(right.recv(2**21)) if size <= 212000 else None)
    left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 212992)
    print(attempt(left.sendmsg, [b"y" * 400000]), len(right.recv(2**21)))


# --- descriptors and credentials ------------------------------------------------------


@case
def descriptors_over_all_kinds():
    for kind in (STREAM, DATAGRAM, PACKETS):
        left, right = pair(kind)
        reading, writing = os.pipe()
        print(socket.send_fds(left, [b"take"], [writing, writing]))
        os.close(writing)
        text, received, _, _ = socket.recv_fds(right, 9, 9)
        print(text, len(received), [os.write(fd, b"!") for fd in received])
        for fd in received:
            os.close(fd)
        print(os.read(reading, 9), os.read(reading, 9))  # the end: nobody else has it


@case
def descriptors_to_a_name():
    receiver = bound("receiver")
    sender = socket.socket(UNIX, DATAGRAM)
    with open("file", "w", encoding="ascii") as file:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))]
        print(sender.sendmsg([b"x"], rights, 0, "receiver"))
    _, received, _, _ = socket.recv_fds(receiver, 9, 9)
    os.write(received[0], b"handed over")
    print(pathlib.Path("file").read_text(encoding="ascii"))


@case
def bad_descriptors():
    left, right = pair()
    print(attempt(socket.send_fds, left, [b"x"], [99]), attempt(socket.send_fds, left, [b"x"], [-1]))
    print(attempt(socket.send_fds, left, [b"x"], [0] * 254))
    print(attempt(socket.send_fds, left, [b"x"], [0] * 253), len(socket.recv_fds(right, 9, 253)[1]))
    head = struct.pack("Lii", 2000, socket.SOL_SOCKET, socket.SCM_RIGHTS)
    message = ctypes.create_string_buffer(head)
    part = (ctypes.c_void_p * 2)(ctypes.addressof(message), 1)
    header = struct.pack("PIPLPLi", 0, 0, ctypes.addressof(part), 1, ctypes.addressof(message), len(head), 0)
    for length in (2000, 0, 15):
        ctypes.memmove(message, struct.pack("L", length), 8)
        print(LIBRARY.sendmsg(left.fileno(), header, 0), errno.errorcode[ctypes.get_errno()])


@case
def credentials():
    left, right = pair()
    right.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    own = struct.pack("3i", os.getpid(), os.getuid(), os.getgid())
    for data in ([], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, own)]):
        print(left.sendmsg([b"x"], data))
        _, control, _, _ = right.recvmsg(9, 100)
        print(struct.unpack("3i", control[0][2])[1:])


# --- several messages -----------------------------------------------------------------


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("name_length", ctypes.c_uint), ("parts", ctypes.POINTER(Part)),
                ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                ("flags", ctypes.c_int)]


class Message(ctypes.Structure):
    _fields_ = [("header", Header), ("sent", ctypes.c_uint)]


def messages_of(texts, names=()):
    messages = (Message * len(texts))()
    for i, text in enumerate(texts):
        messages[i].header.parts = (Part * 1)(Part(text, len(text)))
        messages[i].header.count = 1
        if i < len(names):
            address = struct.pack("H", UNIX) + names[i] + b"\0"
            messages[i].header.name = address
            messages[i].header.name_length = len(address)
    return messages


def send_several(sender, texts, names=(), flags=0):
    messages = messages_of(texts, names)
    count = LIBRARY.sendmmsg(sender.fileno(), messages, len(texts), flags)
    return (count if count >= 0 else errno.errorcode[ctypes.get_errno()]), [message.sent for message in messages]


@case
def several_messages():
    receiver = bound("receiver")
    other = bound("other")
    sender = socket.socket(UNIX, DATAGRAM)
    print(send_several(sender, [b"one", b"", b"three"], [b"receiver", b"other", b"./receiver"]))
    print(receiver.recv(9), receiver.recv(9), other.recv(9))
    print(send_several(sender, [b"one", b"two", b"three"], [b"receiver", b"missing", b"receiver"]), receiver.recv(9))
    print(send_several(sender, [b"one"], [b"missing"]), send_several(sender, []), send_several(sender, [b"one"]))
    print(LIBRARY.sendmmsg(sender.fileno(), ctypes.c_void_p(8), 1, 0), errno.errorcode[ctypes.get_errno()])
    print(LIBRARY.sendmmsg(99, messages_of([b"x"]), 1, 0), errno.errorcode[ctypes.get_errno()])
    for kind in (STREAM, PACKETS):
        left, right = pair(kind)
        print(send_several(left, [b"one", b"two"]), right.recv(6))
    udp = socket.socket(socket.AF_INET, DATAGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.connect(udp.getsockname())
    print(send_several(udp, [b"one", b"two"]), udp.recv(9), udp.recv(9))


# --- waiting --------------------------------------------------------------------------


def fill(sender, size=100):
    count = 0
    try:
        while True:
            sender.sendmsg([b"x" * size], [], socket.MSG_DONTWAIT)
            count += 1
    except BlockingIOError:
        return count


@case
def a_full_queue_is_waited_for():
    for kind in (DATAGRAM, PACKETS, STREAM):
        left, right = pair(kind)
        count = fill(left)
        print(count, attempt(left.sendmsg, [b"x"], [], socket.MSG_DONTWAIT))

        def drain(right=right, count=count):
            time.sleep(0.2)
            for _ in range(count):
                right.recv(100)

        thread = threading.Thread(target=drain)
        begun = time.monotonic()
        thread.start()
        print(left.sendmsg([b"last"]), time.monotonic() - begun > 0.1)
        thread.join()
        print(right.recv(100))
        fill(left)
        left.setblocking(False)
        print(attempt(left.sendmsg, [b"x"]))


@case
def a_wait_for_a_named_receiver():
    receiver = bound("receiver")
    sender = socket.socket(UNIX, DATAGRAM)
    count = 0
    while attempt(sender.sendmsg, [b"x"], [], socket.MSG_DONTWAIT, "receiver") == 1:
        count += 1
    threading.Timer(0.2, lambda: [receiver.recv(9) for _ in range(count)]).start()
    print(count, sender.sendto(b"last", "receiver"))
    time.sleep(0.2)
    print(receiver.recv(9))


@case
def a_wait_with_an_end():
    left, _right = pair()
    fill(left)
    left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 100000))
    begun = time.monotonic()
    print(attempt(left.sendmsg, [b"x"]), 0.05 < time.monotonic() - begun < 5)


class Interrupted(Exception):
    pass


@case
def a_signal_ends_a_wait():
    def interrupt(*_):
        raise Interrupted

    left, _right = pair()
    fill(left)
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begun = time.monotonic()
    try:
        left.sendmsg([b"x"])
        print("sent")
    except Interrupted:
        print("interrupted", time.monotonic() - begun < 5)


@case
def a_waiting_sender_can_be_killed():
    left, _right = pair()
    fill(left)
    child = os.fork()
    if child == 0:
        left.sendmsg([b"x"])
        os._exit(0)
    time.sleep(0.2)
    os.kill(child, signal.SIGKILL)
    print(os.waitpid(child, 0)[1])


@case
def a_waiting_sender_holds_nobody_up():
    blocked, _right = pair()
    fill(blocked)
    for _ in range(20):
        threading.Thread(target=blocked.sendmsg, args=([b"x"],), daemon=True).start()
    time.sleep(0.2)
    left, right = pair()
    print([left.sendmsg([b"x"]) and right.recv(9) for _ in range(50)] == [b"x"] * 50)
    sys.stdout.flush()
    os._exit(0)


@case
def much_over_a_stream():
    for family in (UNIX, socket.AF_INET):
        left, right = pair(STREAM) if family == UNIX else connected()
        digest = hashlib.sha256()

        def take(right=right, digest=digest):
            while part := right.recv(65536):
                digest.update(part)

        thread = threading.Thread(target=take)
        thread.start()
        data = os.urandom(1) * 400000
        print(left.sendmsg([data[:100000], data[100000:]]))  # all of it, for it may wait
        rest = bytes(range(256)) * 10000
        while rest:
            rest = rest[left.sendmsg([rest]):]
        left.close()
        thread.join()
        print(digest.hexdigest() == hashlib.sha256(data + bytes(range(256)) * 10000).hexdigest())


# --- broken pipes ---------------------------------------------------------------------


@case
def broken_pipes():
    for kind in (STREAM, PACKETS, DATAGRAM):
        seen = []
        signal.signal(signal.SIGPIPE, lambda number, _, seen=seen: seen.append(number))
        left, right = pair(kind)
        right.close()
        print(attempt(left.sendmsg, [b"x"]), seen, attempt(left.sendmsg, [b"x"], [], socket.MSG_NOSIGNAL), seen)
        left, right = pair(kind)
        left.shutdown(socket.SHUT_WR)
        print(attempt(left.sendmsg, [b"x"]), seen)
    left, right = connected()
    left.shutdown(socket.SHUT_WR)
    seen.clear()
    print(attempt(left.sendmsg, [b"x"]), seen, attempt(left.sendmsg, [b"x"], [], socket.MSG_NOSIGNAL), seen)


@case
def a_broken_pipe_kills_who_does_not_care():
    left, right = pair(STREAM)
    right.close()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        attempt(left.sendmsg, [b"x"])
        os._exit(0)
    print(os.waitpid(child, 0)[1] == signal.SIGPIPE)


# --- TCP, UDP, netlink ----------------------------------------------------------------


def connected(family=socket.AF_INET, host="127.0.0.1"):
    with socket.socket(family, STREAM) as server:
        server.bind((host, 0))
        server.listen()
        client = socket.socket(family, STREAM)
        client.connect(server.getsockname())
        return client, server.accept()[0]


@case
def tcp():
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        left, right = connected(family, host)
        print(left.sendmsg([b"one", b"two"]), right.recv(6), left.sendto(b"x", (host, 1)), right.recv(6))
        print(left.sendmsg([b"!"], [], socket.MSG_OOB), right.recv(9, socket.MSG_OOB))


@case
def tcp_fast_open():
    with socket.socket(socket.AF_INET, STREAM) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client = socket.socket(socket.AF_INET, STREAM)
        print(client.sendto(b"early", socket.MSG_FASTOPEN, server.getsockname()), server.accept()[0].recv(9))


@case
def udp():
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        receiver = socket.socket(family, DATAGRAM)
        receiver.bind((host, 0))
        receiver.settimeout(10)
        sender = socket.socket(family, DATAGRAM)
        name = receiver.getsockname()
        print(sender.sendto(b"one", name), receiver.recv(9), sender.sendmsg([b"two"], [], 0, name), receiver.recv(9))
        print(attempt(sender.sendmsg, [b"x" * 70000], [], 0, name), attempt(sender.sendmsg, [b"x"]))
        sender.connect(name)
        print(sender.sendmsg([b"three"]), receiver.recv(9))


@case
def udp_with_control_messages():
    receiver = socket.socket(socket.AF_INET, DATAGRAM)
    receiver.bind(("127.0.0.1", 0))
    sender = socket.socket(socket.AF_INET, DATAGRAM)
    source = struct.pack("i4s4s", 0, socket.inet_aton("127.0.0.7"), bytes(4))
    print(sender.sendmsg([b"x"], [(socket.IPPROTO_IP, 8, source)], 0, receiver.getsockname()))
    text, address = receiver.recvfrom(9)
    print(text, address[0])
    segments = struct.pack("H", 3)
    print(sender.sendmsg([b"onetwo"], [(socket.IPPROTO_UDP, 103, segments)], 0, receiver.getsockname()))
    print(receiver.recv(9), receiver.recv(9))


@case
def a_web_server():
    pathlib.Path("page").write_text("content" * 1000, encoding="ascii")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=".")
    handler.log_message = None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    sys.stderr = open(os.devnull, "w", encoding="ascii")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _ in range(20):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/page") as answer:
            print(len(answer.read()))


@case
def netlink():
    print([name for _, name in socket.if_nameindex() if name == "lo"])
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    request = struct.pack("IHHII", 17, 18, 0x301, 1, 0) + b"\0"  # which interfaces are there?
    print(link.sendto(request, (0, 0)), len(link.recv(65536)) > 16)
    print(link.sendmsg([request], [], 0, (0, 0)), len(link.recv(65536)) > 16)


# --- many at once ---------------------------------------------------------------------


@case
def many_senders():
    receiver = bound("receiver")
    children = []
    for number in range(16):
        child = os.fork()
        if child == 0:
            sender = socket.socket(UNIX, DATAGRAM)
            for i in range(100):
                sender.sendto(array.array("I", [number, i]).tobytes(), "receiver")
            os._exit(0)
        children.append(child)
    got = [tuple(array.array("I", receiver.recv(9))) for _ in range(1600)]
    print(sorted(got) == [(number, i) for number in range(16) for i in range(100)])
    print([i for number, i in got if number == 3] == list(range(100)))
    print({os.waitpid(child, 0)[1] for child in children})


if __name__ == "__main__":
    CASES[sys.argv[1]]()
