/* The variables of a command: which names pass, which are set, and the settings
 * that reach git only through its environment. */
#include "policy/loader.h"

#include "base/json.h"
#include "base/text.h"
#include "policy/variables.h"

#include <stdio.h>

const char *environment_pattern_check(struct slice text)
{
    if (slice_find(text, '=') < text.len)
        return "the name of a variable holds no \"=\"; values are given in environment.set";
    return NULL;
}

const char *environment_name_check(struct slice text)
{
    if (name_has_wildcard(text))
        return "the name of one variable is expected here, not a pattern";
    return environment_pattern_check(text);
}

void environment_pass_apply(struct loader *loader, const struct key *key, const struct place *place,
                            const json_t *value)
{
    (void)key;
    (void)place;
    (void)value;
    loader->pass_given = true;
}

void environment_set(struct policy *policy, struct slice name, struct slice value, struct origin origin)
{
    struct env_setting setting = {.name = name, .value = value, .origin = origin};

    for (size_t i = 0; i < policy->environment.set_count; i++) {
        if (slice_equal(policy->environment.set[i].name, name)) {
            policy->environment.set[i] = setting;
            return;
        }
    }
    policy->environment.set =
        arena_grow(policy->arena, policy->environment.set, policy->environment.set_count,
                   policy->environment.set_count + 1, &policy->environment.set_capacity, sizeof setting);
    policy->environment.set[policy->environment.set_count++] = setting;
}

/* An empty value is a value; a NUL is none. */
static bool set_one(struct loader *loader, const struct place *place, const char *name, const json_t *value)
{
    struct slice text = json_slice(value);

    if (!json_is_string(value)) {
        loader_problem(loader, place, "found %s; a string is expected", value_words(loader->arena, value));
        return false;
    }
    if (slice_find(text, '\0') < text.len) {
        loader_problem(loader, place, "the value holds a NUL (\\u0000), which no variable can");
        return false;
    }
    if (*name == '\0' || strchr(name, '=')) {
        loader_problem(loader, place, "the name of a variable is not empty and holds no \"=\"");
        return false;
    }
    environment_set(loader->policy, arena_slice(loader->arena, slice_of(name)), arena_slice(loader->arena, text),
                    loader_origin(loader, place));
    return true;
}

void environment_set_apply(struct loader *loader, const struct key *key, const struct place *place,
                           const json_t *object)
{
    enum { VARIABLES_MAX = 1000 };
    const char *name;
    json_t *value;

    (void)key;
    if (json_object_size(object) > VARIABLES_MAX) {
        loader_problem(loader, place, "found %zu variables; at most %d are allowed", json_object_size(object),
                       VARIABLES_MAX);
        return;
    }
    json_object_foreach((json_t *)object, name, value)
    {
        struct place here = {.parent = place, .name = name};
        set_one(loader, &here, name, value);
    }
}

/* ---- git.safeDirectories ---- */

void safe_directories_apply(struct loader *loader, const struct key *key, const struct place *place,
                            const json_t *array)
{
    (void)key;
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct place here = {.parent = place, .index = i};
        struct slice text = arena_slice(loader->arena, json_slice(json_array_get(array, i)));
        struct slice path;
        struct error err;
        if (text.len == 0)
            continue;
        if (path_expand(loader->arena, &loader->around, loader->around.project, text, false, &path, &err))
            policy_add_name(loader->policy, &loader->git_directories, path, loader_origin(loader, &here));
        else
            loader_problem(loader, &here, "found \"%s\": %s", escaped(loader->arena, text), err.text);
    }
}

static void git_setting(struct loader *loader, unsigned long number, struct slice directory, const char *below,
                        struct origin origin)
{
    struct arena *arena = loader->arena;

    environment_set(loader->policy, slice_of(arena_printf(arena, "GIT_CONFIG_KEY_%lu", number)),
                    SLICE("safe.directory"), origin);
    environment_set(loader->policy, slice_of(arena_printf(arena, "GIT_CONFIG_VALUE_%lu", number)),
                    slice_of(arena_printf(arena, "%s%s", directory.ptr, below)), origin);
}

/* As srt does it: each directory and all below, numbered behind the settings
 * that are in the environment already. */
void safe_directories_finish(struct loader *loader)
{
    const unsigned long count_max = 100000;
    const struct name_rules *directories = &loader->git_directories;
    struct slice inherited;
    unsigned long number = 0;

    if (directories->count == 0)
        return;
    if (environment_find(loader->around.environment, SLICE("GIT_CONFIG_COUNT"), &inherited)) {
        for (size_t i = 0; i < inherited.len && number < count_max; i++) {
            if (inherited.ptr[i] < '0' || inherited.ptr[i] > '9') {
                number = 0;
                break;
            }
            number = number * 10 + (unsigned long)(inherited.ptr[i] - '0');
        }
    }
    for (size_t i = 0; i < directories->count; i++) {
        git_setting(loader, number++, directories->items[i].text, "", directories->items[i].origin);
        git_setting(loader, number++, directories->items[i].text, "/*", directories->items[i].origin);
    }
    environment_set(loader->policy, SLICE("GIT_CONFIG_COUNT"), slice_of(arena_printf(loader->arena, "%lu", number)),
                    directories->items[0].origin);
}
