/* The few facts that planning needs, asked of the kernel at every launch: one
 * uname(), one landlock_create_ruleset(), one prctl() and one statfs(). Everything dearer is in
 * examine.c.
 * A release that does not read as a version counts as 0.0 and is thus refused
 * as too old: a kernel that we cannot place is not one to trust. */
#include "host/facts.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RELEASE_NUMBER_MAX = 9999 };

static bool take_number(struct slice *rest, unsigned *number)
{
    size_t used = 0;
    unsigned value = 0;

    while (used < rest->len && rest->ptr[used] >= '0' && rest->ptr[used] <= '9') {
        value = value * 10 + (unsigned)(rest->ptr[used] - '0');
        if (value > RELEASE_NUMBER_MAX)
            return false;
        used++;
    }
    if (used == 0)
        return false;
    *rest = slice_from(*rest, used);
    *number = value;
    return true;
}

bool facts_parse_release(struct slice release, unsigned *major, unsigned *minor)
{
    unsigned first;
    unsigned second;

    *major = 0;
    *minor = 0;
    if (!take_number(&release, &first) || release.len == 0 || release.ptr[0] != '.')
        return false;
    release = slice_from(release, 1);
    if (!take_number(&release, &second))
        return false;
    *major = first;
    *minor = second;
    return true;
}

/* The kernel allows one listener on the way from a process to the first: a
 * sandbox around us may have taken it (EBUSY), and nothing tells but to try. */
static int try_listener(void)
{
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = 1, .filter = allow};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        bool taken_on = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >= 0;
        _exit(taken_on ? 0 : errno);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return errno;
    }
    if (child < 0)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static void find_listener(struct facts *facts)
{
    enum { FILTERED = 2 };

    if (facts->kernel_major < 5 || (facts->kernel_major == 5 && facts->kernel_minor < 19))
        return;
    int refused = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == FILTERED ? try_listener() : 0;
    facts->listener = refused == 0;
    facts->listener_taken = refused == EBUSY;
}

void facts_gather(struct facts *facts)
{
    struct utsname name;

    *facts = (struct facts){.is_root = geteuid() == 0};
    if (uname(&name) == 0)
        facts_parse_release((struct slice){name.release, strnlen(name.release, sizeof(name.release))},
                            &facts->kernel_major, &facts->kernel_minor);
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    facts->landlock_abi = abi > 0 ? (int)abi : 0;
    find_listener(facts);
}

/* Root may use what is kept in reserve. File systems that do not count blocks or
 * files say that they have none in all. */
void facts_gather_disk(struct facts *facts, const char *project)
{
    struct statvfs status;

    if (statvfs(project, &status) < 0)
        return; /* whoever opens it says why */
    bool no_room = status.f_blocks > 0 && (facts->is_root ? status.f_bfree : status.f_bavail) == 0;
    bool no_files = status.f_files > 0 && (facts->is_root ? status.f_ffree : status.f_favail) == 0;
    if (status.f_flag & ST_RDONLY)
        facts->disk = DISK_READ_ONLY;
    else if (no_room || no_files)
        facts->disk = DISK_FULL;
}
