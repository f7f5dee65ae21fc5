/* Starts what the plan needs beside the jail, and ends it with the run. */
#include "session/run.h"

#include "session/network.h"

enum jail_end session_run(struct session *session, char *const *argv, int control_fd, struct head_start *head_start,
                          int *status, struct error *err)
{
    struct network *network;

    if (session->plan.network != NETWORK_FILTERED && control_fd > 0) {
        error_set(err,
                  "--control-fd replaces the lists of hosts of a filtered network, but network.mode is %s (%s: %s)",
                  session->plan.network == NETWORK_HOST ? "host" : "none", session->policy.network.mode_origin.file,
                  session->policy.network.mode_origin.path);
        return JAIL_REFUSED;
    }
    if (session->plan.network != NETWORK_FILTERED)
        return jail_run(&session->plan, argv, head_start, NULL, status, err);
    network = ARENA_NEW(session->arena, struct network);
    enum jail_end end = JAIL_REFUSED;
    if (network_open(session, control_fd, network, err))
        end = jail_run(&session->plan, argv, head_start, &network->hooks, status, err);
    network_close(network);
    return end;
}
