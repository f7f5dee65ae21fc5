/* What happens on the network, as events. */
#ifndef CLOCHE_SESSION_NET_EVENTS_H
#define CLOCHE_SESSION_NET_EVENTS_H

#include "net/client.h"
#include "net/judge.h"
#include "session/events.h"

enum { NET_TRIED_MAX = 64 };

/* Who first tried to reach a place that was refused: looking for a client takes a
 * moment, so it is done once for each. */
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
};

/* With -v it is also said at once. */
void net_events_tell(struct net_events *told, const struct net_event *event);

#endif
