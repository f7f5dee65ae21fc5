/* Are user namespaces really usable? Making one is not enough: Ubuntu 24.04
 * hands out namespaces without capabilities, containers refuse mounts inside.
 * So the probes go all the way: ids mapped, a tmpfs mounted, the tree handled
 * with the calls the jail uses, every kind of namespace made, /proc mounted
 * afresh (where that alone is refused, a run shows the host's). */
#include "host/subjects.h"

#include "base/fd.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOUND_CHROOT = 1 };

struct namespace_kind {
    const char *name;
    int flag;
};

static const struct namespace_kind kinds[] = {
    {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},       {"ipc", CLONE_NEWIPC},
    {"uts", CLONE_NEWUTS},  {"cgroup", CLONE_NEWCGROUP}, {"network", CLONE_NEWNET},
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

/* Root can tell for certain: joining our own mount namespace again moves us to
 * that namespace's real root. */
static bool joining_shows_another_root(void)
{
    struct statx before;
    struct statx after;
    FD_CLEANUP int namespace = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    if (namespace < 0 || statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &before) != 0 ||
        setns(namespace, CLONE_NEWNS) != 0 || statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &after) != 0)
        return false;
    return before.stx_ino != after.stx_ino || before.stx_mnt_id != after.stx_mnt_id;
}

static int use_mount_calls(void)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
    FD_CLEANUP int tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

    if (tree < 0)
        return errno;
    if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)) != 0)
        return errno;
    if (move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
        return errno;
    return 0;
}

static void probe_user_namespace(struct probe_report *report, const void *context)
{
    (void)context;
    report->step = NAMESPACE_USER;
    if (unshare(CLONE_NEWUSER) == 0)
        return;
    report->errnum = errno;
    if (joining_shows_another_root())
        report->found |= FOUND_CHROOT;
}

static void probe_inside(struct probe_report *report, const void *context)
{
    (void)context;
    report->step = NAMESPACE_IDS;
    report->errnum = probe_enter(0);
    if (report->errnum != 0)
        return;
    report->step = NAMESPACE_MOUNTS;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        report->errnum = errno;
        return;
    }
    report->step = NAMESPACE_MOUNT_CALLS;
    report->errnum = use_mount_calls();
    if (report->errnum != 0)
        return;
    report->step = NAMESPACE_TMPFS;
    if (mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") != 0)
        report->errnum = errno;
}

static void probe_kinds(struct probe_report *report, const void *context)
{
    (void)context;
    report->errnum = probe_enter(0);
    for (unsigned i = 0; report->errnum == 0 && i < KIND_COUNT; i++) {
        if (unshare(kinds[i].flag) == 0)
            report->found |= 1U << i;
        else
            report->note[i] = (char)(errno < 127 ? errno : 127);
    }
}

static void mount_proc(struct probe_report *report, const void *context)
{
    (void)context;
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        report->errnum = errno;
}

static void probe_proc(struct probe_report *report, const void *context)
{
    report->errnum = probe_enter(CLONE_NEWNS | CLONE_NEWPID);
    if (report->errnum == 0)
        probe_nested(mount_proc, context, report);
}

static void set_unknown(struct finding *finding, const char *why)
{
    finding->status = FINDING_MISSING;
    finding->detail = why;
}

static void examine_user_namespaces(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding = examination_add(examination, "user-namespaces", "user namespaces",
                                              "the first lock, which is built in one", WEIGHT_NAMESPACES);

    probe_run(probe_user_namespace, NULL, &report);
    if (probe_succeeded(&report))
        probe_run(probe_inside, NULL, &report);
    const char *broken_off = examine_broken_off(arena, &report);
    if (broken_off != NULL) {
        set_unknown(finding, broken_off);
        return;
    }
    if (report.errnum == 0) {
        finding->detail = "made, ids mapped, file systems mounted inside";
        return;
    }
    struct namespace_failure failure = {
        .step = (enum namespace_step)report.step,
        .errnum = report.errnum,
        .is_root = examination->facts.is_root,
        .chrooted = examination->settings.chrooted || (report.found & FOUND_CHROOT) != 0,
        .settings = &examination->settings,
    };
    diagnose_user_namespaces(arena, &failure, finding);
}

static void examine_kinds(struct arena *arena, struct examination *examination)
{
    struct probe_report report = {0};
    struct text lacking = text_in(arena);
    struct finding *finding = examination_add(examination, "namespaces", "namespaces of every kind",
                                              "own mounts, processes, network, IPC, host name", WEIGHT_NAMESPACES);

    if (!examine_can_enter(examination, finding))
        return;
    probe_run(probe_kinds, NULL, &report);
    const char *broken_off = examine_broken_off(arena, &report);
    if (broken_off != NULL || report.errnum != 0) {
        set_unknown(finding, broken_off ? broken_off : examine_errno(arena, report.errnum));
        return;
    }
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        if ((report.found & 1U << i) == 0)
            text_appendf(&lacking, "%s%s: %s", lacking.len ? "; " : "", kinds[i].name,
                         examine_errno(arena, report.note[i]));
    }
    if (lacking.len == 0) {
        finding->detail = "mount, pid, ipc, uts, cgroup, network";
        return;
    }
    finding->status = FINDING_MISSING;
    finding->detail = arena_printf(arena, "refused: %s", lacking.ptr);
    finding->remedy = "ENOSPC: raise user.max_KIND_namespaces (sysctl); EINVAL: use a kernel built with that kind";
}

static void examine_proc(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding = examination_add(examination, "fresh-proc", "a fresh /proc",
                                              "only its own processes are to be seen", WEIGHT_DEFAULT);

    if (!examine_can_enter(examination, finding))
        return;
    probe_run(probe_proc, NULL, &report);
    const char *broken_off = examine_broken_off(arena, &report);
    if (broken_off != NULL)
        set_unknown(finding, broken_off);
    else if (report.errnum != 0)
        diagnose_fresh_proc(arena, report.errnum, &examination->settings, finding);
    else
        finding->detail = "mounted in a new pid namespace";
}

bool examine_proc_usable(void)
{
    struct probe_report report = {0};

    probe_run(probe_proc, NULL, &report);
    return probe_succeeded(&report);
}

bool examine_namespaces_usable(void)
{
    struct probe_report report = {0};
    const unsigned all = (1U << KIND_COUNT) - 1;

    probe_run(probe_inside, NULL, &report);
    if (!probe_succeeded(&report))
        return false;
    probe_run(probe_kinds, NULL, &report);
    return probe_succeeded(&report) && report.found == all;
}

void examine_namespaces(struct arena *arena, struct examination *examination)
{
    examine_user_namespaces(arena, examination);
    examine_kinds(arena, examination);
    examine_proc(arena, examination);
}
