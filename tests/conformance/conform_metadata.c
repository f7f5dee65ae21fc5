/* Modes, owners, times, sizes and attributes, by path and by descriptor; and special
 * files. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

enum { FCHMODAT2 = 452 };

static void make_objects(void)
{
    put_file("file", "content");
    put_directory("d");
    put_link("file", "link");
    put_link("absent", "dangling");
    put_fifo("fifo");
}

static void modes(void)
{
    static const mode_t values[] = {0, 0400, 0644, 0777, 01777, 0200000 | 0600};
    static const char *const names[] = {"file", "d", "link", "dangling", "fifo"};

    make_objects();
    for (size_t value = 0; value < sizeof values / sizeof *values; value++) {
        for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
            say(chmod(names[name], values[value]), "chmod %s %o", names[name], values[value]);
            look(names[name]);
            say(syscall(FCHMODAT2, AT_FDCWD, names[name], values[value], AT_SYMLINK_NOFOLLOW), "fchmodat2 %s %o",
                names[name], values[value]);
            look(names[name]);
            chmod(names[name], 0644);
        }
    }
    say(syscall(FCHMODAT2, AT_FDCWD, "file", 0600, 0x8000), "fchmodat2 with an unknown flag");
    int fd = open("file", O_RDONLY), path_only = open("file", O_PATH), link_only = open("link", O_PATH | O_NOFOLLOW);
    say(fchmod(fd, 0604), "fchmod");
    say(fchmod(path_only, 0640), "fchmod of a PATH descriptor");
    say(fchmod(-1, 0640), "fchmod of none");
    say(syscall(FCHMODAT2, path_only, "", 0611, AT_EMPTY_PATH), "fchmodat2 by empty path");
    look("file");
    say(syscall(FCHMODAT2, link_only, "", 0611, AT_EMPTY_PATH), "fchmodat2 of a link by empty path");
    say(syscall(FCHMODAT2, path_only, "", 0611, 0), "fchmodat2 by empty path without the flag");
    say(chmod("/proc/self/cwd/file", 0601), "chmod by way of /proc");
    look("file");
    unlink("file");
    say(fchmod(fd, 0600), "fchmod when the name is gone");
    int pipes[2];
    say(pipe(pipes) < 0 ? -1 : fchmod(pipes[0], 0600), "fchmod of a pipe");
}

static void owners(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    int fd, only, link_only;

    make_objects();
    fd = open("file", O_RDONLY);
    only = open("file", O_PATH);
    link_only = open("link", O_PATH | O_NOFOLLOW);
    say(chown("file", uid, gid), "to oneself");
    say(chown("link", uid, gid), "through a link");
    say(chown("dangling", uid, gid), "through a dangling link");
    say(lchown("dangling", uid, gid), "the link itself");
    say(chown("d", (uid_t)-1, gid), "only the group");
    say(chown("fifo", uid, (gid_t)-1), "only the owner");
    say(chown("file", uid + 1, gid), "to another");
    say(chown("file", uid, gid + 7), "to another group");
    say(fchown(fd, uid, gid), "a descriptor");
    say(fchown(fd, uid + 1, gid), "a descriptor to another");
    say(fchown(only, uid, gid), "a PATH descriptor");
    say(fchownat(only, "", uid, gid, AT_EMPTY_PATH), "a PATH descriptor by empty path");
    say(fchownat(link_only, "", uid, gid, AT_EMPTY_PATH), "a link by empty path");
    say(fchownat(AT_FDCWD, "link", uid, gid, AT_SYMLINK_NOFOLLOW), "a link itself");
    say(fchownat(AT_FDCWD, "file", uid, gid, 0x8000), "an unknown flag");
    chmod("file", 0755);
    say(chown("file", uid, gid), "an executable");
    look("file");
}

static void say_times(const char *path)
{
    struct stat found;

    if (lstat(path, &found) < 0)
        give_up(path);
    long age = (long)(time(NULL) - found.st_mtim.tv_sec);
    if (age < 60)
        say(0, "  changed now");
    else
        say(0, "  changed at %ld.%09ld", (long)found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    if (time(NULL) - found.st_atim.tv_sec < 60)
        say(0, "  read now");
    else
        say(0, "  read at %ld.%09ld", (long)found.st_atim.tv_sec, found.st_atim.tv_nsec);
}

static void times_by_timespec(void)
{
    static const struct {
        struct timespec times[2];
        const char *name;
    } values[] = {
        {{{.tv_sec = 1000, .tv_nsec = 1}, {.tv_sec = 2000, .tv_nsec = 999999999}}, "both"},
        {{{.tv_nsec = UTIME_OMIT}, {.tv_sec = 3000}}, "only changed"},
        {{{.tv_sec = 4000}, {.tv_nsec = UTIME_OMIT}}, "only read"},
        {{{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}}, "none"},
        {{{.tv_nsec = UTIME_NOW}, {.tv_sec = 5000}}, "read now"},
        {{{.tv_sec = 6000}, {.tv_nsec = UTIME_NOW}}, "changed now"},
        {{{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}}, "both now"},
        {{{.tv_sec = -5000}, {.tv_sec = -6000}}, "before the beginning"},
        {{{.tv_nsec = 1000000000}, {.tv_sec = 1}}, "too many nanoseconds"},
        {{{.tv_nsec = -1}, {.tv_sec = 1}}, "negative nanoseconds"},
    };
    static const char *const names[] = {"file", "d", "link", "dangling"};

    make_objects();
    int fd = open("file", O_RDONLY), only = open("file", O_PATH);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
            say(utimensat(AT_FDCWD, names[name], values[i].times, 0), "%s of %s", values[i].name, names[name]);
            say_times(names[name]);
            say(utimensat(AT_FDCWD, names[name], values[i].times, AT_SYMLINK_NOFOLLOW), "%s of %s itself",
                values[i].name, names[name]);
            say_times(names[name]);
        }
        say(futimens(fd, values[i].times), "%s of a descriptor", values[i].name);
        say(futimens(only, values[i].times), "%s of a PATH descriptor", values[i].name);
        say(syscall(SYS_utimensat, only, "", values[i].times, AT_EMPTY_PATH), "%s by empty path", values[i].name);
        say_times("file");
    }
    static const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    futimens(fd, old);
    say(futimens(fd, NULL), "NULL times of a descriptor");
    say_times("file");
    say(syscall(SYS_utimensat, AT_FDCWD, "file", 1L, 0), "times at 1");
    say(syscall(SYS_utimensat, AT_FDCWD, NULL, NULL, 0), "no path");
    say(syscall(SYS_utimensat, fd, NULL, NULL, AT_SYMLINK_NOFOLLOW), "no path and a flag");
    say(syscall(SYS_utimensat, AT_FDCWD, "file", NULL, 0x8000), "an unknown flag");
    chmod("file", 0444);
    say(utimensat(AT_FDCWD, "file", NULL, 0), "now of one's own read-only file");
    say(utimensat(AT_FDCWD, "file", values[0].times, 0), "times of one's own read-only file");
}

static void old_times(void)
{
#ifdef SYS_utime
    struct utimbuf whole = {.actime = 100, .modtime = 200};
    struct timeval finer[2] = {{.tv_sec = 300, .tv_usec = 1}, {.tv_sec = 400, .tv_usec = 999999}};

    make_objects();
    say(syscall(SYS_utime, "link", &whole), "utime");
    say_times("file");
    say(syscall(SYS_utimes, "file", finer), "utimes");
    say_times("file");
    finer[0].tv_sec = 500;
    say(syscall(SYS_futimesat, AT_FDCWD, "link", finer), "futimesat");
    say_times("file");
    int fd = open("file", O_RDONLY);
    finer[0].tv_sec = 600;
    say(syscall(SYS_futimesat, fd, NULL, finer), "futimesat of a descriptor");
    say_times("file");
    finer[1].tv_usec = 1000000;
    say(syscall(SYS_utimes, "file", finer), "utimes with too many");
    say(syscall(SYS_utime, "file", NULL), "utime now");
    say_times("file");
#endif
}

static void sizes(void)
{
    static const char *const names[] = {"file", "link", "dangling", "d", "fifo", "absent", "/dev/null"};

    make_objects();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        say(truncate(names[i], 3), "three bytes of %s", names[i]);
    look("file");
    say(truncate("file", 10), "longer");
    look("file");
    say(truncate("file", -1), "negative");
    say(truncate("file", 1L << 62), "endless");
    chmod("file", 0444);
    say(truncate("file", 1), "a read-only file");
    int fd = open("file", O_RDONLY);
    say(ftruncate(fd, 1), "a descriptor for reading");
    chmod("file", 0644);
    int other = open("file", O_RDWR), only = open("file", O_PATH);
    say(ftruncate(other, 2), "a descriptor for writing");
    say(ftruncate(only, 2), "a PATH descriptor");
    look("file");
    struct rlimit limit = {100, 100};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        give_up("setrlimit");
    say(truncate("file", 1000), "beyond the limit of file size");
    say(ftruncate(other, 1000), "beyond the limit, by descriptor");
    look("file");
}

static void attributes(void)
{
    static char large[70000];
    char value[16];

    make_objects();
    say(setxattr("file", "user.a", "one", 3, 0), "set");
    say(getxattr("file", "user.a", value, sizeof value), "get");
    say(setxattr("file", "user.a", "two", 3, XATTR_CREATE), "create what is there");
    say(setxattr("file", "user.b", "two", 3, XATTR_REPLACE), "replace what is not there");
    say(setxattr("file", "user.a", "three", 5, XATTR_REPLACE), "replace");
    say(setxattr("file", "user.a", "three", 5, 8), "an unknown flag");
    say(setxattr("link", "user.c", "x", 1, 0), "through a link");
    say(lsetxattr("link", "user.c", "x", 1, 0), "a link itself");
    say(setxattr("dangling", "user.c", "x", 1, 0), "through a dangling link");
    say(setxattr("d", "user.d", "", 0, 0), "of a directory, empty");
    say(setxattr("fifo", "user.d", "x", 1, 0), "of a fifo");
    say(setxattr("file", "trusted.x", "x", 1, 0), "trusted");
    say(setxattr("file", "security.x", "x", 1, 0), "security");
    say(setxattr("file", "none.x", "x", 1, 0), "of no family");
    say(setxattr("file", "user.", "x", 1, 0), "without a name");
    say(setxattr("file", "user.large", large, sizeof large, 0), "too large");
    memset(large, 'n', 300);
    memcpy(large, "user.", 5);
    large[300] = 0;
    say(setxattr("file", large, "x", 1, 0), "a long name");
    say(syscall(SYS_setxattr, "file", NULL, "x", 1L, 0), "name NULL");
    say(syscall(SYS_setxattr, "file", "user.x", NULL, 1L, 0), "value NULL");
    say(syscall(SYS_setxattr, "file", "user.null", NULL, 0L, 0), "value NULL, no length");
    int fd = open("file", O_RDONLY), only = open("file", O_PATH);
    say(fsetxattr(fd, "user.f", "x", 1, 0), "by descriptor");
    say(fsetxattr(only, "user.g", "x", 1, 0), "by PATH descriptor");
    say(removexattr("link", "user.a"), "remove through a link");
    say(removexattr("file", "user.a"), "remove what is not there");
    say(lremovexattr("link", "user.c"), "remove of a link itself");
    say(fremovexattr(fd, "user.f"), "remove by descriptor");
    say(listxattr("file", NULL, 0), "bytes of the list");
    chmod("file", 0444);
    say(setxattr("file", "user.r", "x", 1, 0), "of a read-only file");
}

static void special_files(void)
{
    static const mode_t types[] = {0, S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK, S_IFDIR, S_IFLNK, 0150000};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        say(mknod("x", types[i] | 0666, makedev(1, 3)), "mknod %o", types[i]);
        look("x");
        clear("x");
        put_link("y", "x");
        say(mknod("x", types[i] | 0666, makedev(1, 3)), "mknod %o onto a dangling link", types[i]);
        look("y");
        clear("x");
    }
    say(mknod("x", S_IFCHR | 0600, makedev(0, 0)), "a whiteout");
    clear("x");
}

/* Every call in directories of every mode. */
static void closed_directories(void)
{
    static const mode_t values[] = {0, 0111, 0444, 0333, 0555, 0777};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        put_directory("d");
        put_file("d/file", "content");
        chmod("d", values[i]);
        say_opened(open("d/file", O_RDONLY), "%o: read", values[i]);
        say_opened(open("d/file", O_WRONLY), "%o: write", values[i]);
        say_opened(open("d/new", O_WRONLY | O_CREAT, 0600), "%o: create", values[i]);
        say(mkdir("d/dir", 0700), "%o: mkdir", values[i]);
        say(symlink("x", "d/link"), "%o: symlink", values[i]);
        say(link("d/file", "second"), "%o: link out", values[i]);
        say(link("second", "d/third"), "%o: link in", values[i]);
        say(chmod("d/file", 0600), "%o: chmod", values[i]);
        say(truncate("d/file", 1), "%o: truncate", values[i]);
        say(rename("d/file", "d/moved"), "%o: rename", values[i]);
        say(unlink("d/moved"), "%o: unlink", values[i]);
        say_opened(open("d", O_TMPFILE | O_RDWR, 0600), "%o: nameless", values[i]);
        clear("d");
        clear("second");
    }
}

const struct subject metadata_subjects[] = {
    {"modes", modes},
    {"owners", owners},
    {"times", times_by_timespec},
    {"old-times", old_times},
    {"sizes", sizes},
    {"attributes", attributes},
    {"special", special_files},
    {"closed", closed_directories},
    {0},
};
