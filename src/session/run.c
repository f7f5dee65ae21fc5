/* Starts what the plan needs beside the jail, and ends it with the run. */
#include "session/run.h"

#include "doorman/doorman.h"
#include "session/network.h"

#include <errno.h>
#include <unistd.h>

enum jail_end session_run(struct session *session, char *const *argv, int control_fd, struct head_start *head_start,
                          int *status, struct error *err)
{
    struct attendant doorman = {
        .name = "the doorman",
        .main = doorman_main,
        .argument = &session->plan,
        .at_once = session->plan.doorman.datagrams,
    };
    struct jail_company company = {.doorman = plan_has_doorman(&session->plan) ? &doorman : NULL};
    struct network *network;

    if (session->plan.network != NETWORK_FILTERED && control_fd > 0) {
        error_set(err,
                  "--control-fd replaces the lists of hosts of a filtered network, but network.mode is %s (%s: %s)",
                  session->plan.network == NETWORK_HOST ? "host" : "none", session->policy.network.mode_origin.file,
                  session->policy.network.mode_origin.path);
        return JAIL_REFUSED;
    }
    /* It looks into /proc for all it knows of its callers. */
    if (company.doorman && access("/proc/self/ns/mnt", F_OK) < 0) {
        error_set_errno(err, errno, "cannot watch over names without /proc");
        return JAIL_NO_NAMESPACES;
    }
    if (session->plan.network != NETWORK_FILTERED)
        return jail_run(&session->plan, argv, head_start, &company, status, err);
    struct arena *shared = head_start ? jail_shared(head_start) : session->arena;
    network = ARENA_NEW(shared, struct network);
    enum jail_end end = JAIL_REFUSED;
    if (network_open(session, shared, control_fd, network, err)) {
        company.network = &network->hooks;
        end = jail_run(&session->plan, argv, head_start, &company, status, err);
    }
    network_close(network);
    return end;
}
