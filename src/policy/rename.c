/* Renaming a directory changes the names of all that lies below it. A rule that
 * names a path there, or a pattern that matches by a part of the name that is to
 * change, would no longer hold.
 *
 * Rules that name a path leave a mark at each directory above it, so that one look
 * answers for all of them. A pattern is a small machine that reads components: if
 * it is in the same state behind both names, it goes on alike, and the rename
 * changes nothing for it (a pattern over all *.pem files of a tree, say). */
#include "policy/rename.h"

#include "base/path.h"
#include "policy/resolve.h"

/* What stands at a key of the index: one of these. */
static const char grants_below;
static const char narrows_below;

/* Takes something away, or stands on other ground than what is around it. */
static bool narrows(const struct path_rule *rule)
{
    return !rule_grants_writing(rule) && rule->list != LIST_ALLOW_READ;
}

static bool is_apart(const struct path_rule *rule)
{
    return rule->list == LIST_BUILT_IN || narrows(rule);
}

static void mark_above(struct renames *renames, struct slice path, bool narrow)
{
    const char *mark = narrow ? &narrows_below : &grants_below;

    while (path.len > 1) {
        path = path_parent(path);
        void **place = map_at(&renames->marks, path);
        if (*place == mark || *place == &narrows_below)
            return;
        *place = (void *)(uintptr_t)mark;
    }
}

void rename_index(const struct policy *policy, struct renames *renames)
{
    *renames = (struct renames){.policy = policy, .marks = map_in(policy->arena)};
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->dropped)
            continue;
        if (rule->pattern.literal || rule->widened)
            mark_above(renames, rule->real, is_apart(rule));
        else if (narrows(rule) && !rule->at_start)
            /* A link at the directory that it begins with would lead elsewhere what somebody puts there by its name. */
            mark_above(renames, path_join(policy->arena, rule->real, SLICE("*")), true);
        for (size_t j = 0; rule->list == LIST_DENY_WRITE && j < rule->link_count; j++)
            mark_above(renames, rule->links[j].at, true);
    }
}

bool rename_names_below(const struct renames *renames, struct slice directory)
{
    return map_get(&renames->marks, directory) == &narrows_below;
}

bool rename_escapes(const struct renames *renames, struct slice from, struct slice to)
{
    const struct policy *policy = renames->policy;
    const void *marks[] = {map_get(&renames->marks, from), map_get(&renames->marks, to)};
    bool grants_differ = marks[0] || marks[1];
    bool narrowed = false;

    if (marks[0] == &narrows_below || marks[1] == &narrows_below)
        return true;
    for (size_t i = 0; i < policy->pattern_count; i++) {
        const struct path_rule *rule = policy->patterns[i];
        bool same = pattern_same_below(&rule->pattern, from, to);
        if (!narrows(rule)) {
            grants_differ = grants_differ || !same;
            continue;
        }
        if (!same)
            return true;
        narrowed = narrowed || pattern_speaks_below(&rule->pattern, from);
    }
    /* A grant inside of what a pattern takes away. */
    return narrowed && grants_differ;
}
