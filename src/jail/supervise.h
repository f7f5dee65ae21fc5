/* The supervisor's wait. Private to this room. */
#ifndef CLOCHE_JAIL_SUPERVISE_H
#define CLOCHE_JAIL_SUPERVISE_H

#include "base/placement.h"
#include "jail/attendant.h"
#include "jail/company.h"
#include "jail/control.h"
#include "jail/deadline.h"
#include "jail/terminal.h"
#include "jail/tripwire.h"
#include "plan/plan.h"

#include <signal.h>
#include <sys/types.h>

/* The signals that reach the command when they are sent to cloche. */
void supervise_signals(sigset_t *set);

struct supervised {
    const struct plan *plan;
    struct jail_network *network; /* NULL: it is not filtered */
    struct jail_watch *watches;
    size_t watch_count;
    const struct jail_listener *listener; /* NULL: nobody */
    struct jail_hold *hold;               /* NULL: nobody is ever asked */
    const int *passed;                    /* descriptors that the command is to have instead of us */
    size_t passed_count;
    pid_t init;
    struct placement placement; /* where pid 1 is kept until the command is there ... */
    struct deadline freed;      /* ... or until then: that processor may be taken for good */
    int control;
    int signals; /* signalfd over supervise_signals(), not blocking */
    struct terminal terminal;
    struct attending doorman;
    struct tripwire tripwire;
    bool doorman_gone; /* it ended before the run did */
    bool cut_off;      /* somebody the run was to end with is gone */
    bool deaf;         /* nothing can be heard of it, which was said */
    bool stop_asked;   /* a stop signal was passed on since the command last went on */
    bool interrupted;  /* the terminal's interrupt key was pressed */
};

/* Milliseconds: a launch takes fewer. */
enum { SUPERVISE_FREES_AFTER = 5 };

/* Says that a limit was hit. */
void supervise_say_limit(const struct supervised *run, enum jail_limit limit, const char *words);

/* Waits for the last report. False if there was none: pid 1 is gone, because it
 * was killed or because the time was up (then `*timed_out`). */
bool supervise(struct supervised *run, struct report *report, bool *timed_out);

/* Takes what is left of the signals, which nobody is there for any more. */
void supervise_end(struct supervised *run);

#endif
