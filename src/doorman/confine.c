/* The doorman's hands are bound by the locks of the run itself: a mistake in
 * judging or resolving then still meets the mounts and Landlock. The threads that
 * look into the caller's memory have CAP_SYS_PTRACE and perform nothing. */
#include "doorman/confine.h"

#include "doorman/own_filter.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Those of a command whose root may do with files what root may (jail/capabilities.c). */
enum {
    FILE_CAPABILITIES =
        1 << CAP_CHOWN | 1 << CAP_DAC_OVERRIDE | 1 << CAP_FOWNER | 1 << CAP_FSETID | 1 << CAP_SETUID | 1 << CAP_SETGID
};

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

bool confine_process(const struct house *house)
{
    const struct sock_fprog filter = {.len = (unsigned short)own_filter_length,
                                      .filter = (struct sock_filter *)(uintptr_t)own_filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && keep_capabilities(of_command(house) | 1U << CAP_SYS_PTRACE) &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
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
