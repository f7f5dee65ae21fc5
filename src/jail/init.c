/* Pid 1: makes the mounts, starts the command, then reaps.
 * It keeps the capabilities it has over its own namespaces: that is what keeps
 * the command, which has the same user id, from tracing it or reading its
 * memory. Signals do not reach it from inside (the kernel drops those pid 1 has
 * no handler for).
 *
 * When the command ends, everything that is left is killed and reaped before the
 * status is reported. When the supervisor ends, so does this process, and the
 * kernel then kills the whole pid namespace.
 *
 * Without namespaces it is an ordinary process outside the command's Landlock
 * domain, which keeps the command off it. It adopts what the command orphans,
 * and outlives the supervisor for as long as it takes to end all of that. */
#include "jail/init.h"

#include "base/fd.h"
#include "jail/attendant.h"
#include "jail/confine.h"
#include "jail/control.h"
#include "jail/deadline.h"
#include "jail/deliver.h"
#include "jail/hold.h"
#include "jail/jail.h"
#include "jail/kept.h"
#include "jail/limits.h"
#include "jail/linger.h"
#include "jail/mountfd.h"
#include "jail/mounts.h"
#include "jail/own_network.h"
#include "jail/private_directory.h"
#include "jail/renewal.h"
#include "jail/sampler.h"
#include "jail/spawn.h"
#include "jail/sweep.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_namespaces(const struct init *init)
{
    return init->target.plan->backend == BACKEND_NAMESPACES;
}

static _Noreturn void tell(const struct init *init, enum report_kind kind, int value, const char *text)
{
    handed_give_back(&init->handed);
    passed_give_back(&init->target.passed);
    if (init->made_private_directory)
        private_directory_remove(init->target.plan->private_directory);
    report_send(init->control, kind, value, text);
    _exit(0);
}

static int await(int control, enum order_kind kind)
{
    struct order order;

    do {
        if (!order_receive(control, &order))
            _exit(0); /* the supervisor knows why */
    } while (order.kind != kind);
    return order.value;
}

/* Told apart from other failures, because another plan may do. */
static enum report_kind why_not_mounted(const struct outset *outset)
{
    struct mount_attr private = {.propagation = MS_PRIVATE};
    FD_CLEANUP int tmpfs = -1;
    FD_CLEANUP int proc = -1;
    struct error ignored;

    if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof private) < 0 ||
        !mountfd_new_tmpfs(0755, 0, &tmpfs, &ignored))
        return REPORT_NO_NAMESPACES;
    if (outset->shares_proc || mountfd_new("proc", NULL, 0, MOUNT_SAFE, &proc, &ignored))
        return REPORT_REFUSED;
    return REPORT_NO_PROC;
}

/* What the thread that makes the network does besides. */
struct aside {
    const struct init *init;
    struct mounts *mounts;
    int inside; /* the network's socket in the thread's own table: pid 1 may have it elsewhere by then */
};

/* What pid 1 has got when it is told the plan. */
struct beginning {
    struct arena arena;
    struct mounts mounts;
    struct handed handed;
    struct own_network network;
    struct aside aside;
    mode_t umask;
    struct rlimit open_files;
};

static bool take_namespaces(int control, struct error *err)
{
    if (!spawn_other_namespaces(err))
        return false;
    await(control, ORDER_MAPPED);
    return true;
}

/* Last, because the policy must be read to know whether there is to be one. */
static bool begin_network(int control, struct own_network *network, struct error *err)
{
    return await(control, ORDER_NETWORK) == 0 || own_network_begin(network, control, err);
}

/* If this fails, `*kind` is how to report it. */
static bool begin(const struct outset *outset, const int doorman[2], int control, struct beginning *beginning,
                  enum report_kind *kind, struct error *err)
{
    *beginning = (struct beginning){.umask = umask(0)};
    *kind = REPORT_REFUSED;
    if (!kept_close_others(doorman, control, 0, err))
        return false;
    *kind = REPORT_NO_NAMESPACES;
    if (!take_namespaces(control, err))
        return false;
    handed_replace_files(&beginning->handed, control + 1);
    bool mounted = limits_make_room(mounts_descriptors(NULL), &beginning->open_files, err) &&
                   mounts_begin(outset, &beginning->arena, &beginning->mounts, err);
    *kind = mounted ? REPORT_REFUSED : why_not_mounted(outset);
    return mounted && begin_network(control, &beginning->network, err);
}

/* Behind what the command's process has sent: the listener comes first. */
static void hand_over_tree(struct init *init)
{
    struct error ignored;

    if (init->whole >= 0)
        attending_send(init->target.doorman, &init->whole, 1, &ignored); /* the doorman does without then */
    fd_close(&init->whole);
}

/* One takes about as long as what pid 1 has to prepare besides; and as the network inside
 * has to be set up after it, that is enough. */
static bool make_overlays_aside(void *argument, struct error *err)
{
    const struct aside *aside = argument;
    size_t most = aside->init->network ? 1 : aside->init->target.plan->step_count;

    return mounts_make_overlays(aside->mounts, most, err);
}

static bool hide_aside(void *argument, struct error *err)
{
    const struct aside *aside = argument;

    return mounts_hide(aside->mounts, 0, err);
}

static bool set_up_network_aside(void *argument, struct error *err)
{
    const struct aside *aside = argument;
    const struct init *init = aside->init;

    return init->network->set_up_inside(init->network->argument, aside->inside, err);
}

/* The thread attaches the last masks while the command's process prepares itself, which takes about as long as that
 * many. */
enum { LEFT_TO_THREAD = 16 };

/* Whoever sets up the network inside has enough to do. */
static own_network_work *later_of(const struct init *init, bool beside)
{
    if (init->network)
        return set_up_network_aside;
    return beside ? hide_aside : NULL;
}

static bool set_up_namespaces(const struct init *init, struct beginning *beginning, struct error *err)
{
    const struct plan *plan = init->target.plan;
    struct own_network *network = &beginning->network;
    struct aside *aside = &beginning->aside;
    bool beside = mounts_descriptors(plan) <= OWN_NETWORK_DESCRIPTORS;
    bool helped = beside && mounts_have_overlays(plan);
    struct rlimit raised;

    if (!limits_hold_processes(plan, err) || !limits_make_room(mounts_descriptors(plan), &raised, err))
        return false;
    mounts_expect(&beginning->mounts, plan);
    *aside = (struct aside){.init = init, .mounts = &beginning->mounts, .inside = init->inside};
    own_network_then(network, helped ? make_overlays_aside : NULL, later_of(init, beside), aside);
    if (init->network)
        own_network_call(network);
    if (!beside) {
        bool completed = own_network_enter(network, err) && own_network_complete(network, err);
        own_network_end(network);
        if (!completed)
            return false;
    }
    if (!mounts_prepare(&beginning->mounts, err) || (helped && !own_network_wait(network, err)) ||
        !mounts_attach(&beginning->mounts, err))
        return false;
    if (!init->network)
        own_network_call(network);
    bool halved = network->begun && network->later == hide_aside;
    return mounts_hide(&beginning->mounts, halved ? LEFT_TO_THREAD : 0, err) && own_network_enter(network, err);
}

/* For the command's process, which shares our memory. */
static bool complete(void *argument, struct error *err)
{
    struct beginning *beginning = argument;

    return own_network_complete(&beginning->network, err) && mounts_are_complete(&beginning->mounts, err);
}

static bool set_up_confined(struct init *init, struct error *err)
{
    const struct plan *plan = init->target.plan;
    const size_t descriptors = 32;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return error_set_errno(err, errno, "cannot become the parent of orphans");
    if (!confine_signals(init->supervisor, &init->scoped, err) ||
        !limits_make_room(descriptors, &init->target.open_files, err))
        return false;
    if (!plan->private_directory)
        return true;
    init->made_private_directory = private_directory_make(plan->private_directory, err);
    return init->made_private_directory;
}

static bool watch_children(int *signals, struct error *err)
{
    sigset_t children;
    sigset_t all;

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigfillset(&all); /* deliver() wants them held back */
    sigprocmask(SIG_SETMASK, &all, NULL);
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
        if (WIFSTOPPED(status) && init->hold.on)
            continue;
        if (WIFSTOPPED(status)) {
            while (deliver_take_stop())
                ; /* whatever stopped it is history */
            report_send(init->control, REPORT_STOPPED, WSTOPSIG(status), "");
            continue;
        }
        *ended = status;
        return true;
    }
}

static void end_the_rest(const struct init *init)
{
    if (!has_namespaces(init) && !init->scoped) {
        sweep_descendants();
        return;
    }
    /* Whose parent has gone is pid 1's child: without any, nobody is left. */
    if (has_namespaces(init) && waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD)
        return;
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
}

/* The supervisor is gone, or wants us gone. */
static _Noreturn void leave(const struct init *init)
{
    if (!has_namespaces(init)) {
        end_the_rest(init);
        if (init->made_private_directory)
            private_directory_remove(init->target.plan->private_directory);
    }
    _exit(0);
}

static void tell_limit(void *argument, enum jail_limit limit, const char *line)
{
    const struct init *init = argument;

    report_send(init->control, REPORT_LIMIT, (int)limit, line);
}

static _Noreturn void end_in_time(struct init *init, struct sampler *sampler)
{
    sampler_conclude(sampler, 0, tell_limit, init);
    end_the_rest(init);
    tell(init, REPORT_TIMED_OUT, 0, "");
}

static void tell_renewed(void *argument, size_t step, bool hidden)
{
    const struct init *init = argument;

    report_offer(init->control, hidden ? REPORT_RENEWED : REPORT_LED_AWAY, (int)step);
}

static bool tell_blind(void *argument)
{
    const struct init *init = argument;

    return report_offer(init->control, REPORT_BLIND, 0);
}

/* False: what was to be hidden is in sight. */
static bool renew_masks(const struct init *init, struct renewal *renewal)
{
    struct error error;

    if (renewal_look(renewal, &error) == RENEWAL_GOES_ON)
        return true;
    error_wrap(&error, "the run was ended");
    report_send(init->control, REPORT_SAID, 0, error.text);
    return false;
}

static void follow(struct init *init, const struct addressee *to, const struct order *order)
{
    if (order->kind == ORDER_HOLD) {
        bool still = hold_all(&init->hold, !init->target.plan->policy->around.shares_proc);
        report_send(init->control, REPORT_HELD, still, "");
    } else if (order->kind == ORDER_LOOK) {
        report_send(init->control, REPORT_LOOKED, hold_lasts(&init->hold), "");
    } else if (order->kind == ORDER_RELEASE) {
        hold_release(&init->hold);
    } else if (order->kind != ORDER_CONTINUE || !init->hold.on) {
        deliver(to, order);
    }
}

/* To be woken by its end would take longer than to look, a hundred times at most. */
static bool look_for_end(const struct init *init, pid_t command, int *ended)
{
    enum { LOOKS_MAX = 100 };

    for (int i = 0; i < LOOKS_MAX; i++) {
        if (reap(init, command, ended))
            return true;
        sched_yield();
    }
    return false;
}

static void wait_for(struct init *init, const struct addressee *to, int signals, struct sampler *sampler, int *ended)
{
    struct renewal renewal;
    const struct deadline deadline = deadline_in(init->target.plan->wall_seconds);
    struct pollfd polled[] = {{.fd = init->control, .events = POLLIN},
                              {.fd = signals, .events = POLLIN},
                              {.fd = init->network ? init->inside : -1, .events = POLLIN},
                              {.fd = -1, .events = POLLIN}};

    renewal_open(&renewal, init->target.plan, init->scratch);
    renewal.renewed = tell_renewed;
    renewal.tell_blind = tell_blind;
    renewal.argument = init;
    for (;;) {
        int patience = sampler_patience(sampler, deadline_patience(&deadline));
        if (polled[3].fd != renewal.changes)
            linger_too(init->lingering, renewal.changes);
        polled[3].fd = renewal.changes;
        if (poll(polled, 4, renewal_patience(&renewal, patience)) < 0)
            continue;
        if (deadline_is_over(&deadline))
            end_in_time(init, sampler);
        /* Before anything that takes time. */
        if (!renew_masks(init, &renewal) || !sampler_look(sampler)) {
            *ended = SIGKILL; /* as a wait status: end_the_rest kills it */
            return;
        }
        if (polled[0].revents) {
            struct order order;
            if (!order_receive(init->control, &order))
                leave(init);
            if (order.kind != ORDER_ENDING)
                follow(init, to, &order);
            else if (look_for_end(init, to->command, ended))
                return;
        }
        if (init->network && polled[2].revents && !init->network->serve_inside(init->network->argument, init->inside))
            polled[2].fd = -1;
        if (polled[1].revents) {
            struct signalfd_siginfo info;
            ssize_t ignored = read(signals, &info, sizeof info);
            (void)ignored;
            if (reap(init, to->command, ended))
                return;
        }
    }
}

static _Noreturn void run(struct init *init)
{
    struct target *target = &init->target;
    struct sampler sampler;
    struct error error;
    struct addressee to = {.supervisors_group = getpgrp()};
    sigset_t early;
    int signals;
    int ended = 0;
    size_t kept;
    const int doorman[] = {init->outside, target->doorman};

    if (!kept_gather(init, &kept, &error) ||
        !kept_close_others(init->outside < 0 ? NULL : doorman, init->control, kept, &error) ||
        !watch_children(&signals, &error) || !sampler_open(target->plan, &sampler, &error) || sigpending(&early) < 0 ||
        !target_start(target, &to.command, &error))
        tell(init, REPORT_REFUSED, 0, error.text);
    if (init->beginning)
        own_network_end(&init->beginning->network);
    hand_over_tree(init);
    fd_close(&target->doorman);
    passed_let_go(&target->passed);
    if (target->status == JAIL_STATUS_NOT_EXECUTABLE || target->status == JAIL_STATUS_NOT_FOUND)
        tell(init, REPORT_NO_COMMAND, target->status, target->error.text);
    if (target->status != 0)
        tell(init, REPORT_REFUSED, 0, target->error.text);
    report_send(init->control, REPORT_STARTED, 0, "");

    if (has_namespaces(init))
        init->lingering = linger(init->outside);
    else
        setpgid(0, 0); /* what is sent to cloche's process group is not for us */
    sigorset(&early, &early, &init->early);
    deliver_early(&to, &early, target->spared_stop);
    wait_for(init, &to, signals, &sampler, &ended);
    sampler_conclude(&sampler, ended, tell_limit, init);
    end_the_rest(init);
    tell(init, REPORT_ENDED, ended, "");
}

_Noreturn void init_in_namespaces(const struct outset *outset, const struct placement *placement, const int doorman[2],
                                  int control, const struct init *init)
{
    struct beginning beginning;
    enum report_kind kind;
    struct error error;
    const struct sigaction by_default = {.sa_handler = SIG_DFL};

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    sigaction(SIGCHLD, &by_default, NULL);
    bool begun = begin(outset, doorman, control, &beginning, &kind, &error);
    await(control, ORDER_START);

    struct init own = *init;
    struct plan plan = *own.target.plan;
    plan.arena = &beginning.arena;
    own.target.plan = &plan;
    own.target.umask = beginning.umask;
    own.target.placement = *placement;
    own.target.open_files = beginning.open_files;
    own.handed = beginning.handed;
    own.control = control;
    own.target.doorman = plan_has_doorman(&plan) ? doorman[1] : -1;
    own.outside = plan_has_doorman(&plan) ? doorman[0] : -1;
    if (!begun)
        tell(&own, kind, 0, error.text);
    if (own.network)
        own.inside = descriptor_receive(control);
    if (own.tripwire >= 0)
        beginning.mounts.tripwire.socket = descriptor_receive(control);
    bool complete_trees = true;
    for (size_t i = 0; i < own.session.count; i++) {
        beginning.mounts.session.trees[i] = descriptor_receive(control);
        complete_trees = complete_trees && beginning.mounts.session.trees[i] >= 0;
    }
    beginning.mounts.session.count = own.session.count;
    if ((own.network && own.inside < 0) || !complete_trees)
        tell(&own, REPORT_REFUSED, 0,
             "pid 1 of the sandbox could not be handed what it needs: this user has too many descriptors on their way "
             "between processes (start fewer runs at once, or raise the limit of open files: ulimit -n)");
    if (!passed_receive(&own.target.passed, control, &error))
        tell(&own, REPORT_REFUSED, 0, error.text);
    if (!set_up_namespaces(&own, &beginning, &error))
        tell(&own, own_network_is_forbidden(&beginning.network) ? REPORT_NO_NAMESPACES : why_not_mounted(outset), 0,
             error.text);
    own.scratch = renewal_is_needed(&plan) ? beginning.mounts.scratch.tree : -1;
    own.whole = beginning.mounts.whole;
    own.beginning = &beginning;
    own.target.complete = complete;
    own.target.argument = &beginning;
    run(&own);
}

_Noreturn void init_confined(struct init *init)
{
    struct error error;
    size_t kept = 0;

    init->target.umask = umask(0);
    init->target.doorman = -1;
    init->outside = -1;
    init->lingering = -1;
    init->scratch = -1;
    init->whole = -1;
    if (!kept_clear_way(init, &error) || !kept_passed(init, &kept, &error) ||
        !kept_close_others(NULL, init->control, kept, &error) || !set_up_confined(init, &error))
        tell(init, REPORT_REFUSED, 0, error.text);
    run(init);
}
