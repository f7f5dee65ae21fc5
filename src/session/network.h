/* The filtered network of one run: ties the network process, the sandbox's end
 * of it, and the policy that decides together. */
#ifndef CLOCHE_SESSION_NETWORK_H
#define CLOCHE_SESSION_NETWORK_H

#include "jail/company.h"
#include "net/inside.h"
#include "net/judge.h"
#include "net/net.h"
#include "session/asking.h"
#include "session/net_events.h"
#include "session/prepare.h"
#include "session/reload.h"

struct network {
    struct session *session;
    struct arena *shared; /* where this is: pid 1 sees it, the network process must not */
    struct net_config config;
    struct net_inside inside;
    struct net_process process;
    struct net_judge judge;
    const struct reload *reload; /* the policy in force */
    struct net_events events;
    struct asking *asking;
    int served; /* the network process's end of what leads inside, until it has it */
    int alarm;  /* can be read when it is time to start it */
    bool started;
    bool announced; /* see plan.h */
    struct jail_network hooks;
    struct jail_watch *watches; /* NETWORK_WATCHES of them */
};

enum { NETWORK_WATCHES = 3 };

/* What can be refused before anything is started: ports that are taken, a parent
 * proxy that cannot be understood. What pid 1 needs is put into `shared`, and so is `network` itself. `watches` are
 * NETWORK_WATCHES of the supervisor's. network_close must follow in any case. */
bool network_open(struct session *session, struct arena *shared, const struct reload *reload, struct asking *asking,
                  struct jail_watch *watches, struct events *events, struct network *network, struct error *err);

/* Ends the network process. */
void network_close(struct network *network);

#endif
