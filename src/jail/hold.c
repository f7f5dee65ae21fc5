/* kill(-1) reaches all at once: a process that forks meanwhile has its signal first,
 * and the kernel makes it try again. SIGSTOP can be neither caught nor ignored, but
 * takes effect when a process next returns from the kernel, and until then it may wake others that
 * have stopped: so it is sent, and they are looked at, again and again until all stand still at
 * once; nobody is left then who could wake one. Who waits in the kernel and cannot be interrupted
 * runs nothing either. If that is not to be had soon, or there are more than can be looked at, nobody is asked.
 *
 * The kernel itself may wake one later: a timer (timer_create) or a descriptor (F_SETSIG) whose signal is SIGCONT,
 * which nobody outside can take from it. It could paint another question over the one that is open. So it is noted
 * how often each thread has left a processor: who has run and does not any more has done so once more. An answer is
 * one only if all are there as they were; reading from a slow disk may end meanwhile, and spoils it, too.
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

enum { LOOKS_MAX = 300, TASKS_MAX = 20000, PAUSE_MAX = 3000000, SETTLE = 10000000, STATUS_MAX = 32768 };

static pid_t number_of(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);

    return *end == '\0' && number > 1 && number <= INT32_MAX ? (pid_t)number : 0;
}

/* False: it is gone, or too long. */
static bool read_of(int directory, const char *task, const char *name, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "%s/%s", task, name);
    FD_CLEANUP int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size);
    if (length <= 0 || (size_t)length >= size)
        return false;
    text[length] = '\0';
    return true;
}

/* The letter behind the name, in which anything may stand; 0: it is gone. */
static char state_in(int directory, const char *task, unsigned long long *started)
{
    enum { SPACES_BEFORE_START = 20 };
    char text[1024];

    if (!read_of(directory, task, "stat", text, sizeof text))
        return 0;
    const char *behind = strrchr(text, ')');
    if (!behind || strlen(behind) < 3)
        return 0;
    const char *field = behind;
    for (int i = 0; field && i < SPACES_BEFORE_START; i++)
        field = strchr(field + 1, ' ');
    *started = field ? strtoull(field, NULL, 10) : 0;
    return behind[2];
}

static bool switches_in(int directory, const char *task, unsigned long long *switches)
{
    static const char voluntary[] = "\nvoluntary_ctxt_switches:";
    static const char other[] = "\nnonvoluntary_ctxt_switches:";
    char text[STATUS_MAX]; /* all groups of a user stand in it */

    if (!read_of(directory, task, "status", text, sizeof text))
        return false;
    const char *first = strstr(text, voluntary);
    const char *second = strstr(text, other);
    if (!first || !second)
        return false;
    *switches = strtoull(first + strlen(voluntary), NULL, 10) + strtoull(second + strlen(other), NULL, 10);
    return true;
}

typedef bool visitor(void *argument, int directory, const char *name);

/* False if a visit was, or there are too many. */
static bool each_task(int parent, const char *path, visitor *visit, void *argument)
{
    DIR *directory = fd_list(openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *entry;
    bool good = true;

    if (!directory)
        return true;
    for (size_t i = 0; good && (entry = readdir(directory));) {
        if (number_of(entry->d_name))
            good = i++ < TASKS_MAX && visit(argument, dirfd(directory), entry->d_name);
    }
    closedir(directory);
    return good;
}

static bool note_stopped(void *argument, int directory, const char *name)
{
    struct standstill *hold = argument;
    unsigned long long started;

    if (state_in(directory, name, &started) == 'T' && hold->stopped_count < HOLD_STOPPED_MAX)
        hold->stopped[hold->stopped_count++] = number_of(name);
    return true;
}

struct look {
    struct standstill *hold;
    pid_t process;
    bool still;
};

/* With room for one more; NULL where memory ends. */
static void *roomy(void *items, size_t count, size_t *capacity, size_t size)
{
    size_t more = *capacity ? 2 * *capacity : 256;

    if (count < *capacity)
        return items;
    void *larger = reallocarray(items, more, size);
    if (larger)
        *capacity = more;
    return larger;
}

static bool add_task(struct standstill *hold, struct held_task task)
{
    if (hold->task_count == TASKS_MAX)
        return false;
    struct held_task *tasks = roomy(hold->tasks, hold->task_count, &hold->task_capacity, sizeof *tasks);
    if (!tasks)
        return false;
    hold->tasks = tasks;
    hold->tasks[hold->task_count++] = task;
    return true;
}

static bool is_dead(char state)
{
    return !state || strchr("ZX", state);
}

/* A signal for the whole process may have come to a thread that waits for the doorman, and attends to
 * none: then it stops nobody. So each thread that does not stand still gets its own. */
static bool stop_thread(void *argument, int directory, const char *name)
{
    struct look *look = argument;
    struct held_task task = {.thread = number_of(name)};
    char state = state_in(directory, name, &task.started);

    if (is_dead(state))
        return true;
    if (strchr("TtD", state))
        return switches_in(directory, name, &task.switches) && add_task(look->hold, task);
    look->still = false;
    syscall(SYS_tgkill, look->process, task.thread, SIGSTOP);
    return true;
}

static bool stop_process(void *argument, int directory, const char *name)
{
    struct look *look = argument;
    char tasks[64];

    look->process = number_of(name);
    snprintf(tasks, sizeof tasks, "%s/task", name);
    return each_task(directory, tasks, stop_thread, look);
}

/* Notes them all, too. */
static bool all_stand_still(struct standstill *hold)
{
    struct look look = {.hold = hold, .still = true};

    hold->task_count = 0;
    return each_task(AT_FDCWD, "/proc", stop_process, &look) && look.still && hold->task_count > 0;
}

struct comparison {
    const struct standstill *hold;
    size_t count; /* so many were as they had been */
};

/* The kernel lists them in the same order again. */
static bool compare_thread(void *argument, int directory, const char *name)
{
    struct comparison *comparison = argument;
    struct held_task task;
    char state = state_in(directory, name, &task.started);

    if (is_dead(state))
        return true;
    if (!strchr("TtD", state) || comparison->count == comparison->hold->task_count ||
        !switches_in(directory, name, &task.switches))
        return false;
    const struct held_task *before = &comparison->hold->tasks[comparison->count++];
    return before->thread == number_of(name) && before->started == task.started && before->switches == task.switches;
}

static bool compare_process(void *argument, int directory, const char *name)
{
    char tasks[64];

    snprintf(tasks, sizeof tasks, "%s/task", name);
    return each_task(directory, tasks, compare_thread, argument);
}

bool hold_lasts(const struct standstill *hold)
{
    struct comparison comparison = {.hold = hold};

    return hold->on && each_task(AT_FDCWD, "/proc", compare_process, &comparison) &&
           comparison.count == hold->task_count;
}

bool hold_all(struct standstill *hold, bool listed)
{
    const struct timespec settle = {.tv_nsec = SETTLE};
    struct timespec pause = {.tv_nsec = 100000};

    if (!listed)
        return false; /* nobody could tell */
    if (!hold->on)
        each_task(AT_FDCWD, "/proc", note_stopped, hold);
    hold->on = true;
    for (int i = 0; i < LOOKS_MAX; i++) {
        kill(-1, SIGSTOP);
        if (all_stand_still(hold)) {
            /* Who waited for a disk or the doorman stops a little later. */
            nanosleep(&settle, NULL);
            if (hold_lasts(hold))
                return true;
        }
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
    pid_t *processes = roomy(crowd->processes, crowd->count, &crowd->capacity, sizeof *processes);
    if (!processes)
        return false;
    crowd->processes = processes;
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
    if (!known || hold->stopped_count == HOLD_STOPPED_MAX)
        kill(-1, SIGCONT);
    free(crowd.processes);
    free(hold->tasks);
    *hold = (struct standstill){0};
}
