#include "base/placement.h"

void placement_find(struct placement *placement)
{
    placement->choice =
        sched_getaffinity(0, sizeof placement->allowed, &placement->allowed) == 0 && CPU_COUNT(&placement->allowed) > 1;
}

int placement_here(const struct placement *placement)
{
    int processor = placement->choice ? sched_getcpu() : PLACEMENT_ANYWHERE;

    return processor < CPU_SETSIZE ? processor : PLACEMENT_ANYWHERE;
}

bool placement_elsewhere(const struct placement *placement, pid_t thread)
{
    cpu_set_t others = placement->allowed;
    int here = placement_here(placement);

    if (here == PLACEMENT_ANYWHERE)
        return false;
    CPU_CLR((size_t)here, &others);
    return sched_setaffinity(thread, sizeof others, &others) == 0;
}

void placement_apart(const struct placement *placement, pid_t child)
{
    if (placement_elsewhere(placement, child))
        placement_keep(placement, child, PLACEMENT_ANYWHERE);
}

bool placement_keep(const struct placement *placement, pid_t thread, int processor)
{
    cpu_set_t set = placement->allowed;

    if (!placement->choice)
        return false;
    if (processor != PLACEMENT_ANYWHERE) {
        CPU_ZERO(&set);
        CPU_SET((size_t)processor, &set);
    }
    return sched_setaffinity(thread, sizeof set, &set) == 0;
}

void placement_pull(const struct placement *placement, pid_t thread, struct placement_pull *pull)
{
    int here = placement_here(placement);

    pull->pulled = false;
    if (here == PLACEMENT_ANYWHERE || sched_getaffinity(thread, sizeof pull->was, &pull->was) < 0 ||
        !CPU_ISSET((size_t)here, &pull->was) || CPU_COUNT(&pull->was) == 1)
        return;
    CPU_ZERO(&pull->here);
    CPU_SET((size_t)here, &pull->here);
    pull->pulled = sched_setaffinity(thread, sizeof pull->here, &pull->here) == 0;
}

void placement_let_go(pid_t thread, const struct placement_pull *pull)
{
    cpu_set_t now;

    if (pull->pulled && sched_getaffinity(thread, sizeof now, &now) == 0 && CPU_EQUAL(&now, &pull->here))
        sched_setaffinity(thread, sizeof pull->was, &pull->was);
}
