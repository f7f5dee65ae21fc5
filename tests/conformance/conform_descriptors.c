/* What is opened again through /proc and /dev: nameless things, devices, terminals,
 * the caller's own entries of /proc; and what an open file must keep: locks, leases,
 * offsets, names. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *through_proc(int fd)
{
    static char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void say_reopened(int fd, const char *name)
{
    say_opened(open(through_proc(fd), O_RDONLY | O_NONBLOCK), "%s to read", name);
    say_opened(open(through_proc(fd), O_WRONLY | O_NONBLOCK), "%s to write", name);
    say_opened(open(through_proc(fd), O_RDWR | O_NONBLOCK | O_CLOEXEC), "%s for both", name);
    say_opened(open(through_proc(fd), O_RDWR | O_CREAT | O_NONBLOCK, 0600), "%s CREAT", name);
    say_opened(open(through_proc(fd), O_RDWR | O_APPEND | O_NONBLOCK), "%s APPEND", name);
    say_opened(open(through_proc(fd), O_WRONLY | O_TRUNC | O_NONBLOCK), "%s TRUNC", name);
    say_opened(open(through_proc(fd), O_WRONLY | O_NOFOLLOW | O_NONBLOCK), "%s NOFOLLOW", name);
    say_opened(open(through_proc(fd), O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600), "%s EXCL", name);
    say_opened(open(through_proc(fd), O_RDWR | O_DIRECTORY | O_NONBLOCK), "%s DIRECTORY", name);
    say_opened(open(through_proc(fd), O_PATH), "%s PATH", name);
    say(truncate(through_proc(fd), 2), "%s truncated", name);
    struct stat found;
    /* Never of what others use. */
    if (fstat(fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISFIFO(found.st_mode)))
        say(chmod(through_proc(fd), 0644), "%s chmod", name);
    close(fd);
}

static void reopened(void)
{
    int pair[2];

    int memory = memfd_create("name", 0);
    say(write(memory, "content", 7), "filling");
    say_reopened(memory, "memory");
    memory = memfd_create("name", MFD_ALLOW_SEALING);
    fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE);
    say_reopened(memory, "sealed memory");

    put_file("gone", "content");
    int fd = open("gone", O_RDONLY);
    unlink("gone");
    say_reopened(fd, "deleted file");
    look("gone");
    look("gone (deleted)");
    put_file("gone", "content");
    fd = open("gone", O_RDONLY);
    unlink("gone");
    put_file("gone", "another");
    say_reopened(fd, "deleted and replaced file");
    look("gone");
    put_file("real (deleted)", "content");
    say_reopened(open("real (deleted)", O_RDONLY), "file called deleted");
    look("real (deleted)");
    put_file("moved", "content");
    fd = open("moved", O_RDONLY);
    rename("moved", "elsewhere");
    say_reopened(fd, "moved file");
    look("elsewhere");

    put_file("file", "content");
    say_reopened(open("file", O_RDONLY), "file");
    put_file("file", "content");
    say_reopened(open("file", O_PATH), "PATH file");
    put_link("file", "link");
    say_reopened(open("link", O_PATH | O_NOFOLLOW), "PATH link");
    say_reopened(open(".", O_TMPFILE | O_RDWR, 0600), "nameless file");
    say_reopened(open(".", O_RDONLY), "directory");
    if (pipe(pair) < 0)
        give_up("pipe");
    say_reopened(pair[0], "pipe's end");
    say_reopened(pair[1], "pipe's beginning");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        give_up("socketpair");
    say_reopened(pair[0], "socket");
    say_reopened(open("/dev/null", O_RDONLY), "/dev/null");
    say_reopened(99, "nothing");
}

static void say_made(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0640);

    say_opened(fd, "%s", path);
    look("file");
    say(mkdir("d", 0700), "mkdir beside it");
    clear("file");
    clear("d");
}

static void *make_in_thread(void *unused)
{
    say_made("/proc/thread-self/cwd/file");
    return unused;
}

static void ways_through_proc(void)
{
    char path[128];
    pthread_t thread;

    say_made("/proc/self/cwd/file");
    say_made("/proc/thread-self/cwd/file");
    say_made("/proc/self/root/proc/self/cwd/file");
    say_made("/proc/self/task/../cwd/file");
    say_made("/proc/self/cwd/../ways/file");
    say_made("/dev/fd/../cwd/file");
    int here = open(".", O_RDONLY | O_DIRECTORY), path_only = open(".", O_PATH);
    snprintf(path, sizeof path, "/proc/self/fd/%d/file", here);
    say_made(path);
    snprintf(path, sizeof path, "/dev/fd/%d/file", path_only);
    say_made(path);
    if (pthread_create(&thread, NULL, make_in_thread, NULL))
        give_up("pthread_create");
    pthread_join(thread, NULL);
    /* Numbers of processes are not printed. */
    snprintf(path, sizeof path, "/proc/%d/cwd/file", getpid());
    say_opened(open(path, O_RDWR | O_CREAT, 0600), "by number");
    snprintf(path, sizeof path, "/proc/%d/task/%d/cwd/file", getpid(), getpid());
    say_opened(open(path, O_WRONLY), "by number of the thread");
    snprintf(path, sizeof path, "/proc/%d/cwd/file", getppid());
    say_opened(open(path, O_WRONLY | O_CREAT, 0600), "by the parent's number");
    unlink("../file");
    look("file");
}

static void say_written(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    if (!say(fd < 0 ? -1 : 0, "open %s", path))
        return;
    say(write(fd, text, strlen(text)), "write %s", path);
    close(fd);
}

static void own_entries(void)
{
    char path[64], name[32] = "";

    say_written("/proc/self/comm", "renamed");
    say_written("/proc/thread-self/comm", "renamed again");
    int fd = open("/proc/self/comm", O_RDONLY);
    say(read(fd, name, sizeof name - 1), "its name is now %.13s", name);
    lseek(fd, 0, SEEK_SET);
    memset(name, 0, sizeof name);
    say(read(fd, name, sizeof name - 1), "reading it");
    name[strcspn(name, "\n")] = 0;
    say(0, "its name is %s", name);
    say_written("/proc/self/oom_score_adj", "500");
    say_written("/proc/self/coredump_filter", "0x1");
    say_written("/proc/self/clear_refs", "1");
    say_written("/proc/self/timerslack_ns", "60000");
    pid_t child = fork();
    if (child == 0) {
        rest(20000);
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", child);
    fd = open(path, O_WRONLY);
    say(fd < 0 ? -1 : 0, "open a child's oom_score_adj");
    say(write(fd, "600", 3), "write it");
    snprintf(path, sizeof path, "/proc/%d/comm", child);
    fd = open(path, O_WRONLY);
    say(fd < 0 ? -1 : 0, "open a child's name");
    kill(child, 9);
    say(status_of(child), "the child's end");
    static char memory[] = "before";
    fd = open("/proc/self/mem", O_RDWR);
    say(fd < 0 ? -1 : 0, "open the own memory");
    say(pwrite(fd, "after!", 6, (off_t)(long)memory), "write it");
    say(0, "it is %s", memory);
}

static void devices(void)
{
    static const char *const names[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        say_opened(open(names[i], O_RDONLY), "%s to read", names[i]);
        int fd = open(names[i], O_WRONLY | O_TRUNC | O_CREAT, 0600);
        say(write(fd, "text", 4), "writing to %s", names[i]);
        say_opened(fd, "%s to write", names[i]);
        say_opened(open(names[i], O_RDWR | O_APPEND), "%s for both", names[i]);
    }
    int pair[2];
    char byte = 0;
    if (pipe(pair) < 0)
        give_up("pipe");
    fflush(stdout);
    int kept = dup(1);
    dup2(pair[1], 1);
    int fd = open("/dev/stdout", O_WRONLY);
    long written = write(fd, "x", 1);
    dup2(kept, 1);
    say(written, "writing to /dev/stdout");
    say(read(pair[0], &byte, 1), "reading what was written");
}

static void say_terminal(const char *words, int flags)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char buffer[16];
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        grantpt(master);
        unlockpt(master);
        setsid();
        say_opened(open("/dev/tty", O_RDWR), "%s: /dev/tty before", words);
        int slave = open(ptsname(master), O_RDWR | flags);
        say(slave < 0 ? -1 : 0, "%s: opening it", words);
        int own = open("/dev/tty", O_RDWR);
        if (!say(own < 0 ? -1 : 0, "%s: /dev/tty", words) && say(ioctl(slave, TIOCSCTTY, 0), "%s: taking it", words)) {
            own = open("/dev/tty", O_RDWR);
            say(own < 0 ? -1 : 0, "%s: /dev/tty then", words);
        }
        say(isatty(own), "%s: is it a terminal", words);
        say(write(own, "typed", 5), "%s: writing", words);
        say(read(master, buffer, sizeof buffer), "%s: what came out", words);
        say_opened(open("/dev/tty", O_WRONLY | O_NONBLOCK), "%s: again, not to wait", words);
        exit(0);
    }
    say(status_of(child), "%s: the end", words);
}

static void terminals(void)
{
    say_opened(open("/dev/ptmx", O_RDWR | O_NOCTTY), "/dev/ptmx");
    say_terminal("not taken by opening", O_NOCTTY);
    say_terminal("taken by opening", 0);
}

static void locks(void)
{
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        give_up("pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = open("lock", O_RDWR | O_CREAT, 0600);
        struct flock region = {.l_type = F_WRLCK, .l_start = 100, .l_len = 10};
        bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 && fcntl(fd, F_SETLK, &region) == 0;
        if (write(ready[1], locked ? "y" : "n", 1) != 1)
            _exit(1);
        rest(20000);
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1)
        give_up("read");
    say(byte == 'y' ? 0 : -1, "a child locks");
    int fd = open("lock", O_RDWR);
    struct flock region = {.l_type = F_WRLCK, .l_start = 105, .l_len = 1};
    struct flock open_region = {.l_type = F_WRLCK, .l_start = 200, .l_len = 1};
    say(flock(fd, LOCK_EX | LOCK_NB), "flock while it is held");
    say(fcntl(fd, F_SETLK, &region), "lock of a region that is held");
    say(fcntl(fd, F_OFD_SETLK, &open_region), "lock of another region");
    say(rename("lock", "moved"), "renaming it meanwhile");
    kill(child, 9);
    status_of(child);
    say(flock(fd, LOCK_EX | LOCK_NB), "flock when its holder is gone");
    say(fcntl(fd, F_SETLK, &region), "the region");
    close(fd);
    fd = open("moved", O_RDWR);
    say(flock(fd, LOCK_EX | LOCK_NB), "flock after closing");
    int second = open("moved", O_RDWR);
    say(flock(second, LOCK_EX | LOCK_NB), "flock of a second open file");
    close(fd);
    say(flock(second, LOCK_EX | LOCK_NB), "flock when the first is closed");
    close(second);
    for (int i = 0; i < 50; i++) {
        fd = open("moved", O_RDWR | O_CREAT, 0600);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || close(fd) < 0)
            say(-1, "flock in round %d", i);
    }
}

/* Nobody else may have the file open, or keep it open a moment longer. */
static void leases(void)
{
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "file%d", i);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
            say(-1, "a lease on a new file");
        close(fd);
        fd = open(name, O_WRONLY);
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
            say(-1, "a lease on a file opened to write");
        close(fd);
    }
    say(0, "leases");
}

static void names_of_descriptors(void)
{
    char target[4096], here[4096];
    static const char *const paths[] = {"new", "./d/../new", "d/link", "d/deep", "/proc/self/cwd/d/deep"};

    put_directory("d");
    put_link("../new", "d/link");
    put_file("d/deep", "");
    if (!getcwd(here, sizeof here))
        give_up("getcwd");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int fd = open(paths[i], O_RDWR | O_CREAT, 0600);
        ssize_t length = readlink(through_proc(fd), target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        bool below = strncmp(target, here, strlen(here)) == 0;
        say(0, "%s is called %s%s", paths[i], below ? "HERE" : "", target + (below ? strlen(here) : 0));
        struct stat by_name, by_descriptor;
        fstat(fd, &by_descriptor);
        say(stat(paths[i], &by_name), "%s by name", paths[i]);
        say(by_name.st_dev != by_descriptor.st_dev || by_name.st_ino != by_descriptor.st_ino, "%s is the same file",
            paths[i]);
        close(fd);
    }
}

static void offsets(void)
{
    char text[32] = "";

    int fd = open("file", O_RDWR | O_CREAT | O_APPEND, 0600), other = open("file", O_RDWR);
    say(write(fd, "one", 3), "append");
    say(write(other, "TWO!", 4), "write at the beginning");
    say(write(fd, "three", 5), "append again");
    say(pread(other, text, sizeof text, 0), "read");
    look("file");
    char *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
    say(map == MAP_FAILED ? -1 : 0, "map");
    memcpy(map, "MAP!", 4);
    look("file");
}

const struct subject descriptor_subjects[] = {
    {"reopened", reopened},       {"ways", ways_through_proc},
    {"own-entries", own_entries}, {"devices", devices},
    {"terminals", terminals},     {"locks", locks},
    {"leases", leases},           {"descriptor-names", names_of_descriptors},
    {"offsets", offsets},         {0},
};
