/* Without a pid namespace there is no one process whose end is the end of all.
 * Where the kernel cannot scope signals (or init itself was killed), descendants
 * are found by their parents in /proc: first all are stopped, again and again
 * until a look finds none running, so that none is left to fork; then all are
 * killed. */
#include "jail/sweep.h"

#include "base/arena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_MAX = 100 };

struct process {
    pid_t pid;
    pid_t parent;
    char state;
    bool descendant;
};

struct processes {
    struct arena *arena;
    struct process *items;
    size_t count;
    size_t capacity;
};

/* "pid (name) state ppid ...", where the name may hold anything. */
static bool read_process(pid_t pid, struct process *process)
{
    char path[64];
    char text[512];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *behind = strrchr(text, ')');
    if (!behind || strlen(behind) < 5)
        return false;
    *process = (struct process){.pid = pid, .state = behind[2], .parent = (pid_t)strtol(behind + 4, NULL, 10)};
    return true;
}

static void list_processes(struct processes *processes)
{
    DIR *listing = opendir("/proc");

    processes->count = 0;
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        struct process process;
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || !read_process((pid_t)pid, &process))
            continue;
        processes->items = arena_grow(processes->arena, processes->items, processes->count, processes->count + 1,
                                      &processes->capacity, sizeof *processes->items);
        processes->items[processes->count++] = process;
    }
    if (listing)
        closedir(listing);
}

static bool is_descendant_or_self(const struct processes *processes, pid_t pid)
{
    if (pid == getpid())
        return true;
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->items[i].pid == pid)
            return processes->items[i].descendant;
    }
    return false;
}

static void find_descendants(struct processes *processes)
{
    bool found = true;

    list_processes(processes);
    while (found) {
        found = false;
        for (size_t i = 0; i < processes->count; i++) {
            struct process *process = &processes->items[i];
            if (!process->descendant && is_descendant_or_self(processes, process->parent))
                found = process->descendant = true;
        }
    }
}

static void send_all(struct processes *processes, int signal)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->items[i].descendant)
            kill(processes->items[i].pid, signal);
    }
}

static bool any_runs(const struct processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->items[i].descendant && !strchr("TtZX", processes->items[i].state))
            return true;
    }
    return false;
}

void sweep_descendants(void)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct processes processes = {.arena = &arena};
    const struct timespec moment = {.tv_nsec = 1000000};

    for (;;) {
        pid_t reaped;
        do
            reaped = waitpid(-1, NULL, WNOHANG | __WALL);
        while (reaped > 0);
        if (reaped < 0 && errno == ECHILD)
            return;
        for (int look = 0; look < LOOKS_MAX; look++) {
            find_descendants(&processes);
            if (!any_runs(&processes))
                break;
            send_all(&processes, SIGSTOP);
        }
        send_all(&processes, SIGKILL);
        nanosleep(&moment, NULL);
    }
}
