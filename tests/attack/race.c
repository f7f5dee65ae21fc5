/* Races against whoever judges a call and lets it happen later.
 *
 *   race [--racy] CALL SWAP MILLISECONDS      tries; says how often what came of it
 *   race --exchange MILLISECONDS              only exchanges `new` and `old`, for a neighbour that is ready
 *   race --content[-racy] MILLISECONDS        rewrites a file while it is renamed (race_content.c)
 *   race --list calls|swaps                   what can be tried
 *
 * In the current directory `old` was there before the run, `new` is made by it. A
 * victim makes a call on a protected name, again and again, at a place that others
 * turn from the one directory to the other meanwhile:
 *
 *   thread, shared, vm, mem    the name's bytes are rewritten: by a thread, by a process
 *                              that shares the memory, by process_vm_writev, by
 *                              /proc/PID/mem
 *   directory                  the two directories are exchanged
 *   link                       two links, one to each, are exchanged
 *   descriptor                 a directory's descriptor is replaced by dup2
 *   current                    the current directory is changed
 *   neighbour                  nothing: somebody else exchanges the directories
 *
 * Whatever happens in `new` is allowed. Nothing may ever happen in `old`; that is
 * judged from outside, by the test, and by whom the host's server saw.
 *
 * --racy runs the same under a supervisor that checks and then lets the kernel look
 * again: it must be caught. */
#include "race.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PLACE = 64, DIRECTORY_NUMBER = 100 };

/* In memory that all processes of the race share. */
struct board {
    atomic_bool stop;
    atomic_ulong swaps;
    /* sockaddr_un needs its family right before its path. */
    uint16_t family;
    char path[PLACE];
};

struct race {
    const struct race_call *call;
    const char *swap;
    long milliseconds;
    struct board *board;
    char *path; /* what is rewritten: on the board, or in memory of the victim's own */
    int new_directory, old_directory;
    pid_t victim;
    char paths[2][PLACE];
};

static void fail(const char *what)
{
    fprintf(stderr, "race: %s: %s\n", what, strerror(errno));
    exit(2);
}

static bool is(const struct race *race, const char *swap)
{
    return strcmp(race->swap, swap) == 0;
}

static bool turns_bytes(const struct race *race)
{
    return is(race, "thread") || is(race, "shared") || is(race, "vm") || is(race, "mem");
}

/* Only the first three bytes differ: "new" and "old". */
static bool rewrite(const struct race *race, int memory, const char *text)
{
    struct iovec from = {.iov_base = (void *)(uintptr_t)text, .iov_len = 3};
    struct iovec to = {.iov_base = race->path, .iov_len = 3};

    if (is(race, "vm"))
        return process_vm_writev(race->victim, &from, 1, &to, 1, 0) == 3;
    if (is(race, "mem"))
        return pwrite(memory, text, 3, (off_t)(uintptr_t)race->path) == 3;
    memcpy(race->path, text, 3);
    return true;
}

/* One turn, to the directory of number `which`. */
static bool turn(const struct race *race, int memory, unsigned which)
{
    int directory = which ? race->old_directory : race->new_directory;

    if (turns_bytes(race))
        return rewrite(race, memory, race->paths[which]);
    if (is(race, "directory"))
        return syscall(SYS_renameat2, AT_FDCWD, "new", AT_FDCWD, "old", RENAME_EXCHANGE) == 0;
    if (is(race, "link"))
        return syscall(SYS_renameat2, AT_FDCWD, "link-1", AT_FDCWD, "link-2", RENAME_EXCHANGE) == 0;
    if (is(race, "descriptor"))
        return dup2(directory, DIRECTORY_NUMBER) >= 0;
    if (is(race, "current"))
        return fchdir(directory) == 0;
    struct timespec pause = {.tv_nsec = 1000000};
    return nanosleep(&pause, NULL) == 0;
}

static void *turn_again_and_again(void *argument)
{
    const struct race *race = argument;
    unsigned random = (unsigned)getpid();
    char path[64];
    unsigned which = 0;

    snprintf(path, sizeof path, "/proc/%d/mem", race->victim);
    int memory = is(race, "mem") ? open(path, O_RDWR) : -1;
    while (!race->board->stop) {
        which = !which;
        if (turn(race, memory, which))
            race->board->swaps++;
        /* Now at once, now a little later: a judge takes some microseconds. */
        random = random * 1103515245 + 12345;
        for (volatile unsigned i = 0; i < (random >> 16) % 4096; i++)
            ;
    }
    /* As they were. */
    if (is(race, "directory") && race->board->swaps % 2)
        turn(race, memory, 0);
    return NULL;
}

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static struct aim aim_of(const struct race *race)
{
    struct aim aim = {.directory = AT_FDCWD, .path = race->path, .ours = race->new_directory};

    if (turns_bytes(race))
        snprintf(race->path, PLACE, "%s", race->paths[0]);
    else if (is(race, "link"))
        snprintf(race->path, PLACE, "link-1/%s", race->call->file);
    else if (is(race, "descriptor") || is(race, "current"))
        snprintf(race->path, PLACE, "%s", race->call->file);
    else
        snprintf(race->path, PLACE, "old/%s", race->call->file);
    if (is(race, "descriptor"))
        aim.directory = DIRECTORY_NUMBER;
    return aim;
}

static void try_again_and_again(const struct race *race)
{
    struct aim aim = aim_of(race);
    unsigned long allowed = 0, refused = 0, other = 0;

    /* Until the enemy has had its turn: on a busy machine that may take longer. Some never get one. */
    for (long start = now(), time = 0;
         time < race->milliseconds || (!race->board->swaps && time < 10 * race->milliseconds); time = now() - start) {
        if (race->call->try(&aim) >= 0)
            allowed++;
        else if (errno == EACCES || errno == EPERM || errno == EROFS || errno == EBUSY)
            refused++;
        else
            other++;
    }
    race->board->stop = true;
    printf("%s %s allowed %lu refused %lu other %lu ", race->call->name, race->swap, allowed, refused, other);
}

static void prepare(struct race *race)
{
    static struct board own;
    bool is_shared = is(race, "shared");

    race->board = mmap(NULL, sizeof *race->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (race->board == MAP_FAILED)
        fail("mmap");
    race->board->family = own.family = 1;
    race->path = is_shared ? race->board->path : own.path;
    race->victim = getpid();
    if (mkdir("new", 0700) < 0 && errno != EEXIST)
        fail("new");
    race->new_directory = open("new", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    race->old_directory = open("old", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (race->new_directory < 0 || race->old_directory < 0 || dup2(race->new_directory, DIRECTORY_NUMBER) < 0)
        fail("new and old");
    for (const struct race_call *call = race_calls; call->name; call++) {
        int fd = call->is_there ? openat(race->new_directory, call->file, O_WRONLY | O_CREAT, 0600) : -2;
        if (fd == -1)
            fail(call->file);
        if (fd >= 0)
            close(fd);
    }
    unlink("link-1");
    unlink("link-2");
    if (symlink("new", "link-1") < 0 || symlink("old", "link-2") < 0)
        fail("links");
    snprintf(race->paths[0], PLACE, "new/%s", race->call->file);
    snprintf(race->paths[1], PLACE, "old/%s", race->call->file);
    int ready = open("prepared", O_WRONLY | O_CREAT, 0600);
    if (ready < 0)
        fail("prepared");
    close(ready);
}

static int run(void *argument)
{
    struct race *race = argument;
    pthread_t thread;
    pid_t child = 0;
    bool by_process = is(race, "shared") || is(race, "vm") || is(race, "mem");

    race->victim = getpid();
    if (strcmp(race->call->name, "connect") == 0)
        race_serve(race->new_directory);
    if (by_process) {
        child = fork();
        if (child == 0) {
            turn_again_and_again(race);
            _exit(0);
        }
    } else if (pthread_create(&thread, NULL, turn_again_and_again, race)) {
        fail("pthread_create");
    }
    try_again_and_again(race);
    if (by_process)
        waitpid(child, NULL, 0);
    else
        pthread_join(thread, NULL);
    printf("swaps %lu\n", race->board->swaps);
    return 0;
}

static const char *const swaps[] = {"thread", "shared",     "vm",      "mem",      "directory",
                                    "link",   "descriptor", "current", "neighbour"};

static int list(const char *what)
{
    for (size_t i = 0; strcmp(what, "swaps") == 0 && i < sizeof swaps / sizeof *swaps; i++)
        puts(swaps[i]);
    for (const struct race_call *call = race_calls; strcmp(what, "calls") == 0 && call->name; call++)
        puts(call->name);
    return 0;
}

static int exchange(long milliseconds)
{
    unsigned long done = 0;

    for (long end = now() + 20000; access("prepared", F_OK) < 0 && now() < end;)
        usleep(1000);
    for (long end = now() + milliseconds; now() < end;)
        done += syscall(SYS_renameat2, AT_FDCWD, "new", AT_FDCWD, "old", RENAME_EXCHANGE) == 0;
    printf("swaps %lu\n", done);
    return 0;
}

int main(int argc, char **argv)
{
    struct race race = {0};
    bool is_racy = argc > 1 && strcmp(argv[1], "--racy") == 0;

    if (argc == 3 && strcmp(argv[1], "--list") == 0)
        return list(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--exchange") == 0)
        return exchange(strtol(argv[2], NULL, 10));
    if (argc == 3 && (strcmp(argv[1], "--content") == 0 || strcmp(argv[1], "--content-racy") == 0))
        return race_content(strtol(argv[2], NULL, 10), strcmp(argv[1], "--content-racy") == 0);
    argv += is_racy;
    if (argc - is_racy != 4) {
        fprintf(stderr, "usage: race [--racy] CALL SWAP MILLISECONDS\n");
        return 2;
    }
    for (const struct race_call *call = race_calls; call->name; call++)
        race.call = strcmp(call->name, argv[1]) == 0 ? call : race.call;
    race.swap = argv[2];
    race.milliseconds = strtol(argv[3], NULL, 10);
    if (!race.call)
        fail(argv[1]);
    prepare(&race);
    return is_racy ? race_under_racy_supervisor(race.new_directory, run, &race) : run(&race);
}
