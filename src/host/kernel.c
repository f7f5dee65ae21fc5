/* The kernel's age and the system calls that a run cannot do without. A call
 * may be missing because the kernel is old or because a filter hides it; each
 * is made with arguments that a kernel which knows it refuses as invalid. */
#include "host/subjects.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_at_least(const struct facts *facts, unsigned major, unsigned minor)
{
    return facts->kernel_major > major || (facts->kernel_major == major && facts->kernel_minor >= minor);
}

static void examine_version(struct arena *arena, struct examination *examination)
{
    const struct facts *facts = &examination->facts;
    const char *release = escaped(arena, slice_of(examination->settings.release));
    struct finding *finding =
        examination_add(examination, "kernel", "kernel 6.1 or newer", "every run", WEIGHT_REQUIRED);

    if (is_at_least(facts, 6, 1)) {
        finding->detail = release;
        return;
    }
    finding->remedy = "use a kernel from 6.1 on";
    if (is_at_least(facts, 5, 14)) {
        finding->status = FINDING_LIMITED;
        finding->detail = arena_printf(arena, "%s: runs only with --allow-degraded late-names", release);
    } else {
        finding->status = FINDING_MISSING;
        finding->detail = arena_printf(arena, "%s: older than 5.14, the oldest that cloche runs on", release);
    }
}

struct system_call {
    const char *name;
    long number;
    long arguments[4]; /* such that a kernel that knows the call says EINVAL */
};

static const struct system_call system_calls[] = {
    {"clone3", SYS_clone3, {0, 0}},
    {"openat2", SYS_openat2, {AT_FDCWD, 0, 0, 0}},
    {"close_range", SYS_close_range, {1, 0, 0}},
    {"pidfd_open", SYS_pidfd_open, {-1, 0}},
};

enum { SYSTEM_CALL_COUNT = sizeof(system_calls) / sizeof(system_calls[0]) };

static void probe_system_calls(struct probe_report *report, const void *context)
{
    (void)context;
    for (unsigned i = 0; i < SYSTEM_CALL_COUNT; i++) {
        const struct system_call *call = &system_calls[i];
        if (syscall(call->number, call->arguments[0], call->arguments[1], call->arguments[2], call->arguments[3]) < 0 &&
            errno == EINVAL)
            report->found |= 1U << i;
    }
}

static void examine_system_calls(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct text lacking = text_in(arena);
    struct finding *finding =
        examination_add(examination, "system-calls", "system calls", "every run", WEIGHT_REQUIRED);

    probe_run(probe_system_calls, NULL, &report);
    for (unsigned i = 0; i < SYSTEM_CALL_COUNT; i++) {
        if ((report.found & 1U << i) == 0)
            text_appendf(&lacking, "%s%s", lacking.len ? ", " : "", system_calls[i].name);
    }
    if (lacking.len == 0) {
        finding->detail = "clone3, openat2, close_range, pidfd_open";
        return;
    }
    /* Docker's filter hides clone3, and only that; without namespaces nobody calls it. */
    const unsigned only_for_namespaces = 1;
    if ((report.found | only_for_namespaces) == (1U << SYSTEM_CALL_COUNT) - 1)
        finding->weight = WEIGHT_NAMESPACES;
    finding->status = FINDING_MISSING;
    finding->detail =
        arena_printf(arena, "absent or refused: %s%s", lacking.ptr,
                     examination->settings.seccomp_mode == 2 ? " (a system-call filter is in force)" : "");
    finding->remedy = examination->settings.in_container
                          ? "start the container with --security-opt seccomp=unconfined"
                          : "use a kernel from 6.1 on, outside filters that hide these calls";
}

void examine_kernel(struct arena *arena, struct examination *examination)
{
    examine_version(arena, examination);
    examine_system_calls(arena, examination);
}
