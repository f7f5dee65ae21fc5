/* Landlock, the second lock on files: is it there, does it hold, and which
 * rights is it too old for? Each ABI added rights; a kernel without one lets the
 * operation pass unseen (attack 22), so each is named. */
#include "host/subjects.h"

#include "base/fd.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ABI 1 cannot allow a file to be moved between directories: git and npm fail. */
enum { OLDEST_ABI = 2 };

struct landlock_right {
    int abi;
    const char *name;
    const char *meaning;
};

static const struct landlock_right rights[] = {
    {2, "REFER", "moving files between directories"},
    {3, "TRUNCATE", "truncating files"},
    {4, "NET_TCP", "TCP bind and connect by port"},
    {5, "IOCTL_DEV", "ioctl on devices"},
    {6, "SCOPE_ABSTRACT_UNIX_SOCKET", "abstract sockets of the host"},
    {6, "SCOPE_SIGNAL", "signals to processes outside"},
    {7, "AUDIT", "control of audit records"},
    {8, "TSYNC", "restricting all threads at once"},
    {9, "RESOLVE_UNIX", "sockets of the host by path"},
};

enum { RIGHT_COUNT = sizeof(rights) / sizeof(rights[0]) };

enum { STEP_RULESET = 1, STEP_RESTRICT, STEP_HOLD };

static void probe_landlock(struct probe_report *report, const void *context)
{
    struct landlock_ruleset_attr attributes = {.handled_access_fs = LANDLOCK_ACCESS_FS_READ_DIR};

    (void)context;
    report->step = STEP_RULESET;
    FD_CLEANUP int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (ruleset < 0) {
        report->errnum = errno;
        return;
    }
    report->step = STEP_RESTRICT;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) {
        report->errnum = errno;
        return;
    }
    report->step = STEP_HOLD;
    FD_CLEANUP int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0)
        report->errnum = EEXIST;
    else if (errno != EACCES)
        report->errnum = errno;
}

static void set_missing(struct arena *arena, const struct examination *examination, int errnum, struct finding *finding)
{
    finding->status = FINDING_MISSING;
    if (errnum == EOPNOTSUPP) {
        finding->detail = "built into this kernel, but not switched on";
        finding->remedy = "add landlock to the lsm= parameter on the kernel's command line, for example:\n"
                          "  lsm=landlock,lockdown,yama,integrity,apparmor,bpf\n"
                          "(Debian, Ubuntu: GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and reboot)";
    } else if (examination->settings.seccomp_mode == 2) {
        finding->detail =
            arena_printf(arena, "refused (%s): a system-call filter is in force", examine_errno(arena, errnum));
        finding->remedy = "allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self in that filter";
    } else {
        finding->detail = arena_printf(arena, "not in this kernel (%s)", examine_errno(arena, errnum));
        finding->remedy = "use a kernel from 6.1 on, built with CONFIG_SECURITY_LANDLOCK=y";
    }
}

static void name_lacking_rights(struct arena *arena, struct examination *examination, struct finding *finding)
{
    struct text lacking = text_in(arena);

    for (unsigned i = 0; i < RIGHT_COUNT; i++) {
        if (rights[i].abi <= examination->facts.landlock_abi)
            continue;
        examination->landlock_lacks[examination->landlock_lack_count++] = rights[i].name;
        text_appendf(&lacking, "%s%s (%s)", lacking.len ? ", " : "", rights[i].name, rights[i].meaning);
    }
    if (lacking.len == 0) {
        finding->detail = arena_printf(arena, "ABI %d", examination->facts.landlock_abi);
        return;
    }
    finding->status = FINDING_LIMITED;
    finding->detail = arena_printf(arena, "ABI %d; too old for: %s", examination->facts.landlock_abi, lacking.ptr);
    finding->remedy = "a newer kernel; until then the other locks hold these alone";
}

void examine_landlock(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding =
        examination_add(examination, "landlock", "Landlock", "the second, independent lock on files", WEIGHT_DEFAULT);

    probe_run(probe_landlock, NULL, &report);
    const char *broken_off = examine_broken_off(arena, &report);
    if (broken_off != NULL) {
        finding->status = FINDING_MISSING;
        finding->detail = broken_off;
    } else if (report.errnum != 0 && report.step == STEP_HOLD) {
        finding->status = FINDING_MISSING;
        finding->detail = "accepted a rule and did not hold it";
    } else if (report.errnum != 0) {
        set_missing(arena, examination, report.errnum, finding);
    } else if (examination->facts.landlock_abi < OLDEST_ABI) {
        finding->status = FINDING_MISSING;
        finding->detail = arena_printf(arena, "ABI %d is not used: it cannot allow moving files between directories",
                                       examination->facts.landlock_abi);
        finding->remedy = "use a kernel from 6.1 on";
    } else {
        name_lacking_rights(arena, examination, finding);
    }
}
