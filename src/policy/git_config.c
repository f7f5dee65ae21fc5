/* Compares what git's configuration is with what it is to become.
 *
 * Both are read (git_config_read.c) and their values gathered by key. A key of the
 * table whose values differ must have only values of its kind; any other key must
 * have the same values as before, and all of those must follow each other as
 * before: of some keys git obeys the last, of others an empty one undoes those
 * above it. A file that includes others is not judged at all, for those others are
 * not seen here. */
#include "policy/git_config.h"

#include "base/map.h"
#include "base/text.h"
#include "policy/git_config_table.h"

struct value {
    const struct git_config_entry *entry;
    struct value *next;
};

struct values {
    struct value *first;
    struct value *last;
};

/* All values of one key, on both sides. */
struct group {
    const struct git_config_entry *entry; /* any of them */
    const struct git_config_key *key;     /* NULL: not in the table */
    struct values now;
    struct values next;
};

struct comparison {
    struct arena *arena;
    struct git_config now;
    struct git_config next;
    struct map by_name; /* -> struct group */
    struct group **groups;
    size_t group_count;
    size_t group_capacity;
    struct git_config_verdict *verdict;
};

static void add_finding(struct git_config_findings *findings, struct slice name, const char *words)
{
    if (findings->count == GIT_CONFIG_FINDINGS_MAX)
        findings->unsaid++;
    else
        findings->items[findings->count++] = (struct git_config_finding){name, words};
}

static void refuse(struct comparison *comparison, struct slice name, const char *words)
{
    add_finding(&comparison->verdict->refused, name, words);
}

static struct group *group_of(struct comparison *comparison, const struct git_config_entry *entry)
{
    void **place = map_at(&comparison->by_name, entry->name);

    if (!*place) {
        struct group *group = ARENA_NEW(comparison->arena, struct group);
        *group = (struct group){.entry = entry, .key = git_config_find_key(entry)};
        *place = group;
        comparison->groups =
            arena_grow(comparison->arena, comparison->groups, comparison->group_count, comparison->group_count + 1,
                       &comparison->group_capacity, sizeof *comparison->groups);
        comparison->groups[comparison->group_count++] = group;
    }
    return *place;
}

static void add_value(struct arena *arena, struct values *values, const struct git_config_entry *entry)
{
    struct value *value = ARENA_NEW(arena, struct value);

    *value = (struct value){.entry = entry};
    if (values->last)
        values->last->next = value;
    else
        values->first = value;
    values->last = value;
}

static void gather(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->now.count; i++) {
        const struct git_config_entry *entry = &comparison->now.entries[i];
        add_value(comparison->arena, &group_of(comparison, entry)->now, entry);
    }
    for (size_t i = 0; i < comparison->next.count; i++) {
        const struct git_config_entry *entry = &comparison->next.entries[i];
        add_value(comparison->arena, &group_of(comparison, entry)->next, entry);
    }
}

static bool same_value(const struct git_config_entry *a, const struct git_config_entry *b)
{
    return a->has_value == b->has_value && slice_equal(a->value, b->value);
}

static bool is_unchanged(const struct group *group)
{
    const struct value *now = group->now.first;
    const struct value *next = group->next.first;

    while (now && next && same_value(now->entry, next->entry)) {
        now = now->next;
        next = next->next;
    }
    return !now && !next;
}

static bool is_remote(const struct comparison *comparison, struct slice name)
{
    const struct git_config_entry *url = NULL;
    struct text full = text_in(comparison->arena);

    text_append_string(&full, "remote.");
    text_append(&full, name);
    text_append_string(&full, ".url");
    const struct group *group = map_get(&comparison->by_name, text_slice(&full));
    if (group && group->next.last)
        url = group->next.last->entry;
    /* An empty one takes back what stands before it. */
    return url && url->has_value && url->value.len;
}

/* Only of a name that led somewhere before. */
static void tell(struct comparison *comparison, const struct group *group)
{
    const struct git_config_entry *now = group->now.last ? group->now.last->entry : NULL;
    const struct git_config_entry *next = group->next.last ? group->next.last->entry : NULL;
    struct text url = text_in(comparison->arena);

    text_append(&url, (struct slice){group->entry->name.ptr, group->entry->name.len - group->entry->key.len});
    text_append_string(&url, "url");
    const struct group *before = map_get(&comparison->by_name, text_slice(&url));
    if (!before || !before->now.first)
        return;
    add_finding(&comparison->verdict->told, group->entry->name,
                arena_printf(comparison->arena, "was %s and is now %s",
                             now ? escaped(comparison->arena, now->value) : "not set",
                             next ? escaped(comparison->arena, next->value) : "not set"));
}

static void judge_safe_key(struct comparison *comparison, const struct group *group)
{
    const struct git_config_key *key = group->key;
    const struct git_config_entry *entry = group->entry;

    if (!group->next.first && key->why_stays) {
        refuse(comparison, entry->name, key->why_stays);
        return;
    }
    for (const struct value *value = group->next.first; value; value = value->next) {
        if (!value->entry->has_value || !key->accepts(value->entry->value)) {
            refuse(comparison, entry->name, key->grammar);
            return;
        }
        if (key->names_remote && !slice_is(value->entry->value, ".") && !is_remote(comparison, value->entry->value)) {
            refuse(comparison, entry->name,
                   "names no remote that has a URL in this file, and git would take it for a directory");
            return;
        }
    }
    if (key->leads_somewhere)
        tell(comparison, group);
}

static void judge_group(struct comparison *comparison, const struct group *group)
{
    if (is_unchanged(group))
        return;
    if (group->key)
        judge_safe_key(comparison, group);
    else
        refuse(comparison, group->entry->name,
               !group->next.first  ? "removed, and not among the keys that are known to run nothing"
               : !group->now.first ? "not among the keys that are known to run nothing"
                                   : "changed, and not among the keys that are known to run nothing");
}

/* The next one that is not in the table, from `*at` on; NULL: there is none. */
static const struct git_config_entry *next_other(const struct git_config *config, size_t *at)
{
    while (*at < config->count && git_config_find_key(&config->entries[*at]))
        ++*at;
    return *at < config->count ? &config->entries[(*at)++] : NULL;
}

/* Each of them has the same values as before. */
static void judge_order(struct comparison *comparison)
{
    const struct git_config_entry *now;
    size_t at_now = 0;
    size_t at_next = 0;

    while ((now = next_other(&comparison->now, &at_now))) {
        const struct git_config_entry *next = next_other(&comparison->next, &at_next);
        if (!next || !slice_equal(now->name, next->name)) {
            refuse(comparison, now->name, "stands in another order than before, which can change what git obeys");
            return;
        }
    }
}

static void refuse_includes(struct comparison *comparison, const struct git_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct git_config_entry *entry = &config->entries[i];
        if (slice_is(entry->section, "include") || slice_is(entry->section, "includeif")) {
            refuse(comparison, entry->name, "includes another file, and what it says is not seen here");
            return;
        }
    }
}

static bool read_both(struct comparison *comparison, struct slice now, struct slice next)
{
    struct error err = {""};

    if (!git_config_read(comparison->arena, next, &comparison->next, &err)) {
        refuse(comparison, (struct slice){0},
               arena_printf(comparison->arena, "the new configuration is not understood: %s", err.text));
        return false;
    }
    if (!git_config_read(comparison->arena, now, &comparison->now, &err)) {
        refuse(comparison, (struct slice){0},
               arena_printf(comparison->arena, "the configuration as it is now is not understood: %s", err.text));
        return false;
    }
    return true;
}

void git_config_judge(struct arena *arena, struct slice now, struct slice next, struct git_config_verdict *verdict)
{
    struct comparison comparison = {.arena = arena, .by_name = map_in(arena), .verdict = verdict};

    *verdict = (struct git_config_verdict){0};
    if (!read_both(&comparison, now, next))
        return;
    refuse_includes(&comparison, &comparison.next);
    if (!verdict->refused.count)
        refuse_includes(&comparison, &comparison.now);
    if (verdict->refused.count)
        return;
    gather(&comparison);
    for (size_t i = 0; i < comparison.group_count; i++)
        judge_group(&comparison, comparison.groups[i]);
    if (!verdict->refused.count)
        judge_order(&comparison);
    if (verdict->refused.count)
        verdict->told = (struct git_config_findings){0};
}
