/* Runs the subjects in the order in which they are printed and draws the
 * conclusion: which backend a run would use and what it could not hold. */
#include "host/examine.h"
#include "host/degraded.h"
#include "host/subjects.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct finding *examination_add(struct examination *examination, const char *id, const char *title,
                                const char *needed_for, enum finding_weight weight)
{
    if (examination->finding_count == FINDINGS_MAX)
        abort();
    struct finding *finding = &examination->findings[examination->finding_count++];
    *finding = (struct finding){
        .id = id, .title = title, .needed_for = needed_for, .weight = weight, .status = FINDING_OK, .detail = ""};
    return finding;
}

const char *examine_errno(struct arena *arena, int errnum)
{
    const char *name = strerrorname_np(errnum);

    return arena_printf(arena, "%s: %s", name ? name : "unknown",
                        strerrordesc_np(errnum) ? strerrordesc_np(errnum) : "");
}

const char *examine_broken_off(struct arena *arena, const struct probe_report *report)
{
    if (report->timed_out)
        return arena_printf(arena, "the attempt did not end within %d seconds", PROBE_LIMIT_MILLISECONDS / 1000);
    if (report->killed_by == SIGSYS)
        return "the attempt was killed by a system-call filter";
    if (report->killed_by != 0)
        return arena_printf(arena, "the attempt was killed by signal %d", report->killed_by);
    if (!report->ended)
        return arena_printf(arena, "the attempt could not be made (%s)", examine_errno(arena, report->errnum));
    return NULL;
}

const char *finding_status_name(enum finding_status status)
{
    return status == FINDING_OK ? "ok" : status == FINDING_LIMITED ? "limited" : "missing";
}

const struct finding *examination_finding(const struct examination *examination, const char *id)
{
    for (size_t i = 0; i < examination->finding_count; i++) {
        if (strcmp(examination->findings[i].id, id) == 0)
            return &examination->findings[i];
    }
    return NULL;
}

bool examine_can_enter(const struct examination *examination, struct finding *finding)
{
    const struct finding *namespaces = examination_finding(examination, "user-namespaces");

    if (namespaces != NULL && namespaces->status == FINDING_OK)
        return true;
    finding->status = FINDING_MISSING;
    finding->detail = "not examined: it needs user namespaces";
    return false;
}

bool examine_by_probe(struct arena *arena, const struct examination *examination, probe_function probe,
                      const char *works, struct finding *finding, struct probe_report *report)
{
    if (!examine_can_enter(examination, finding))
        return true;
    probe_run(probe, NULL, report);
    if (probe_succeeded(report)) {
        finding->detail = works;
        return true;
    }
    const char *broken_off = examine_broken_off(arena, report);
    finding->status = FINDING_MISSING;
    if (broken_off != NULL)
        finding->detail = broken_off;
    return broken_off != NULL;
}

static void add_shortfall(struct examination *examination, const char *token, const char *what, const char *why)
{
    if (examination->shortfall_count < SHORTFALLS_MAX)
        examination->shortfalls[examination->shortfall_count++] =
            (struct shortfall){.token = token, .what = what, .why = why};
}

static const char *choose_backend(const struct examination *examination)
{
    const struct finding *landlock = examination_finding(examination, "landlock");
    bool possible = true;
    bool namespaces = true;

    for (size_t i = 0; i < examination->finding_count; i++) {
        const struct finding *finding = &examination->findings[i];
        if (finding->status != FINDING_MISSING)
            continue;
        possible = possible && finding->weight != WEIGHT_REQUIRED;
        namespaces = namespaces && finding->weight != WEIGHT_NAMESPACES;
    }
    if (!possible)
        return NULL;
    if (namespaces)
        return "namespaces";
    return landlock && landlock->status != FINDING_MISSING ? "landlock" : NULL;
}

/* See plan/confine.c, which makes such a run. */
static void add_shortfalls_of_landlock(struct examination *examination)
{
    const char *why = "there are no usable namespaces, and Landlock has no rights for it";
    const int abi_truncate = 3;
    const int abi_scopes = 6;
    int abi = examination->facts.landlock_abi;

    add_shortfall(examination, degraded_tokens[DEGRADED_PROTECTED_NAMES],
                  "making anything beside a protected name (with the token it can be made, and these names can be "
                  "written)",
                  "there are no usable namespaces, and Landlock cannot refuse one name and allow those beside it");
    add_shortfall(examination, degraded_tokens[DEGRADED_LATE_NAMES],
                  "protected names that do not exist yet or lie deeper than a writable root's top, and denyWrite of "
                  "paths that do not exist yet",
                  "there are no usable namespaces, and without them there is no doorman");
    if (examination->facts.is_root)
        add_shortfall(examination, degraded_tokens[DEGRADED_METADATA],
                      "changing modes and attributes of files anywhere (with the token they can be changed everywhere)",
                      "there are no usable namespaces, and everything belongs to root");
    else
        add_shortfall(examination, NULL, "modes, times and attributes of files outside the writable paths", why);
    add_shortfall(
        examination, NULL,
        "names and sizes of hidden files, the host's processes and the kernel's tables in /proc stay out of sight",
        why);
    add_shortfall(examination, NULL,
                  "private caches, loopback, unix sockets, terminals and shared memory: there are none",
                  "there are no usable namespaces to keep them apart from the host's");
    if (abi < abi_scopes)
        add_shortfall(examination, NULL, "signals to other processes of the user", "Landlock is older than ABI 6");
    if (abi < abi_truncate)
        add_shortfall(examination, degraded_tokens[DEGRADED_TRUNCATE], "emptying files outside the writable paths",
                      "Landlock is older than ABI 3");
}

void examine_conclude(struct arena *arena, struct examination *examination)
{
    examination->shortfall_count = 0;
    examination->backend = choose_backend(examination);
    bool landlock = examination->backend && strcmp(examination->backend, "landlock") == 0;
    /* Without namespaces these go with all the rest that is said below. */
    for (size_t i = 0; i < examination->finding_count; i++) {
        const struct finding *finding = &examination->findings[i];
        if (!landlock && finding->weight == WEIGHT_DEFAULT && finding->status == FINDING_MISSING)
            add_shortfall(examination, finding->token,
                          arena_printf(arena, "%s: %s", finding->title, finding->needed_for), finding->detail);
    }
    if (landlock)
        add_shortfalls_of_landlock(examination);

    examination->verdict = !examination->backend              ? VERDICT_IMPOSSIBLE
                           : examination->shortfall_count > 0 ? VERDICT_DEGRADED
                                                              : VERDICT_FULL;
}

void examine_host(struct arena *arena, struct examination *examination)
{
    *examination = (struct examination){0};
    facts_gather(&examination->facts);
    settings_read(arena, &examination->settings);

    examine_kernel(arena, examination);
    examine_namespaces(arena, examination);
    examine_landlock(arena, examination);
    examine_seccomp(arena, examination);
    examine_nftables(arena, examination);
    examine_overlay(arena, examination);
    examine_fuse(arena, examination);
    examine_cgroup(arena, examination);
    examine_ptrace(arena, examination);
    examine_conclude(arena, examination);
}
