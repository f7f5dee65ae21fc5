/* Keys that need more than a type: what their strings may say, and how they hang
 * together with others. */
#include "policy/loader.h"

#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/protect.h"

/* ---- what single strings may say ---- */

const char *protected_name_check(struct slice text)
{
    struct slice rest = text;
    struct slice component;
    size_t deep = 0;

    if (text.ptr[0] == '/' || text.ptr[0] == '~' || text.ptr[0] == '$')
        return "a protected name holds in every writable directory, so it is relative, like \".husky/\"; "
               "for one path use denyWrite";
    while (path_next(&rest, &component)) {
        if (slice_is(component, ".") || slice_is(component, ".."))
            return "a protected name has no \".\" or \"..\" in it";
        deep += slice_is(component, "**");
    }
    if (deep > 1)
        return "a protected name has one \"**\" at most";
    return NULL;
}

const char *device_check(struct slice text)
{
    if (!path_covers(SLICE("/dev"), text) || text.len <= 4)
        return "a device is a path below /dev";
    return NULL;
}

const char *system_call_check(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        if (!((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_'))
            return "the name of a system call is made of small letters, digits and underscores";
    }
    return NULL;
}

const char *address_range_check(struct slice text)
{
    struct host_pattern pattern;
    struct error err;

    if (!host_pattern_parse(text, &pattern, &err) || pattern.port ||
        (pattern.kind != HOST_PATTERN_ADDRESS && pattern.kind != HOST_PATTERN_NETWORK))
        return "an address or a range of addresses like 10.0.0.0/8 is expected";
    return NULL;
}

/* ---- protected names ---- */

static struct slice without_slash(struct slice name)
{
    return slice_ends(name, SLICE("/")) ? (struct slice){name.ptr, name.len - 1} : name;
}

static bool is_protected_name(struct slice name)
{
    for (size_t i = 0; protected_names[i]; i++) {
        if (slice_equal_ignoring_case(without_slash(slice_of(protected_names[i])), without_slash(name)))
            return true;
    }
    return false;
}

/* What stays protected by a slip of the pen is safe, and still not what was
 * meant. */
void unprotect_finish(struct loader *loader)
{
    const struct name_rules *unprotect = &loader->policy->filesystem.unprotect;

    for (size_t i = 0; i < unprotect->count && loader->warnings < PROBLEMS_MAX; i++) {
        const struct name_rule *rule = &unprotect->items[i];
        if (is_protected_name(rule->text))
            continue;
        const char *near = did_you_mean(rule->text, protected_names);
        loader->warnings++;
        warning_add(loader->problems, rule->origin.file, rule->origin.path,
                    "\"%s\" is none of cloche's protected names, so there is nothing to take away%s%s%s",
                    escaped(loader->arena, rule->text), near ? "; did you mean \"" : "", near ? near : "",
                    near ? "\"?" : "");
    }
}

/* ---- network ---- */

void reasons_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *object)
{
    const char *name;
    json_t *value;

    (void)key;
    json_object_foreach((json_t *)object, name, value)
    {
        struct place here = {.parent = place, .name = name};
        struct pending_reason reason = {.pattern = arena_slice(loader->arena, slice_of(name))};
        if (!value_text(loader, &here, value, "a sentence", &reason.reason))
            continue;
        reason.origin = loader_origin(loader, &here);
        loader->reasons = arena_grow(loader->arena, loader->reasons, loader->reason_count, loader->reason_count + 1,
                                     &loader->reason_capacity, sizeof reason);
        loader->reasons[loader->reason_count++] = reason;
    }
}

static void reason_missed(struct loader *loader, const struct pending_reason *reason)
{
    const struct host_rules *denied = &loader->policy->network.denied;
    const char **words = arena_alloc(loader->arena, (denied->count + 1) * sizeof *words);

    for (size_t i = 0; i < denied->count; i++)
        words[i] = denied->items[i].text.ptr;
    const char *near = did_you_mean(reason->pattern, words);
    warning_add(loader->problems, reason->origin.file, reason->origin.path,
                "no deniedDomains entry says this, so the reason is never given%s%s%s", near ? "; did you mean \"" : "",
                near ? escaped(loader->arena, slice_of(near)) : "", near ? "\"?" : "");
}

/* Each list may hold thousands of entries, so they meet in a map. */
void reasons_finish(struct loader *loader)
{
    struct host_rules *denied = &loader->policy->network.denied;
    struct map reasons = map_in(loader->arena);

    for (size_t i = 0; i < loader->reason_count; i++) {
        if (loader->reasons[i].pattern.len)
            *map_at(&reasons, loader->reasons[i].pattern) = &loader->reasons[i];
    }
    for (size_t i = 0; i < denied->count; i++) {
        struct pending_reason *reason = map_get(&reasons, denied->items[i].text);
        if (reason) {
            denied->items[i].reason = reason->reason;
            reason->used = true;
        }
    }
    for (size_t i = 0; i < loader->reason_count; i++) {
        const struct pending_reason *last = map_get(&reasons, loader->reasons[i].pattern);
        if (last == &loader->reasons[i] && !last->used && loader->warnings++ < PROBLEMS_MAX)
            reason_missed(loader, last);
    }
}

void enable_proxy_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    (void)key;
    if (!json_is_true(value))
        loader_warning(loader, place,
                       "enableProxy has no effect: filtering needs no switch, and the domains that "
                       "are listed are filtered all the same");
}

void mitm_proxy_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    struct place here = {.parent = place, .name = "socketPath"};
    struct slice text = json_slice(json_object_get(value, "socketPath"));

    (void)key;
    if (!file_absolute(loader, text, &loader->policy->network.mitm_proxy.socket_path, &loader->reason))
        loader_problem(loader, &here, "%s", loader->reason.text);
}

void tls_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    bool certificate = json_object_get(value, "caCertPath") != NULL;
    bool private_key = json_object_get(value, "caKeyPath") != NULL;

    (void)key;
    if (certificate != private_key)
        loader_problem(loader, place, "caCertPath and caKeyPath go together: give both, or none for a CA of this run");
}

/* ---- violations ---- */

static void ignore(struct loader *loader, struct slice command, struct slice text)
{
    struct policy *policy = loader->policy;

    policy->ignored = arena_grow(policy->arena, policy->ignored, policy->ignored_count, policy->ignored_count + 1,
                                 &policy->ignored_capacity, sizeof *policy->ignored);
    policy->ignored[policy->ignored_count++] = (struct ignore_rule){command, text};
}

void ignore_violations_apply(struct loader *loader, const struct key *key, const struct place *place,
                             const json_t *object)
{
    const char *name;
    json_t *value;
    struct slice text;

    (void)key;
    json_object_foreach((json_t *)object, name, value)
    {
        struct place here = {.parent = place, .name = name};
        struct slice command = arena_slice(loader->arena, slice_of(name));
        if (!json_is_array(value)) {
            loader_problem(loader, &here, "found %s; an array of strings is expected",
                           value_words(loader->arena, value));
            continue;
        }
        for (size_t i = 0; i < json_array_size(value) && !loader->problems_unsaid; i++) {
            struct place entry = {.parent = &here, .index = i};
            if (value_any_text(loader, &entry, json_array_get(value, i), "a string", true, &text))
                ignore(loader, command, text);
        }
    }
}

void log_path_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    (void)key;
    if (!file_absolute(loader, json_slice(value), &loader->policy->violation.log_path, &loader->reason))
        loader_problem(loader, place, "%s", loader->reason.text);
}
