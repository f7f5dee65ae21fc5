/* Carries a plan out: starts the command in namespaces of its own with the
 * plan's mounts, or under the plan's Landlock rules alone, with no capabilities,
 * a system-call filter and limits, and waits for it. */
#ifndef CLOCHE_JAIL_JAIL_H
#define CLOCHE_JAIL_JAIL_H

#include "base/error.h"
#include "jail/attendant.h"
#include "jail/company.h"
#include "plan/plan.h"

enum {
    JAIL_STATUS_NOT_EXECUTABLE = 126,
    JAIL_STATUS_NOT_FOUND = 127,
    JAIL_STATUS_SIGNAL = 128 /* plus the signal's number */
};

enum jail_end {
    JAIL_ENDED,        /* the command ran, or there was none to run */
    JAIL_REFUSED,      /* nothing was started */
    JAIL_OTHER_PLACES, /* nothing was started, because the session's /tmp has no room for this plan's mounts below it */
    JAIL_NO_PROC,      /* nothing was started, because this system refuses a fresh /proc: the host's may do */
    JAIL_NO_NAMESPACES /* nothing was started, because this system gives no usable namespaces: the other backend may do
                        */
};

/* Pid 1 of a run whose plan is not known yet: it makes its namespaces and what is
 * the same in every sandbox while the policy is read. */
struct head_start;

/* NULL: there is none, and nothing is lost but time. */
struct head_start *jail_begin(struct arena *arena);

/* As soon as it is known: has the run a network of its own? The plan must say the
 * same then. `head_start` may be NULL. */
void jail_tell_network(struct head_start *head_start, bool own);

/* Pid 1 sees what is allocated from it. */
struct arena *jail_shared(struct head_start *head_start);

/* For when nothing is run. */
void jail_abandon(struct head_start *head_start);

/* Who works for a run beside it. */
struct jail_company {
    struct jail_network *network;    /* there if and only if the plan's network is filtered */
    const struct attendant *doorman; /* there if and only if the plan has need of one */
    struct jail_watch *watches;      /* at most JAIL_WATCHES_MAX */
    size_t watch_count;
    const struct jail_listener *listener; /* NULL: nobody */
    struct jail_hold *hold;               /* NULL: nobody is ever asked */
    const char *session_tmp;        /* leads to what session_tmp_make made; NULL: the plan shows nothing of a session */
    const int *passed;              /* descriptors for the command beyond 0 to 2; closed here once it has them */
    size_t passed_count;            /* at most JAIL_PASSED_MAX */
    struct jail_tripwire *tripwire; /* NULL: nobody wants to know who touches what is hidden */
    bool *interrupted;              /* set if the terminal's interrupt key killed the command: see jail_die_with_it */
    pid_t *leaving; /* set to pid 1 if that has said its last word and is about to end: see jail_see_off */
};

/* Runs `argv` (NULL at the end) and waits until it and everything it left
 * behind are gone, but for pid 1 itself where that is `leaving`.
 *
 * JAIL_ENDED: `*status` is the command's own, 128+n if signal n killed it, 126 or 127
 * if there was no command to run (the reason was said on stderr). Else
 * `err` says why nothing was started, and the caller exits with 125.
 *
 * Uses the process's signal mask while it waits: a signal sent to this process
 * reaches the command instead. When the run has ended the mask stays as it is: what comes
 * then was meant for the command, and must not keep its end from being told.
 * Descriptors 0 to 2 must be open. Single-threaded callers only. `head_start` (NULL:
 * none) is used up. */
enum jail_end jail_run(const struct plan *plan, char *const *argv, struct head_start *head_start,
                       const struct jail_company *company, int *status, struct error *err);

/* What the kernel takes for the end of pid 1 (0: it has ended) is time for all else that is to be done at the end. When
 * that is done, waits until nothing of the run is left. `head_start`: whatever jail_run was given. */
void jail_see_off(struct head_start *head_start, pid_t leaving);

/* When all is said of a run that was interrupted: dies of SIGINT as well (unless it is
 * ignored). A shell script goes on after an interrupted program that merely exits with 130. */
void jail_die_with_it(void);

#endif
