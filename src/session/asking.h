/* What no list names, and the embedder can be asked about: the questions of the
 * network process that wait for its answer. */
#ifndef CLOCHE_SESSION_ASKING_H
#define CLOCHE_SESSION_ASKING_H

#include "net/judge.h"
#include "session/peer.h"

/* The network process has at most 128 under way (ASKS_AT_ONCE): enough are left for
 * those that need no answer. */
enum { ASKING_OPEN_MAX = 64, ASKING_GRANTS_MAX = 64 };

struct asking_open {
    bool used;
    bool asked; /* else: waits for the greeting only */
    uint32_t number;
    uint64_t until; /* milliseconds of the monotonic clock */
    struct net_question question;
};

/* A yes counts for one connection, which asks again once it knows its addresses. */
struct asking_grant {
    struct net_question question; /* its name, port and client */
};

struct asking {
    struct peer *peer;
    bool late; /* it has not greeted in time: the policy as it was given holds */
    uint32_t last_number;
    int timer; /* ticks while something is open; -1: not made yet */
    struct asking_open open[ASKING_OPEN_MAX];
    struct asking_grant grants[ASKING_GRANTS_MAX];
    size_t next_grant;
};

void asking_open(struct peer *peer, struct asking *asking);
void asking_close(struct asking *asking);

/* The judge's hooks. */
enum net_appeal asking_appeal(struct asking *asking, const struct net_question *question);
bool asking_postpone(struct asking *asking, const struct net_question *question);

/* A line of the embedder's. True if it was one about questions. `link` leads to
 * the network process; -1: it has none yet. */
bool asking_hear(struct asking *asking, struct net_judge *judge, int link, struct slice line);

/* The timer has ticked: what has waited too long is decided without an answer. */
void asking_tick(struct asking *asking, struct net_judge *judge, int link);

/* The embedder is gone. */
void asking_end(struct asking *asking, struct net_judge *judge, int link);

#endif
