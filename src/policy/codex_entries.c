/* Entries of a Codex profile, {path, access}: what each path stands for, and the
 * rules they come to.
 *
 * Of entries for one path the strongest counts: deny, then write, then read. That
 * is not how `rules` meet at one path (there the stricter wins), so it is settled
 * here, and one rule is made for each path. "/" is no rule but the readMode, unless
 * it may be written. */
#include "policy/codex.h"

#include "base/map.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/loader.h"
#include "policy/variables.h"

#include <unistd.h>

static const char *const access_words[] = {"read", "write", "deny", "none", NULL};

void codex_entry_add(struct loader *loader, struct codex_entries *entries, struct codex_entry entry)
{
    entries->items = arena_grow(loader->arena, entries->items, entries->count, entries->count + 1, &entries->capacity,
                                sizeof *entries->items);
    entries->items[entries->count++] = entry;
}

void codex_paths_read(struct loader *loader, const struct place *above, const json_t *object, const char *name,
                      enum codex_access access, struct codex_entries *entries)
{
    struct place place = {.parent = above, .name = name};
    const json_t *array = json_object_get(object, name);

    if (!array || json_is_null(array))
        return;
    if (!json_is_array(array)) {
        loader_problem(loader, &place, "found %s; an array of absolute paths is expected",
                       value_words(loader->arena, array));
        return;
    }
    for (size_t i = 0; i < json_array_size(array) && !loader->problems_unsaid; i++) {
        struct place here = {.parent = &place, .index = i};
        struct codex_entry entry = {.access = access};
        if (!codex_path(loader, &here, json_array_get(array, i), &entry.path))
            continue;
        entry.origin = loader_origin(loader, &here);
        codex_entry_add(loader, entries, entry);
    }
}

/* ---- special paths ---- */

/* Below a special path: relative, and it stays there. */
static bool below(struct loader *loader, const struct place *above, const json_t *special, struct slice base,
                  struct slice *path)
{
    struct place place = {.parent = above, .name = "subpath"};
    const json_t *value = json_object_get(special, "subpath");
    struct slice text;

    *path = base;
    if (!value || json_is_null(value))
        return true;
    if (!value_text(loader, &place, value, "a relative path", &text))
        return false;
    struct slice rest = text;
    struct slice component;
    bool climbs = false;
    while (path_next(&rest, &component))
        climbs = climbs || slice_is(component, "..");
    if (text.ptr[0] == '/' || climbs) {
        loader_problem(loader, &place, "found %s; a relative path without \"..\" is expected",
                       value_words(loader->arena, value));
        return false;
    }
    *path = path_normal(loader->arena, base, text);
    return true;
}

/* An unset or relative $TMPDIR is no place at all; so is a /tmp that is not there,
 * which policy_resolve finds out. */
static bool temporary_directory(struct loader *loader, struct slice *path)
{
    struct slice value;

    if (!environment_find(loader->around.environment, SLICE("TMPDIR"), &value) || !value.len || value.ptr[0] != '/' ||
        value.len > PATTERN_TEXT_MAX)
        return false;
    *path = path_normal(loader->arena, SLICE("/"), value);
    return true;
}

enum { KIND_ROOT, KIND_MINIMAL, KIND_PROJECT, KIND_WORKING_DIRECTORY, KIND_TMPDIR, KIND_SLASH_TMP, KIND_UNKNOWN };

static void minimal_entry(struct loader *loader, const struct place *place, struct codex_entries *entries,
                          enum codex_access access)
{
    if (access == CODEX_DENY)
        loader_problem(loader, place,
                       ":minimal is a switch and no path: it cannot be denied; deny the paths themselves");
    else
        entries->minimal = true;
}

/* A place that a later Codex has a word for. What it would have granted is not
 * granted; what it would have hidden must not be shown. */
static void unknown_entry(struct loader *loader, const struct place *place, const json_t *special,
                          enum codex_access access)
{
    const json_t *token = json_object_get(special, "path");

    if (access == CODEX_DENY)
        loader_problem(loader, place, "denies %s, a place that is not known here, so it cannot be hidden",
                       token ? value_words(loader->arena, token) : "something");
    else
        loader_warning(loader, place, "%s is a place that is not known here: nothing is granted",
                       token ? value_words(loader->arena, token) : "this");
}

static void special_entry(struct loader *loader, const struct place *above, const json_t *special,
                          enum codex_access access, struct codex_entries *entries)
{
    static const char *const kinds[] = {"root",   "minimal",   "project_roots", "current_working_directory",
                                        "tmpdir", "slash_tmp", "unknown",       NULL};
    static const char *const members[] = {"kind", NULL};
    static const char *const project_members[] = {"kind", "subpath", NULL};
    static const char *const unknown_members[] = {"kind", "path", "subpath", NULL};
    struct place place = {.parent = above, .name = "value"};
    struct place at_kind = {.parent = &place, .name = "kind"};
    struct codex_entry entry = {.access = access, .origin = loader_origin(loader, above)};
    size_t kind;

    if (!json_is_object(special)) {
        loader_problem(loader, &place, "found %s; an object with a kind is expected",
                       special ? value_words(loader->arena, special) : "nothing");
        return;
    }
    if (!codex_word(loader, &at_kind, json_object_get(special, "kind"), kinds, &kind) ||
        !codex_members(loader, &place, special,
                       kind == KIND_UNKNOWN                                     ? unknown_members
                       : kind == KIND_PROJECT || kind == KIND_WORKING_DIRECTORY ? project_members
                                                                                : members))
        return;
    switch (kind) {
    case KIND_MINIMAL:
        minimal_entry(loader, above, entries, access);
        return;
    case KIND_UNKNOWN:
        unknown_entry(loader, above, special, access);
        return;
    case KIND_PROJECT:
    case KIND_WORKING_DIRECTORY:
        if (!below(loader, &place, special, loader->around.project, &entry.path))
            return;
        break;
    case KIND_TMPDIR:
        if (!temporary_directory(loader, &entry.path))
            return;
        break;
    default:
        entry.path = kind == KIND_ROOT ? SLICE("/") : SLICE("/tmp");
        break;
    }
    codex_entry_add(loader, entries, entry);
}

/* ---- one entry, and all of them ---- */

static void read_path(struct loader *loader, const struct place *above, const json_t *path, enum codex_access access,
                      struct codex_entries *entries)
{
    static const char *const types[] = {"path", "glob_pattern", "special", NULL};
    static const char *const members[][3] = {
        {"type", "path", NULL}, {"type", "pattern", NULL}, {"type", "value", NULL}};
    struct place place = {.parent = above, .name = "path"};
    struct place at_type = {.parent = &place, .name = "type"};
    struct place at_path = {.parent = &place, .name = "path"};
    struct codex_entry entry = {.access = access};
    size_t type;

    if (!json_is_object(path)) {
        loader_problem(loader, &place, "found %s; an object with a type is expected",
                       path ? value_words(loader->arena, path) : "nothing");
        return;
    }
    if (!codex_word(loader, &at_type, json_object_get(path, "type"), types, &type) ||
        !codex_members(loader, &place, path, members[type]))
        return;
    if (type == 1) {
        codex_pattern(loader, above, json_object_get(path, "pattern"), access, entries);
    } else if (type == 2) {
        special_entry(loader, above, json_object_get(path, "value"), access, entries);
    } else if (codex_path(loader, &at_path, json_object_get(path, "path"), &entry.path)) {
        entry.origin = loader_origin(loader, above);
        codex_entry_add(loader, entries, entry);
    }
}

static void read_entry(struct loader *loader, const struct place *place, const json_t *item,
                       struct codex_entries *entries)
{
    static const char *const members[] = {"path", "access", "missing_path_behavior", NULL};
    static const char *const behaviors[] = {"skip", NULL};
    struct place at_access = {.parent = place, .name = "access"};
    struct place at_missing = {.parent = place, .name = "missing_path_behavior"};
    size_t access;
    size_t ignored;

    if (!codex_members(loader, place, item, members) ||
        !codex_word(loader, &at_access, json_object_get(item, "access"), access_words, &access))
        return;
    const json_t *missing = json_object_get(item, "missing_path_behavior");
    if (missing && !json_is_null(missing) && !codex_word(loader, &at_missing, missing, behaviors, &ignored))
        return;
    read_path(loader, place, json_object_get(item, "path"),
              access > CODEX_DENY ? CODEX_DENY : (enum codex_access)access, entries);
}

void codex_entries_read(struct loader *loader, const struct place *place, const json_t *array,
                        struct codex_entries *entries)
{
    size_t count = json_array_size(array);

    if (!json_is_array(array)) {
        loader_problem(loader, place, "found %s; an array of entries is expected", value_words(loader->arena, array));
        return;
    }
    if (count > LIST_ENTRIES_MAX) {
        loader_problem(loader, place, "found %zu entries; at most %d are allowed", count, LIST_ENTRIES_MAX);
        return;
    }
    const struct place whole = {.text = place_text(loader->arena, place)};
    for (size_t i = 0; i < count && !loader->problems_unsaid; i++) {
        struct place here = {.parent = &whole, .index = i};
        read_entry(loader, &here, json_array_get(array, i), entries);
    }
}

static void read_everything(struct loader *loader, bool everything, struct origin origin)
{
    loader->policy->filesystem.read_mode = everything ? READ_ALL : READ_LISTED;
    loader->policy->filesystem.read_mode_origin = origin;
}

static void add_rule(struct loader *loader, const struct codex_entry *entry)
{
    static const enum access accesses[] = {
        [CODEX_READ] = ACCESS_READ, [CODEX_WRITE] = ACCESS_WRITE, [CODEX_DENY] = ACCESS_NONE};
    bool everything = entry->path.len == 1;

    if (everything)
        read_everything(loader, entry->access != CODEX_DENY, entry->origin);
    if (everything && entry->access != CODEX_WRITE)
        return;
    policy_add_path(loader->policy,
                    (struct path_rule){.list = LIST_RULES,
                                       .access = accesses[entry->access],
                                       .text = entry->path,
                                       .pattern = {.text = entry->path, .fixed = entry->path, .literal = true},
                                       .no_links = entry->access == CODEX_DENY,
                                       .origin = entry->origin});
}

/* Whoever talks to Codex's own server there is past every sandbox it starts. */
static void hide_daemon(struct loader *loader)
{
    struct slice path = slice_of(arena_printf(loader->arena, "/tmp/codex-daemon-%u", (unsigned)geteuid()));

    if (loader->around.personality != PERSONALITY_CODEX)
        return;
    policy_add_path(loader->policy, (struct path_rule){.list = LIST_RULES,
                                                       .access = ACCESS_NONE,
                                                       .text = path,
                                                       .pattern = {.text = path, .fixed = path, .literal = true},
                                                       .derived = true,
                                                       .origin = {"built-in", "Codex's own server"}});
}

void codex_entries_apply(struct loader *loader, const struct codex_entries *entries)
{
    struct map strongest = map_in(loader->arena);

    read_everything(loader, false, (struct origin){loader->file, "file_system"});
    hide_daemon(loader);
    loader->policy->filesystem.platform_defaults = entries->minimal;
    for (size_t i = 0; i < entries->count; i++) {
        void **place = map_at(&strongest, entries->items[i].path);
        const struct codex_entry *best = *place;
        if (!best || entries->items[i].access > best->access)
            *place = &entries->items[i];
    }
    for (size_t i = 0; i < entries->count; i++) {
        if (map_get(&strongest, entries->items[i].path) == &entries->items[i])
            add_rule(loader, &entries->items[i]);
    }
}
