/* Everything that a run tells, from whoever tells it: gets its rule and its hint,
 * and goes to the log, to --events and into the summary. */
#ifndef CLOCHE_SESSION_EVENTS_H
#define CLOCHE_SESSION_EVENTS_H

#include "jail/jail.h"
#include "session/asking.h"
#include "session/later.h"
#include "session/prepare.h"
#include "watch/log.h"
#include "watch/stream.h"
#include "watch/watch.h"

struct events {
    const struct session *session;
    struct watch watch;
    struct event_log log;
    struct event_stream stream;
    struct timespec start;
    bool log_started;    /* the log has this run's first line */
    bool stream_started; /* and so has --events */
    bool reads_watched;  /* somebody tells of what is hidden and was looked for */
    unsigned hints;      /* how many were tried */
    struct asking *asking;
    int records; /* what the doorman tells comes here; -1: nothing does */
    int doorman; /* its end, which it keeps */
    struct jail_listener listener;
    struct later *later; /* NULL: nothing was made that may run later */
};

/* Where the doorman's records are to be read, if there is a doorman, is put into
 * `*watch`; those that ask are given to `asking`. events_close must follow in any case. Touches no file. */
bool events_open(const struct session *session, struct jail_watch *watch, struct asking *asking, struct events *events,
                 struct error *err);

/* Notes an event. Where it names no rule, decide() is asked for the one that decides
 * about its object, and a refusal gets its hint. */
void events_tell(struct events *events, const struct event *event);

/* Once all processes of the run have ended, or nothing was started: what they told last,
 * the summary, and the end of the lines. */
void events_close(struct events *events, enum jail_end end, int status);

#endif
