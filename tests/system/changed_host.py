"""Runs a command where the kernel seems to offer less: one system call fails, or
Landlock says it is of an older ABI. What the command starts sees the same.

    changed_host.py answer NUMBER ERRNO COMMAND...      changed_host.py abi ABI COMMAND...
    changed_host.py protocol NUMBER COMMAND...          there are no sockets of this protocol
    changed_host.py family NUMBER COMMAND...            ... of this family
"""

import array
import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
import threading
import time

SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW, SECCOMP_RET_USER_NOTIF = 0x00050000, 0x7FFF0000, 0x7FC00000
LANDLOCK_CREATE_RULESET = 444  # the same everywhere
SECCOMP = {"x86_64": 317, "aarch64": 277}.get(os.uname().machine)
SOCKET = {"x86_64": 41, "aarch64": 198}.get(os.uname().machine)

# For others: what begins a command that runs on a kernel without nf_tables.
NO_NETFILTER = ["/usr/bin/python3", __file__, "protocol", "12"]


def answer_call(number, action, only=None):
    """A filter that answers one system call of this process and all it starts; `only` where the argument of
    that position has that value."""
    def statement(code, jump_true, jump_false, value):
        return struct.pack("=HBBI", code, jump_true, jump_false, value)

    argument = [statement(0x20, 0, 0, 16 + 8 * only[0]), statement(0x15, 0, 1, only[1])] if only else []
    lines = [statement(0x20, 0, 0, 0), statement(0x15, 0, 1 + len(argument), number), *argument,
             statement(0x06, 0, 0, action), statement(0x06, 0, 0, SECCOMP_RET_ALLOW)]
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(b"".join(lines))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    listener = libc.syscall(SECCOMP, 1, 8 if action == SECCOMP_RET_USER_NOTIF else 0, program)
    assert listener >= 0, os.strerror(ctypes.get_errno())
    return listener


def pretend_abi(abi, command):
    """Runs a command on a kernel that says its Landlock is of that ABI."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        listener = answer_call(LANDLOCK_CREATE_RULESET, SECCOMP_RET_USER_NOTIF, (2, 1))
        socket.send_fds(theirs, [b"x"], [listener])
        os.close(listener)
        os.execv(command[0], command)
    theirs.close()
    _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)

    def serve():
        receive, send = 0xC0502100, 0xC0182101
        while True:
            request = array.array("B", bytes(80))
            try:
                fcntl.ioctl(listener, receive, request)
                identity = struct.unpack_from("=Q", request)[0]
                fcntl.ioctl(listener, send, struct.pack("=QqiI", identity, abi, 0, 0))
            except OSError:
                time.sleep(0.001)

    threading.Thread(target=serve, daemon=True).start()
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)


def main():
    how, first, *rest = sys.argv[1:]
    if how == "abi":
        pretend_abi(int(first), rest)
    if how in ("protocol", "family"):
        error = errno.EPROTONOSUPPORT if how == "protocol" else errno.EAFNOSUPPORT
        answer_call(SOCKET, SECCOMP_RET_ERRNO | error, (2 if how == "protocol" else 0, int(first)))
        os.execv(rest[0], rest)
    answer_call(int(first), SECCOMP_RET_ERRNO | int(rest[0]))
    os.execv(rest[1], rest[1:])


if __name__ == "__main__":
    main()
