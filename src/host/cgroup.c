/* What can hold limits on memory and processes of a whole run: best a cgroup of
 * its own, with those controllers. For a run, the files of the cgroups around us
 * tell; doctor tries. The probe makes one below this process's own cgroup, or
 * below the nearest ancestor that is ours and hands controllers down, moves
 * itself in and leaves; the parent takes it away again. Where nothing is delegated, the
 * service manager may give one: see scope.c. */
#include "host/cgroup.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/scope.h"
#include "host/subjects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CGROUP_FILE_MAX = 4 << 20, ANCESTORS_MAX = 16 };
enum { FOUND_DIRECTORY = 1, FOUND_CONTROLLERS = 2, FOUND_MOVED = 4 };

/* sysctl kernel.pid_max belongs to each pid namespace from here on. Before, root
 * inside would set the host's. */
enum { PID_MAX_MAJOR = 6, PID_MAX_MINOR = 14 };

struct attempt {
    const char *directory; /* of the cgroup to be made */
};

bool cgroup_own(struct arena *arena, struct slice *path)
{
    struct slice content;
    struct error ignored;

    if (!file_read("/proc/self/cgroup", CGROUP_FILE_MAX, arena, &content, NULL, &ignored))
        return false;
    while (content.len > 0) {
        size_t end = slice_find(content, '\n');
        struct slice line = {content.ptr, end};
        /* "/.." leads out of our cgroup namespace: not ours to use. */
        if (slice_starts(line, SLICE("0::/")) && !slice_starts(line, SLICE("0::/.."))) {
            *path = arena_slice(arena, slice_from(line, 3));
            return true;
        }
        content = slice_from(content, end < content.len ? end + 1 : end);
    }
    return false;
}

const char *cgroup_mounted(void)
{
    if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
        return "/sys/fs/cgroup";
    if (access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0)
        return "/sys/fs/cgroup/unified";
    return NULL;
}

bool cgroup_has(const char *directory, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) && access(path, F_OK) == 0;
}

bool cgroup_enter(const char *directory)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/cgroup.procs", directory) >= (int)sizeof(path))
        return false;
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "0", 1) == 1;
}

static void probe_cgroup(struct probe_report *report, const void *context)
{
    const struct attempt *attempt = context;

    if (mkdir(attempt->directory, 0755) != 0) {
        report->errnum = errno;
        return;
    }
    report->found |= FOUND_DIRECTORY;
    if (cgroup_has(attempt->directory, "pids.max") && cgroup_has(attempt->directory, "memory.max"))
        report->found |= FOUND_CONTROLLERS;
    if (cgroup_enter(attempt->directory))
        report->found |= FOUND_MOVED;
}

static unsigned try_below(struct arena *arena, const char *mounted, struct slice cgroup, int *errnum)
{
    struct probe_report report;
    struct attempt attempt = {arena_printf(arena, "%s%.*s/cloche-doctor-%d", mounted,
                                           (int)(cgroup.len == 1 ? 0 : cgroup.len), cgroup.ptr, (int)getpid())};

    probe_run(probe_cgroup, &attempt, &report);
    *errnum = report.errnum;
    if ((report.found & FOUND_DIRECTORY) != 0)
        rmdir(attempt.directory);
    return report.found;
}

bool cgroup_lists(struct arena *arena, const char *directory, const char *file, struct slice controller)
{
    struct slice words;
    struct error ignored;

    if (!file_read(arena_printf(arena, "%s/%s", directory, file), CGROUP_FILE_MAX, arena, &words, NULL, &ignored))
        return false;
    for (size_t start = 0; start < words.len;) {
        struct slice rest = slice_from(words, start);
        size_t length = 0;
        while (length < rest.len && rest.ptr[length] != ' ' && rest.ptr[length] != '\n')
            length++;
        if (slice_equal((struct slice){rest.ptr, length}, controller))
            return true;
        start += length + 1;
    }
    return false;
}

/* The nearest cgroup at or above ours whose children have the controller, and
 * in which we may make one and put processes there. */
static const char *find_parent(struct arena *arena, const char *mounted, struct slice cgroup, const char *controller)
{
    for (int level = 0; level < ANCESTORS_MAX; level++) {
        const char *directory =
            arena_printf(arena, "%s%.*s", mounted, (int)(cgroup.len == 1 ? 0 : cgroup.len), cgroup.ptr);
        if (cgroup_lists(arena, directory, "cgroup.subtree_control", slice_of(controller)) &&
            access(directory, W_OK) == 0 && access(arena_printf(arena, "%s/cgroup.procs", directory), W_OK) == 0)
            return directory;
        if (cgroup.len == 1)
            break;
        cgroup = path_parent(cgroup);
    }
    return NULL;
}

static bool is_own_pid_max(const struct facts *facts)
{
    struct statvfs settings;

    /* ns_last_pid is what makes the limit exact: see jail/limits.c. */
    return (facts->kernel_major > PID_MAX_MAJOR ||
            (facts->kernel_major == PID_MAX_MAJOR && facts->kernel_minor >= PID_MAX_MINOR)) &&
           statvfs("/proc/sys", &settings) == 0 && (settings.f_flag & ST_RDONLY) == 0 &&
           access("/proc/sys/kernel/ns_last_pid", F_OK) == 0;
}

void facts_gather_limits(struct arena *arena, struct facts *facts)
{
    const char *mounted = cgroup_mounted();
    struct slice cgroup;

    facts->limits = (struct limit_facts){.pid_max = is_own_pid_max(facts)};
    if (mounted && cgroup_own(arena, &cgroup)) {
        facts->limits.memory_cgroup = find_parent(arena, mounted, cgroup, "memory");
        facts->limits.processes_cgroup = find_parent(arena, mounted, cgroup, "pids");
    }
    if (!facts->limits.memory_cgroup || !facts->limits.processes_cgroup)
        facts->limits.manager = scope_manager(arena);
}

/* What holds the limits where no cgroup does. */
static const char *instead(const struct facts *facts)
{
    if (is_own_pid_max(facts))
        return "memory is measured instead, and processes are held by the run's own kernel.pid_max";
    if (!facts->is_root)
        return "memory is measured instead, and processes are held by RLIMIT_NPROC";
    return "memory is measured instead, and limits.processes is refused to root (before Linux 6.14)";
}

static void probe_scope(struct probe_report *report, const void *context)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct error why;
    (void)context;

    if (scope_enter(&arena, &why)) {
        report->found |= FOUND_MOVED;
        return;
    }
    report->errnum = ECANCELED;
    snprintf(report->note, sizeof report->note, "%s", why.text);
}

/* The scope is gone when the child is. False: `*why` says why there is none, or is NULL
 * where nobody could be asked. */
static bool try_scope(struct arena *arena, struct finding *finding, const char **why)
{
    struct probe_report report;
    const char *manager = scope_manager(arena);

    *why = NULL;
    if (!manager)
        return false;
    probe_run(probe_scope, NULL, &report);
    if ((report.found & FOUND_MOVED) == 0) {
        *why = report.note[0] ? arena_string(arena, report.note) : "the service manager gives no scope";
        return false;
    }
    finding->detail = arena_printf(arena,
                                   "none is delegated to this process, but the service manager (%s) gives a "
                                   "scope with memory and pids when a run needs one",
                                   escaped(arena, slice_of(manager)));
    return true;
}

static void set_missing(struct arena *arena, const struct facts *facts, struct finding *finding, const char *detail,
                        const char *remedy)
{
    finding->status = FINDING_MISSING;
    finding->detail = arena_printf(arena, "%s; %s", detail, instead(facts));
    finding->remedy = remedy;
}

void examine_cgroup(struct arena *arena, struct examination *examination)
{
    const struct facts *facts = &examination->facts;
    struct slice cgroup;
    const char *mounted = cgroup_mounted();
    struct finding *finding =
        examination_add(examination, "cgroup", "cgroup delegation",
                        "limits.memory and limits.processes to be held by the kernel alone", WEIGHT_OPTIONAL);

    if (mounted == NULL || !cgroup_own(arena, &cgroup)) {
        set_missing(arena, facts, finding, "cgroup version 2 is not mounted",
                    "boot with systemd.unified_cgroup_hierarchy=1");
        return;
    }
    unsigned best = 0;
    int errnum = 0;
    for (int level = 0; level < ANCESTORS_MAX; level++) {
        int refused;
        unsigned found = try_below(arena, mounted, cgroup, &refused);
        if (level == 0)
            errnum = refused;
        if ((found & FOUND_CONTROLLERS) != 0 && (found & FOUND_MOVED) != 0) {
            finding->detail =
                arena_printf(arena, "a cgroup with memory and pids can be made below %s", escaped(arena, cgroup));
            return;
        }
        best |= found;
        if ((found & FOUND_DIRECTORY) == 0 && level > 0)
            break;
        if (cgroup.len == 1)
            break;
        cgroup = path_parent(cgroup);
    }
    const char *no_scope;
    if (try_scope(arena, finding, &no_scope))
        return;
    const char *remedy = "with systemd, start it below your own service manager:\n"
                         "  systemd-run --user --scope cloche run ...";
    const char *found = "one can be made, but not entered";
    if ((best & FOUND_DIRECTORY) == 0)
        found = arena_printf(arena, "none can be made (%s)", examine_errno(arena, errnum));
    else if ((best & FOUND_CONTROLLERS) == 0)
        found = "one can be made, but without the controllers memory and pids";
    if (no_scope)
        found = arena_printf(arena, "%s, and %s", found, no_scope);
    set_missing(arena, facts, finding, found, remedy);
}
