/* Pid 1 from outside, until it is told the plan. Private to this room. */
#ifndef CLOCHE_JAIL_HEAD_START_H
#define CLOCHE_JAIL_HEAD_START_H

#include "jail/init.h"
#include "jail/jail.h"

struct head_start {
    pid_t child;
    int control;
    int doorman;       /* the doorman's end of its socket */
    struct init *init; /* where pid 1 will look */
    struct outset outset;
    const struct arena *arena; /* shared with pid 1; NULL: it has a copy of all that was there */
};

/* A pid 1 that begins at once; signals must be blocked. JAIL_ENDED: it does. */
enum jail_end head_start_make(struct head_start *head_start, int cgroup, struct error *err);

/* Can a run of this plan go on from there? */
bool head_start_fits(const struct head_start *head_start, const struct plan *plan);

/* Tells pid 1 to go on. */
void head_start_use(struct head_start *head_start, const struct init *init);

#endif
