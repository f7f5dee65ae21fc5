/* Many commands of an agent ask for two things only: every bash that begins, for its
 * terminal, which is not there; and whoever wants to hear no complaints, for /dev/null.
 * For these the doorman need not settle in: no namespaces are entered, no threads begun.
 *
 * Nothing is let go on here: should the name in the caller's memory be another one by
 * now, it has got an error, or a descriptor of /dev/null. They are what terminal.c and
 * perform_open.c would come to. Whoever has a terminal, or something else at one of these
 * names, because a policy put it there or hid it, is left to them. */
#include "doorman/foyer.h"

#include "base/fd.h"
#include "doorman/copy.h"
#include "doorman/fetch.h"
#include "doorman/receive.h"
#include "doorman/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

enum { NULL_MAJOR = 1, NULL_MINOR = 3, NAME_SIZE = sizeof "/dev/null" };

/* Devices that are there already are neither made nor emptied. */
static const uint64_t ignored_flags = O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_LARGEFILE | O_CLOEXEC;
static const uint64_t kept_flags = O_APPEND | O_NONBLOCK;

struct opening {
    char name[NAME_SIZE];
    uint64_t flags;
};

static bool only_writes(uint64_t flags)
{
    uint64_t rest = flags & ~(ignored_flags | kept_flags);

    return rest == O_RDWR || rest == O_WRONLY;
}

static bool read_opening(const struct seccomp_notif *call, struct opening *opening)
{
    const uint64_t *arguments = (const uint64_t *)call->data.args;

    switch (call->data.nr) {
    case SYS_openat:
        arguments++;
        break;
#ifdef SYS_open
    case SYS_open:
        break;
#endif
    default:
        return false;
    }
    opening->flags = (unsigned)arguments[1];
    /* Who would make a set-id file is refused, and told of, whatever the name. */
    if (opening->flags & O_CREAT && arguments[2] & (S_ISUID | S_ISGID))
        return false;
    return only_writes(opening->flags) &&
           copy_bytes((pid_t)call->pid, arguments[0], opening->name, sizeof opening->name) == 0;
}

static bool is_named(const struct opening *opening, const char *name)
{
    return strncmp(opening->name, name, sizeof opening->name) == 0;
}

/* As the caller sees it. -1: that is not what stands there. */
static int find_device(const struct house *house, pid_t caller, const char *name, dev_t device)
{
    struct stat status;
    char path[64];

    snprintf(path, sizeof path, "%d/root%s", caller, name);
    FD_CLEANUP int found = openat(house->proc, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is_it = found >= 0 && fstat(found, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == device;
    return is_it ? fd_take(&found) : -1;
}

static bool says_there_is_no_terminal(const struct house *house, const struct seccomp_notif *call)
{
    pid_t caller = (pid_t)call->pid;
    const dev_t terminal = makedev(TERMINAL_MAJOR, TERMINAL_MINOR_OF_CALLER);
    FD_CLEANUP int found = find_device(house, caller, "/dev/tty", terminal);
    struct session session;

    if (found < 0 || fetch_read_session(house->proc, caller, &session) != ENXIO)
        return false;
    if (receive_is_valid(house, call->id))
        receive_answer(house, (struct seccomp_notif_resp){.id = call->id, .error = -ENXIO});
    return true;
}

static bool hands_nothing_over(const struct house *house, const struct seccomp_notif *call, uint64_t flags)
{
    FD_CLEANUP int found = find_device(house, (pid_t)call->pid, "/dev/null", makedev(NULL_MAJOR, NULL_MINOR));
    FD_CLEANUP int opened = -1;
    char path[64];

    snprintf(path, sizeof path, "self/fd/%d", found);
    if (found >= 0)
        opened = openat(house->proc, path, (int)(flags & (O_ACCMODE | kept_flags)) | O_CLOEXEC);
    if (opened < 0)
        return false;
    struct seccomp_notif_addfd add = {
        .id = call->id, .srcfd = (unsigned)opened, .newfd_flags = flags & O_CLOEXEC ? O_CLOEXEC : 0};
    int number = ioctl(house->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    int error = number < 0 ? errno : 0;
    fd_close(&opened);
    receive_answer(house, (struct seccomp_notif_resp){.id = call->id, .error = -error, .val = error ? 0 : number});
    return true;
}

static bool is_served(const struct house *house, const struct seccomp_notif *call)
{
    struct opening opening;

    if (!read_opening(call, &opening))
        return false;
    if (is_named(&opening, "/dev/tty"))
        return says_there_is_no_terminal(house, call);
    return is_named(&opening, "/dev/null") && hands_nothing_over(house, call, opening.flags);
}

bool foyer_wait(const struct house *house, atomic_uint *taken, struct seccomp_notif *call)
{
    /* Calls that the policy itself refuses are refused elsewhere. */
    bool serves = house->policy->seccomp.deny.count == 0;

    while (receive_call(house, taken, call)) {
        if (!serves || !is_served(house, call))
            return true;
    }
    return false;
}
