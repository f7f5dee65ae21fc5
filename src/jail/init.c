/* Pid 1: writes its id maps, makes the mounts, starts the command, then reaps.
 * It keeps the capabilities it has over its own namespaces: that is what keeps
 * the command, which has the same user id, from tracing it or reading its
 * memory. Signals do not reach it from inside (the kernel drops those pid 1 has
 * no handler for).
 *
 * When the command ends, everything that is left is killed and reaped before the
 * status is reported. When the supervisor ends, so does this process, and the
 * kernel then kills the whole pid namespace. */
#include "jail/init.h"

#include "jail/control.h"
#include "jail/identity.h"
#include "jail/jail.h"
#include "jail/limits.h"
#include "jail/mounts.h"
#include "jail/spawn.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void tell(const struct init *init, enum report_kind kind, int value, const char *text)
{
    report_send(init->control, kind, value, text);
    _exit(0);
}

static bool close_all_but(int keep)
{
    return (keep <= 3 || close_range(3, (unsigned)keep - 1, 0) == 0) && close_range((unsigned)keep + 1, ~0U, 0) == 0;
}

static bool take_identity(const struct init *init, struct error *err)
{
    struct order order;

    if (!identity_is_mapped_by_parent(init->user))
        return identity_map_self(init->user, init->group, err);
    if (!order_receive(init->control, &order) || order.kind != ORDER_MAPPED)
        _exit(0); /* the supervisor knows why */
    return true;
}

static bool set_up(struct init *init, struct error *err)
{
    const struct plan *plan = init->target.plan;

    if (!close_all_but(init->control))
        return error_set_errno(err, errno, "cannot close descriptors");
    init->target.umask = umask(0);
    return take_identity(init, err) && (plan->network == NETWORK_HOST || loopback_up(err)) &&
           limits_make_room(mounts_descriptors(plan), &init->target.open_files, err) && mounts_apply(plan, err);
}

static bool watch_children(int *signals, struct error *err)
{
    sigset_t children;

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_SETMASK, &children, NULL);
    *signals = signalfd(-1, &children, SFD_CLOEXEC);
    if (*signals < 0)
        return error_set_errno(err, errno, "cannot watch for the end of the command");
    return true;
}

/* True once the command has ended. */
static bool reap(const struct init *init, pid_t command, int *ended)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL);

        if (pid <= 0)
            return false;
        if (pid != command)
            continue;
        if (WIFSTOPPED(status)) {
            report_send(init->control, REPORT_STOPPED, WSTOPSIG(status), "");
            continue;
        }
        *ended = status;
        return true;
    }
}

static void wait_for(const struct init *init, pid_t command, int signals, int *ended)
{
    struct pollfd polled[] = {{.fd = init->control, .events = POLLIN}, {.fd = signals, .events = POLLIN}};

    for (;;) {
        if (poll(polled, 2, -1) < 0)
            continue;
        if (polled[1].revents) {
            struct signalfd_siginfo info;
            ssize_t ignored = read(signals, &info, sizeof info);
            (void)ignored;
            if (reap(init, command, ended))
                return;
        }
        if (polled[0].revents) {
            struct order order;
            if (!order_receive(init->control, &order))
                _exit(0);
            if (order.kind == ORDER_SIGNAL)
                kill(command, order.value);
        }
    }
}

static void end_the_rest(void)
{
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
}

_Noreturn void init_main(struct init *init)
{
    struct target *target = &init->target;
    struct error error;
    pid_t command;
    int signals;
    int ended = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!set_up(init, &error) || !close_all_but(init->control) || !watch_children(&signals, &error) ||
        !target_start(target, &command, &error))
        tell(init, REPORT_REFUSED, 0, error.text);
    if (target->status == JAIL_STATUS_NOT_EXECUTABLE || target->status == JAIL_STATUS_NOT_FOUND)
        tell(init, REPORT_NO_COMMAND, target->status, target->error.text);
    if (target->status != 0)
        tell(init, REPORT_REFUSED, 0, target->error.text);

    wait_for(init, command, signals, &ended);
    end_the_rest();
    tell(init, REPORT_ENDED, ended, "");
}
