/* Waits for pid 1's word, and meanwhile passes on the signals cloche is sent and
 * keeps the time.
 *
 * The command stays in cloche's process group, so that pipelines and job control
 * work as if cloche were not there. What the terminal sends (Ctrl-C, Ctrl-Z, a
 * new window size) therefore reaches the command by itself and is not passed on
 * a second time. Stopping is mirrored: when the command stops under a terminal,
 * cloche stops too, so that the shell notices; it does not stop by itself, else
 * it would learn of the command's stop only when both are to go on. */
#include "jail/supervise.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void supervise_signals(sigset_t *set)
{
    static const int passed_on[] = {SIGINT,   SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                    SIGWINCH, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU};

    sigemptyset(set);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(set, passed_on[i]);
}

static int64_t milliseconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pass_signal_on(const struct supervised *run)
{
    struct signalfd_siginfo info;

    if (read(run->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_code == SI_KERNEL)
        return;
    order_send(run->control, ORDER_SIGNAL, (int)info.ssi_signo);
}

/* Only under a terminal is there somebody who would continue us. A plain SIGSTOP
 * may be the command's own affair, which something else inside will end. */
static bool should_stop_too(int signal)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        pid_t foreground = tcgetpgrp(fd);
        if (foreground >= 0)
            return signal != SIGSTOP || foreground == getpgrp();
    }
    return false;
}

/* Milliseconds for poll: until `deadline`, or for ever. */
static int patience(int64_t deadline)
{
    const int64_t day = 24LL * 60 * 60 * 1000;

    if (deadline == 0)
        return -1;
    int64_t left = deadline - milliseconds_now();
    return left <= 0 ? 0 : left > day ? (int)day : (int)left;
}

/* The end of pid 1 is the end of its namespace. Without one, init has to live to
 * end the others: it takes our silence for our end. */
static void end_now(const struct supervised *run)
{
    if (run->plan->backend == BACKEND_LANDLOCK)
        shutdown(run->control, SHUT_RDWR);
    else
        kill(run->init, SIGKILL);
}

bool supervise(const struct supervised *run, struct report *report, bool *timed_out)
{
    struct pollfd polled[] = {{.fd = run->control, .events = POLLIN}, {.fd = run->signals, .events = POLLIN}};
    const uint64_t century = 100ULL * 365 * 24 * 60 * 60;
    uint64_t seconds = run->plan->wall_seconds;
    int64_t deadline = 0;

    if (seconds && seconds < century)
        deadline = milliseconds_now() + (int64_t)seconds * 1000;
    *timed_out = false;
    for (;;) {
        int ready = poll(polled, 2, patience(deadline));
        if (ready < 0)
            continue;
        if (deadline && milliseconds_now() >= deadline) {
            *timed_out = true;
            end_now(run);
            return false;
        }
        if (polled[1].revents)
            pass_signal_on(run);
        if (!polled[0].revents)
            continue;
        if (!report_receive(run->control, report))
            return false;
        if (report->kind != REPORT_STOPPED)
            return true;
        if (should_stop_too(report->value))
            raise(SIGSTOP);
    }
}
