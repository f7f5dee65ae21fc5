/* Starts what the plan needs beside the jail, and ends it with the run. */
#include "session/run.h"

#include "base/proc.h"
#include "doorman/doorman.h"
#include "session/events.h"
#include "session/network.h"
#include "session/tripwire.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whose descriptors the supervisor watches. */
enum {
    WATCH_LIFELINE,
    WATCH_RECORDS,
    WATCH_CONTROL,
    WATCH_ASKING,
    WATCH_NETWORK = WATCH_ASKING + ASKING_WATCHES,
    WATCH_COUNT = WATCH_NETWORK + NETWORK_WATCHES
};
_Static_assert((int)WATCH_COUNT <= (int)JAIL_WATCHES_MAX, "the supervisor has room for them");

/* Of anything but a pipe or a socket the other end cannot be told to be gone. */
static bool hold_lifeline(int fd, struct jail_watch *watch, struct error *err)
{
    struct stat about;

    *watch = (struct jail_watch){.fd = fd > 0 ? fd : -1, .vital = true};
    if (fd <= 0)
        return true;
    if (fstat(fd, &about) < 0)
        return error_set_errno(err, errno, "--lifeline-fd %d cannot be used", fd);
    return S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) ||
           error_set(err, "--lifeline-fd %d is neither a pipe nor a socket, so nobody can be at its other end", fd);
}

static bool can_be_started(const struct session *session, int control_fd, struct error *err)
{
    if (session->plan.network == NETWORK_FILTERED || control_fd <= 0 || session->request->peer)
        return true;
    return error_set(err,
                     "--control-fd replaces the lists of hosts of a filtered network, but network.mode is %s (%s: %s)",
                     session->plan.network == NETWORK_HOST ? "host" : "none", session->policy.network.mode_origin.file,
                     session->policy.network.mode_origin.path);
}

/* Who can change the policy in force, or be asked, while the command runs. */
struct outside {
    struct reload reload;
    struct asking asking;
    struct prompt prompt;
};

static bool hear(void *argument, struct slice line)
{
    struct outside *outside = argument;

    return asking_hear(&outside->asking, line);
}

static void control(void *argument, struct jail_watch *watch)
{
    struct outside *outside = argument;

    reload_read(&outside->reload);
    watch->fd = outside->reload.fd;
    if (watch->fd >= 0 || !outside->asking.peer)
        return;
    outside->asking.peer->broken = true;
    asking_end(&outside->asking);
}

static bool outside_open(const struct session *session, int control_fd, struct jail_watch *watches,
                         struct outside *outside, struct error *err)
{
    if (!asking_begin(session, &watches[WATCH_ASKING], &outside->prompt, &outside->asking, err) ||
        !reload_open(session, control_fd, &outside->reload, err))
        return false;
    outside->reload.heard = hear;
    outside->reload.argument = outside;
    watches[WATCH_CONTROL] = (struct jail_watch){.fd = outside->reload.fd, .ready = control, .argument = outside};
    return true;
}

static void outside_close(struct outside *outside)
{
    asking_close(&outside->asking);
    reload_close(&outside->reload);
}

static enum jail_end run_filtered(struct session *session, char *const *argv, struct outside *outside,
                                  struct head_start *head_start, struct jail_company *company, struct events *events,
                                  int *status, struct error *err)
{
    struct arena *shared = head_start ? jail_shared(head_start) : session->arena;
    struct network *network = ARENA_NEW(shared, struct network);
    enum jail_end end = JAIL_REFUSED;

    if (network_open(session, shared, &outside->reload, &outside->asking, company->watches + WATCH_NETWORK, events,
                     network, err)) {
        company->network = &network->hooks;
        company->watch_count = WATCH_COUNT;
        end = jail_run(&session->plan, argv, head_start, company, status, err);
    }
    network_close(network);
    return end;
}

/* It looks into /proc for all it knows of its callers. */
static bool has_proc(struct error *err)
{
    return proc_is_own() || error_set(err, "cannot watch over names without a /proc of this pid namespace");
}

static enum jail_end run_watched(struct session *session, char *const *argv, struct outside *outside,
                                 struct head_start *head_start, struct jail_company company, int *status,
                                 struct error *err)
{
    struct attendant doorman = {
        .name = "the doorman",
        .main = doorman_main,
        .argument = &session->plan,
        .at_once = session->plan.doorman.datagrams,
        .asked_early = session->policy.seccomp.deny.count > 0,
        .ended = doorman_clear_away,
    };
    struct events events;
    struct session_tripwire tripwire;
    enum jail_end end = JAIL_REFUSED;

    if (events_open(session, &company.watches[WATCH_RECORDS], &outside->asking, &events, err)) {
        doorman.kept = events.doorman;
        if (plan_has_doorman(&session->plan))
            company.doorman = &doorman;
        company.listener = &events.listener;
        company.tripwire = session_tripwire_open(&events, &tripwire);
        end = session->plan.network == NETWORK_FILTERED
                  ? run_filtered(session, argv, outside, head_start, &company, &events, status, err)
                  : jail_run(&session->plan, argv, head_start, &company, status, err);
    }
    events_close(&events, end, end == JAIL_ENDED ? *status : 0);
    return end;
}

enum jail_end session_run(struct session *session, char *const *argv, int control_fd, struct head_start *head_start,
                          int *status, struct error *err)
{
    struct outside *outside = ARENA_NEW(session->arena, struct outside);
    struct jail_watch watches[WATCH_COUNT];
    struct jail_company company = {.watches = watches,
                                   .watch_count = WATCH_NETWORK,
                                   .session_tmp = session->request->session_tmp,
                                   .passed = session->request->passed,
                                   .passed_count = session->request->passed_count};
    bool interrupted = false;
    pid_t leaving = 0;
    enum jail_end end = JAIL_REFUSED;

    company.interrupted = &interrupted;
    company.leaving = &leaving;
    if (!can_be_started(session, control_fd, err) ||
        !hold_lifeline(session->lifeline_fd, &watches[WATCH_LIFELINE], err))
        return JAIL_REFUSED;
    /* A head start has used it already, to write the id maps. */
    if (plan_has_doorman(&session->plan) && !head_start && !has_proc(err))
        return JAIL_NO_NAMESPACES;
    if (outside_open(session, control_fd, watches, outside, err)) {
        company.hold = outside->asking.prompt ? &outside->prompt.hold : NULL;
        end = run_watched(session, argv, outside, head_start, company, status, err);
    }
    outside_close(outside);
    jail_see_off(head_start, leaving);
    if (interrupted)
        jail_die_with_it();
    return end;
}
