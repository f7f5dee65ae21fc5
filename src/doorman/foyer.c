/* Every bash that begins asks for its terminal, to write to, and where an agent runs
 * its commands there is none. If that is all that is asked in a run, the doorman need
 * not settle in: no namespaces are entered, no threads begun.
 *
 * What is answered here is an error that the caller can find out by itself, and never
 * anything but an error: should the name in its memory be another one by now, nothing
 * has been opened, and nothing is let go on. It is the error that terminal.c finds:
 * whoever has a terminal, or another thing at that name, is left to it. */
#include "doorman/foyer.h"

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

static const char terminal[] = "/dev/tty";

static bool only_writes(uint64_t flags)
{
    const uint64_t harmless = O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_LARGEFILE;
    uint64_t rest = flags & ~harmless;

    return rest == O_RDWR || rest == O_WRONLY;
}

static bool may_ask_for_terminal(const struct seccomp_data *data, uint64_t *path)
{
    switch (data->nr) {
    case SYS_openat:
        *path = data->args[1];
        return only_writes((unsigned)data->args[2]);
#ifdef SYS_open
    case SYS_open:
        *path = data->args[0];
        return only_writes((unsigned)data->args[1]);
#endif
    default:
        return false;
    }
}

/* As the caller sees it: a policy may have put something else there, or hidden it. */
static bool is_terminal(const struct house *house, pid_t caller)
{
    struct stat status;
    char name[64];

    snprintf(name, sizeof name, "%d/root%s", caller, terminal);
    return fstatat(house->proc, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == makedev(TERMINAL_MAJOR, TERMINAL_MINOR_OF_CALLER);
}

static bool lacks_terminal(const struct house *house, const struct seccomp_notif *call)
{
    char path[sizeof terminal];
    uint64_t address;
    pid_t caller = (pid_t)call->pid;
    struct session session;

    return may_ask_for_terminal(&call->data, &address) && copy_bytes(caller, address, path, sizeof path) == 0 &&
           memcmp(path, terminal, sizeof path) == 0 && is_terminal(house, caller) &&
           fetch_read_session(house->proc, caller, &session) == ENXIO;
}

static void answer(const struct house *house, const struct seccomp_notif *call)
{
    struct seccomp_notif_resp response = {.id = call->id, .error = -ENXIO};
    uint64_t id = call->id;

    /* Was it the caller that was looked at, and not a newcomer with its number? */
    if (ioctl(house->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
        ioctl(house->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

bool foyer_wait(const struct house *house, atomic_uint *taken, struct seccomp_notif *call)
{
    /* Calls that the policy itself refuses are refused elsewhere. */
    bool serves = house->policy->seccomp.deny.count == 0;

    while (receive_call(house, taken, call)) {
        if (!serves || !lacks_terminal(house, call))
            return true;
        answer(house, call);
    }
    return false;
}
