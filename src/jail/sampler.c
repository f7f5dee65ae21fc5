/* When to measure. The less memory is left, the sooner: a process can fill a few
 * gigabytes in a second. What measuring costs is bounded: it may take a twentieth
 * of one processor, unless that would mean not to look for a whole second.
 *
 * The kernel does not tell when it refuses a process, and a count of many is out
 * of date before it is finished. So a count that came close to the limit is told,
 * too, for what it is. (Trying whether a process can be started would tell, and
 * now and then take the place of one of the command's.) */
#include "jail/sampler.h"

#include "base/clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

enum {
    PERIOD_MIN = 10,
    PERIOD_PROCESSES = 25,
    PERIOD_MAX = 100,
    PERIOD_COSTLY = 1000,
    COST_FACTOR = 20,
    BYTES_PER_MILLISECOND = 2 << 20
};

static int64_t now_in_milliseconds(void)
{
    return (int64_t)milliseconds_now();
}

static bool watches_processes(const struct plan *plan)
{
    return plan->processes.way == LIMIT_BY_PID_MAX || plan->processes.way == LIMIT_BY_RLIMIT;
}

bool sampler_open(const struct plan *plan, struct sampler *sampler, struct error *err)
{
    *sampler = (struct sampler){.plan = plan};
    sampler->needed = plan->backend == BACKEND_NAMESPACES &&
                      (plan->memory.way == LIMIT_BY_SAMPLES || watches_processes(plan) || plan->open_files);
    if (!sampler->needed)
        return true;
    sampler->due = now_in_milliseconds() + PERIOD_MIN;
    return meter_open(plan, &sampler->meter, err);
}

int sampler_patience(const struct sampler *sampler, int patience)
{
    if (!sampler->needed)
        return patience;
    int64_t left = sampler->due - now_in_milliseconds();
    if (patience >= 0 && patience < left)
        return patience;
    return left > 0 ? (int)left : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Returns when to look again. */
static int64_t look_at_processes(struct sampler *sampler, uint64_t tasks)
{
    uint64_t limit = sampler->plan->processes.value;

    if (sampler->processes_seen >= limit)
        return PERIOD_MAX;
    if (tasks > sampler->processes_seen)
        sampler->processes_seen = tasks;
    return tasks > limit / 2 ? PERIOD_MIN : PERIOD_PROCESSES;
}

/* Likewise. */
static int64_t look_at_memory(struct sampler *sampler, uint64_t bytes)
{
    uint64_t limit = sampler->plan->memory.value;

    if (bytes > limit) {
        sampler->memory_exceeded = bytes;
        return PERIOD_MIN;
    }
    return clamp((int64_t)((limit - bytes) / BYTES_PER_MILLISECOND), PERIOD_MIN, PERIOD_MAX);
}

/* `ended`: processes that were there until now. */
static void sample(struct sampler *sampler, uint64_t ended)
{
    const struct plan *plan = sampler->plan;
    struct usage usage;
    int64_t period = PERIOD_MAX;

    uint64_t start = milliseconds_on(CLOCK_PROCESS_CPUTIME_ID);
    measure(&sampler->meter, &usage);
    int64_t cost = (int64_t)(milliseconds_on(CLOCK_PROCESS_CPUTIME_ID) - start);

    if (watches_processes(plan))
        period = look_at_processes(sampler, usage.tasks + ended);
    if (plan->memory.way == LIMIT_BY_SAMPLES)
        period = least(period, look_at_memory(sampler, usage.memory));
    if (plan->open_files && usage.files >= plan->open_files)
        sampler->files_reached = true;
    int64_t costly = clamp(cost * COST_FACTOR, 0, PERIOD_COSTLY);
    sampler->due = now_in_milliseconds() + (costly > period ? costly : period);
}

bool sampler_look(struct sampler *sampler)
{
    if (!sampler->needed || now_in_milliseconds() < sampler->due)
        return true;
    sample(sampler, 0);
    return sampler->memory_exceeded == 0;
}

void size_text(uint64_t bytes, char *text, size_t size)
{
    static const char units[] = {'T', 'G', 'M', 'K'};

    for (size_t i = 0; i < sizeof units; i++) {
        unsigned shift = (unsigned)(4 - i) * 10;
        uint64_t whole = bytes >> shift;
        uint64_t tenths = ((bytes >> (shift - 10)) % 1024) * 10 / 1024;
        if (whole == 0)
            continue;
        if (tenths)
            snprintf(text, size, "%" PRIu64 ".%" PRIu64 "%c", whole, tenths, units[i]);
        else
            snprintf(text, size, "%" PRIu64 "%c", whole, units[i]);
        return;
    }
    snprintf(text, size, "%" PRIu64 " bytes", bytes);
}

/* A shell tells of a child's signal by its own status. */
static bool ended_by(int wait_status, int signal)
{
    return (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == signal) ||
           (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 128 + signal);
}

void sampler_conclude(struct sampler *sampler, int wait_status,
                      void (*say)(void *argument, enum jail_limit limit, const char *line), void *argument)
{
    const struct plan *plan = sampler->plan;
    char line[256];
    char limit[32];
    char used[32];

    /* Who could not start another process may have ended for that, before anybody looked: what it
     * had started is still there. */
    if (sampler->needed && !sampler->memory_exceeded)
        sample(sampler, 1);
    if (sampler->memory_exceeded) {
        size_text(plan->memory.value, limit, sizeof limit);
        size_text(sampler->memory_exceeded, used, sizeof used);
        snprintf(line, sizeof line,
                 "killed for using %s of memory, the limit being %s (limits.memory, --memory; found by measuring)",
                 used, limit);
        say(argument, JAIL_MEMORY, line);
    }
    if (watches_processes(plan) && sampler->processes_seen + plan->processes.value / 10 >= plan->processes.value) {
        if (sampler->processes_seen < plan->processes.value)
            snprintf(line, sizeof line,
                     "%" PRIu64 " processes at once were close to the limit of %" PRIu64
                     ", and more may have been refused (limits.processes, --pids)",
                     sampler->processes_seen, plan->processes.value);
        else
            snprintf(line, sizeof line,
                     "the limit of %" PRIu64
                     " processes was reached, and no more could start (limits.processes, --pids)",
                     plan->processes.value);
        say(argument, JAIL_PROCESSES, line);
    }
    if (sampler->files_reached) {
        snprintf(line, sizeof line, "a process reached the limit of %" PRIu64 " open files (limits.openFiles)",
                 plan->open_files);
        say(argument, JAIL_OPEN_FILES, line);
    }
    if (plan->file_size && ended_by(wait_status, SIGXFSZ)) {
        size_text(plan->file_size, limit, sizeof limit);
        snprintf(line, sizeof line, "a file reached the limit of %s (limits.fileSize)", limit);
        say(argument, JAIL_FILE_SIZE, line);
    }
}
