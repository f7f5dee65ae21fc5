/* Names: every call that takes a path, with every odd path, descriptor and pointer;
 * and rename, link, symlink, unlink and rmdir on every kind of object. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

/* One call on one path, below one directory. The raw call: the library must not
 * mend anything. */
struct call {
    const char *name;
    long (*make)(int directory, const char *path);
};

static long call_open(int directory, const char *path)
{
    long fd = syscall(SYS_openat, directory, path, O_RDWR | O_CREAT, 0600);

    if (fd >= 0)
        close((int)fd);
    return fd < 0 ? -1 : 0;
}

static long call_open_to_write(int directory, const char *path)
{
    long fd = syscall(SYS_openat, directory, path, O_WRONLY);

    if (fd >= 0)
        close((int)fd);
    return fd < 0 ? -1 : 0;
}

static long call_mkdir(int directory, const char *path)
{
    return syscall(SYS_mkdirat, directory, path, 0700);
}

static long call_rmdir(int directory, const char *path)
{
    return syscall(SYS_unlinkat, directory, path, AT_REMOVEDIR);
}

static long call_unlink(int directory, const char *path)
{
    return syscall(SYS_unlinkat, directory, path, 0);
}

static long call_mknod(int directory, const char *path)
{
    return syscall(SYS_mknodat, directory, path, S_IFIFO | 0600, 0);
}

static long call_symlink(int directory, const char *path)
{
    return syscall(SYS_symlinkat, "target", directory, path);
}

static long call_link_from(int directory, const char *path)
{
    return syscall(SYS_linkat, directory, path, AT_FDCWD, "linked", 0);
}

static long call_link_to(int directory, const char *path)
{
    return syscall(SYS_linkat, AT_FDCWD, "file", directory, path, 0);
}

static long call_rename_from(int directory, const char *path)
{
    return syscall(SYS_renameat2, directory, path, AT_FDCWD, "renamed", 0);
}

static long call_rename_to(int directory, const char *path)
{
    return syscall(SYS_renameat2, AT_FDCWD, "file", directory, path, 0);
}

static long call_chmod(int directory, const char *path)
{
    return syscall(SYS_fchmodat, directory, path, 0700);
}

static long call_chown(int directory, const char *path)
{
    return syscall(SYS_fchownat, directory, path, -1, -1, 0);
}

static long call_utimens(int directory, const char *path)
{
    return syscall(SYS_utimensat, directory, path, NULL, 0);
}

static long call_truncate(int directory, const char *path)
{
    return directory == AT_FDCWD ? syscall(SYS_truncate, path, 3L) : 0;
}

static long call_setxattr(int directory, const char *path)
{
    return directory == AT_FDCWD ? syscall(SYS_setxattr, path, "user.x", "y", 1L, 0) : 0;
}

static const struct call calls[] = {
    {"open", call_open},           {"open to write", call_open_to_write},
    {"mkdir", call_mkdir},         {"rmdir", call_rmdir},
    {"unlink", call_unlink},       {"mknod", call_mknod},
    {"symlink", call_symlink},     {"link from", call_link_from},
    {"link to", call_link_to},     {"rename from", call_rename_from},
    {"rename to", call_rename_to}, {"chmod", call_chmod},
    {"chown", call_chown},         {"utimens", call_utimens},
    {"truncate", call_truncate},   {"setxattr", call_setxattr},
};

enum { CALLS = sizeof calls / sizeof *calls };

static void make_tree(void)
{
    put_file("file", "content");
    put_directory("empty");
    put_directory("full");
    put_file("full/inner", "inner");
    put_link("file", "link");
    put_link("full", "way");
    put_link("absent", "dangling");
    put_link("loop", "loop");
    put_directory("closed");
    put_file("closed/inner", "inner");
    chmod("closed", 0);
    put_directory("read-only");
    put_file("read-only/inner", "inner");
    chmod("read-only", 0555);
}

static void clear_tree(void)
{
    static const char *const names[] = {"file",  "link",    "way",    "dangling",  "loop",
                                        "empty", "full",    "linked", "closed",    "absent",
                                        "other", "renamed", "target", "read-only", "d"};

    chmod("closed", 0700);
    chmod("read-only", 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        clear(names[i]);
}

static void odd_paths(void)
{
    static char paths[48][4200] = {"",
                                   ".",
                                   "..",
                                   "./.",
                                   "file",
                                   "file/",
                                   "file/.",
                                   "file/..",
                                   "file/x",
                                   "absent",
                                   "absent/",
                                   "absent/.",
                                   "absent/x",
                                   "empty",
                                   "empty/",
                                   "empty/.",
                                   "empty/..",
                                   "full",
                                   "full/",
                                   "full/../d",
                                   "full//inner",
                                   "link",
                                   "link/",
                                   "way",
                                   "way/",
                                   "way/inner",
                                   "way/new",
                                   "way/../d",
                                   "dangling",
                                   "dangling/",
                                   "dangling/x",
                                   "loop",
                                   "loop/",
                                   "loop/x",
                                   "closed/inner",
                                   "closed/new",
                                   "read-only/inner",
                                   "read-only/new",
                                   "./full/./new"};
    size_t count = 39;

    memset(paths[count++], 'n', 255);
    memset(paths[count++], 'n', 256);
    for (size_t length = 4094; length <= 4096; length++) {
        for (size_t i = 0; i < length; i++)
            paths[count][i] = i % 2 ? '/' : '.';
        paths[count++][length - 1] = 'd';
    }
    make_tree();
    for (size_t i = 0; i < count; i++) {
        for (size_t call = 0; call < CALLS; call++) {
            if (!say(calls[call].make(AT_FDCWD, paths[i]), "%s %.30s (%zu)", calls[call].name, paths[i],
                     strlen(paths[i])))
                continue;
            chmod(".", 0755);
            if (strlen(paths[i]) == 255)
                clear(paths[i]);
            clear_tree();
            make_tree();
        }
    }
}

static void odd_descriptors(void)
{
    int file, directory, path_only, gone, gone_file;

    make_tree();
    put_directory("gone");
    put_file("gone-file", "");
    file = open("file", O_RDONLY);
    directory = open("full", O_RDONLY | O_DIRECTORY);
    path_only = open("full", O_PATH);
    gone = open("gone", O_RDONLY | O_DIRECTORY);
    gone_file = open("gone-file", O_RDONLY);
    rmdir("gone");
    unlink("gone-file");
    const struct {
        int fd;
        const char *name;
    } below[] = {{-1, "-1"},          {999, "999"},   {file, "a file"},         {directory, "a directory"},
                 {path_only, "PATH"}, {gone, "gone"}, {gone_file, "gone file"}, {-100, "the current one"}};

    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        for (size_t call = 0; call < CALLS; call++) {
            char here[4096];
            put_directory("d");
            if (!getcwd(here, sizeof here - 8))
                give_up("getcwd");
            strcat(here, "/d/whole");
            say(calls[call].make(below[i].fd, "inner"), "%s below %s", calls[call].name, below[i].name);
            say(calls[call].make(below[i].fd, "absent"), "%s nothing below %s", calls[call].name, below[i].name);
            say(calls[call].make(below[i].fd, ""), "%s an empty path below %s", calls[call].name, below[i].name);
            say(calls[call].make(below[i].fd, ".."), "%s what is above %s", calls[call].name, below[i].name);
            say(calls[call].make(below[i].fd, here), "%s a whole path below %s", calls[call].name, below[i].name);
            clear("d/whole");
            chmod(".", 0755);
            clear_tree();
            clear("inner");
            make_tree();
            close(directory);
            close(path_only);
            if (open("full", O_RDONLY | O_DIRECTORY) != directory || open("full", O_PATH) != path_only)
                give_up("the same numbers again");
        }
    }
}

static void odd_pointers(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *closed = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *big = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (two == MAP_FAILED || closed == MAP_FAILED || big == MAP_FAILED || mprotect(two + page, (size_t)page, PROT_NONE))
        give_up("mmap");
    memset(two, 'd', (size_t)page);
    memset(big, 'd', (size_t)page * 2);
    const struct {
        const char *pointer, *name;
    } pointers[] = {{NULL, "NULL"},
                    {(const char *)1, "1"},
                    {(const char *)(uintptr_t)-4096, "the kernel's"},
                    {closed, "a closed page"},
                    {two + page - 1, "one byte before a closed page"},
                    {two + page - 40, "forty bytes before a closed page"},
                    {big, "no end"},
                    {NULL, NULL}};

    make_tree();
    for (size_t i = 0; pointers[i].name; i++) {
        for (size_t call = 0; call < CALLS; call++)
            say(calls[call].make(AT_FDCWD, pointers[i].pointer), "%s of %s", calls[call].name, pointers[i].name);
    }
    /* A name that ends right before the closed page is a good name. */
    two[page - 1] = 0;
    say(call_open(AT_FDCWD, two + page - 10), "open of nine bytes and an end before a closed page");
    look("ddddddddd");
}

#ifdef SYS_rename
static void old_calls(void)
{
    put_file("file", "content");
    say(syscall(SYS_mkdir, "d", 0710), "mkdir");
    look("d");
    say(syscall(SYS_rename, "file", "d/file"), "rename");
    say(syscall(SYS_renameat, AT_FDCWD, "d/file", AT_FDCWD, "file"), "renameat");
    say(syscall(SYS_link, "file", "second"), "link");
    say(syscall(SYS_symlink, "file", "third"), "symlink");
    say(syscall(SYS_link, "third", "fourth"), "link of a link");
    look("fourth");
    say(syscall(SYS_chmod, "third", 0604), "chmod");
    say(syscall(SYS_chown, "third", -1, -1), "chown");
    say(syscall(SYS_lchown, "third", -1, -1), "lchown");
    say(syscall(SYS_mknod, "fifo", S_IFIFO | 0666, 0), "mknod");
    look("fifo");
    look("file");
    say(syscall(SYS_unlink, "second"), "unlink");
    say(syscall(SYS_unlink, "third"), "unlink of a link");
    say(syscall(SYS_rmdir, "d"), "rmdir");
    look("file");
}
#else
static void old_calls(void)
{
}
#endif

static const char *const kinds[] = {"nothing", "file", "second name", "empty", "full", "link", "dangling", "fifo"};

static void make_kind(const char *kind, const char *path)
{
    char inner[64];

    if (strcmp(kind, "file") == 0)
        put_file(path, path);
    else if (strcmp(kind, "second name") == 0 && link("shared", path) < 0)
        give_up("link");
    else if (strcmp(kind, "link") == 0)
        put_link("shared", path);
    else if (strcmp(kind, "dangling") == 0)
        put_link("absent", path);
    else if (strcmp(kind, "fifo") == 0)
        put_fifo(path);
    else if (strcmp(kind, "empty") == 0 || strcmp(kind, "full") == 0)
        put_directory(path);
    if (strcmp(kind, "full") == 0) {
        snprintf(inner, sizeof inner, "%s/in", path);
        put_file(inner, path);
    }
}

static void rename_pairs(void)
{
    static const unsigned flags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_NOREPLACE | RENAME_EXCHANGE, 8};

    put_file("shared", "shared");
    for (size_t from = 0; from < sizeof kinds / sizeof *kinds; from++) {
        for (size_t to = 0; to < sizeof kinds / sizeof *kinds; to++) {
            for (size_t flag = 0; flag < sizeof flags / sizeof *flags; flag++) {
                make_kind(kinds[from], "a");
                make_kind(kinds[to], "b");
                say(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", flags[flag]), "%s to %s with %u", kinds[from],
                    kinds[to], flags[flag]);
                look("a");
                look("b");
                clear("a");
                clear("b");
            }
        }
    }
}

static void rename_places(void)
{
    put_directory("d");
    put_directory("d/deep");
    put_file("d/deep/file", "content");
    say(rename("d", "d"), "to itself");
    say(rename("d", "d/deep/d"), "into itself");
    say(rename("d/deep", "d"), "onto what is above");
    say(rename("d/deep/file", "file"), "up");
    say(rename("file", "d/deep/file"), "down");
    say(rename("d", "e/"), "a directory with a slash");
    say(rename("e/", "d"), "back with a slash");
    say(rename("d/deep/file", "file/"), "a file with a slash");
    say(rename(".", "here"), "the current one");
    say(rename("d/.", "here"), "a dot");
    say(rename("d/..", "here"), "dots");
    say(rename("d", "."), "onto the current one");
    say(rename("d/deep/file", "/dev/shm/conform-file"), "to another file system");
    say(link("d/deep/file", "/dev/shm/conform-file"), "a link on another file system");
    say(rename("/proc/self/cwd/d", "/proc/self/cwd/moved"), "by way of /proc");
    int below = open("moved", O_PATH);
    say(renameat(below, "deep", AT_FDCWD, "deep"), "out of a descriptor");
    say(renameat(AT_FDCWD, "deep", below, "deep2"), "into a descriptor");
    look("moved/deep2/file");
    chmod("moved", 0555);
    say(rename("moved/deep2", "out"), "out of a read-only directory");
    say(rename("moved", "again"), "of a read-only directory");
    say(mkdir("other", 0700), "mkdir");
    say(rename("again", "other/moved"), "of a read-only directory to another place");
    chmod("again", 0755);
    rename("again/deep2/file", "file");
    clear("again");
}

static void links(void)
{
    char path[64];

    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        put_file("shared", "shared");
        make_kind(kinds[kind], "a");
        say(linkat(AT_FDCWD, "a", AT_FDCWD, "b", 0), "%s", kinds[kind]);
        look("b");
        clear("b");
        say(linkat(AT_FDCWD, "a", AT_FDCWD, "b", AT_SYMLINK_FOLLOW), "%s followed", kinds[kind]);
        look("b");
        say(linkat(AT_FDCWD, "shared", AT_FDCWD, "a", 0), "onto %s", kinds[kind]);
        say(symlink("shared", "a"), "symlink onto %s", kinds[kind]);
        say(mkdir("a", 0700), "mkdir onto %s", kinds[kind]);
        say(mkfifo("a", 0700), "mkfifo onto %s", kinds[kind]);
        clear("a");
        clear("b");
        clear("shared");
    }
    put_file("file", "content");
    put_link("file", "link");
    int fd = open("file", O_RDONLY), path_only = open("link", O_PATH | O_NOFOLLOW), only = open("file", O_PATH);
    say(linkat(fd, "", AT_FDCWD, "1", AT_EMPTY_PATH), "a descriptor");
    say(linkat(only, "", AT_FDCWD, "2", AT_EMPTY_PATH), "a PATH descriptor");
    say(linkat(path_only, "", AT_FDCWD, "3", AT_EMPTY_PATH), "a PATH descriptor of a link");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    say(linkat(AT_FDCWD, path, AT_FDCWD, "4", AT_SYMLINK_FOLLOW), "by way of /proc");
    say(linkat(AT_FDCWD, path, AT_FDCWD, "5", 0), "by way of /proc, not followed");
    say(linkat(AT_FDCWD, "file", AT_FDCWD, "6", 0x8000), "an unknown flag");
    say(linkat(AT_FDCWD, "file", AT_FDCWD, "6/", 0), "a slash");
    look("3");
    look("file");
    unlink("file");
    say(linkat(fd, "", AT_FDCWD, "7", AT_EMPTY_PATH), "while there are other names");
    unlink("1"), unlink("2"), unlink("4"), unlink("7");
    say(linkat(AT_FDCWD, path, AT_FDCWD, "8", AT_SYMLINK_FOLLOW), "when all names are gone");
}

static void symlinks(void)
{
    static char target[4200];

    put_directory("d");
    say(symlink("", "a"), "an empty target");
    say(symlink("target", ""), "an empty name");
    say(symlink("/absent/x", "b"), "whole");
    look("b");
    say(symlink("target", "c/"), "with a slash");
    say(symlink("target", "d"), "onto a directory");
    say(symlink("target", "d/"), "onto a directory with a slash");
    say(symlinkat("../x", open("d", O_PATH), "below"), "below a descriptor");
    look("d/below");
    memset(target, 't', 4095);
    say(symlink(target, "longest"), "4095 bytes");
    look("longest");
    target[4095] = 't';
    say(symlink(target, "too-long"), "4096 bytes");
    say(syscall(SYS_symlinkat, NULL, AT_FDCWD, "x"), "from NULL");
}

static void removals(void)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        put_file("shared", "shared");
        make_kind(kinds[kind], "a");
        say(unlinkat(AT_FDCWD, "a", 1), "%s with an unknown flag", kinds[kind]);
        say(rmdir("a"), "rmdir %s", kinds[kind]);
        say(unlink("a"), "unlink %s", kinds[kind]);
        look("a");
        clear("a");
        clear("shared");
    }
    put_directory("d");
    put_directory("d/sub");
    say(rmdir("d/."), "rmdir of a dot");
    say(rmdir("d/sub/.."), "rmdir of dots");
    say(rmdir("d/sub/"), "rmdir with a slash");
    say(chdir("d"), "chdir");
    say(rmdir("../d"), "rmdir of the current one");
    say(open("x", O_RDWR | O_CREAT, 0600), "open in it");
    say(mkdir("x", 0700), "mkdir in it");
    say(mkdir("../x", 0700), "mkdir above it");
    say(rmdir("/"), "rmdir of the root");
    say(mkdir("/", 0700), "mkdir of the root");
}

/* Deeper than any path can say. */
static void too_deep(void)
{
    char name[251];
    long failed = 0;

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 20; i++)
        failed += mkdir(name, 0700) < 0 || chdir(name) < 0;
    say(failed, "directories that could not be made");
    say_opened(open("file", O_RDWR | O_CREAT, 0640), "open");
    say(mkdir("d", 0700), "mkdir");
    say(rename("file", "d/file"), "rename");
    say(symlink("d/file", "link"), "symlink");
    say(link("d/file", "second"), "link");
    say(chmod("link", 0600), "chmod");
    say(truncate("second", 3), "truncate");
    look("d/file");
    for (int i = 0; i < 2; i++) {
        int here = open(".", O_PATH);
        say_opened(openat(here, "by-descriptor", O_RDWR | O_CREAT, 0600), "below a descriptor");
        close(here);
    }
    say(unlink("second"), "unlink");
    say(unlink("d/file"), "unlink");
    say(rmdir("d"), "rmdir");
}

const struct subject name_subjects[] = {
    {"too-deep", too_deep},
    {"paths", odd_paths},
    {"descriptors-below", odd_descriptors},
    {"pointers", odd_pointers},
    {"old-calls", old_calls},
    {"rename", rename_pairs},
    {"rename-places", rename_places},
    {"link", links},
    {"symlink", symlinks},
    {"remove", removals},
    {0},
};
