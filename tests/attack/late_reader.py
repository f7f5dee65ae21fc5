"""Reads one file in every way there is, from inside: late_reader.py FILE. One line for each way: its name, and what it
read or why it could not. What a way moved it puts back."""

import ctypes
import mmap
import os
import platform
import socket
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_OPENAT2 = 437  # on every architecture
SYS_OPEN = 2  # where there is one: else the library's own is as good
AT_FDCWD, AT_SYMLINK_FOLLOW, RENAME_EXCHANGE = -100, 0x400, 2


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(number, *arguments):
    return checked(LIBC.syscall(number, *arguments))


def old_open(path):
    if platform.machine() != "x86_64":
        return checked(LIBC.open(os.fsencode(path), os.O_RDONLY))
    return call(SYS_OPEN, os.fsencode(path), os.O_RDONLY)


def exchange(one, other):
    checked(LIBC.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE))


def content(fd):
    with os.fdopen(fd, "rb") as file:
        return file.read()


def by_path_descriptor(path, prefix):
    held = os.open(path, os.O_PATH)
    try:
        return content(os.open(f"{prefix}/{held}", os.O_RDONLY))
    finally:
        os.close(held)


def below_descriptor(path, flags):
    directory = os.open(os.path.dirname(path), flags)
    try:
        return content(os.open(os.path.basename(path), os.O_RDONLY, dir_fd=directory))
    finally:
        os.close(directory)


def openat2(path):
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    return content(call(SYS_OPENAT2, AT_FDCWD, os.fsencode(path), how, len(how)))


def from_inside_the_directory(path):
    before = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        return content(os.open(os.path.basename(path), os.O_RDONLY))
    finally:
        os.chdir(before)


def through_link(path, target):
    os.symlink(target, "a-link")
    try:
        return content(os.open(path, os.O_RDONLY))
    finally:
        os.unlink("a-link")


def hard_link(path):
    os.link(path, "a-name")
    try:
        return content(os.open("a-name", os.O_RDONLY))
    finally:
        os.unlink("a-name")


def link_of_path_descriptor(path):
    held = os.open(path, os.O_PATH)
    checked(LIBC.linkat(AT_FDCWD, b"/proc/self/fd/%d" % held, AT_FDCWD, b"a-name", AT_SYMLINK_FOLLOW))
    try:
        return content(os.open("a-name", os.O_RDONLY))
    finally:
        os.unlink("a-name")


def renamed(path, to="a-name"):
    os.rename(path, to)
    try:
        return content(os.open(to, os.O_RDONLY))
    finally:
        os.rename(to, path)


def exchanged(path):
    with open("another", "w", encoding="ascii") as file:
        file.write("another")
    exchange(path, "another")
    try:
        return content(os.open("another", os.O_RDONLY))
    finally:
        exchange(path, "another")


def in_renamed_directory(path):
    directory = os.path.dirname(path)
    os.rename(directory, "elsewhere")
    try:
        return content(os.open(os.path.join("elsewhere", os.path.basename(path)), os.O_RDONLY))
    finally:
        os.rename("elsewhere", directory)


def in_exchanged_directory(path):
    directory = os.path.dirname(path)
    os.mkdir("a-directory")
    try:
        exchange(directory, "a-directory")
        try:
            return content(os.open(os.path.join("a-directory", os.path.basename(path)), os.O_RDONLY))
        finally:
            exchange(directory, "a-directory")
    finally:
        os.rmdir("a-directory")


def handed_over(path):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.fork() == 0:
        try:
            socket.send_fds(one, [b"x"], [os.open(path, os.O_RDONLY)])
        finally:
            os._exit(0)
    one.close()
    _, received, _, _ = socket.recv_fds(other, 1, 1)
    if not received:
        raise OSError(13, "nothing was sent")
    return content(received[0])


def mapped(path):
    fd = os.open(path, os.O_RDONLY)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as memory:
        os.close(fd)
        return memory[:]


def copied(path):
    source = os.open(path, os.O_RDONLY)
    target = os.open("a-copy", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.copy_file_range(source, target, 4096)
    os.lseek(target, 0, os.SEEK_SET)
    os.close(source)
    os.unlink("a-copy")
    return content(target)


WAYS = {
    "open": lambda path: content(old_open(path)),
    "openat": lambda path: content(os.open(path, os.O_RDONLY)),
    "openat2": openat2,
    "no-follow": lambda path: content(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)),
    "non-blocking": lambda path: content(os.open(path, os.O_RDONLY | os.O_NONBLOCK)),
    "read-write": lambda path: content(os.open(path, os.O_RDWR)),
    "create": lambda path: content(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)),
    "append": lambda path: content(os.open(path, os.O_RDWR | os.O_APPEND)),
    "path-descriptor": lambda path: by_path_descriptor(path, "/proc/self/fd"),
    "path-descriptor-dev": lambda path: by_path_descriptor(path, "/dev/fd"),
    "path-descriptor-thread": lambda path: by_path_descriptor(path, "/proc/thread-self/fd"),
    "path-descriptor-pid": lambda path: by_path_descriptor(path, f"/proc/{os.getpid()}/fd"),
    "below-descriptor": lambda path: below_descriptor(path, os.O_RDONLY | os.O_DIRECTORY),
    "below-path-descriptor": lambda path: below_descriptor(path, os.O_PATH | os.O_DIRECTORY),
    "inside": from_inside_the_directory,
    "dots": lambda path: content(os.open(os.path.join(os.path.dirname(path), "..", path), os.O_RDONLY)),
    "proc-root": lambda path: content(os.open("/proc/self/root" + os.path.abspath(path), os.O_RDONLY)),
    "proc-cwd": lambda path: content(os.open("/proc/self/cwd/" + path, os.O_RDONLY)),
    "link": lambda path: through_link("a-link", path),
    "link-to-directory": lambda path: through_link("a-link/" + os.path.basename(path), os.path.dirname(path)),
    "hard-link": hard_link,
    "link-of-path-descriptor": link_of_path_descriptor,
    "rename": renamed,
    "exchange": exchanged,
    "rename-directory": in_renamed_directory,
    "exchange-directory": in_exchanged_directory,
    "handed-over": handed_over,
    "mapped": mapped,
    "copied": copied,
    "cat": lambda path: subprocess.run(["cat", path], capture_output=True, check=False).stdout,
    "shell": lambda path: subprocess.run(["sh", "-c", f"cat <{path}"], capture_output=True, check=False).stdout,
}


def main():
    path = sys.argv[1]
    for name in sys.argv[2:] or WAYS:
        try:
            print(name, WAYS[name](path).decode() or "nothing", flush=True)
        except OSError as error:
            print(name, error.errno, flush=True)


main()
