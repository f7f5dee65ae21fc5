/* What is to be hidden and does not exist as the run starts can be put under no
 * mask. Where the host may make it in sight of the command, pid 1 waits for it, and
 * hides it when it is there (jail/renewal.c): a moment too late, but not for ever.
 *
 * srt means what exists at start, and no more. */
#include "base/path.h"
#include "plan/internal.h"
#include "policy/resolve.h"

/* Is it one of the host's, in which there are files? */
static bool is_in_sight(const struct plan *plan, struct slice directory)
{
    if (path_covers(SLICE("/sys"), directory) || path_covers(SLICE("/proc"), directory))
        return false;
    const struct step *innermost = plan_step_around(plan, directory);
    return innermost->kind == STEP_ROOT || innermost->kind == STEP_BIND || innermost->kind == STEP_PIN;
}

/* Most of what presets hide stands in one of a few directories: those are looked at once. */
enum { DIRECTORIES = 4 };

struct directories {
    struct slice path[DIRECTORIES];
    bool in_sight[DIRECTORIES];
    size_t next;
};

static bool would_be_seen(const struct plan *plan, struct slice path, struct directories *known)
{
    struct slice directory = path_parent(path);

    for (size_t i = 0; i < DIRECTORIES; i++) {
        if (slice_equal(known->path[i], directory))
            return known->in_sight[i];
    }
    size_t place = known->next++ % DIRECTORIES;
    known->path[place] = directory;
    known->in_sight[place] = is_in_sight(plan, directory);
    return known->in_sight[place];
}

static bool is_awaited(const struct plan *plan, const struct path_rule *rule, struct directories *known)
{
    return plan_hides_reading(rule) && would_be_seen(plan, rule->real, known) &&
           !decide_real_path(plan->policy, OPERATION_READ, rule->real).allowed;
}

/* A grant of the same path would win, were it not dropped because nothing is there. */
static void forget(struct plan *plan, const struct slice *granted, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < plan->awaited_count; i++) {
        size_t at = 0;
        while (at < count && !slice_equal(granted[at], plan->awaited[i].path))
            at++;
        if (at == count)
            plan->awaited[kept++] = plan->awaited[i];
    }
    plan->awaited_count = kept;
}

void plan_await(struct plan *plan)
{
    const struct path_rules *rules = &plan->policy->paths;
    struct directories known = {0};
    struct slice *granted = NULL;
    size_t granted_count = 0;
    size_t granted_capacity = 0;

    if (plan->backend != BACKEND_NAMESPACES || plan->policy->around.personality == PERSONALITY_SRT)
        return;
    for (size_t i = 0; i < rules->count; i++) {
        const struct path_rule *rule = &rules->items[i];
        if (rule->node != NODE_ABSENT || !rule->pattern.literal)
            continue;
        if (rule_is_grant(rule)) {
            granted =
                arena_grow(plan->arena, granted, granted_count, granted_count + 1, &granted_capacity, sizeof *granted);
            granted[granted_count++] = rule->real;
        } else if (!rule->dropped && is_awaited(plan, rule, &known)) {
            plan->awaited = arena_grow(plan->arena, plan->awaited, plan->awaited_count, plan->awaited_count + 1,
                                       &plan->awaited_capacity, sizeof *plan->awaited);
            plan->awaited[plan->awaited_count++] = (struct awaited){rule->real, rule};
        }
    }
    forget(plan, granted, granted_count);
}

/* Rules stand in one array, and so does what they hide in another, in the same order. */
bool plan_awaits(const struct plan *plan, const struct path_rule *rule)
{
    size_t from = 0;
    size_t to = plan->awaited_count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (plan->awaited[middle].rule == rule)
            return true;
        if (plan->awaited[middle].rule < rule)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}
