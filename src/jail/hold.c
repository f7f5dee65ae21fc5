/* kill(-1) reaches all at once: a process that forks meanwhile has its signal first,
 * and the kernel makes it try again. SIGSTOP can be neither caught nor ignored, but
 * takes effect when a process next returns from the kernel, and until then it may wake others that
 * have stopped: so it is sent, and they are looked at, again and again until all stand still at
 * once; nobody is left then who could wake one. Who waits in the kernel and cannot be interrupted
 * runs nothing either. If that is not to be had soon, nobody is asked.
 *
 * Whom job control had stopped before is left so. Others go on youngest first: a shell that
 * is woken before its job could take the job for stopped. */
#include "jail/hold.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_MAX = 300, TASKS_MAX = 20000, PAUSE_MAX = 3000000 };

static pid_t number_of(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);

    return *end == '\0' && number > 1 && number <= INT32_MAX ? (pid_t)number : 0;
}

/* The letter behind the name, in which anything may stand; 0: it is gone. */
static char state_in(int directory, const char *task)
{
    char path[64];
    char text[512];

    snprintf(path, sizeof path, "%s/stat", task);
    FD_CLEANUP int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);
    const char *behind = length > 0 ? memrchr(text, ')', (size_t)length) : NULL;
    return behind && behind + 2 < text + length ? behind[2] : 0;
}

typedef bool visitor(void *argument, int directory, const char *name);

/* False if a visit was. */
static bool each_task(int parent, const char *path, visitor *visit, void *argument)
{
    int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool good = true;

    if (!directory) {
        fd_close(&fd);
        return true;
    }
    for (size_t i = 0; good && i < TASKS_MAX && (entry = readdir(directory));) {
        if (number_of(entry->d_name)) {
            good = visit(argument, fd, entry->d_name);
            i++;
        }
    }
    closedir(directory);
    return good;
}

static bool note_stopped(void *argument, int directory, const char *name)
{
    struct standstill *hold = argument;

    if (state_in(directory, name) == 'T' && hold->stopped_count < HOLD_STOPPED_MAX)
        hold->stopped[hold->stopped_count++] = number_of(name);
    return true;
}

struct look {
    pid_t process;
    bool still;
};

/* A signal for the whole process may have come to a thread that waits for the doorman, and attends to
 * none: then it stops nobody. So each thread that does not stand still gets its own. */
static bool look_at_thread(void *argument, int directory, const char *name)
{
    struct look *look = argument;
    char state = state_in(directory, name);

    if (!state || strchr("TtZXD", state))
        return true;
    look->still = false;
    syscall(SYS_tgkill, look->process, number_of(name), SIGSTOP);
    return true;
}

static bool look_at_process(void *argument, int directory, const char *name)
{
    struct look *look = argument;
    char tasks[64];

    look->process = number_of(name);
    snprintf(tasks, sizeof tasks, "%s/task", name);
    return each_task(directory, tasks, look_at_thread, look);
}

static bool all_stand_still(void)
{
    struct look look = {.still = true};

    each_task(AT_FDCWD, "/proc", look_at_process, &look);
    return look.still;
}

bool hold_all(struct standstill *hold, bool listed)
{
    struct timespec pause = {.tv_nsec = 100000};

    if (!listed)
        return false; /* nobody could tell */
    if (!hold->on)
        each_task(AT_FDCWD, "/proc", note_stopped, hold);
    hold->on = true;
    for (int i = 0; i < LOOKS_MAX; i++) {
        kill(-1, SIGSTOP);
        if (all_stand_still())
            return true;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < PAUSE_MAX)
            pause.tv_nsec *= 2;
    }
    return false;
}

struct crowd {
    pid_t *processes;
    size_t count;
    size_t capacity;
};

static bool note(void *argument, int directory, const char *name)
{
    struct crowd *crowd = argument;

    (void)directory;
    if (crowd->count == crowd->capacity) {
        size_t more = crowd->capacity ? 2 * crowd->capacity : 256;
        pid_t *larger = reallocarray(crowd->processes, more, sizeof *larger);
        if (!larger)
            return false;
        crowd->processes = larger;
        crowd->capacity = more;
    }
    crowd->processes[crowd->count++] = number_of(name);
    return true;
}

static int younger_first(const void *left, const void *right)
{
    pid_t a = *(const pid_t *)left;
    pid_t b = *(const pid_t *)right;

    return (a < b) - (a > b);
}

static bool stood_still(const struct standstill *hold, pid_t process)
{
    for (size_t i = 0; i < hold->stopped_count; i++) {
        if (hold->stopped[i] == process)
            return true;
    }
    return false;
}

void hold_release(struct standstill *hold)
{
    struct crowd crowd = {0};

    if (!hold->on)
        return;
    bool known = each_task(AT_FDCWD, "/proc", note, &crowd) && crowd.count > 0;
    if (known)
        qsort(crowd.processes, crowd.count, sizeof *crowd.processes, younger_first);
    for (size_t i = 0; known && i < crowd.count; i++) {
        if (!stood_still(hold, crowd.processes[i]))
            kill(crowd.processes[i], SIGCONT);
    }
    /* Rather too many than one that waits for ever. */
    if (!known || hold->stopped_count == HOLD_STOPPED_MAX || crowd.count >= TASKS_MAX)
        kill(-1, SIGCONT);
    free(crowd.processes);
    *hold = (struct standstill){0};
}
