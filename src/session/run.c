/* Starts what the plan needs beside the jail, and ends it with the run. */
#include "session/run.h"

#include "doorman/doorman.h"
#include "session/events.h"
#include "session/network.h"
#include "session/tripwire.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whose descriptors the supervisor watches. */
enum { WATCH_LIFELINE, WATCH_RECORDS, WATCH_NETWORK, WATCH_COUNT = WATCH_NETWORK + NETWORK_WATCHES };
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

static enum jail_end run_filtered(struct session *session, char *const *argv, int control_fd,
                                  struct head_start *head_start, struct jail_company *company, struct events *events,
                                  int *status, struct error *err)
{
    struct arena *shared = head_start ? jail_shared(head_start) : session->arena;
    struct network *network = ARENA_NEW(shared, struct network);
    enum jail_end end = JAIL_REFUSED;

    if (network_open(session, shared, control_fd, company->watches + WATCH_NETWORK, events, network, err)) {
        company->network = &network->hooks;
        company->watch_count = WATCH_COUNT;
        end = jail_run(&session->plan, argv, head_start, company, status, err);
    }
    network_close(network);
    return end;
}

enum jail_end session_run(struct session *session, char *const *argv, int control_fd, struct head_start *head_start,
                          int *status, struct error *err)
{
    struct attendant doorman = {
        .name = "the doorman",
        .main = doorman_main,
        .argument = &session->plan,
        .at_once = session->plan.doorman.datagrams,
        .ended = doorman_clear_away,
    };
    struct jail_watch watches[WATCH_COUNT];
    struct jail_company company = {
        .watches = watches, .watch_count = WATCH_NETWORK, .session_tmp = session->request->session_tmp};
    struct events events;
    struct session_tripwire tripwire;
    enum jail_end end = JAIL_REFUSED;

    if (!can_be_started(session, control_fd, err) ||
        !hold_lifeline(session->lifeline_fd, &watches[WATCH_LIFELINE], err))
        return JAIL_REFUSED;
    if (plan_has_doorman(&session->plan))
        company.doorman = &doorman;
    /* It looks into /proc for all it knows of its callers. */
    if (company.doorman && access("/proc/self/ns/mnt", F_OK) < 0) {
        error_set_errno(err, errno, "cannot watch over names without /proc");
        return JAIL_NO_NAMESPACES;
    }
    if (events_open(session, &watches[WATCH_RECORDS], &events, err)) {
        doorman.kept = events.doorman;
        company.listener = &events.listener;
        company.tripwire = session_tripwire_open(&events, &tripwire);
        end = session->plan.network == NETWORK_FILTERED
                  ? run_filtered(session, argv, control_fd, head_start, &company, &events, status, err)
                  : jail_run(&session->plan, argv, head_start, &company, status, err);
    }
    events_close(&events, end, end == JAIL_ENDED ? *status : 0);
    return end;
}
