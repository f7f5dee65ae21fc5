/* A launch is two processes with about a millisecond of work each. Left to itself,
 * the scheduler may keep both on one processor: virtual machines are often told to
 * wake no second one for what is that short. So they are placed by hand, and free
 * to be moved again at once: should the place be taken, the scheduler finds another.
 * Before the command is executed, all is as it was found.
 *
 * Nothing here may fail a run: where it does not work, the launch takes longer. */
#include "jail/placement.h"

void placement_find(struct placement *placement)
{
    placement->choice =
        sched_getaffinity(0, sizeof placement->allowed, &placement->allowed) == 0 && CPU_COUNT(&placement->allowed) > 1;
}

static bool is_here(const struct placement *placement, size_t *here)
{
    int processor = sched_getcpu();

    *here = (size_t)processor;
    return placement->choice && processor >= 0 && processor < CPU_SETSIZE;
}

void placement_apart(const struct placement *placement, pid_t child)
{
    cpu_set_t others = placement->allowed;
    size_t here;

    if (!is_here(placement, &here))
        return;
    CPU_CLR(here, &others);
    if (sched_setaffinity(child, sizeof others, &others) == 0)
        sched_setaffinity(child, sizeof placement->allowed, &placement->allowed);
}

void placement_succeed(const struct placement *placement, pid_t child)
{
    cpu_set_t same;
    size_t here;

    if (!is_here(placement, &here))
        return;
    CPU_ZERO(&same);
    CPU_SET(here, &same);
    sched_setaffinity(child, sizeof same, &same);
}

void placement_free(const struct placement *placement)
{
    if (placement->choice)
        sched_setaffinity(0, sizeof placement->allowed, &placement->allowed);
}
