/* Which processor a process or a thread goes on on. Nothing here may fail a run:
 * where it does not work, things take longer. */
#ifndef CLOCHE_BASE_PLACEMENT_H
#define CLOCHE_BASE_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct placement {
    bool choice; /* is there more than one? */
    cpu_set_t allowed;
};

enum { PLACEMENT_ANYWHERE = -1 };

void placement_find(struct placement *placement);

/* The caller's processor; PLACEMENT_ANYWHERE where there is no choice. */
int placement_here(const struct placement *placement);

/* Lets a child that has not run yet begin elsewhere than on the caller's processor. */
void placement_apart(const struct placement *placement, pid_t child);

/* Keeps a thread off the caller's processor, until it may go anywhere again. */
bool placement_elsewhere(const struct placement *placement, pid_t thread);

/* Keeps a thread on one processor (0: the caller), until it may go anywhere again. */
bool placement_keep(const struct placement *placement, pid_t thread, int processor);

/* A thread that sleeps wakes up on the caller's processor between these two, if it
 * may run there at all. Whoever sets its processors meanwhile is overruled only if it
 * sets the same one, or in the half of a microsecond between the last two calls. */
struct placement_pull {
    bool pulled;
    cpu_set_t was;
    cpu_set_t here;
};

void placement_pull(const struct placement *placement, pid_t thread, struct placement_pull *pull);
void placement_let_go(pid_t thread, const struct placement_pull *pull);

#endif
