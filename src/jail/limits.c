/* Per-process limits, those of the plan and the room cloche needs for itself, and
 * the number of processes where process ids hold it.
 *
 * Process ids are given out in a circle that never returns to the first 300, and
 * kernel.pid_max is the first that is not given out. With the circle's start set
 * to 300, pid_max = 300 + n leaves exactly n ids for processes, threads and the
 * process groups and sessions that outlive their leaders. */
#include "jail/limits.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { RESERVED_PROCESS_IDS = 300, PROCESS_IDS_MAX = 4194304 };

bool limits_make_room(size_t need, struct rlimit *before, struct error *err)
{
    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        return error_set_errno(err, errno, "cannot read the limit of open files");
    if (before->rlim_cur >= need)
        return true;
    if (before->rlim_max < need)
        return error_set(err,
                         "this policy needs %zu open files at once, and the hard limit is %llu: raise it (ulimit -Hn)",
                         need, (unsigned long long)before->rlim_max);

    struct rlimit room = {.rlim_cur = before->rlim_max, .rlim_max = before->rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &room) < 0)
        return error_set_errno(err, errno, "cannot raise the limit of open files");
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool set_system(const char *path, uint64_t value, struct error *err)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%" PRIu64, value);
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, (size_t)length) != length)
        return error_set_errno(err, errno, "cannot set the limit on processes (limits.processes) by %s", path);
    return true;
}

bool limits_hold_processes(const struct plan *plan, struct error *err)
{
    return plan->processes.way != LIMIT_BY_PID_MAX ||
           (set_system("/proc/sys/kernel/pid_max", least(RESERVED_PROCESS_IDS + plan->processes.value, PROCESS_IDS_MAX),
                       err) &&
            set_system("/proc/sys/kernel/ns_last_pid", RESERVED_PROCESS_IDS, err));
}

static bool limit(int resource, const char *name, rlim_t value, struct error *err)
{
    struct rlimit setting;

    if (getrlimit((__rlimit_resource_t)resource, &setting) < 0)
        return error_set_errno(err, errno, "cannot read the limit %s", name);
    /* Never raises what the user himself is held to. */
    if (value < setting.rlim_max)
        setting.rlim_max = value;
    setting.rlim_cur = setting.rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &setting) < 0)
        return error_set_errno(err, errno, "cannot set the limit %s", name);
    return true;
}

bool limits_apply(const struct plan *plan, const struct rlimit *open_files, struct error *err)
{
    if (setrlimit(RLIMIT_NOFILE, open_files) < 0)
        return error_set_errno(err, errno, "cannot set the limit of open files");
    /* Pid 1 counts, too. */
    if (plan->processes.way == LIMIT_BY_RLIMIT && !limit(RLIMIT_NPROC, "processes", plan->processes.value + 1, err))
        return false;
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        const struct rlimit_setting *setting = &plan->rlimits[i];
        if (!limit(setting->resource, setting->name, setting->value, err))
            return false;
    }
    return true;
}
