/* Pid 1 from outside, until it is told the plan. Private to this room. */
#ifndef CLOCHE_JAIL_HEAD_START_H
#define CLOCHE_JAIL_HEAD_START_H

#include "base/placement.h"
#include "jail/init.h"
#include "jail/jail.h"

struct head_start {
    pid_t child;
    int control;
    int doorman;       /* the doorman's end of its socket */
    struct init *init; /* where pid 1 will look */
    struct outset outset;
    struct placement placement;
    struct arena shared; /* with pid 1 */
    bool told_network;
};

/* A pid 1 that begins at once; signals must be blocked. JAIL_ENDED: it does. */
enum jail_end head_start_make(struct head_start *head_start, int cgroup, struct error *err);

/* Tells pid 1 of a head start to go on with this. False: it cannot, because it
 * began otherwise. */
bool head_start_use(struct head_start *head_start, const struct init *init);

/* The same for one that was born with `init` in its memory. */
void head_start_go(struct head_start *head_start);

#endif
