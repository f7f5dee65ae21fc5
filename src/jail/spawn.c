/* Namespaces from one clone3 and an unshare (and a network's, own_network.c); there is no second program and no
 * re-exec. */
#include "jail/spawn.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *explain(int errnum)
{
    switch (errnum) {
    case EPERM:
        return " This system forbids user namespaces to you: a sysctl (kernel.unprivileged_userns_clone, "
               "kernel.apparmor_restrict_unprivileged_userns), a container's filter, or a chroot.";
    case ENOSPC:
    case EUSERS:
        return " The limit user.max_user_namespaces (or one of its kin) is reached or 0.";
    case ENOSYS:
        return " The kernel is too old, or the filter of a container or sandbox around this refuses clone3.";
    default:
        return "";
    }
}

bool spawn_is_forbidden(int errnum)
{
    return errnum == EPERM || errnum == EACCES || errnum == ENOSPC || errnum == EUSERS || errnum == ENOSYS ||
           errnum == EINVAL;
}

bool spawn_fail(struct error *err)
{
    int errnum = errno;

    error_set(err, "cannot make the sandbox's namespaces: %s.%s `cloche doctor` tells what is missing",
              strerror(errnum), explain(errnum));
    errno = errnum;
    return false;
}

bool spawn_namespaces(int cgroup, pid_t *child, struct error *err)
{
    struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID, .exit_signal = SIGCHLD};

    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)cgroup;
    }
    long result = syscall(SYS_clone3, &args, sizeof args);

    if (result < 0)
        return spawn_fail(err);
    *child = (pid_t)result;
    return true;
}

/* It is a matter of some hundred microseconds, and to be woken by another processor takes
 * longer than to look again. */
void spawn_wait(pid_t child)
{
    enum { LOOKS_MAX = 200 };

    for (size_t i = 0; i < LOOKS_MAX; i++) {
        if (waitpid(child, NULL, WNOHANG) == child)
            return;
        sched_yield();
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

bool spawn_other_namespaces(struct error *err)
{
    return unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) == 0 || spawn_fail(err);
}
