/* What each process may use, and what the run as a whole may, with the best way
 * this host has to hold the latter:
 *
 *   memory     a cgroup; else one in a scope that the service manager is asked for,
 *              if there is one to ask; else it is measured from time to time,
 *              which lets a run go over the limit for a moment before it is killed.
 *   processes  the cgroup that holds memory, or one of their own; else the number of
 *              process ids there are in the run's own pid namespace; else RLIMIT_NPROC,
 *              which means nothing for root; else, for that, a scope; else
 *              nothing, and the run is refused.
 *
 * Never RLIMIT_AS: it counts address space, of which Node and Java reserve far
 * more than they use, and is each process's own. */
#include "plan/internal.h"

#include <sys/resource.h>

const char *limit_way_name(enum limit_way way)
{
    switch (way) {
    case LIMIT_BY_CGROUP:
        return "cgroup";
    case LIMIT_BY_SCOPE:
        return "scope";
    case LIMIT_BY_PID_MAX:
        return "pid_max";
    case LIMIT_BY_RLIMIT:
        return "rlimit";
    case LIMIT_BY_SAMPLES:
        return "samples";
    case LIMIT_BY_NOTHING:
        break;
    }
    return "nothing";
}

static void add_rlimit(struct plan *plan, int resource, uint64_t value, const char *name)
{
    if (value)
        plan->rlimits[plan->rlimit_count++] = (struct rlimit_setting){resource, value, name};
}

static void limit_memory(struct plan *plan, const struct facts *facts)
{
    struct run_limit *memory = &plan->memory;

    memory->value = plan->policy->limits.memory;
    if (!memory->value)
        return;
    if (plan->backend == BACKEND_LANDLOCK) {
        plan_refuse(plan, plan->policy->limits.memory_origin, NULL,
                    "limits.memory cannot be held with Landlock alone: use --backend namespaces, or leave it out");
        return;
    }
    memory->cgroup = facts->limits.memory_cgroup;
    memory->way = memory->cgroup ? LIMIT_BY_CGROUP : facts->limits.manager ? LIMIT_BY_SCOPE : LIMIT_BY_SAMPLES;
}

static enum limit_way way_for_processes(const struct plan *plan, const struct facts *facts)
{
    if (plan->memory.way == LIMIT_BY_SCOPE)
        return LIMIT_BY_SCOPE; /* one run, one cgroup */
    if (plan->processes.cgroup)
        return LIMIT_BY_CGROUP;
    if (facts->limits.pid_max)
        return LIMIT_BY_PID_MAX;
    if (!facts->is_root)
        return LIMIT_BY_RLIMIT;
    return facts->limits.manager ? LIMIT_BY_SCOPE : LIMIT_BY_NOTHING;
}

static void limit_processes(struct plan *plan, const struct facts *facts)
{
    struct run_limit *processes = &plan->processes;
    struct origin origin = plan->policy->limits.processes_origin;

    processes->value = plan->policy->limits.processes;
    if (!processes->value)
        return;
    processes->cgroup = facts->limits.processes_cgroup;
    /* One run, one cgroup. */
    if (processes->cgroup && plan->memory.cgroup && strcmp(processes->cgroup, plan->memory.cgroup) != 0)
        processes->cgroup = NULL;
    if (plan->backend == BACKEND_LANDLOCK) {
        plan_refuse(plan, origin, NULL,
                    "limits.processes cannot be held with Landlock alone: use --backend namespaces, or leave it out");
        return;
    }
    processes->way = way_for_processes(plan, facts);
    if (processes->way == LIMIT_BY_NOTHING)
        plan_refuse(plan, origin, NULL,
                    "limits.processes cannot be held for root here: that takes a cgroup (version 2) with the "
                    "controller pids, or Linux 6.14. Run as an ordinary user, or leave it out");
}

bool plan_wants_scope(const struct policy *policy, const struct facts *facts)
{
    const struct limit_facts *limits = &facts->limits;

    if (!limits->manager || policy->around.backend == BACKEND_LANDLOCK)
        return false;
    if (policy->limits.memory && !limits->memory_cgroup)
        return true;
    return policy->limits.processes && !limits->processes_cgroup && !limits->pid_max && facts->is_root;
}

void plan_limits(struct plan *plan, const struct facts *facts)
{
    const struct policy *policy = plan->policy;

    plan->wall_seconds = policy->limits.wall_seconds;
    plan->file_size = policy->limits.file_size;
    plan->open_files = policy->limits.open_files;
    /* 1, not 0: a core_pattern that is a pipe runs its handler on the host even
     * at 0, and does not at 1 (attack 110). */
    add_rlimit(plan, RLIMIT_CORE, 1, "core");
    add_rlimit(plan, RLIMIT_FSIZE, plan->file_size, "fileSize");
    add_rlimit(plan, RLIMIT_NOFILE, plan->open_files, "openFiles");
    limit_memory(plan, facts);
    limit_processes(plan, facts);
}
