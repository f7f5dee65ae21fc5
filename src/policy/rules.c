/* The `rules` array: a path, an access, and conditions under which the rule
 * counts. A rule whose conditions do not all hold is left out, before its
 * variables are expanded: {"path": "$XDG_RUNTIME_DIR/x", "when": {"env":
 * "XDG_RUNTIME_DIR"}} is right where that variable is not set, too. */
#include "policy/loader.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/variables.h"

#include <unistd.h>

static const struct {
    const char *word;
    enum access access;
} accesses[] = {
    {"none", ACCESS_NONE},          {"read", ACCESS_READ},  {"write", ACCESS_WRITE},  {"deny", ACCESS_NONE},
    {"ro-bind-null", ACCESS_EMPTY}, {"bind", ACCESS_WRITE}, {"ro-bind", ACCESS_READ},
};

static enum access access_of(struct slice word)
{
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        if (slice_is(word, accesses[i].word))
            return accesses[i].access;
    }
    return ACCESS_NONE;
}

/* The words of the command with blanks between them; false without a command,
 * as when a file is only checked. */
static bool command_holds(struct loader *loader, struct slice pattern)
{
    struct text line = text_in(loader->arena);

    if (!loader->around.command || !loader->around.command[0])
        return false;
    for (char *const *word = loader->around.command; *word; word++) {
        if (line.len)
            text_append_byte(&line, ' ');
        text_append_string(&line, *word);
    }
    return name_matches(pattern, text_slice(&line));
}

static bool environment_holds(struct loader *loader, struct slice condition)
{
    size_t end = slice_find(condition, '=');
    struct slice name = {condition.ptr, end};
    struct slice value;

    if (!environment_find(loader->around.environment, name, &value))
        return false;
    return end == condition.len || name_matches(slice_from(condition, end + 1), value);
}

static bool project_holds(struct loader *loader, const struct place *place, struct slice text)
{
    struct pattern pattern;
    struct error err;
    size_t depth;

    if (!path_pattern(loader->arena, &loader->around, text, false, &pattern, &err)) {
        loader_problem(loader, place, "found \"%s\": %s", escaped(loader->arena, text), err.text);
        return false;
    }
    return pattern_covers(&pattern, loader->around.project, &depth);
}

static bool existence_holds(struct loader *loader, const struct place *place, struct slice text)
{
    struct slice path;
    struct error err;

    if (!path_expand(loader->arena, &loader->around, loader->around.project, text, false, &path, &err)) {
        loader_problem(loader, place, "found \"%s\": %s", escaped(loader->arena, text), err.text);
        return false;
    }
    return access(path.ptr, F_OK) == 0;
}

static bool condition_holds(struct loader *loader, const struct place *place, const char *name, struct slice text)
{
    if (strcmp(name, "command") == 0)
        return command_holds(loader, text);
    if (strcmp(name, "project") == 0)
        return project_holds(loader, place, text);
    if (strcmp(name, "user") == 0)
        return name_matches(text, loader->around.user);
    if (strcmp(name, "host") == 0)
        return name_matches(text, loader->around.host_name);
    if (strcmp(name, "env") == 0)
        return environment_holds(loader, text);
    return existence_holds(loader, place, text);
}

/* Judges all conditions, so that each of them is checked for mistakes. */
static bool conditions_hold(struct loader *loader, const struct place *place, const json_t *when, unsigned *count)
{
    struct place at_when = {.parent = place, .name = "when"};
    bool hold = true;
    const char *name;
    json_t *value;

    *count = 0;
    json_object_foreach((json_t *)when, name, value)
    {
        struct place here = {.parent = &at_when, .name = name};
        hold = condition_holds(loader, &here, name, arena_slice(loader->arena, json_slice(value))) && hold;
        (*count)++;
    }
    return hold;
}

void rule_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    struct path_rule rule = {
        .list = LIST_RULES,
        .access = access_of(json_slice(json_object_get(value, "access"))),
        .text = arena_slice(loader->arena, json_slice(json_object_get(value, "path"))),
        .required = json_is_true(json_object_get(value, "required")),
    };

    (void)key;
    /* "~user" is wrong whatever the conditions; a variable may be unset where they
     * do not hold. */
    bool wrong_home = rule.text.len > 1 && rule.text.ptr[0] == '~' && rule.text.ptr[1] != '/';
    if (conditions_hold(loader, place, json_object_get(value, "when"), &rule.conditions) || wrong_home)
        path_rule_add(loader, place, rule, false);
    else
        loader_leave_out(loader, LIST_RULES, rule.text);
}

void rule_apply_compiled(struct loader *loader, const struct preset_entry *entry)
{
    const struct path_rule rule = {
        .list = LIST_RULES,
        .access = access_of(slice_of(entry->access)),
        .text = entry->text,
        .pattern = {.text = entry->text, .fixed = entry->text, .literal = true},
        .conditions = 1,
        .origin = {loader->file, entry->place},
    };

    if (name_matches(slice_of(entry->user), loader->around.user))
        policy_add_path(loader->policy, rule);
    else
        loader_leave_out(loader, LIST_RULES, rule.text);
}

void rule_remove(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    (void)key;
    path_rules_remove(loader, place, LIST_RULES, text);
}
