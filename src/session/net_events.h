/* What happens on the network, as events. */
#ifndef CLOCHE_SESSION_NET_EVENTS_H
#define CLOCHE_SESSION_NET_EVENTS_H

#include "net/client.h"
#include "net/judge.h"
#include "session/events.h"

enum { NET_TRIED_MAX = 64, NET_LOOKS_MAX = 512 };

/* Who tried to reach a place, and with what outcome. Looking for a client takes a
 * moment: for what is allowed it is done once for each place, for what is refused
 * NET_LOOKS_MAX times in all, then whoever was found last has to do. */
struct net_tried {
    char place[HOST_NAME_MAX_LENGTH + 16];
    enum net_refusal refusal;
    struct net_client client; /* pid 0: not known */
};

struct net_events {
    struct events *events;
    pid_t init; /* pid 1 of the run */
    struct net_tried tried[NET_TRIED_MAX];
    size_t tried_count;
    unsigned looks;
};

/* A connection that is allowed begins. */
void net_events_meet(struct net_events *told, const struct net_event *event);

/* With -v it is also said at once. */
void net_events_tell(struct net_events *told, const struct net_event *event);

#endif
