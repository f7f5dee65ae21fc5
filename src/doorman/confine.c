/* The doorman's hands are bound by the locks of the run itself: a mistake in
 * judging or resolving then still meets the mounts and Landlock. The threads that
 * look into the caller's memory have CAP_SYS_PTRACE and perform nothing. */
#include "doorman/confine.h"

#include "doorman/own_filter.h"
#include "plan/rights.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool keep_capabilities(uint32_t kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{.permitted = kept, .effective = kept}};

    return syscall(SYS_capset, &header, sets) == 0;
}

static uint32_t of_command(const struct house *house)
{
    return house->plan->keep_file_capabilities ? FILE_CAPABILITIES : 0;
}

/* Where only a pattern grants, the command has no right to write at all; the
 * doorman has, and its judgement is what holds. The ruleset is a copy by now as far
 * as the command is concerned. */
static void allow_patterns(const struct house *house)
{
    const struct plan *plan = house->plan;

    for (size_t i = 0; house->ruleset >= 0 && i < house->root_count; i++) {
        for (size_t j = 0; j < plan->doorman_root_count; j++) {
            struct landlock_path_beneath_attr rule = {.allowed_access = CHANGE_RIGHTS,
                                                      .parent_fd = house->roots[i].mount};
            if (plan->doorman_roots[j].by_pattern && slice_equal(plan->doorman_roots[j].path, house->roots[i].path) &&
                syscall(SYS_landlock_add_rule, house->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                continue; /* then it stays refused */
        }
    }
}

bool confine_foyer(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && keep_capabilities(0);
}

bool confine_doorman(const struct house *house)
{
    const struct sock_fprog filter = {.len = (unsigned short)own_filter_length,
                                      .filter = (struct sock_filter *)(uintptr_t)own_filter};

    allow_patterns(house);
    return keep_capabilities(of_command(house) | 1U << CAP_SYS_PTRACE) &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

bool confine_starter(const struct house *house)
{
    return keep_capabilities(of_command(house));
}

bool confine_performer(const struct house *house, bool files)
{
    /* A working directory and an umask of its own. */
    if (unshare(CLONE_FS) < 0 || fchdir(house->self) < 0)
        return false;
    if (files && house->ruleset >= 0 && syscall(SYS_landlock_restrict_self, house->ruleset, 0) < 0)
        return false;
    return keep_capabilities(of_command(house));
}
