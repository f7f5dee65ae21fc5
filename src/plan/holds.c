/* Which lock holds each rule, and which rules nothing holds.
 *
 * Mounts speak of what exists when the run starts. A rule about names that may
 * come into being later is the doorman's; where there is none it is refused by
 * name, so that nobody relies on it, and the token `late-names` waives that where
 * what exists now is held. Hiding a path that does not exist is not refused (there
 * is nothing to hide), but it is noted. */
#include "base/path.h"
#include "base/text.h"
#include "host/degraded.h"
#include "plan/internal.h"
#include "policy/resolve.h"

void plan_add_hold(struct plan *plan, struct hold hold)
{
    size_t need = plan->hold_count + 1 + (plan->hold_count ? 0 : plan->policy->paths.count);

    plan->holds =
        arena_grow(plan->arena, plan->holds, plan->hold_count, need, &plan->hold_capacity, sizeof *plan->holds);
    plan->holds[plan->hold_count++] = hold;
}

void plan_hold_rule(struct plan *plan, const struct path_rule *rule, unsigned locks, const char *note)
{
    bool absent = rule->pattern.literal && rule->node == NODE_ABSENT;

    plan_add_hold(plan, (struct hold){.origin = rule->origin,
                                      .rule_text = rule->text,
                                      .real = rule->real,
                                      .locks = locks,
                                      .note = note,
                                      .idle = absent && !(locks & LOCK_DOORMAN)});
}

void plan_hold_by_doorman(struct plan *plan, const struct path_rule *rule, const char *note)
{
    if (!rule->protects) /* protected names are a reason of their own */
        plan_doorman_call(plan, rule->origin, rule->text);
    plan_hold_rule(plan, rule, LOCK_DOORMAN, note);
}

void plan_refuse(struct plan *plan, struct origin origin, const char *token, const char *what)
{
    plan->refusals = arena_grow(plan->arena, plan->refusals, plan->refusal_count, plan->refusal_count + 1,
                                &plan->refusal_capacity, sizeof *plan->refusals);
    plan->refusals[plan->refusal_count++] = (struct refusal){origin, what, token};
}

void plan_refuse_tree_pattern(struct plan *plan, const struct path_rule *rule)
{
    plan_refuse(plan, rule->origin, NULL,
                arena_printf(plan->arena,
                             "%s is a pattern over a whole tree, which cannot be held, for %s: name the paths, or "
                             "use a pattern on entries of the project's top directory or $HOME",
                             escaped(plan->arena, rule->text), plan->no_doorman));
}

/* Could the command make something at or below `path`? */
static bool can_come_into_being(const struct plan *plan, const struct tree *tree, struct slice path)
{
    for (struct slice above = path_parent(path);; above = path_parent(above)) {
        struct slice ignored;
        if (above.len <= 1 || tree->look(tree->context, above, plan->arena, &ignored) == NODE_DIRECTORY) {
            enum access access = plan_access_at(plan, above);
            return access == ACCESS_WRITE;
        }
    }
}

bool plan_writable_overlaps(const struct plan *plan, struct slice directory)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if (step->writable && step->kind != STEP_PIN &&
            (path_covers(step->path, directory) || path_covers(directory, step->path)))
            return true;
    }
    return false;
}

unsigned plan_first_lock(const struct plan *plan)
{
    return plan->backend == BACKEND_LANDLOCK ? LOCK_LANDLOCK : LOCK_MOUNT;
}

static void judge_granting_pattern(struct plan *plan, const struct path_rule *rule, const char *name)
{
    if (!rule_grants_writing(rule))
        plan_judge_showing_pattern(plan, rule);
    else if (plan->no_doorman)
        plan_refuse(plan, rule->origin, NULL,
                    arena_printf(plan->arena, "%s lets files be written by a pattern, but %s: name the paths", name,
                                 plan->no_doorman));
    else if (rule->node != NODE_DIRECTORY)
        plan_hold_rule(plan, rule, 0, "there is no directory in which it could match");
    else if (plan_access_at(plan, rule->real) < ACCESS_READ)
        plan_refuse(plan, rule->origin, NULL,
                    arena_printf(plan->arena,
                                 "%s lets files be written by a pattern in a directory that is hidden: let %s be read",
                                 name, escaped(plan->arena, rule->real)));
    else
        plan_hold_by_doorman(plan, rule, "the mount stays read-only; the doorman writes what matches");
}

/* Hidden by mounts where it matches at start; what comes later is the doorman's. */
static void judge_expanded(struct plan *plan, const struct path_rule *rule, const char *name)
{
    if (!plan->no_doorman)
        plan_judge_hiding_pattern(plan, rule);
    else if (!plan_writable_overlaps(plan, rule->real))
        plan_hold_rule(plan, rule, plan_first_lock(plan), "what it matches when the run starts");
    else
        plan_refuse(plan, rule->origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "%s also speaks of files made during the run, and the command cannot be kept from "
                                 "making them, for %s",
                                 name, plan->no_doorman));
}

static void refuse_pattern_on_writing(struct plan *plan, const struct path_rule *rule, const char *name)
{
    bool at_top = pattern_is_at_top(plan->policy, rule);

    if (at_top && plan->policy->around.personality == PERSONALITY_SRT)
        plan_hold_rule(plan, rule, plan_first_lock(plan), "the entries that exist when the run starts");
    else if (at_top)
        plan_refuse(plan, rule->origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "%s also speaks of files made during the run, which cannot be held, for %s: name the "
                                 "paths",
                                 name, plan->no_doorman));
    else
        plan_refuse_tree_pattern(plan, rule);
}

static void judge_pattern(struct plan *plan, const struct path_rule *rule)
{
    const char *name = escaped(plan->arena, rule->text);

    if (rule->expanded) {
        judge_expanded(plan, rule, name);
        return;
    }

    if (rule_is_grant(rule)) {
        judge_granting_pattern(plan, rule, name);
        return;
    }
    if (rule->list == LIST_DENY_WRITE && !plan_writable_overlaps(plan, rule->real)) {
        plan_hold_rule(plan, rule, plan_first_lock(plan), "nothing is writable there");
        return;
    }
    if (rule->list == LIST_DENY_WRITE && !plan->no_doorman) {
        plan_hold_by_doorman(plan, rule, "also for names that come later");
        return;
    }
    if (rule->list == LIST_DENY_WRITE) {
        refuse_pattern_on_writing(plan, rule, name);
        return;
    }
    plan_judge_hiding_pattern(plan, rule);
}

static void judge_absent(struct plan *plan, const struct tree *tree, const struct path_rule *rule)
{
    if (plan_judge_hidden_later(plan, rule))
        return;
    if (rule->list == LIST_DENY_READ) {
        plan_hold_rule(plan, rule, 0,
                       plan_awaits(plan, rule) ? "nothing is there now; hidden a moment after it comes into being"
                                               : "nothing is there now; hidden when it exists as a run starts");
    } else if (!can_come_into_being(plan, tree, rule->real)) {
        plan_hold_rule(plan, rule, plan_first_lock(plan), "nothing is there, and nothing can be made there");
    } else if (!plan->no_doorman) {
        plan_hold_by_doorman(plan, rule, "nothing is there now, and nothing can be made there");
    } else if (rule->vital && plan_effect_at(plan->policy, path_parent(rule->real)).backing == BACKING_HOST) {
        plan_refuse(plan, rule->origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "%s does not exist, and the command could make it, for %s: the next run would obey "
                                 "what it wrote. Create it first, or let the command write less",
                                 escaped(plan->arena, rule->text), plan->no_doorman));
    } else if (rule->derived) {
        plan_hold_rule(plan, rule, 0, "nothing is there now; names made during the run are not held");
    } else {
        plan_refuse(plan, rule->origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "%s does not exist, and the command cannot be kept from making it, for %s: create it "
                                 "first",
                                 escaped(plan->arena, rule->text), plan->no_doorman));
    }
}

/* A link on the way to cloche's own policy is a name like any other to whoever can
 * write where it stands: it would be replaced, not its target. */
static bool refuse_replaceable(struct plan *plan, const struct path_rule *rule)
{
    for (size_t i = 0; rule->vital && i < rule->link_count; i++) {
        struct slice holder = path_parent(rule->links[i].at);
        struct effect effect = plan_effect_at(plan->policy, holder);
        if (effect.access != ACCESS_WRITE || effect.backing != BACKING_HOST)
            continue;
        if (!plan->no_doorman) {
            plan_doorman_call(plan, rule->origin, rule->links[i].at);
            continue;
        }
        plan_refuse(plan, rule->origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "%s is reached through the link %s, which the command could replace, for %s: the next "
                                 "run would obey what it wrote. Put a file in its place, or let the command write less",
                                 escaped(plan->arena, rule->text), escaped(plan->arena, rule->links[i].at),
                                 plan->no_doorman));
        return true;
    }
    return false;
}

static unsigned locks_of(const struct plan *plan, const struct path_rule *rule)
{
    if (plan->backend == BACKEND_LANDLOCK)
        return LOCK_LANDLOCK;
    if (plan_leaves_to_doorman(plan, rule) || (plan_hides_reading(rule) && plan_is_judged(plan, rule->real)))
        return LOCK_DOORMAN;
    bool landlock = plan->use_landlock &&
                    (rule->list == LIST_ALLOW_WRITE || (rule->list == LIST_RULES && rule->access == ACCESS_WRITE) ||
                     (rule_is_grant(rule) && plan->landlock_reads));
    bool doorman =
        (rule->socket && plan->doorman.sockets) || (!rule_is_grant(rule) && plan_doorman_judges(plan, rule->real));

    return (unsigned)LOCK_MOUNT | (landlock ? LOCK_LANDLOCK : 0) | (doorman ? LOCK_DOORMAN : 0);
}

void plan_holds(struct plan *plan, const struct tree *tree)
{
    const struct policy *policy = plan->policy;

    plan_doorman_needs(plan);
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->list == LIST_BUILT_IN)
            continue;
        if (refuse_replaceable(plan, rule))
            continue;
        if (rule->dropped && rule->socket && rule->node == NODE_DIRECTORY)
            plan_hold_rule(plan, rule, plan->doorman.sockets ? LOCK_DOORMAN : 0, rule->dropped_because);
        else if (rule->dropped)
            plan_hold_rule(plan, rule, 0, rule->dropped_because);
        else if (!rule->pattern.literal && !rule->widened)
            judge_pattern(plan, rule);
        else if (rule->node == NODE_ABSENT)
            judge_absent(plan, tree, rule);
        else
            plan_hold_rule(plan, rule, locks_of(plan, rule),
                           rule->widened ? "with the whole directory above it, which cannot be searched"
                           : plan_leaves_to_doorman(plan, rule) ? "git may replace it by one that runs nothing"
                                                                : NULL);
    }
    plan_doorman_watch(plan); /* it may have come for a rule */
}
