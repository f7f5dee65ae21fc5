/* The supervisor's side of a run: makes pid 1, waits for what it reports, and
 * waits for its end, so that nothing of a run is left when jail_run returns. */
#include "jail/jail.h"

#include "base/fd.h"
#include "base/log.h"
#include "jail/cgroup.h"
#include "jail/head_start.h"
#include "jail/init.h"
#include "jail/private_directory.h"
#include "jail/sampler.h"
#include "jail/spawn.h"
#include "jail/supervise.h"
#include "jail/sweep.h"
#include "jail/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The command keeps three descriptors of the caller's, and those it names. */
static bool check_descriptors(const struct plan *plan, const struct jail_company *company, struct error *err)
{
    static const char *const names[] = {"standard input", "standard output", "standard error"};
    bool host_network = plan->network == NETWORK_HOST;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (!handed_check(fd, names[fd], HANDED_AS_STANDARD, host_network, err))
            return false;
    }
    for (size_t i = 0; i < company->passed_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "descriptor %d (--pass-fd)", company->passed[i]);
        if (!handed_check(company->passed[i], name, HANDED_BY_NAME, host_network, err))
            return false;
    }
    return true;
}

static bool can_be_carried_out(struct error *err)
{
    if (getauxval(AT_SECURE))
        return error_set(err, "cloche must not be installed set-user-id: it needs no privilege. Take the bit away");
    return true;
}

static int status_of(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return JAIL_STATUS_SIGNAL + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status);
}

/* True if the kernel killed the run for its memory. */
static bool say_cgroup_hits(const struct supervised *supervised, const struct cgroup *cgroup)
{
    const struct plan *plan = supervised->plan;
    struct cgroup_hits hits = cgroup_hits(cgroup);
    char limit[32];
    char words[256];

    size_text(plan->memory.value, limit, sizeof limit);
    if (hits.memory) {
        snprintf(words, sizeof words, "killed for using more memory than %s, the limit (limits.memory, --memory)",
                 limit);
        supervise_say_limit(supervised, JAIL_MEMORY, words);
    }
    if (hits.processes) {
        snprintf(words, sizeof words,
                 "the limit of %llu processes was reached, and no more could start (limits.processes, --pids)",
                 (unsigned long long)plan->processes.value);
        supervise_say_limit(supervised, JAIL_PROCESSES, words);
    }
    return hits.memory;
}

static void say_time_is_over(const struct supervised *supervised)
{
    char words[256];

    snprintf(words, sizeof words, "killed after %llu second%s, the limit (limits.wallSeconds, --timeout)",
             (unsigned long long)supervised->plan->wall_seconds, supervised->plan->wall_seconds == 1 ? "" : "s");
    supervise_say_limit(supervised, JAIL_TIME, words);
}

static enum jail_end conclude(const struct supervised *supervised, bool reported, bool timed_out, bool out_of_memory,
                              const struct report *report, int *status, struct error *err)
{
    if (!reported) {
        *status = JAIL_STATUS_SIGNAL + SIGKILL;
        if (out_of_memory || supervised->deaf)
            return JAIL_ENDED; /* that was said */
        if (supervised->cut_off)
            log_detail("whoever holds the other end of the lifeline is gone: the run was ended");
        else if (supervised->doorman_gone)
            log_error("%s ended before the run did, and nothing can be let through without it: the run was ended",
                      supervised->doorman.attendant->name);
        else if (timed_out)
            say_time_is_over(supervised);
        else
            log_error("the sandbox was killed from outside, and the command with it");
        return JAIL_ENDED;
    }
    switch (report->kind) {
    case REPORT_NO_COMMAND:
        log_error("%s", report->error.text);
        *status = report->value;
        return JAIL_ENDED;
    case REPORT_ENDED:
        *status = status_of(report->value);
        return JAIL_ENDED;
    default:
        *err = report->error;
        return report->kind == REPORT_NO_NAMESPACES ? JAIL_NO_NAMESPACES
               : report->kind == REPORT_NO_PROC     ? JAIL_NO_PROC
                                                    : JAIL_REFUSED;
    }
}

/* What the caller had, and the command is to have again. */
struct signals {
    sigset_t mask;
    struct sigaction child_action;
};

/* JAIL_ENDED: not yet, but it was started. */
static enum jail_end start_in_namespaces(struct init *init, struct head_start *head_start, const struct cgroup *cgroup,
                                         struct supervised *supervised, struct error *err)
{
    struct head_start late = {.init = init, .outset = outset_of(supervised->plan)};

    if (!head_start || !head_start_use(head_start, init)) {
        jail_abandon(head_start);
        head_start = &late;
        enum jail_end end = head_start_make(head_start, cgroup->fd, err);
        if (end != JAIL_ENDED)
            return end;
        head_start_go(head_start);
    }
    supervised->init = head_start->child;
    supervised->control = head_start->control;
    supervised->doorman.socket = head_start->doorman;
    supervised->placement = head_start->placement;
    supervised->freed = deadline_after(SUPERVISE_FREES_AFTER);
    head_start->child = 0;
    if (!attending_begin(&supervised->doorman, supervised->init, err)) {
        kill(supervised->init, SIGKILL);
        spawn_wait(supervised->init);
        return JAIL_REFUSED;
    }
    if (supervised->network)
        supervised->network->begun(supervised->network->argument, supervised->init);
    return JAIL_ENDED;
}

/* Should init be killed, what it leaves behind becomes ours. */
static enum jail_end start_confined(struct init *init, struct supervised *supervised, struct error *err)
{
    char *private_directory = init->target.plan->private_directory;
    int control[2];

    if (private_directory && !private_directory_name(private_directory, err))
        return JAIL_REFUSED;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) {
        error_set_errno(err, errno, "cannot make a socket");
        return JAIL_REFUSED;
    }
    supervised->control = control[0];
    init->control = control[1];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        error_set_errno(err, errno, "cannot become the parent of orphans");
        return JAIL_REFUSED;
    }
    init->supervisor = getpid();
    supervised->init = fork();
    if (supervised->init == 0)
        init_confined(init);
    fd_close(&control[1]);
    if (supervised->init > 0)
        return JAIL_ENDED;
    error_set_errno(err, errno, "cannot make a process");
    return JAIL_REFUSED;
}

/* What init, killed, could not do any more. */
static void clean_up_confined(const struct plan *plan)
{
    sweep_descendants();
    if (plan->private_directory)
        private_directory_remove(plan->private_directory);
}

static enum jail_end run(struct supervised *supervised, char *const *argv, struct head_start *head_start,
                         const char *session_tmp, const struct signals *before, const struct cgroup *cgroup,
                         pid_t *leaving, int *status, struct error *err)
{
    const struct plan *plan = supervised->plan;
    bool namespaces = plan->backend == BACKEND_NAMESPACES;
    struct report report;
    bool timed_out;

    struct init init = {
        .target =
            {
                .plan = plan,
                .argv = argv,
                .signal_mask = before->mask,
                .child_action = before->child_action,
                .own_group = !terminal_is_foreground(&supervised->terminal),
                .no_terminal = supervised->terminal.fd < 0,
            },
        .network = supervised->network,
    };
    passed_begin(&init.target.passed, supervised->passed, supervised->passed_count);
    bool differs;
    if (session_tmp && !session_tmp_enter(session_tmp, plan, &init.session, &differs, err))
        return differs ? JAIL_OTHER_PLACES : JAIL_REFUSED;
    tripwire_open(&supervised->tripwire, &init.tripwire);
    sigpending(&init.early);
    enum jail_end end = namespaces ? start_in_namespaces(&init, head_start, cgroup, supervised, err)
                                   : start_confined(&init, supervised, err);
    fd_close(&init.tripwire);
    session_tmp_leave(&init.session);
    if (end == JAIL_ENDED) {
        if (supervised->hold)
            supervised->hold->control = supervised->control;
        bool reported = supervise(supervised, &report, &timed_out);
        if (supervised->hold) {
            supervised->hold->control = -1;
            supervised->hold->ended(supervised->hold->argument);
        }
        tripwire_close(&supervised->tripwire);
        attending_kill(&supervised->doorman);
        if (namespaces && reported && cgroup->fd < 0)
            *leaving = supervised->init;
        else
            spawn_wait(supervised->init);
        attending_end(&supervised->doorman);
        if (!namespaces && !reported)
            clean_up_confined(plan);
        bool killed = !reported || (report.kind == REPORT_ENDED && status_of(report.value) > JAIL_STATUS_SIGNAL);
        terminal_take_back(&supervised->terminal, killed);
        bool out_of_memory = say_cgroup_hits(supervised, cgroup);
        end = conclude(supervised, reported, timed_out, out_of_memory, &report, status, err);
    }
    tripwire_close(&supervised->tripwire);
    fd_close(&supervised->control);
    return end;
}

enum jail_end jail_run(const struct plan *plan, char *const *argv, struct head_start *head_start,
                       const struct jail_company *company, int *status, struct error *err)
{
    FD_CLEANUP int signals = -1;
    struct supervised supervised = {
        .plan = plan,
        .network = company->network,
        .watches = company->watches,
        .watch_count = company->watch_count,
        .listener = company->listener,
        .hold = company->hold,
        .passed = company->passed,
        .passed_count = company->passed_count,
        .control = -1,
        .tripwire = {.hooks = company->tripwire, .socket = -1, .device = -1},
        .doorman = {.attendant = company->doorman, .socket = -1, .listener = -1, .pid = -1, .pidfd = -1},
    };
    struct cgroup cgroup;
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct signals before;
    sigset_t passed_on;

    if (!can_be_carried_out(err) || !check_descriptors(plan, company, err))
        return JAIL_REFUSED;
    supervise_signals(&passed_on);
    /* Were SIGCHLD ignored, children would be reaped behind our back. */
    if (sigprocmask(SIG_BLOCK, &passed_on, &before.mask) < 0 ||
        sigaction(SIGCHLD, &by_default, &before.child_action) < 0) {
        error_set_errno(err, errno, "cannot prepare for signals");
        return JAIL_REFUSED;
    }
    terminal_find(&supervised.terminal);
    signals = signalfd(-1, &passed_on, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        error_set_errno(err, errno, "cannot watch for signals");
    supervised.signals = signals;
    enum jail_end end = JAIL_REFUSED;
    if (signals >= 0 && cgroup_make(plan, &cgroup, err)) {
        end = run(&supervised, argv, head_start, company->session_tmp, &before, &cgroup, company->leaving, status, err);
        cgroup_remove(&cgroup);
    }
    attending_end(&supervised.doorman);
    supervise_end(&supervised);
    jail_abandon(head_start);
    sigaction(SIGCHLD, &before.child_action, NULL);
    *company->interrupted = end == JAIL_ENDED && supervised.interrupted && *status == JAIL_STATUS_SIGNAL + SIGINT;
    if (end != JAIL_ENDED)
        sigprocmask(SIG_SETMASK, &before.mask, NULL);
    return end;
}

void jail_see_off(struct head_start *head_start, pid_t leaving)
{
    if (head_start)
        arena_free(&head_start->shared);
    if (leaving > 0)
        spawn_wait(leaving);
}

void jail_die_with_it(void)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, SIGINT);
    raise(SIGINT);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* here */
}
