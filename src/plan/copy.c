/* The jail carries a plan out in a process that was born before the plan was
 * made, and sees of it only what is copied here into memory both share: what the
 * backend of namespaces reads, and nothing that is for people. A pointer that is
 * added to the plan or its steps, and that the jail is to follow, must be added
 * here. */
#include "plan/internal.h"

static struct entry *copy_entries(struct arena *arena, const struct step *step)
{
    struct entry *entries = arena_alloc(arena, step->entry_count * sizeof *entries);

    for (size_t i = 0; i < step->entry_count; i++) {
        entries[i] = step->entries[i];
        entries[i].path = arena_slice(arena, step->entries[i].path);
        entries[i].target = arena_slice(arena, step->entries[i].target);
    }
    return entries;
}

static void copy_steps(struct arena *arena, const struct plan *plan, struct plan *copy)
{
    copy->steps = arena_alloc(arena, plan->step_count * sizeof *copy->steps);
    copy->by_path = map_in(arena);
    map_reserve(&copy->by_path, plan->step_count);
    for (size_t i = 0; i < plan->step_count; i++) {
        struct step *step = &copy->steps[i];
        *step = plan->steps[i];
        step->path = arena_slice(arena, step->path);
        step->entries = copy_entries(arena, step);
        step->entry_capacity = step->entry_count;
        step->content = arena_slice(arena, step->content);
        step->origin = (struct origin){NULL, NULL};
        /* A pin may be covered by another step at its path, which counts there. */
        if (map_get(&plan->by_path, step->path) == &plan->steps[i])
            *map_at(&copy->by_path, step->path) = step;
    }
}

static void copy_awaited(struct arena *arena, const struct plan *plan, struct plan *copy)
{
    copy->awaited = arena_alloc(arena, plan->awaited_count * sizeof *copy->awaited);
    copy->awaited_capacity = plan->awaited_count;
    for (size_t i = 0; i < plan->awaited_count; i++)
        copy->awaited[i] = (struct awaited){.path = arena_slice(arena, plan->awaited[i].path)};
}

static void copy_landlock(struct arena *arena, const struct plan *plan, struct plan *copy)
{
    copy->landlock = arena_alloc(arena, plan->landlock_count * sizeof *copy->landlock);
    copy->landlock_capacity = plan->landlock_count;
    for (size_t i = 0; i < plan->landlock_count; i++) {
        copy->landlock[i] = plan->landlock[i];
        copy->landlock[i].path = arena_slice(arena, plan->landlock[i].path);
    }
}

static void copy_environment(struct arena *arena, const struct plan *plan, struct plan *copy)
{
    if (!plan->environment)
        return;
    copy->environment = arena_alloc(arena, (plan->environment_count + 1) * sizeof *copy->environment);
    for (size_t i = 0; i < plan->environment_count; i++)
        copy->environment[i] = arena_string(arena, plan->environment[i]);
}

static struct name_rules copy_names(struct arena *arena, const struct name_rules *names)
{
    struct name_rules copy = {.items = arena_alloc(arena, names->count * sizeof *copy.items),
                              .count = names->count,
                              .capacity = names->count};

    for (size_t i = 0; i < names->count; i++) {
        copy.items[i] = names->items[i];
        copy.items[i].text = arena_slice(arena, names->items[i].text);
        copy.items[i].origin = (struct origin){arena_string(arena, names->items[i].origin.file),
                                               arena_string(arena, names->items[i].origin.path)};
    }
    return copy;
}

/* Its switches and words, and the lists of system calls; no other list. */
static const struct policy *copy_policy(struct arena *arena, const struct policy *policy)
{
    struct policy *copy = ARENA_NEW(arena, struct policy);

    *copy = (struct policy){
        .arena = arena,
        .around = {.personality = policy->around.personality,
                   .backend = policy->around.backend,
                   .shares_proc = policy->around.shares_proc},
        .network = {.allow_all_unix_sockets = policy->network.allow_all_unix_sockets,
                    .unix_datagram = policy->network.unix_datagram},
        .seccomp = policy->seccomp,
    };
    copy->seccomp.allow = copy_names(arena, &policy->seccomp.allow);
    copy->seccomp.deny = copy_names(arena, &policy->seccomp.deny);
    return copy;
}

const struct plan *plan_copy(struct arena *arena, const struct plan *plan)
{
    struct plan *copy = ARENA_NEW(arena, struct plan);

    *copy = *plan;
    copy->arena = arena;
    copy->policy = copy_policy(arena, plan->policy);
    copy_steps(arena, plan, copy);
    copy_awaited(arena, plan, copy);
    copy_landlock(arena, plan, copy);
    copy_environment(arena, plan, copy);
    copy->host_ports = NULL;
    copy->host_port_count = 0;
    copy->publish_ports = NULL;
    copy->publish_port_count = 0;
    copy->working_directory = arena_slice(arena, plan->working_directory);
    copy->grants = NULL;
    copy->grant_count = 0;
    copy->withheld = NULL;
    copy->withheld_count = 0;
    copy->private_directory = NULL;
    copy->weaker = NULL;
    copy->memory.cgroup = NULL;
    copy->processes.cgroup = NULL;
    copy->no_doorman = NULL;
    copy->doorman_reasons = NULL;
    copy->doorman_reason_count = 0;
    copy->doorman_roots = NULL;
    copy->doorman_root_count = 0;
    copy->holds = NULL;
    copy->hold_count = 0;
    copy->refusals = NULL;
    copy->refusal_count = 0;
    return copy;
}
