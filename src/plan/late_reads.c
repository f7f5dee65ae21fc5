/* Rules about reading that speak of files to come: patterns, and paths that do not
 * exist yet.
 *
 * A mount hides what is there when the run starts. What appears later, and what a
 * pattern matches somewhere in a tree, is held by the doorman, who then performs
 * every open of the run: that costs, so it is done only where no mount can do it.
 * And no preset is a reason for it: what a preset hides and is not there as the run
 * starts is not hidden when it comes.
 *
 * A pattern that lets files be read where the rest is hidden needs the directory to
 * be in sight. So the mount shows it, and there the doorman alone holds what is
 * hidden. */
#include "base/path.h"
#include "base/text.h"
#include "host/degraded.h"
#include "plan/internal.h"
#include "policy/resolve.h"

bool plan_shows_by_pattern(const struct path_rule *rule)
{
    return !rule->pattern.literal && !rule->widened && !rule->at_start && rule_is_grant(rule) &&
           !rule_grants_writing(rule);
}

bool plan_hides_reading(const struct path_rule *rule)
{
    return rule->list == LIST_DENY_READ || (rule->list == LIST_RULES && rule->access < ACCESS_READ);
}

static bool speaks_in(const struct path_rule *rule, struct slice directory)
{
    return path_covers(rule->real, directory) && pattern_speaks_below(&rule->pattern, directory);
}

bool plan_shows_for_doorman(const struct plan *plan, struct slice directory)
{
    for (size_t i = 0; !plan->no_doorman && i < plan->policy->pattern_count; i++) {
        if (plan_shows_by_pattern(plan->policy->patterns[i]) && speaks_in(plan->policy->patterns[i], directory))
            return true;
    }
    return false;
}

static bool is_judged_in(const struct plan *plan, const struct path_rule *rule)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].judged && speaks_in(rule, plan->steps[i].path))
            return true;
    }
    return false;
}

/* Does it hide something that it lets be read again further down, by patterns? */
static bool is_hidden_by_pattern(const struct plan *plan, struct slice directory)
{
    for (size_t i = 0; i < plan->policy->pattern_count; i++) {
        const struct path_rule *rule = plan->policy->patterns[i];
        if (plan_hides_reading(rule) && (path_covers(rule->real, directory) || path_covers(directory, rule->real)))
            return true;
    }
    return false;
}

/* A place of the run's own in which the pattern speaks of the host's files, which are not there. */
static bool find_own_place(const struct plan *plan, const struct path_rule *rule, struct slice *place)
{
    *place = rule->real;
    if (plan_effect_at(plan->policy, rule->real).backing != BACKING_HOST)
        return true;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        bool own =
            step->kind == STEP_PRIVATE || step->kind == STEP_SESSION || step->kind == STEP_OVERLAY ||
            step->kind == STEP_DEVICES || step->kind == STEP_PROC || step->kind == STEP_PROC_OF_HOST ||
            (step->kind == STEP_HIDE_DIRECTORY && plan_effect_at(plan->policy, step->path).access == ACCESS_EMPTY);
        *place = step->path;
        if (own && speaks_in(rule, step->path))
            return true;
    }
    return false;
}

void plan_judge_showing_pattern(struct plan *plan, const struct path_rule *rule)
{
    const char *name = escaped(plan->arena, rule->text);
    struct slice place;

    if (rule->at_start) {
        plan_refuse(plan, rule->origin, NULL,
                    arena_printf(plan->arena,
                                 "%s: atStart is for what hides; without it the pattern lets be read what "
                                 "it matches now and later",
                                 name));
    } else if (plan->no_doorman) {
        plan_refuse(plan, rule->origin, NULL,
                    arena_printf(plan->arena,
                                 "%s lets files be read by a pattern, but %s: name the paths or the "
                                 "directory",
                                 name, plan->no_doorman));
    } else if (rule->node != NODE_DIRECTORY) {
        plan_hold_rule(plan, rule, 0, "there is no directory in which it could match");
    } else if (find_own_place(plan, rule, &place)) {
        plan_refuse(plan, rule->origin, NULL,
                    arena_printf(plan->arena,
                                 "%s also speaks of files in %s, which is the run's own and has none of "
                                 "the host's: begin the pattern with a directory outside of it",
                                 name, escaped(plan->arena, place)));
    } else if (is_judged_in(plan, rule)) {
        plan->doorman.performs_reads = true;
        plan_hold_by_doorman(plan, rule, "the mount shows the directory; the doorman opens what matches");
    } else if (is_hidden_by_pattern(plan, rule->real) ||
               (rule->list == LIST_RULES && plan_writable_overlaps(plan, rule->real))) {
        plan_hold_by_doorman(plan, rule, "also for names that come later");
    } else {
        plan_hold_rule(plan, rule, LOCK_MOUNT, "nothing is hidden there");
    }
}

/* Is something of the host's in sight at or below this directory, or of other commands', or could be? */
static bool is_in_sight(const struct plan *plan, struct slice directory)
{
    enum backing backing = plan_effect_at(plan->policy, directory).backing;

    if (plan_access_at(plan, directory) >= ACCESS_READ && backing != BACKING_PRIVATE && backing != BACKING_FRESH)
        return true;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if (path_covers(directory, step->path) && (step->kind == STEP_ROOT || step->kind == STEP_BIND ||
                                                   step->kind == STEP_PIN || step->kind == STEP_OVERLAY))
            return true;
    }
    return false;
}

/* An empty file can be shown only where files are. */
static bool is_out_of_sight(const struct plan *plan, const struct path_rule *rule)
{
    struct slice ignored;

    if (plan_access_at(plan, rule->real) < ACCESS_READ || find_own_place(plan, rule, &ignored))
        return true;
    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kind == STEP_HIDE_DIRECTORY && speaks_in(rule, plan->steps[i].path))
            return true;
    }
    return false;
}

void plan_judge_hiding_pattern(struct plan *plan, const struct path_rule *rule)
{
    const char *name = escaped(plan->arena, rule->text);
    bool at_top = pattern_is_at_top(plan->policy, rule);

    if (rule->list == LIST_RULES && rule->access == ACCESS_EMPTY && is_out_of_sight(plan, rule)) {
        plan_refuse(plan, rule->origin, NULL,
                    arena_printf(plan->arena,
                                 "%s shows files as empty by a pattern where not everything is in sight: "
                                 "name them",
                                 name));
    } else if (at_top && (rule->at_start || plan->policy->around.personality == PERSONALITY_SRT)) {
        plan_hold_rule(plan, rule, plan_first_lock(plan), "the entries that exist when the run starts");
    } else if (plan->backend == BACKEND_NAMESPACES && !is_in_sight(plan, rule->real)) {
        plan_hold_rule(plan, rule, LOCK_MOUNT, "nothing of the host is in sight there");
    } else if (!plan->no_doorman) {
        plan->doorman.performs_reads = true;
        plan_hold_by_doorman(plan, rule, "also for files that come later; the doorman performs every open");
    } else if (at_top) {
        plan_refuse(plan, rule->origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "%s also speaks of files made during the run, which cannot be held, for %s: write "
                                 "{\"path\": \"%s\", \"atStart\": true}, which means the entries that exist at start",
                                 name, plan->no_doorman, name));
    } else {
        plan_refuse_tree_pattern(plan, rule);
    }
}

/* Somebody wrote it for this run: what a preset hides is hidden where it exists. */
static bool is_written(const struct plan *plan, const struct path_rule *rule)
{
    return !rule->derived && !origin_is_built_in(&rule->origin) && plan->policy->around.personality != PERSONALITY_SRT;
}

bool plan_judge_hidden_later(struct plan *plan, const struct path_rule *rule)
{
    if (!plan_hides_reading(rule) || !is_written(plan, rule))
        return false;
    if (plan->backend == BACKEND_NAMESPACES && !is_in_sight(plan, path_parent(rule->real))) {
        plan_hold_rule(plan, rule, LOCK_MOUNT, "nothing is there now, and what comes is not in sight");
        return true;
    }
    if (plan->no_doorman)
        return false;
    plan->doorman.performs_reads = true;
    plan_hold_by_doorman(plan, rule, "nothing is there now; hidden when it comes: the doorman performs every open");
    return true;
}
