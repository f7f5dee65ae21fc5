/* Which processors the two processes of a launch begin on. Private to this room. */
#ifndef CLOCHE_JAIL_PLACEMENT_H
#define CLOCHE_JAIL_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct placement {
    bool choice; /* is there more than one? */
    cpu_set_t allowed;
};

void placement_find(struct placement *placement);

/* Lets a child that has not run yet begin elsewhere than on the caller's processor. */
void placement_apart(const struct placement *placement, pid_t child);

/* Lets a process that waits for us go on where we are, because we will wait next.
 * It must call placement_free when it does. */
void placement_succeed(const struct placement *placement, pid_t child);
void placement_free(const struct placement *placement);

#endif
