/* S's side of the network: answers what N asks. Decides by policy/decide.h and
 * net/guard.h, and tells what happened. Never blocks on N: a verdict that does
 * not fit into the socket waits for net_judge_serve's next call. */
#ifndef CLOCHE_NET_JUDGE_H
#define CLOCHE_NET_JUDGE_H

#include "net/guard.h"
#include "net/net.h"
#include "net/records.h"
#include "policy/decide.h"

/* Something that a person or a log may want to know. */
struct net_event {
    enum net_protocol protocol;
    enum net_refusal refusal; /* NET_NOT_REFUSED: it was allowed, and is over */
    struct slice name;
    uint16_t port;
    uint16_t client_port;
    bool client_v6;
    const struct decision *decision; /* NULL: no rule of the policy did it */
    struct slice reason;
    uint64_t sent;
    uint64_t received;
    uint64_t milliseconds;
};

/* Whether somebody else can say yes to what no list names. */
enum net_appeal {
    NET_NO_APPEAL, /* nobody can: it is refused */
    NET_APPEALED,  /* asked: net_judge_resume follows, and N waits */
    NET_GRANTED    /* has said so; of a name to be resolved: could, once somebody connects there */
};

struct net_judge {
    const struct policy *policy; /* replaced as a whole by --control-fd */
    struct guard guard;
    struct net_parent parent_http; /* as in the config */
    struct net_parent parent_https;
    void (*tell)(void *argument, const struct net_event *event);
    /* A connection is about to be allowed: later its client may be gone. What it came to is told at its end. */
    void (*meet)(void *argument, const struct net_event *event);
    /* NULL: nobody can be asked. */
    enum net_appeal (*appeal)(void *argument, const struct net_question *question);
    /* True: it is not judged now, and net_judge_resume follows. NULL: never. */
    bool (*postpone)(void *argument, const struct net_question *question);
    void *argument;
};

/* What somebody said who was asked. */
struct net_answer {
    bool allowed;
    struct slice reason; /* why not */
};

/* Call when `link` is readable. False when N is gone, or has said something that
 * N does not say. Serves a bounded number of questions. */
bool net_judge_serve(struct net_judge *judge, int link);

/* A question that was put off is judged now: with the answer that came, or, where
 * `answer` is NULL, by the policy alone. False as above. */
bool net_judge_resume(struct net_judge *judge, int link, const struct net_question *question,
                      const struct net_answer *answer);

/* The run is over: hears what N has still to tell, for a moment. */
void net_judge_end(struct net_judge *judge, int link);

#endif
