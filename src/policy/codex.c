/* Policies in the words of OpenAI's Codex, as of 0.166.0: the profile its Linux
 * helper takes today, the untagged ones it still takes, and the SandboxPolicy of
 * earlier versions with its ReadOnlyAccess. Meaning: entries are paths with all
 * that is below them, the longest one decides, and what no entry covers is hidden;
 * so each becomes one of `rules`, with readMode listed.
 *
 * Stricter than Codex on purpose: a member or a word that is not known here is
 * refused and never passed over, because it may have been meant to restrict. */
#include "policy/codex.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/loader.h"

bool codex_members(struct loader *loader, const struct place *place, const json_t *object, const char *const *names)
{
    size_t errors = loader->problems->errors;
    const char *name;
    json_t *value;

    if (!json_is_object(object)) {
        loader_problem(loader, place, "found %s; an object is expected", value_words(loader->arena, object));
        return false;
    }
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], name) != 0)
            i++;
        if (names[i])
            continue;
        const char *near = did_you_mean(slice_of(name), names);
        struct place here = {.parent = place, .name = name};
        loader_problem(loader, &here, "Codex has no such member here%s%s%s", near ? "; did you mean \"" : "",
                       near ? near : "", near ? "\"?" : "");
    }
    return loader->problems->errors == errors;
}

bool codex_word(struct loader *loader, const struct place *place, const json_t *value, const char *const *words,
                size_t *position)
{
    struct text expected = text_in(loader->arena);

    for (size_t i = 0; words[i]; i++) {
        if (json_is_string(value) && slice_is(json_slice(value), words[i])) {
            *position = i;
            return true;
        }
        text_appendf(&expected, "%s\"%s\"", i ? ", " : "", words[i]);
    }
    loader_problem(loader, place, "found %s; one of %s is expected",
                   value ? value_words(loader->arena, value) : "nothing", expected.ptr);
    return false;
}

bool codex_path(struct loader *loader, const struct place *place, const json_t *value, struct slice *path)
{
    struct slice text;

    if (!value) {
        loader_problem(loader, place, "found nothing; an absolute path is expected");
        return false;
    }
    if (!value_text(loader, place, value, "an absolute path", &text))
        return false;
    if (text.ptr[0] != '/' || text.len > PATTERN_TEXT_MAX) {
        loader_problem(loader, place, "found %s; an absolute path of at most %d bytes is expected",
                       value_words(loader->arena, value), PATTERN_TEXT_MAX);
        return false;
    }
    *path = path_normal(loader->arena, SLICE("/"), text);
    return true;
}

bool codex_flag(struct loader *loader, const struct place *above, const json_t *object, const char *name, bool absent)
{
    struct place place = {.parent = above, .name = name};
    const json_t *value = json_object_get(object, name);

    if (value && !json_is_boolean(value))
        loader_problem(loader, &place, "found %s; true or false is expected", value_words(loader->arena, value));
    return json_is_boolean(value) ? json_is_true(value) : absent;
}

void codex_open_files(struct loader *loader)
{
    loader->policy->filesystem.disabled = true;
}

/* Codex keeps sockets of the host away by refusing all use of the network, and
 * opens both with the same bit. */
void codex_network(struct loader *loader, const struct place *place, bool enabled)
{
    struct policy *policy = loader->policy;

    policy->network.mode = enabled ? NETWORK_HOST : NETWORK_NONE;
    policy->network.mode_origin = loader_origin(loader, place);
    policy->network.allow_all_unix_sockets = enabled;
    policy->network.all_unix_origin = policy->network.mode_origin;
}

static void network_member(struct loader *loader, const json_t *root)
{
    static const char *const words[] = {"restricted", "enabled", NULL};
    struct place place = {.name = "network"};
    size_t position;

    if (codex_word(loader, &place, json_object_get(root, "network"), words, &position))
        codex_network(loader, &place, position == 1);
}

static void scan_depth(struct loader *loader, const struct place *above, const json_t *object)
{
    struct place place = {.parent = above, .name = "glob_scan_max_depth"};
    const json_t *value = json_object_get(object, "glob_scan_max_depth");
    int64_t ignored;

    /* Patterns are held at any depth, so there is nothing to bound. */
    if (value && !json_is_null(value) && !value_integer(value, 1, INT64_MAX, &ignored))
        loader_problem(loader, &place, "found %s; a number from 1 on is expected", value_words(loader->arena, value));
}

/* {"entries": [...]}, in a profile of today and in an untagged one. */
static void restricted_files(struct loader *loader, const struct place *place, const json_t *object)
{
    struct place at_entries = {.parent = place, .name = "entries"};
    struct codex_entries entries = {0};
    const json_t *array = json_object_get(object, "entries");

    scan_depth(loader, place, object);
    if (array)
        codex_entries_read(loader, &at_entries, array, &entries);
    codex_entries_apply(loader, &entries);
}

static void managed_files(struct loader *loader, const json_t *root)
{
    static const char *const types[] = {"restricted", "unrestricted", NULL};
    static const char *const restricted[] = {"type", "entries", "glob_scan_max_depth", NULL};
    static const char *const unrestricted[] = {"type", NULL};
    struct place place = {.name = "file_system"};
    struct place at_type = {.parent = &place, .name = "type"};
    const json_t *files = json_object_get(root, "file_system");
    size_t type;

    if (!files) {
        loader_problem(loader, &place, "found nothing; an object is expected");
        return;
    }
    if (!json_is_object(files)) {
        codex_members(loader, &place, files, restricted);
        return;
    }
    if (!codex_word(loader, &at_type, json_object_get(files, "type"), types, &type) ||
        !codex_members(loader, &place, files, type ? unrestricted : restricted))
        return;
    if (type)
        codex_open_files(loader);
    else
        restricted_files(loader, &place, files);
}

enum { PROFILE_MANAGED, PROFILE_DISABLED, PROFILE_EXTERNAL };
static const char *const profile_types[] = {"managed", "disabled", "external", NULL};

static void tagged_profile(struct loader *loader, size_t type, const json_t *root)
{
    static const char *const managed[] = {"type", "file_system", "network", NULL};
    static const char *const disabled[] = {"type", NULL};
    static const char *const external[] = {"type", "network", NULL};
    struct place at_type = {.name = "type"};

    switch (type) {
    case PROFILE_MANAGED:
        if (!codex_members(loader, NULL, root, managed))
            return;
        managed_files(loader, root);
        network_member(loader, root);
        return;
    case PROFILE_DISABLED:
        if (!codex_members(loader, NULL, root, disabled))
            return;
        codex_open_files(loader);
        codex_network(loader, &at_type, true);
        loader->policy->unconfined = true;
        return;
    default:
        if (!codex_members(loader, NULL, root, external))
            return;
        codex_open_files(loader);
        network_member(loader, root);
    }
}

static void untagged_files(struct loader *loader, const json_t *files)
{
    static const char *const lists[] = {"read", "write", NULL};
    static const char *const with_entries[] = {"entries", "glob_scan_max_depth", NULL};
    struct place place = {.name = "file_system"};
    struct codex_entries entries = {0};

    if (json_object_get(files, "read") || json_object_get(files, "write")) {
        if (!codex_members(loader, &place, files, lists))
            return;
        codex_paths_read(loader, &place, files, "read", CODEX_READ, &entries);
        codex_paths_read(loader, &place, files, "write", CODEX_WRITE, &entries);
        codex_entries_apply(loader, &entries);
    } else if (codex_members(loader, &place, files, with_entries)) {
        restricted_files(loader, &place, files);
    }
}

static void untagged_profile(struct loader *loader, const json_t *root)
{
    static const char *const members[] = {"network", "file_system", NULL};
    static const char *const in_network[] = {"enabled", NULL};
    struct place at_network = {.name = "network"};
    const struct codex_entries nothing = {0};
    const json_t *network = json_object_get(root, "network");
    const json_t *files = json_object_get(root, "file_system");

    if (!codex_members(loader, NULL, root, members))
        return;
    if (files && !json_is_null(files))
        untagged_files(loader, files);
    else
        codex_entries_apply(loader, &nothing);
    bool said = network && !json_is_null(network) && codex_members(loader, &at_network, network, in_network) &&
                !json_is_null(json_object_get(network, "enabled"));
    bool enabled = said && codex_flag(loader, &at_network, network, "enabled", false);
    codex_network(loader, &at_network, enabled);
}

static size_t position_of(const char *const *words, struct slice word)
{
    size_t i = 0;

    while (words[i] && !slice_is(word, words[i]))
        i++;
    return i;
}

static void unknown_type(struct loader *loader, const json_t *type)
{
    static const char *const all[] = {"managed",         "disabled",           "external",         "read-only",
                                      "workspace-write", "danger-full-access", "external-sandbox", NULL};
    struct place place = {.name = "type"};
    const char *near = json_is_string(type) ? did_you_mean(json_slice(type), all) : NULL;

    loader_problem(loader, &place, "found %s, which is no Codex policy%s%s%s", value_words(loader->arena, type),
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

void codex_apply(struct loader *loader, const struct policy_source *source, const json_t *root)
{
    struct place at_type = {.name = "type"};
    const json_t *type = json_object_get(root, "type");
    struct slice word = json_is_string(type) ? json_slice(type) : (struct slice){0};
    size_t profile = position_of(profile_types, word);
    size_t sandbox_policy = position_of(codex_sandbox_policy_types, word);

    if (!json_is_object(root)) {
        loader_problem(loader, NULL, "found %s; a Codex policy is a JSON object", value_words(loader->arena, root));
        return;
    }
    if (source->format == FORMAT_CODEX_NETWORK) {
        codex_managed_network(loader, root);
        return;
    }
    loader->policy->filesystem.codex = true;
    loader->policy->filesystem.tmp = TMP_HOST;
    if (!type && source->format != FORMAT_CODEX_SANDBOX_POLICY)
        untagged_profile(loader, root);
    else if (codex_sandbox_policy_types[sandbox_policy] && source->format == FORMAT_CODEX_PROFILE)
        loader_problem(loader, &at_type,
                       "found %s, a SandboxPolicy of earlier versions; a permission profile is expected here",
                       value_words(loader->arena, type));
    else if (codex_sandbox_policy_types[sandbox_policy])
        codex_sandbox_policy(loader, sandbox_policy, root);
    else if (profile_types[profile] && source->format != FORMAT_CODEX_SANDBOX_POLICY)
        tagged_profile(loader, profile, root);
    else if (type)
        unknown_type(loader, type);
    else
        loader_problem(loader, &at_type, "found nothing; the type of a SandboxPolicy is expected");
}
