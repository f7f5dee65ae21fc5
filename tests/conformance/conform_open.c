/* open(2), openat(2), openat2(2) and creat(2): every combination of the flags that
 * mean something on every kind of object, and what is left there afterwards. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

struct named_flag {
    int flag;
    const char *name;
};

static const struct named_flag flags[] = {
    {O_CREAT, "CREAT"},         {O_EXCL, "EXCL"}, {O_TRUNC, "TRUNC"},   {O_NOFOLLOW, "NOFOLLOW"},
    {O_DIRECTORY, "DIRECTORY"}, {O_PATH, "PATH"}, {O_APPEND, "APPEND"},
};

enum { FLAGS = sizeof flags / sizeof *flags };

static const char *const access_names[] = {"RDONLY", "WRONLY", "RDWR"};

static void put_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(address.sun_path, path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        give_up("socket");
    close(fd);
}

/* Each makes "x" (and may use "other"). */
static void make_nothing(void)
{
}

static void make_file(void)
{
    put_file("x", "content");
}

static void make_read_only(void)
{
    put_file("x", "content");
    chmod("x", 0444);
}

static void make_closed(void)
{
    put_file("x", "content");
    chmod("x", 0);
}

static void make_directory(void)
{
    put_directory("x");
}

static void make_link_to_file(void)
{
    put_file("other", "content");
    put_link("other", "x");
}

static void make_link_to_directory(void)
{
    put_directory("other");
    put_link("other", "x");
}

static void make_dangling(void)
{
    put_link("other", "x");
}

static void make_chain(void)
{
    put_link("y", "x");
    put_link("./other", "y");
}

static void make_loop(void)
{
    put_link("x", "x");
}

static void make_fifo(void)
{
    put_fifo("x");
}

static void make_socket(void)
{
    put_socket("x");
}

static void make_link_to_null(void)
{
    put_link("/dev/null", "x");
}

struct object {
    const char *name;
    void (*make)(void);
};

static const struct object objects[] = {
    {"nothing", make_nothing},
    {"file", make_file},
    {"read-only file", make_read_only},
    {"closed file", make_closed},
    {"directory", make_directory},
    {"link to file", make_link_to_file},
    {"link to directory", make_link_to_directory},
    {"dangling link", make_dangling},
    {"chain of links", make_chain},
    {"loop", make_loop},
    {"fifo", make_fifo},
    {"socket", make_socket},
    {"link to /dev/null", make_link_to_null},
};

static void clear_all(void)
{
    clear("x");
    clear("y");
    clear("other");
}

static void describe(int mode, unsigned chosen, char *words, size_t size)
{
    size_t length = (size_t)snprintf(words, size, "%s", access_names[mode]);

    for (unsigned i = 0; i < FLAGS; i++) {
        if (chosen & 1U << i)
            length += (size_t)snprintf(words + length, size - length, "|%s", flags[i].name);
    }
}

/* O_NONBLOCK everywhere: FIFOs that wait are another subject. */
static void all_flags(void)
{
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        objects[i].make();
        for (int mode = 0; mode < 3; mode++) {
            for (unsigned chosen = 0; chosen < 1U << FLAGS; chosen++) {
                char words[128];
                int value = mode | O_NONBLOCK;
                for (unsigned bit = 0; bit < FLAGS; bit++)
                    value |= chosen & 1U << bit ? flags[bit].flag : 0;
                describe(mode, chosen, words, sizeof words);
                bool good = say_opened(open("x", value, 0640), "%s: %s", objects[i].name, words);
                if ((value & (O_CREAT | O_TRUNC)) == 0)
                    continue;
                look("x");
                look("other");
                if (!good)
                    continue;
                clear_all();
                objects[i].make();
            }
        }
        clear_all();
    }
}

static void slashes(void)
{
    static const char *const paths[] = {"x/", "x/.", "x//", "./x", ".//x", "x/../x", "x/..", "x/new", "x/new/", ""};

    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        objects[i].make();
        for (size_t path = 0; path < sizeof paths / sizeof *paths; path++) {
            say_opened(open(paths[path], O_RDONLY | O_NONBLOCK), "%s: RDONLY %s", objects[i].name, paths[path]);
            say_opened(open(paths[path], O_WRONLY | O_NONBLOCK), "%s: WRONLY %s", objects[i].name, paths[path]);
            say_opened(open(paths[path], O_RDWR | O_CREAT | O_NONBLOCK, 0600), "%s: CREAT %s", objects[i].name,
                       paths[path]);
            clear_all();
            objects[i].make();
            say_opened(open(paths[path], O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600), "%s: EXCL NOFOLLOW %s",
                       objects[i].name, paths[path]);
            clear_all();
            objects[i].make();
        }
        clear_all();
    }
}

static void kept_flags(void)
{
    static const struct named_flag kept[] = {
        {O_APPEND, "APPEND"},
        {O_NONBLOCK, "NONBLOCK"},
        {O_SYNC, "SYNC"},
        {O_DSYNC, "DSYNC"},
        {O_DIRECT, "DIRECT"},
        {O_NOATIME, "NOATIME"},
        {O_ASYNC, "ASYNC"},
        {O_CLOEXEC, "CLOEXEC"},
        {O_NOCTTY, "NOCTTY"},
        {0100000, "LARGEFILE"},
        {O_TRUNC, "TRUNC"},
        {O_EXCL, "EXCL without CREAT"},
        {0x40000000, "an unknown flag"},
        {3, "access 3"},
        {O_NOFOLLOW, "NOFOLLOW"},
    };

    put_file("x", "content");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        say_opened(open("x", O_WRONLY | kept[i].flag), "file WRONLY|%s", kept[i].name);
        say_opened(open("x", O_RDWR | O_CREAT | kept[i].flag, 0600), "file CREAT|%s", kept[i].name);
        unlink("x");
        say_opened(open("x", O_RDWR | O_CREAT | kept[i].flag, 0600), "new file CREAT|%s", kept[i].name);
        put_file("x", "content");
    }
    say_opened(creat("made", 0604), "creat");
    look("made");
#ifdef SYS_open
    say_opened((int)syscall(SYS_open, "older", O_WRONLY | O_CREAT, 0600), "the old open");
    say_opened((int)syscall(SYS_creat, "oldest", 0600), "the old creat");
#endif
    look("older");
}

static void modes_and_umask(void)
{
    static const mode_t masks[] = {0, 022, 027, 077, 0777, 0111};
    static const mode_t modes[] = {0, 0400, 0600, 0644, 0666, 0777, 01777, 0222};

    for (size_t mask = 0; mask < sizeof masks / sizeof *masks; mask++) {
        umask(masks[mask]);
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            say_opened(open("x", O_RDWR | O_CREAT | O_EXCL, modes[i]), "open %o under %o", modes[i], masks[mask]);
            say(mkdir("d", modes[i]), "mkdir %o under %o", modes[i], masks[mask]);
            look("d");
            say(mkfifo("p", modes[i]), "mkfifo %o under %o", modes[i], masks[mask]);
            look("p");
            clear("x");
            clear("d");
            clear("p");
        }
    }
}

/* A default list of a directory takes the place of the umask. */
static void default_lists(void)
{
    static const unsigned char list[] = {
        2,  0, 0, 0,                     /* version */
        1,  0, 7, 0, 255, 255, 255, 255, /* owner rwx */
        4,  0, 5, 0, 255, 255, 255, 255, /* group r-x */
        32, 0, 4, 0, 255, 255, 255, 255, /* others r-- */
    };

    put_directory("d");
    if (!say(setxattr("d", "system.posix_acl_default", list, sizeof list, 0), "setting a default list"))
        return;
    umask(077);
    say_opened(open("d/x", O_RDWR | O_CREAT, 0666), "open below it");
    say(mkdir("d/sub", 0777), "mkdir below it");
    look("d/sub");
    say_opened(open("d/sub/x", O_RDWR | O_CREAT, 0666), "open below that");
    say(mkfifo("d/p", 0666), "mkfifo below it");
    look("d/p");
    unlink("d/sub/x");
}

static void nameless_files(void)
{
    char path[64];

    put_directory("d");
    put_file("x", "content");
    say_opened(open("d", O_TMPFILE | O_RDWR, 0640), "TMPFILE RDWR");
    say_opened(open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), "TMPFILE WRONLY");
    say_opened(open("d", O_TMPFILE | O_RDONLY, 0600), "TMPFILE RDONLY");
    say_opened(open("x", O_TMPFILE | O_RDWR, 0600), "TMPFILE in a file");
    say_opened(open("no", O_TMPFILE | O_RDWR, 0600), "TMPFILE in nothing");
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        int fd = open("d", O_TMPFILE | O_RDWR | (exclusive ? O_EXCL : 0), 0640);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        say(linkat(AT_FDCWD, path, AT_FDCWD, "d/linked", AT_SYMLINK_FOLLOW), "linking it, exclusive %d", exclusive);
        say(linkat(fd, "", AT_FDCWD, "d/empty", AT_EMPTY_PATH), "linking it by empty path, exclusive %d", exclusive);
        say(linkat(fd, "", AT_FDCWD, "d/x", 0), "linking it by empty path without the flag");
        look("d/linked");
        look("d/empty");
        close(fd);
        unlink("d/linked");
        unlink("d/empty");
    }
}

static void say_opened2(const char *path, unsigned long long value, unsigned long long mode, unsigned long long resolve,
                        const char *words)
{
    struct open_how how = {.flags = value, .mode = mode, .resolve = resolve};

    say_opened((int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how), "%s %.20s", words, path);
}

static void openat2_resolving(void)
{
    static const struct {
        unsigned long long resolve;
        const char *name;
    } ways[] = {
        {0, "plain"},
        {RESOLVE_BENEATH, "beneath"},
        {RESOLVE_IN_ROOT, "in root"},
        {RESOLVE_NO_SYMLINKS, "no links"},
        {RESOLVE_NO_MAGICLINKS, "no magic"},
        {RESOLVE_NO_XDEV, "no other mount"},
        {RESOLVE_CACHED, "cached"},
        {1U << 20, "unknown"},
    };
    static const char *const paths[] = {"d/file", "d/new", "d/../d/new", "../openat2/d/new", "/dev/null",
                                        "in",     "out",   "dangling",   "magic/d/new",      "/proc/self/cwd/d/new"};

    put_directory("d");
    put_file("d/file", "content");
    put_link("d/file", "in");
    put_link("/dev/null", "out");
    put_link("d/new", "dangling");
    put_link("/proc/self/cwd", "magic");
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            say_opened2(paths[i], O_RDONLY, 0, ways[way].resolve, ways[way].name);
            /* What is cached is nobody's promise where something must be made. */
            if (ways[way].resolve == RESOLVE_CACHED)
                continue;
            say_opened2(paths[i], O_WRONLY, 0, ways[way].resolve, ways[way].name);
            say_opened2(paths[i], O_RDWR | O_CREAT, 0640, ways[way].resolve, ways[way].name);
            look("d/new");
            clear("d/new");
        }
    }
}

static void openat2_arguments(void)
{
    struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0600};
    struct {
        struct open_how how;
        unsigned long more;
    } longer = {.how = how};

    say_opened2("x", O_RDWR | O_CREAT, 0100600, 0, "a mode with a type");
    say_opened2("x", O_RDWR, 0600, 0, "a mode for nothing");
    say_opened2("x", O_RDWR | O_CREAT | 1ULL << 40, 0600, 0, "an unknown flag");
    say_opened2("x", O_RDWR | O_CREAT | O_PATH, 0600, 0, "PATH and CREAT");
    say_opened2("x", O_RDWR | O_CREAT | O_DIRECTORY, 0600, 0, "DIRECTORY and CREAT");
    say_opened((int)syscall(SYS_openat2, AT_FDCWD, "x", &how, 8), "short");
    say_opened((int)syscall(SYS_openat2, AT_FDCWD, "x", &longer, sizeof longer), "longer, zero");
    longer.more = 1;
    say_opened((int)syscall(SYS_openat2, AT_FDCWD, "y", &longer, sizeof longer), "longer, not zero");
    say_opened((int)syscall(SYS_openat2, AT_FDCWD, "y", NULL, sizeof how), "nowhere");
    say_opened((int)syscall(SYS_openat2, AT_FDCWD, "y", &how, 100000), "endless");
}

/* No room for one more descriptor: nothing may have been made. */
static void no_room(void)
{
    struct rlimit limit = {3, 3};

    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        give_up("setrlimit");
    say(open("x", O_RDWR | O_CREAT, 0600), "open with a full table");
    look("x");
    close(0);
    say(open("x", O_RDWR | O_CREAT, 0600), "open with one free");
    look("x");
}

static void lowest_descriptor(void)
{
    int fds[8];

    for (int i = 0; i < 8; i++)
        fds[i] = say(open("x", O_RDWR | O_CREAT, 0600), "descriptor %d", i) ? i + 3 : -1;
    close(fds[2]);
    close(fds[5]);
    say(open("x", O_WRONLY), "the lowest free one");
    say(open("x", O_WRONLY | O_CLOEXEC), "the next");
    say(open("x", O_WRONLY), "the end");
}

const struct subject open_subjects[] = {
    {"flags", all_flags},
    {"slashes", slashes},
    {"kept-flags", kept_flags},
    {"umask", modes_and_umask},
    {"default-lists", default_lists},
    {"nameless", nameless_files},
    {"openat2", openat2_resolving},
    {"openat2-arguments", openat2_arguments},
    {"no-room", no_room},
    {"lowest", lowest_descriptor},
    {0},
};
