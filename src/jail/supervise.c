/* Waits for pid 1's word, and meanwhile passes on the signals cloche is sent and
 * keeps the time.
 *
 * A command that is given the terminal while cloche is in the foreground stays in
 * cloche's process group, so that pipelines and job control work as if cloche
 * were not there. Otherwise it has a group of its own, which it can see, so that
 * an interactive shell started in the background notices where it is and waits;
 * it is given the terminal when it asks for it and cloche has it by then.
 *
 * Every signal is passed on; pid 1 knows which of them the command has got by
 * itself (deliver.c). Stopping is mirrored: when the command stops, cloche stops
 * too, so that the shell notices; both go on together. Only where there is no
 * terminal, and nobody asked for the stop, nobody is there to notice.
 *
 * While cloche is stopped it keeps no time: pid 1 does that too, and its report
 * wakes us. Else a command could outlive its limit by stopping itself. */
#include "jail/supervise.h"

#include "base/log.h"
#include "jail/deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* All but those that cannot be held back, that tell of children, or that a fault
 * of cloche's own would raise. */
void supervise_signals(sigset_t *set)
{
    static const int kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS, SIGFPE,
                               SIGILL,  SIGTRAP, SIGSYS,  SIGPIPE, SIGXFSZ};

    sigfillset(set);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        sigdelset(set, kept[i]);
}

static bool is_of_terminals(int signal)
{
    static const int all[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] == signal)
            return true;
    }
    return false;
}

static bool next_signal(struct supervised *run, int *signal, bool *from_terminal)
{
    struct signalfd_siginfo info;

    if (read(run->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    *signal = (int)info.ssi_signo;
    /* What else the kernel sends (SIGALRM, SIGHUP to a session leader) may be for this process alone. */
    *from_terminal = info.ssi_code == SI_KERNEL && is_of_terminals((int)info.ssi_signo);
    if (*signal == SIGINT && *from_terminal)
        run->interrupted = true;
    return true;
}

static void pass_signal_on(struct supervised *run)
{
    int signal;
    bool from_terminal;

    if (!next_signal(run, &signal, &from_terminal))
        return;
    if (signal == SIGCONT) {
        run->stop_asked = false;
        terminal_note(&run->terminal);
        order_send(run->control, ORDER_CONTINUE, terminal_is_foreground(&run->terminal));
        return;
    }
    if (run->hold && signal != SIGWINCH)
        run->hold->disturbed(run->hold->argument);
    if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
        run->stop_asked = true;
    order_send(run->control, from_terminal ? ORDER_GROUP_SIGNAL : ORDER_SIGNAL, signal);
}

void jail_hold_all(const struct jail_hold *hold)
{
    if (hold->control >= 0)
        order_send(hold->control, ORDER_HOLD, 0);
}

void jail_look_at_all(const struct jail_hold *hold)
{
    if (hold->control >= 0)
        order_send(hold->control, ORDER_LOOK, 0);
}

void jail_release_all(const struct jail_hold *hold)
{
    if (hold->control >= 0)
        order_send(hold->control, ORDER_RELEASE, 0);
}

static bool is_pending(int signal)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

/* A report that comes while we are stopped is to continue us, or not any more. */
static void be_woken_by_reports(const struct supervised *run, bool wanted)
{
    int flags = fcntl(run->control, F_GETFL);

    if (wanted) {
        fcntl(run->control, F_SETSIG, SIGCONT);
        fcntl(run->control, F_SETOWN, getpid());
    }
    fcntl(run->control, F_SETFL, wanted ? flags | O_ASYNC : flags & ~O_ASYNC);
}

static bool is_report_waiting(const struct supervised *run)
{
    struct pollfd polled = {.fd = run->control, .events = POLLIN};

    return poll(&polled, 1, 0) > 0;
}

/* Stops cloche as the kernel would; false if nobody is there who could continue
 * it (an orphaned process group), or the signal is ignored. */
static bool stop_with(const struct supervised *run, int signal)
{
    bool timed = run->plan->wall_seconds != 0;
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, signal);
    if (timed)
        be_woken_by_reports(run, true);
    raise(signal);
    if (timed && is_report_waiting(run))
        raise(SIGCONT);                   /* takes the stop back */
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* here */
    sigprocmask(SIG_BLOCK, &one, NULL);
    if (timed)
        be_woken_by_reports(run, false);
    return is_pending(SIGCONT);
}

static void follow_stop(struct supervised *run, int signal)
{
    bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;

    /* What is old by now: everything has been continued since. */
    if (is_pending(SIGCONT))
        return;
    if (wants_terminal && terminal_is_foreground(&run->terminal)) {
        terminal_note(&run->terminal);
        order_send(run->control, ORDER_CONTINUE, 1);
        return;
    }
    /* That the stop was asked for may not have been read yet. */
    if (run->terminal.fd < 0 && !run->stop_asked && !is_pending(SIGTSTP))
        return;
    if (!stop_with(run, wants_terminal ? signal : SIGTSTP) && signal == SIGTSTP)
        order_send(run->control, ORDER_CONTINUE, terminal_is_foreground(&run->terminal));
}

void supervise_end(struct supervised *run)
{
    int signal;
    bool from_terminal;

    while (next_signal(run, &signal, &from_terminal))
        ;
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

enum {
    POLLED_REPORTS,
    POLLED_SIGNALS,
    POLLED_DOORMAN,
    POLLED_CALLS,
    POLLED_TRIPWIRE,
    POLLED_WATCHES,
    POLLED_COUNT = POLLED_WATCHES + JAIL_WATCHES_MAX
};

/* Once the last process that could ask anything is gone, pid 1's last word is microseconds away: looking for
 * it, a hundred times at most and once in a run, is done sooner than being woken. */
static int look_for_news(struct supervised *run, struct pollfd *polled, nfds_t count)
{
    enum { LOOKS_MAX = 100 };
    int news = 0;

    for (int i = 0; i < LOOKS_MAX && run->doorman.deserted && news == 0; i++) {
        news = poll(polled, count, 0);
        if (news == 0)
            sched_yield();
    }
    run->doorman.deserted = false;
    return news;
}

static int wait_for_news(struct supervised *run, struct pollfd polled[POLLED_COUNT], int patience)
{
    polled[POLLED_REPORTS] = (struct pollfd){.fd = run->control, .events = POLLIN};
    polled[POLLED_SIGNALS] = (struct pollfd){.fd = run->signals, .events = POLLIN};
    polled[POLLED_DOORMAN] = (struct pollfd){.fd = attending_watched(&run->doorman), .events = POLLIN};
    polled[POLLED_CALLS] = (struct pollfd){.fd = attending_calls(&run->doorman), .events = POLLIN};
    polled[POLLED_TRIPWIRE] = (struct pollfd){.fd = tripwire_watched(&run->tripwire), .events = POLLIN};
    for (size_t i = 0; i < run->watch_count; i++)
        polled[POLLED_WATCHES + i] =
            (struct pollfd){.fd = run->watches[i].fd, .events = run->watches[i].vital ? 0 : POLLIN};
    const nfds_t count = POLLED_WATCHES + run->watch_count;
    int news = look_for_news(run, polled, count);
    patience = deadline_sooner(&run->freed, attending_patience(&run->doorman, patience));
    return news != 0 ? news : poll(polled, count, patience);
}

/* Again and again, because pid 1 may be sent elsewhere yet. */
static void free_init(struct supervised *run)
{
    if (!deadline_is_over(&run->freed))
        return;
    placement_keep(&run->placement, run->init, PLACEMENT_ANYWHERE);
    run->freed = deadline_after(SUPERVISE_FREES_AFTER);
}

/* False if the run cannot go on. */
static bool serve_watches(struct supervised *run, const struct pollfd *polled)
{
    for (size_t i = 0; i < run->watch_count; i++) {
        struct jail_watch *watch = &run->watches[i];
        if (!polled[i].revents || watch->fd != polled[i].fd)
            continue;
        if (watch->vital) {
            run->cut_off = true;
            return false;
        }
        watch->ready(watch->argument, watch);
    }
    return true;
}

/* False if the run cannot go on. */
static bool hear_doorman(struct supervised *run, short events)
{
    struct error error;

    switch (attending_hear(&run->doorman, events, run->init, &error)) {
    case ATTENDING_GOES_ON:
        return true;
    case ATTENDING_FAILED:
        log_error("%s", error.text);
        break;
    case ATTENDING_ENDED:
        break;
    }
    run->doorman_gone = true;
    return false;
}

/* False if the run cannot go on. */
static bool doorman_answers(struct supervised *run, short events)
{
    if (attending_answers(&run->doorman, events))
        return true;
    log_error("%s does not answer", run->doorman.attendant->name);
    run->doorman_gone = true;
    return false;
}

void supervise_say_limit(const struct supervised *run, enum jail_limit limit, const char *words)
{
    log_error("%s", words);
    if (run->listener)
        run->listener->limit(run->listener->argument, limit, words);
}

/* False: it is the last one. */
static bool hear_report(struct supervised *run, const struct report *report)
{
    switch (report->kind) {
    case REPORT_LIMIT:
        supervise_say_limit(run, (enum jail_limit)report->value, report->error.text);
        return true;
    case REPORT_RENEWED:
    case REPORT_LED_AWAY:
        if (run->listener)
            run->listener->renewed(run->listener->argument, (size_t)report->value, report->kind == REPORT_RENEWED);
        return true;
    case REPORT_BLIND:
        log_warning(
            "the kernel does not tell of all changes, because this user's inotify instances or watches are used "
            "up: what is hidden is looked at five times a second instead, and what the host puts in its place may "
            "be seen for as long (more can be had by fs.inotify.max_user_watches and max_user_instances)");
        return true;
    case REPORT_SAID:
        log_error("%s", report->error.text);
        return true;
    case REPORT_STARTED:
        run->freed = (struct deadline){0};
        attending_look(&run->doorman);
        for (size_t i = 0; i < run->passed_count; i++)
            close(run->passed[i]); /* nobody else is to hold it */
        return true;
    case REPORT_STOPPED:
        follow_stop(run, report->value);
        return true;
    case REPORT_HELD:
        if (run->hold)
            run->hold->held(run->hold->argument, report->value == 1);
        return true;
    case REPORT_LOOKED:
        if (run->hold)
            run->hold->looked(run->hold->argument, report->value == 1);
        return true;
    default:
        return false;
    }
}

bool supervise(struct supervised *run, struct report *report, bool *timed_out)
{
    struct pollfd polled[POLLED_COUNT];
    uint64_t seconds = run->plan->wall_seconds;
    /* Pid 1 keeps the time, and may have more to tell; this is for when it cannot. */
    const struct deadline deadline = deadline_in(seconds ? seconds + 1 : 0);

    *timed_out = false;
    for (;;) {
        int news = wait_for_news(run, polled, deadline_patience(&deadline));
        if (news < 0 && errno == EINTR)
            continue;
        if (news < 0) {
            /* More than there may be descriptors cannot be waited for. */
            log_error("the run was ended: cannot wait for news of it: %s; raise the limit of open files (ulimit -n)",
                      strerror(errno));
            run->deaf = true;
            end_now(run);
            return false;
        }
        if (deadline_is_over(&deadline)) {
            *timed_out = true;
            end_now(run);
            return false;
        }
        free_init(run);
        /* Reports first: a stop that was reported before SIGCONT came is old. */
        if (polled[POLLED_REPORTS].revents) {
            if (!report_receive(run->control, report))
                return false;
            if (!hear_report(run, report)) {
                *timed_out = report->kind == REPORT_TIMED_OUT;
                return !*timed_out;
            }
        }
        if (polled[POLLED_SIGNALS].revents)
            pass_signal_on(run);
        if (polled[POLLED_TRIPWIRE].revents)
            tripwire_hear(&run->tripwire);
        if (!serve_watches(run, polled + POLLED_WATCHES) ||
            (polled[POLLED_DOORMAN].revents && !hear_doorman(run, polled[POLLED_DOORMAN].revents)) ||
            !doorman_answers(run, polled[POLLED_CALLS].revents)) {
            end_now(run);
            return false;
        }
        if (run->doorman.deserted)
            order_send(run->control, ORDER_ENDING, 0);
    }
}
