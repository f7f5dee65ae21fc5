/* Everything that a run tells, from whoever tells it: gets its rule from
 * decide(), and goes to the watch. */
#ifndef CLOCHE_SESSION_EVENTS_H
#define CLOCHE_SESSION_EVENTS_H

#include "jail/company.h"
#include "session/prepare.h"
#include "watch/watch.h"

struct events {
    const struct session *session;
    struct watch watch;
    int records; /* what the doorman tells comes here; -1: nothing does */
    int doorman; /* its end, which it keeps */
};

/* Where the doorman's records are to be read, if there is a doorman, is put into
 * `*watch`. events_close must follow in any case. */
bool events_open(const struct session *session, struct jail_watch *watch, struct events *events, struct error *err);

/* Notes an event. Where it names no rule, decide() is asked for the one that decides
 * about its object. */
void events_tell(struct events *events, const struct event *event);

/* Once all processes of the run have ended: what they told last, and the whole. */
void events_close(struct events *events);

#endif
