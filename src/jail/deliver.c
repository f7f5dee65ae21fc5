/* Was a signal that cloche got meant for cloche, or for everything in its
 * process group, as those are that a terminal or a job-control shell sends? Pid
 * 1 can tell: it is in that group, holds all signals back, and has got those of
 * the second kind as well. (Without namespaces it left the group; then only what
 * the kernel sent is known to have been for all.)
 *
 * A command in cloche's group has then got it too, and must not get it twice. A
 * command in a group of its own gets it with its whole group. */
#include "jail/deliver.h"

#include "base/fd.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static bool has_reached_us(int signal)
{
    const struct timespec no_time = {0};
    sigset_t one;
    siginfo_t info;

    sigemptyset(&one);
    sigaddset(&one, signal);
    /* Senders inside have a process id here; the kernel and those outside do not. */
    return sigtimedwait(&one, &info, &no_time) == signal && info.si_pid == 0;
}

static const int all_stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

enum { STOP_COUNT = sizeof all_stops / sizeof *all_stops };

static void stop_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < STOP_COUNT; i++)
        sigaddset(set, all_stops[i]);
}

/* The one thing of this room that is not in a struct: a handler is told nothing but
 * the signal. It runs in the child of vfork, so that pid 1 sees what it wrote. */
static volatile sig_atomic_t spared_stop;

static void spare(int signal)
{
    spared_stop = signal;
}

void deliver_spare_stops(void)
{
    const struct sigaction action = {.sa_handler = spare};

    for (size_t i = 0; i < STOP_COUNT; i++) {
        struct sigaction before;
        if (sigaction(all_stops[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(all_stops[i], &action, NULL);
    }
}

int deliver_spared_stop(void)
{
    return spared_stop;
}

int deliver_take_stop(void)
{
    const struct timespec no_time = {0};
    sigset_t stops;

    stop_signals(&stops);
    int signal = sigtimedwait(&stops, NULL, &no_time);
    return signal > 0 ? signal : 0;
}

void deliver_early(const struct addressee *to, const sigset_t *early, int stop)
{
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        if (signal != SIGCHLD && (signal == stop || sigismember(early, signal) == 1))
            kill(to->command, signal);
    }
}

/* Has cloche's group been stopped once more since? Then the command has been,
 * too, and must not be woken by a continue that is older than that. */
static bool is_outdated_continue(void)
{
    sigset_t stops;
    sigset_t pending;

    stop_signals(&stops);
    return sigpending(&pending) == 0 && sigandset(&pending, &pending, &stops) == 0 && !sigisemptyset(&pending);
}

/* The command's group if it is not cloche's, else 0. */
static pid_t own_group(const struct addressee *to)
{
    pid_t group = getpgid(to->command);

    return group > 1 && group != to->supervisors_group ? group : 0;
}

static void pass_on(const struct addressee *to, int signal, bool for_all)
{
    pid_t group = own_group(to);

    if (!has_reached_us(signal) && !for_all)
        kill(to->command, signal);
    else if (group)
        kill(-group, signal);
}

static void give_terminal(pid_t group)
{
    FD_CLEANUP int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        tcsetpgrp(fd, group);
}

static void go_on(const struct addressee *to, bool foreground)
{
    pid_t group = own_group(to);

    if (!group && is_outdated_continue())
        return;
    if (group && foreground)
        give_terminal(group);
    pass_on(to, SIGCONT, group != 0);
}

void deliver(const struct addressee *to, const struct order *order)
{
    switch (order->kind) {
    case ORDER_SIGNAL:
        pass_on(to, order->value, false);
        break;
    case ORDER_GROUP_SIGNAL:
        pass_on(to, order->value, true);
        break;
    case ORDER_CONTINUE:
        go_on(to, order->value != 0);
        break;
    case ORDER_MAPPED:
    case ORDER_NETWORK:
    case ORDER_START:
    case ORDER_HOLD:
    case ORDER_LOOK:
    case ORDER_RELEASE:
    case ORDER_ENDING:
        break;
    }
}
