/* Lists append to what earlier sources said. A string "!entry" takes an
 * inherited entry away: it may be spelled as it was written there or in another
 * way that means the same ("~/.ssh" and "$HOME/.ssh"). Entries of the same
 * document are not inherited, so removals come first. A removal that removes
 * nothing is a problem: it is a misspelling, and what the writer wanted open or
 * closed is not. */
#include "policy/loader.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/variables.h"

#include <stdlib.h>

enum { CANDIDATES_MAX = 500 };

static void *list_at(struct loader *loader, const struct key *key)
{
    return (char *)loader->policy + key->offset;
}

static bool fail(struct loader *loader, const struct place *place, struct slice text, const char *why)
{
    /* Reasons from the parsers of hosts and patterns quote the text themselves. */
    if (why[0] == '"')
        loader_problem(loader, place, "%s", why);
    else
        loader_problem(loader, place, "found \"%s\": %s", escaped(loader->arena, text), why);
    return false;
}

static bool is_same_host(const struct host_pattern *a, const struct host_pattern *b)
{
    return a->kind == b->kind && a->port == b->port && a->prefix_length == b->prefix_length &&
           slice_equal((struct slice){a->host.name, a->host.name_length},
                       (struct slice){b->host.name, b->host.name_length});
}

bool file_absolute(struct loader *loader, struct slice text, struct slice *path, struct error *err)
{
    if (!path_expand(loader->arena, &loader->around, loader->around.project, text, false, path, err))
        return false;
    *path = path_normal(loader->arena, SLICE("/"), *path);
    return true;
}

/* "@name" among sockets is an abstract one: no file, so nothing to expand. */
static bool entry_absolute(struct loader *loader, const struct key *key, struct slice text, struct slice *path,
                           struct error *err)
{
    if (key->offset == offsetof(struct policy, network.unix_sockets) && text.len > 1 && text.ptr[0] == '@') {
        *path = text;
        return true;
    }
    return file_absolute(loader, text, path, err);
}

static bool port_parse(struct slice text, int64_t *port)
{
    *port = 0;
    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        *port = *port * 10 + (text.ptr[i] - '0');
    }
    return *port >= 1 && *port <= 65535;
}

/* ---- taking away ---- */

/* Entries that stay, one of which may have been meant. */
struct candidates {
    struct slice texts[CANDIDATES_MAX];
    size_t count;
};

static void candidate_add(struct candidates *candidates, struct slice text)
{
    if (candidates->count < CANDIDATES_MAX)
        candidates->texts[candidates->count++] = text;
}

static const char *nearest(struct loader *loader, const struct candidates *candidates, struct slice text)
{
    const char **names = arena_alloc(loader->arena, (candidates->count + 1) * sizeof *names);

    for (size_t i = 0; i < candidates->count; i++)
        names[i] = arena_slice(loader->arena, candidates->texts[i]).ptr;
    return did_you_mean(text, names);
}

static void removed_nothing(struct loader *loader, const struct place *place, size_t list, struct slice text,
                            const struct candidates *candidates)
{
    for (size_t i = 0; i < loader->left_out_count; i++) {
        if (loader->left_out[i].list == list && slice_equal(loader->left_out[i].text, text))
            return;
    }
    const char *near = nearest(loader, candidates, text);
    loader_problem(loader, place, "\"!%s\" takes nothing away: no inherited entry says this%s%s%s",
                   escaped(loader->arena, text), near ? "; did you mean \"!" : "",
                   near ? escaped(loader->arena, slice_of(near)) : "", near ? "\"?" : "");
}

void path_rules_remove(struct loader *loader, const struct place *place, enum path_list list, struct slice text)
{
    struct path_rules *paths = &loader->policy->paths;
    struct candidates others = {.count = 0};
    struct pattern pattern;
    struct error err;
    size_t kept = 0;

    bool whole_path = slice_is(text, "$PATH");
    if (!whole_path && !path_pattern(loader->arena, &loader->around, text, false, &pattern, &err)) {
        fail(loader, place, text, err.text);
        return;
    }
    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->items[i];
        if (rule->list == list && (slice_equal(rule->text, text) ||
                                   (!whole_path && !rule->derived && rule->pattern.literal == pattern.literal &&
                                    slice_equal(rule->pattern.text, pattern.text)))) {
            loader_leave_out(loader, list, rule->text);
            continue;
        }
        if (rule->list == list)
            candidate_add(&others, rule->text);
        if (kept != i)
            paths->items[kept] = *rule;
        kept++;
    }
    if (kept == paths->count)
        removed_nothing(loader, place, list, text, &others);
    paths->count = kept;
}

static void names_remove(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    struct name_rules *names = list_at(loader, key);
    struct candidates others = {.count = 0};
    struct slice wanted = text;
    struct error err;
    size_t kept = 0;

    if (key->type == KEY_FILES && !entry_absolute(loader, key, text, &wanted, &err)) {
        fail(loader, place, text, err.text);
        return;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (slice_equal(names->items[i].text, wanted))
            continue;
        candidate_add(&others, names->items[i].text);
        names->items[kept++] = names->items[i];
    }
    if (kept == names->count)
        removed_nothing(loader, place, key->offset, text, &others);
    names->count = kept;
}

static void hosts_remove(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    struct host_rules *hosts = list_at(loader, key);
    struct candidates others = {.count = 0};
    struct host_pattern pattern;
    struct error err;
    size_t kept = 0;

    if (!host_pattern_parse(text, &pattern, &err)) {
        fail(loader, place, text, err.text);
        return;
    }
    for (size_t i = 0; i < hosts->count; i++) {
        if (is_same_host(&pattern, &hosts->items[i].pattern))
            continue;
        candidate_add(&others, hosts->items[i].text);
        if (kept != i)
            hosts->items[kept] = hosts->items[i];
        kept++;
    }
    if (kept == hosts->count)
        removed_nothing(loader, place, key->offset, text, &others);
    hosts->count = kept;
}

static void ports_remove(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    struct port_rules *ports = list_at(loader, key);
    const struct candidates none = {.count = 0};
    int64_t port;
    size_t kept = 0;

    if (!port_parse(text, &port)) {
        fail(loader, place, text, "a port is a number from 1 to 65535");
        return;
    }
    for (size_t i = 0; i < ports->count; i++) {
        if (ports->items[i].port != port)
            ports->items[kept++] = ports->items[i];
    }
    if (kept == ports->count)
        removed_nothing(loader, place, key->offset, text, &none);
    ports->count = kept;
}

bool removal_text(struct loader *loader, const struct place *place, const json_t *item, struct slice *text)
{
    if (!value_text(loader, place, item, "an entry", text))
        return false;
    *text = slice_from(*text, 1);
    if (text->len == 0)
        loader_problem(loader, place, "found \"!\": the inherited entry to take away must follow the mark");
    return text->len > 0;
}

static void entry_remove(struct loader *loader, const struct key *key, const struct place *place, const json_t *item)
{
    struct slice text;

    if (!removal_text(loader, place, item, &text))
        return;
    switch (key->type) {
    case KEY_PATHS:
        path_rules_remove(loader, place, key->list, text);
        break;
    case KEY_HOSTS:
        hosts_remove(loader, key, place, text);
        break;
    case KEY_PORTS:
        ports_remove(loader, key, place, text);
        break;
    default:
        names_remove(loader, key, place, text);
        break;
    }
}

/* Lists that are only judged, not kept, have nothing to inherit. */
static bool is_removal(const struct loader *loader, const struct key *key, const json_t *item)
{
    return !loader->srt && (key->offset || key->type == KEY_PATHS) && json_is_string(item) &&
           json_string_value(item)[0] == '!';
}

/* ---- adding ---- */

bool path_rule_add(struct loader *loader, const struct place *place, struct path_rule rule, bool literal)
{
    if (!path_pattern(loader->arena, &loader->around, rule.text, literal, &rule.pattern, &loader->reason))
        return fail(loader, place, rule.text, loader->reason.text);
    rule.origin = loader_origin(loader, place);
    policy_add_path(loader->policy, rule);
    return true;
}

void path_judge(struct loader *loader, const struct place *place, const json_t *object)
{
    struct slice text = json_slice(json_object_get(object, "path"));
    struct pattern pattern;
    struct error err;

    if (text.len && slice_find(text, '\0') == text.len && !json_object_get(object, "when") &&
        !path_pattern(loader->arena, &loader->around, text, json_is_true(json_object_get(object, "literal")), &pattern,
                      &err))
        fail(loader, place, text, err.text);
}

static bool add_file(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    struct slice path;

    if (!entry_absolute(loader, key, text, &path, &loader->reason))
        return fail(loader, place, text, loader->reason.text);
    const char *wrong = key->check ? key->check(path) : NULL;
    if (wrong)
        return fail(loader, place, text, wrong);
    policy_add_name(loader->policy, list_at(loader, key), path, loader_origin(loader, place));
    return true;
}

/* Who writes this means a server of the host's, which no name leads to. */
static void warn_of_loopback(struct loader *loader, const struct place *place, const struct host_rule *rule)
{
    const struct host_pattern *pattern = &rule->pattern;
    const char *port = pattern->port ? arena_printf(loader->arena, "%u", pattern->port) : "PORT";

    if ((pattern->kind == HOST_PATTERN_NAME || pattern->kind == HOST_PATTERN_ADDRESS) &&
        host_is_loopback(&pattern->host))
        loader_warning(loader, place, "%s: the loopback inside is the run's own; for a port of yours: --host-port %s",
                       escaped(loader->arena, rule->text), port);
}

static bool add_host(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    struct host_rule rule = {.text = text};
    /* In the srt personality srt's own check has spoken already. */
    const char *wrong = key->check && !loader->srt ? key->check(text) : NULL;

    if (wrong)
        return fail(loader, place, text, wrong);
    if (!host_pattern_parse(text, &rule.pattern, &loader->reason)) {
        if (!loader->srt || key->offset == offsetof(struct policy, network.denied) ||
            key->offset == offsetof(struct policy, network.denied_resolved))
            return fail(loader, place, text, loader->reason.text);
        /* srt takes names that no host has or that can be read two ways. */
        loader_warning(loader, place, "%s; the entry allows nothing", loader->reason.text);
        return true;
    }
    if (!key->offset)
        return true;
    if (key->offset == offsetof(struct policy, network.allowed) && !loader->srt)
        warn_of_loopback(loader, place, &rule);
    rule.origin = loader_origin(loader, place);
    policy_add_host(loader->policy, list_at(loader, key), rule);
    return true;
}

static void add_port(struct loader *loader, const struct key *key, const struct place *place, int64_t port)
{
    policy_add_port(loader->policy, list_at(loader, key), (uint16_t)port, loader_origin(loader, place));
}

bool list_add_text(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    int64_t port;

    switch (key->type) {
    case KEY_PATHS:
        if (key->list == LIST_ALLOW_READ && !loader->srt && slice_is(text, "$PATH")) {
            search_path_add(loader, place);
            return true;
        }
        return path_rule_add(loader, place, (struct path_rule){.list = key->list, .text = text}, false);
    case KEY_FILES:
        return add_file(loader, key, place, text);
    case KEY_HOSTS:
        return add_host(loader, key, place, text);
    case KEY_PORTS:
        if (!port_parse(text, &port))
            return fail(loader, place, text, "a port is a number from 1 to 65535");
        add_port(loader, key, place, port);
        return true;
    default:
        break;
    }
    /* In the srt personality srt's own check has spoken already. */
    const char *wrong = key->check && !loader->srt ? key->check(text) : NULL;
    if (wrong)
        return fail(loader, place, text, wrong);
    if (key->offset)
        policy_add_name(loader->policy, list_at(loader, key), text, loader_origin(loader, place));
    return true;
}

/* {path, literal, atStart}: here "!" is an ordinary byte, and so is "$PATH". */
static bool add_path_object(struct loader *loader, const struct key *key, const struct place *place, const json_t *item)
{
    struct path_rule rule = {.list = key->list};
    struct place at_path = {.parent = place, .name = "path"};

    if (!object_check(loader, key, place, item)) {
        path_judge(loader, place, item);
        return false;
    }
    if (!value_text(loader, &at_path, json_object_get(item, "path"), "a path", &rule.text))
        return false;
    rule.at_start = json_is_true(json_object_get(item, "atStart"));
    if (!path_rule_add(loader, place, rule, json_is_true(json_object_get(item, "literal"))))
        return false;
    if (!rule.at_start)
        return true;

    const struct pattern *pattern = &loader->policy->paths.items[loader->policy->paths.count - 1].pattern;
    struct slice directory = path_parent(pattern->text);
    if (pattern->literal || !slice_equal(pattern->fixed, directory) ||
        (!slice_equal(directory, loader->around.project) && !slice_equal(directory, loader->around.home)))
        return fail(loader, place, rule.text,
                    "with atStart, a pattern in the last component is expected, directly in $HOME or the project: no "
                    "other directory is listed at start");
    return true;
}

static bool entry_add(struct loader *loader, const struct key *key, const struct place *place, const json_t *item)
{
    struct slice text;
    int64_t port;

    if (key->type == KEY_PATHS && json_is_object(item))
        return add_path_object(loader, key, place, item);
    if (key->type == KEY_PORTS) {
        if (value_integer(item, 1, 65535, &port)) {
            add_port(loader, key, place, port);
            return true;
        }
        loader_problem(loader, place, "found %s; a port from 1 to 65535 is expected", value_words(loader->arena, item));
        return false;
    }
    const char *expected = key->type == KEY_PATHS   ? "a path, or an object with a path,"
                           : key->type == KEY_FILES ? "a path"
                           : key->type == KEY_HOSTS ? "a host pattern"
                                                    : "a string";
    return value_any_text(loader, place, item, expected, key->flags & KEY_MAY_BE_EMPTY, &text) &&
           list_add_text(loader, key, place, text);
}

bool list_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *array)
{
    size_t count = json_array_size(array);
    size_t errors = loader->problems->errors + loader->problems_unsaid;

    if (count > LIST_ENTRIES_MAX) {
        loader_problem(loader, place, "found %zu entries; at most %d are allowed", count, LIST_ENTRIES_MAX);
        return false;
    }
    if (count == 0 && (key->flags & KEY_NOT_EMPTY))
        loader_problem(loader, place, "found an empty array; at least one entry is expected");
    const struct place whole = {.text = place_text(loader->arena, place)};
    for (size_t i = 0; i < count && !loader->problems_unsaid; i++) {
        struct place here = {.parent = &whole, .index = i};
        if (is_removal(loader, key, json_array_get(array, i)))
            entry_remove(loader, key, &here, json_array_get(array, i));
    }
    for (size_t i = 0; i < count && !loader->problems_unsaid; i++) {
        struct place here = {.parent = &whole, .index = i};
        if (!is_removal(loader, key, json_array_get(array, i)))
            entry_add(loader, key, &here, json_array_get(array, i));
    }
    return loader->problems->errors + loader->problems_unsaid == errors;
}

/* For a home of a usual length no limit of patterns has to be looked at. */
static bool can_be_put_together(const struct loader *loader, const struct preset_entry *entry)
{
    enum { USUAL_HOME_MAX = 256 };

    return entry->plain && loader->around.home.len <= USUAL_HOME_MAX;
}

static void add_plain(struct loader *loader, const struct key *key, const struct preset_entry *entry)
{
    struct slice text = entry->text;
    struct slice path = text.ptr[0] == '~' ? path_join(loader->arena, loader->around.home, slice_from(text, 2)) : text;

    policy_add_path(loader->policy, (struct path_rule){.list = key->list,
                                                       .text = text,
                                                       .pattern = {.text = path, .fixed = path, .literal = true},
                                                       .origin = {loader->file, entry->place}});
}

bool list_apply_compiled(struct loader *loader, const struct key *key, const struct preset_list *list)
{
    size_t errors = loader->problems->errors + loader->problems_unsaid;

    for (size_t i = 0; i < list->count && !loader->problems_unsaid; i++) {
        const struct preset_entry *entry = &list->entries[i];
        const struct place here = {.text = entry->place};
        JSON_CLEANUP json_t *object = NULL;

        if (entry->access) {
            rule_apply_compiled(loader, entry);
            continue;
        }
        if (can_be_put_together(loader, entry)) {
            add_plain(loader, key, entry);
            continue;
        }
        if (!entry->tokens) {
            list_add_text(loader, key, &here, entry->text);
            continue;
        }
        object = json_from_tokens(entry->tokens);
        if (object)
            entry_add(loader, key, &here, object);
        else
            loader_problem(loader, &here, "cannot be loaded: out of memory");
    }
    return loader->problems->errors + loader->problems_unsaid == errors;
}
