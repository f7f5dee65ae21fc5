/* A cgroup (version 2) below one that hands down the controllers, made when a run
 * starts and removed when it has ended. Pid 1 is born in it (CLONE_INTO_CGROUP),
 * so nothing of the run was ever outside.
 *
 * A supervisor that is killed cannot remove it. It stays behind empty, and the
 * next run that makes one beside it takes it away: the kernel refuses to remove
 * one that has processes, so a living run's is safe. */
#include "jail/cgroup.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_PREFIX "cloche-run-"

static bool write_setting(int directory, const char *name, const char *value, struct error *err)
{
    FD_CLEANUP int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(value);

    if (fd < 0 || write(fd, value, length) != (ssize_t)length)
        return error_set_errno(err, errno, "cannot set %s of the run's cgroup", name);
    return true;
}

static bool read_setting(int directory, const char *name, char *text, size_t size)
{
    FD_CLEANUP int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* What counts is what the kernel says then, which rounds down to whole `unit`s. */
static bool write_number(int directory, const char *name, uint64_t value, uint64_t unit, struct error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, value);
    if (!write_setting(directory, name, text, err))
        return false;
    uint64_t held = read_setting(directory, name, text, sizeof text) ? strtoull(text, NULL, 10) : UINT64_MAX;
    if (text[0] < '0' || text[0] > '9' || held > value || held < value - value % unit)
        return error_set(err, "the kernel does not hold the %s of the run's cgroup that was asked for", name);
    return true;
}

/* What killed supervisors left. A run that is just starting may not have a
 * process in its cgroup yet: the name tells whose it is. */
static void remove_stale(const char *parent)
{
    enum { ENTRIES_MAX = 4096 };
    DIR *directory = opendir(parent);

    if (!directory)
        return;
    for (int i = 0; i < ENTRIES_MAX; i++) {
        const struct dirent *entry = readdir(directory);
        if (!entry)
            break;
        if (strncmp(entry->d_name, NAME_PREFIX, sizeof NAME_PREFIX - 1) != 0)
            continue;
        long pid = strtol(entry->d_name + sizeof NAME_PREFIX - 1, NULL, 10);
        if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    }
    closedir(directory);
}

static bool set_limits(const struct plan *plan, int fd, struct error *err)
{
    /* Pid 1 counts, too. */
    if (plan->processes.way == LIMIT_BY_CGROUP && !write_number(fd, "pids.max", plan->processes.value + 1, 1, err))
        return false;
    if (plan->memory.way != LIMIT_BY_CGROUP)
        return true;
    if (!write_number(fd, "memory.max", plan->memory.value, (uint64_t)sysconf(_SC_PAGESIZE), err) ||
        !write_setting(fd, "memory.oom.group", "1", err))
        return false;
    /* A kernel without swap accounting has no such file, and no swap to fill
     * either, or one that memory.max does not speak of. */
    struct error ignored;
    write_setting(fd, "memory.swap.max", "0", &ignored);
    return true;
}

bool cgroup_make(const struct plan *plan, struct cgroup *cgroup, struct error *err)
{
    const char *parent = plan->memory.way == LIMIT_BY_CGROUP ? plan->memory.cgroup : plan->processes.cgroup;

    *cgroup = (struct cgroup){.fd = -1};
    if (plan->memory.way == LIMIT_BY_SCOPE || plan->processes.way == LIMIT_BY_SCOPE)
        return error_set(err, "nobody asked the service manager for the cgroup that is to hold the limits");
    if (plan->memory.way != LIMIT_BY_CGROUP && plan->processes.way != LIMIT_BY_CGROUP)
        return true;
    remove_stale(parent);
    cgroup->path = arena_printf(plan->arena, "%s/" NAME_PREFIX "%d", parent, (int)getpid());
    if (mkdir(cgroup->path, 0755) < 0)
        return error_set_errno(err, errno, "cannot make the cgroup %s for the limits", cgroup->path);
    cgroup->fd = open(cgroup->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup->fd < 0)
        error_set_errno(err, errno, "cannot open the cgroup %s", cgroup->path);
    else if (set_limits(plan, cgroup->fd, err))
        return true;
    cgroup_remove(cgroup);
    return false;
}

/* The number behind `key` in a file of "key number" lines. */
static uint64_t read_event(int directory, const char *name, const char *key)
{
    char text[1024];
    size_t key_length = strlen(key);

    read_setting(directory, name, text, sizeof text);
    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, key_length) == 0 && line[key_length] == ' ')
            return strtoull(line + key_length, NULL, 10);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

struct cgroup_hits cgroup_hits(const struct cgroup *cgroup)
{
    if (cgroup->fd < 0)
        return (struct cgroup_hits){0};
    return (struct cgroup_hits){
        .memory = read_event(cgroup->fd, "memory.events", "oom_kill") > 0,
        .processes = read_event(cgroup->fd, "pids.events", "max") > 0,
    };
}

void cgroup_remove(struct cgroup *cgroup)
{
    fd_close(&cgroup->fd);
    if (cgroup->path)
        rmdir(cgroup->path);
    cgroup->path = NULL;
}
