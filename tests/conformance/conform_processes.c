/* Who calls, and what happens meanwhile: threads, vfork, private programs, signals,
 * FIFOs that wait, many at once, programs that are being written. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 32, ROUNDS = 15, WAITING = 40, SIGNALLED = 1500 };

static volatile sig_atomic_t signals;
static char fifo_name[] = "p";

static void count(int number)
{
    (void)number;
    signals = signals + 1;
}

static void handle(int number, int flags)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = flags};

    sigaction(number, &action, NULL);
}

/* All that one caller does, in the directory it stands in. Returns how much of it
 * failed. */
static int work(int who)
{
    char name[64], other[64];
    int failed = 0;

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "w%d-%d", who, i);
        snprintf(other, sizeof other, "w%d-%d-moved", who, i);
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        failed += fd < 0 || write(fd, name, strlen(name)) < 0;
        failed += fchmod(fd, 0640) < 0;
        close(fd);
        failed += rename(name, other) < 0;
        failed += link(other, name) < 0;
        failed += unlink(other) < 0;
        failed += mkdir(other, 0700) < 0;
        failed += rmdir(other) < 0;
    }
    return failed;
}

static long files_here(void)
{
    long found = 0;
    char name[64];

    for (int who = 0; who < 1000; who++) {
        for (int i = 0; i < ROUNDS; i++) {
            snprintf(name, sizeof name, "w%d-%d", who, i);
            found += access(name, F_OK) == 0;
        }
    }
    return found;
}

static void many_processes(void)
{
    pid_t children[PROCESSES];
    int failed = 0;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(work(i) > 255 ? 255 : 0);
    }
    for (int i = 0; i < PROCESSES; i++)
        failed += status_of(children[i]);
    say(failed, "what failed in %d processes", PROCESSES);
    say(files_here(), "files");
}

static void *work_in_thread(void *who)
{
    return (void *)(long)work((int)(long)who);
}

static void many_threads(void)
{
    pthread_t threads[16];
    long failed = 0;

    for (long i = 0; i < 16; i++) {
        if (pthread_create(&threads[i], NULL, work_in_thread, (void *)i))
            give_up("pthread_create");
    }
    for (int i = 0; i < 16; i++) {
        void *result;
        pthread_join(threads[i], &result);
        failed += (long)result;
    }
    say(failed, "what failed in 16 threads");
    say(files_here(), "files");
}

struct place {
    const char *directory;
    mode_t mask;
    long failed;
};

static void *work_elsewhere(void *argument)
{
    struct place *place = argument;

    if (unshare(CLONE_FS) < 0 || chdir(place->directory) < 0) {
        place->failed = -errno;
        return NULL;
    }
    umask(place->mask);
    place->failed = work(1);
    int fd = open("mask", O_RDWR | O_CREAT, 0666);
    close(fd);
    return NULL;
}

/* Threads with a current directory and a umask of their own. */
static void own_directories(void)
{
    struct place places[] = {{"a", 0, 0}, {"b", 022, 0}, {"c", 077, 0}, {"d", 0777, 0}};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        put_directory(places[i].directory);
        if (pthread_create(&threads[i], NULL, work_elsewhere, &places[i]))
            give_up("pthread_create");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        char path[16];
        say(places[i].failed, "failed in %s", places[i].directory);
        snprintf(path, sizeof path, "%s/w1-0", places[i].directory);
        look(path);
        snprintf(path, sizeof path, "%s/mask", places[i].directory);
        look(path);
    }
    look("w1-0");
}

static void *wander(void *stop)
{
    while (!*(volatile bool *)stop) {
        if (chdir("../b") < 0 || chdir("../a") < 0)
            return (void *)1;
    }
    return NULL;
}

/* The current directory changes while files are made: each is in one or the other. */
static void wandering(void)
{
    static bool stop;
    pthread_t thread;
    char path[64];
    long failed = 0, found = 0;
    void *lost;

    put_directory("a");
    put_directory("b");
    if (chdir("a") < 0 || pthread_create(&thread, NULL, wander, &stop))
        give_up("starting");
    for (int i = 0; i < 500; i++) {
        snprintf(path, sizeof path, "f%d", i);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        failed += fd < 0;
        close(fd);
    }
    *(volatile bool *)&stop = true;
    pthread_join(thread, &lost);
    for (int i = 0; i < 500; i++) {
        snprintf(path, sizeof path, "../a/f%d", i);
        found += access(path, F_OK) == 0;
        snprintf(path, sizeof path, "../b/f%d", i);
        found += access(path, F_OK) == 0;
    }
    say(failed, "failed");
    say(found, "found");
    say((long)lost, "lost");
}

static void born_by_vfork(void)
{
    volatile int made = -1;

    pid_t child = vfork();
    if (child == 0) {
        int fd = open("made", O_RDWR | O_CREAT | O_EXCL, 0604);
        made = fd < 0 ? errno : 0;
        mkdir("d", 0711);
        rename("made", "d/made");
        _exit(0);
    }
    say(status_of(child), "the child's end");
    say(made, "what it made");
    look("d/made");
}

static void private_program(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    put_directory("d");
    int below = open("d", O_PATH);
    say_opened(openat(below, "file", O_RDWR | O_CREAT, 0600), "below a descriptor");
    say(work(1), "what failed");
    say(symlinkat("x", below, "link"), "a link");
    look("d/link");
    say_opened(open("/proc/self/cwd/new", O_RDWR | O_CREAT, 0600), "by way of /proc");
    say(linkat(AT_FDCWD, "new", below, "second", 0), "a second name");
    look("d/second");
}

static void copy_self(const char *path, mode_t mode)
{
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    struct stat found;

    if (from < 0 || to < 0 || fstat(from, &found) < 0)
        give_up(path);
    for (off_t done = 0; done < found.st_size;) {
        if (sendfile(to, from, &done, (size_t)(found.st_size - done)) <= 0)
            give_up("sendfile");
    }
    fchmod(to, mode);
    close(from);
    close(to);
}

static int ran(const char *path)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl(path, path, "/", "no such subject", (char *)NULL);
        _exit(errno);
    }
    return status_of(child);
}

/* A program whose file nobody may read is private from its first moment. */
static void unreadable_program(void)
{
    copy_self("program", 0111);
    say(ran("./program"), "it runs");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char here[4096];
        put_directory("inner");
        if (!getcwd(here, sizeof here - 16))
            give_up("getcwd");
        strcat(here, "/inner");
        execl("./program", "./program", here, "vfork", "offsets", (char *)NULL);
        _exit(errno);
    }
    say(status_of(child), "it makes files");
    look("inner/vfork/d/made");
    look("inner/offsets/file");
}

static void busy_programs(void)
{
    long failed = 0;

    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "program%d", i);
        copy_self(name, 0700);
        failed += ran(name) != 0;
    }
    say(failed, "programs that could not be run right after they were written");
    int fd = open("program0", O_WRONLY);
    say(ran("./program0"), "a program that is open for writing");
    close(fd);
    say(ran("./program0"), "the same when it is closed");
    /* It waits for a word that does not come: a program that runs. */
    int pair[2];
    if (pipe(pair) < 0)
        give_up("pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(pair[0], 0);
        execl("./program1", "./program1", "--wait", (char *)NULL);
        _exit(1);
    }
    rest(300);
    say_opened(open("program1", O_WRONLY), "opening a program that runs");
    say(truncate("program1", 0), "truncating it");
    say(chmod("program1", 0755), "changing its mode");
    say(rename("program1", "renamed"), "renaming it");
    kill(child, SIGKILL);
    status_of(child);
    say_opened(open("renamed", O_WRONLY), "opening it when it has ended");
}

static void *open_fifo_to_write(void *path)
{
    int fd = open(path, O_WRONLY);

    return (void *)(fd < 0 ? -(long)errno : write(fd, "hello", 5));
}

static void fifos(void)
{
    char text[16];
    pthread_t thread;
    void *result;

    put_fifo("p");
    say_opened(open("p", O_WRONLY | O_NONBLOCK), "to write, not to wait, nobody there");
    say_opened(open("p", O_RDONLY | O_NONBLOCK), "to read, not to wait");
    say_opened(open("p", O_RDWR), "for both");
    if (pthread_create(&thread, NULL, open_fifo_to_write, fifo_name))
        give_up("pthread_create");
    rest(100);
    int fd = open("p", O_RDONLY);
    say(fcntl(fd, F_GETFL), "reader's flags");
    pthread_join(thread, &result);
    say((long)result, "a writer that waited for a reader");
    say(read(fd, text, sizeof text), "what it wrote");
    close(fd);

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        fd = open("p", O_RDONLY);
        ssize_t length = read(fd, text, sizeof text);
        _exit(fd < 0 ? errno : (int)length);
    }
    rest(100);
    fd = open("p", O_WRONLY | O_CREAT, 0600);
    say(fcntl(fd, F_GETFL), "writer's flags");
    say(write(fd, "seven..", 7), "to a reader that waited");
    close(fd);
    say(status_of(child), "what it read");
}

/* Many wait, and others can work and be killed all the same. */
static void many_wait(void)
{
    pid_t children[WAITING];
    char name[32];
    int ended = 0;

    for (int i = 0; i < WAITING; i++) {
        snprintf(name, sizeof name, "p%d", i);
        put_fifo(name);
        children[i] = fork();
        if (children[i] == 0) {
            int fd = open(name, O_WRONLY);
            _exit(fd < 0 ? errno : 77);
        }
    }
    rest(200);
    say(work(1), "what failed while %d wait", WAITING);
    for (int i = 0; i < WAITING / 2; i++) {
        snprintf(name, sizeof name, "p%d", i);
        int fd = open(name, O_RDONLY);
        say(fd < 0 ? -1 : 0, "reader %d", i);
        ended += status_of(children[i]) == 77;
        close(fd);
    }
    say(ended, "writers that got through");
    for (int i = WAITING / 2; i < WAITING; i++)
        kill(children[i], SIGKILL);
    for (int i = WAITING / 2; i < WAITING; i++)
        say(status_of(children[i]), "the end of a writer that waited in vain");
}

static void *read_later(void *path)
{
    char text[8];

    rest(400);
    int fd = open(path, O_RDONLY);
    return (void *)read(fd, text, sizeof text);
}

static void interrupted(void)
{
    struct itimerval soon = {.it_value = {.tv_usec = 100000}};
    pthread_t thread;
    sigset_t blocked;

    put_fifo("p");
    handle(SIGALRM, 0);
    setitimer(ITIMER_REAL, &soon, NULL);
    say_opened(open("p", O_WRONLY), "a wait that a signal ends");
    say(signals, "signals");

    handle(SIGALRM, SA_RESTART);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    if (pthread_create(&thread, NULL, read_later, fifo_name))
        give_up("pthread_create");
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    int fd = open("p", O_WRONLY);
    say(fd < 0 ? -1 : 0, "a wait that goes on after a signal");
    say(signals, "signals then");
    close(fd);
    pthread_join(thread, NULL);

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_DFL);
        fd = open("p", O_RDONLY);
        _exit(1);
    }
    rest(100);
    kill(child, SIGTERM);
    say(status_of(child), "one that waits is ended");
    child = fork();
    if (child == 0) {
        fd = open("p", O_RDONLY);
        _exit(2);
    }
    rest(100);
    kill(child, SIGSTOP);
    int status;
    say(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) ? 0 : -1, "one that waits is stopped");
    kill(child, SIGCONT);
    fd = open("p", O_WRONLY);
    say(fd < 0 ? -1 : 0, "and goes on");
    say(status_of(child), "its end");
}

/* Under a rain of signals every call is made exactly once: what a restarted call
 * finds made already, it made itself. */
static void rain(void)
{
    struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}};
    char name[32], other[32];
    long failed = 0;

    signals = 0;
    handle(SIGALRM, SA_RESTART);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < SIGNALLED; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(other, sizeof other, "g%d", i);
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        failed += fd < 0;
        close(fd);
        failed += rename(name, other) < 0;
        failed += mkdir(name, 0700) < 0;
        failed += rmdir(name) < 0;
        failed += unlink(other) < 0;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    say(failed, "calls that failed");
    say(signals > 100 ? 0 : -1, "enough signals");
}

const struct subject process_subjects[] = {
    {"processes", many_processes},
    {"threads", many_threads},
    {"own-directories", own_directories},
    {"wandering", wandering},
    {"vfork", born_by_vfork},
    {"private", private_program},
    {"unreadable", unreadable_program},
    {"busy", busy_programs},
    {"fifos", fifos},
    {"waiting", many_wait},
    {"interrupted", interrupted},
    {"rain", rain},
    {0},
};
