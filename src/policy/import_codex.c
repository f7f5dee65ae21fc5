/* Codex's config.toml: its sandbox mode, or the permission profile that is its
 * default, and which variables commands get. The longest path wins in Codex's
 * profiles and among our rules alike. */
#include "base/path.h"
#include "base/text.h"
#include "policy/import.h"
#include "policy/pattern.h"

enum { EXTENDS_MAX = 8, ROOTS_MAX = 64 };

struct profile {
    struct import *import;
    const json_t *profiles;
    struct slice roots[ROOTS_MAX]; /* of the workspace */
    size_t root_count;
    bool listed;
    bool minimal;
    bool networked; /* as the last says that speaks of it */
    bool limited;
    json_t *domains;
};

static const char *string_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* As in Codex: names at the top of every writable root, which stay readable. */
static void protect_names(struct import *import)
{
    static const char *const names[] = {".git/", ".agents/", ".codex/", ".aws/"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        import_add(import, "filesystem", "protect", slice_of(names[i]));
    import_note(import,
                ".git is read-only, as in Codex, at any depth; without \".git/\" in filesystem.protect git commit "
                "works, and hooks, configuration and what else runs code later stay protected");
}

static void set_preset(struct import *import, const char *preset)
{
    json_t *list = json_array();

    json_array_append_new(list, json_string(preset));
    json_object_set_new(import->policy, "extends", list);
}

/* ---- sandbox_mode ---- */

static bool import_mode(struct import *import, const json_t *config, const char *mode, struct error *err)
{
    static const char *const known[] = {"writable_roots", "network_access", "exclude_slash_tmp",
                                        "exclude_tmpdir_env_var", NULL};
    const json_t *more = json_object_get(config, "sandbox_workspace_write");
    const json_t *roots = json_object_get(more, "writable_roots");

    if (!mode || strcmp(mode, "read-only") == 0) {
        set_preset(import, "preset:readonly");
        if (more)
            import_note(import,
                        "sandbox_workspace_write: sandbox_mode is not \"workspace-write\", so it does not count");
        return true;
    }
    if (strcmp(mode, "danger-full-access") == 0)
        return error_set(err,
                         "sandbox_mode = \"danger-full-access\" asks for no sandbox: there is no policy to make of it");
    if (strcmp(mode, "workspace-write") != 0)
        return error_set(err, "sandbox_mode = \"%s\" is not one of read-only, workspace-write, danger-full-access",
                         mode);
    set_preset(import, "preset:workspace");
    for (size_t i = 0; i < json_array_size(roots); i++)
        if (json_is_string(json_array_get(roots, i)))
            import_add(import, "filesystem", "allowWrite",
                       import_literal_path(import, json_slice(json_array_get(roots, i))));
    if (json_is_true(json_object_get(more, "network_access")))
        import_set(import, "network", "mode", json_string("host"));
    import_note(import, "/tmp is the run's own, and gone afterwards; \"tmp\": \"host\" in filesystem for Codex's");
    protect_names(import);
    import_note_others(import, more, known, "keys of sandbox_workspace_write without a counterpart");
    return true;
}

/* ---- permission profiles ---- */

static const char *access_of(const char *word)
{
    if (word && (strcmp(word, "read") == 0 || strcmp(word, "write") == 0))
        return word;
    return word && (strcmp(word, "deny") == 0 || strcmp(word, "none") == 0) ? "none" : NULL;
}

/* What Codex takes for a mistake is not to be guessed at: "..", and patterns that grant. */
static bool check_place(const char *path, const char *access, struct error *err)
{
    struct slice rest = slice_of(path);
    struct slice name;

    if (strcmp(access, "none") != 0 && name_has_wildcard(rest))
        return error_set(err, "\"%s\" is a pattern, which can only be denied", path);
    while (path_next(&rest, &name)) {
        if (slice_is(name, ".."))
            return error_set(err, "\"%s\" must not lead out with \"..\"", path);
    }
    return true;
}

static bool import_entry(struct profile *profile, struct slice base, const char *below, const json_t *value,
                         struct error *err)
{
    struct import *import = profile->import;
    const char *access = access_of(json_string_value(value));
    struct slice path = base;

    if (!access)
        return error_set(err, "\"%s\" needs one of \"read\", \"write\", \"deny\"", below);
    if (!check_place(base.ptr, access, err) || !check_place(below, access, err))
        return false;
    if (below[0] == '/')
        return error_set(err, "\"%s\" must lie below \"%s\"", below, base.ptr);
    if (strcmp(below, ".") != 0)
        path = slice_of(arena_printf(import->arena, "%s/%s", base.ptr, import_path(import, slice_of(below)).ptr));
    if (strcmp(access, "none") == 0)
        import_hide(import, path, true);
    else
        import_rule(import, path, access);
    return true;
}

/* A table of what lies below `base`, or one word for all of it. */
static bool import_below(struct profile *profile, struct slice base, const json_t *value, struct error *err)
{
    const char *below;
    json_t *each;

    if (!json_is_object(value))
        return import_entry(profile, base, ".", value, err);
    json_object_foreach((json_t *)value, below, each)
    {
        if (!import_entry(profile, base, below, each, err))
            return false;
    }
    return true;
}

/* A word of Codex's for a place. */
static bool import_special(struct profile *profile, const char *word, const json_t *value, struct error *err)
{
    struct import *import = profile->import;
    const char *access = access_of(json_string_value(value));

    if (strcmp(word, ":workspace_roots") == 0 || strcmp(word, ":project_roots") == 0) {
        for (size_t i = 0; i < profile->root_count; i++)
            if (!import_below(profile, profile->roots[i], value, err))
                return false;
        return true;
    }
    if (!access)
        return error_set(err, "\"%s\" needs one of \"read\", \"write\", \"deny\"", word);
    if (strcmp(word, ":minimal") == 0)
        profile->minimal = strcmp(access, "none") != 0;
    else if (strcmp(word, ":root") == 0)
        import_rule(import, SLICE("/"), access);
    else if (strcmp(word, ":tmpdir") == 0 || strcmp(word, ":slash_tmp") == 0)
        import_note(import, "%s: /tmp is the run's own; \"tmp\": \"host\" in filesystem for Codex's", word);
    else
        return error_set(err, "\"%s\" is not a place that Codex knows", word);
    return true;
}

static bool import_files(struct profile *profile, const json_t *files, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)files, key, value)
    {
        if (strcmp(key, "glob_scan_max_depth") == 0)
            continue;
        if (key[0] != ':' && key[0] != '/' && strncmp(key, "~/", 2) != 0 && strcmp(key, "~") != 0)
            return error_set(
                err, "filesystem.\"%s\": it must be absolute, begin with \"~/\", or be one of Codex's words", key);
        bool good = key[0] == ':' ? import_special(profile, key, value, err)
                                  : import_below(profile, import_path(profile->import, slice_of(key)), value, err);
        if (!good)
            return error_wrap(err, "filesystem.\"%s\"", key);
    }
    return true;
}

static void import_names(struct import *import, const json_t *names, const char *allowed, const char *denied)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)names, name, value)
    {
        bool allow = json_is_string(value) && strcmp(json_string_value(value), "allow") == 0;
        if (!allow && !denied)
            continue;
        /* Two stars: the name itself, too. */
        bool itself = strncmp(name, "**.", 3) == 0;
        import_add(import, "network", allow ? allowed : denied, slice_of(itself ? name + 1 : name));
        if (itself)
            import_add(import, "network", allow ? allowed : denied, slice_of(name + 3));
    }
}

/* What is said last counts, key by key; a host that anybody denies stays denied. */
static void note_network(struct profile *profile, const json_t *network)
{
    static const char *const known[] = {"enabled", "domains", "unix_sockets", "dangerously_allow_all_unix_sockets",
                                        "mode",    NULL};
    struct import *import = profile->import;
    const json_t *enabled = json_object_get(network, "enabled");
    const char *mode = string_at(network, "mode");

    if (json_is_boolean(enabled))
        profile->networked = json_is_true(enabled);
    json_object_update(profile->domains, json_object_get(network, "domains"));
    import_names(import, json_object_get(network, "unix_sockets"), "allowUnixSockets", NULL);
    if (json_is_true(json_object_get(network, "dangerously_allow_all_unix_sockets")))
        import_set(import, "network", "allowAllUnixSockets", json_true());
    if (mode)
        profile->limited = strcmp(mode, "full") != 0;
    import_note_others(import, network, known, "keys of network without a counterpart");
}

static void import_network(struct profile *profile)
{
    struct import *import = profile->import;

    if (!profile->networked)
        return;
    if (profile->limited) {
        import_note(import, "network.mode \"limited\": methods of HTTP requests are not looked at here, so there is no "
                            "network; name hosts in network.allowedDomains if they may be sent anything");
        return;
    }
    import_names(import, profile->domains, "allowedDomains", "deniedDomains");
    import_set(import, "network", "mode", json_string(json_object_size(profile->domains) ? "filtered" : "host"));
}

/* Those that a profile extends come first. */
static bool import_profile(struct profile *profile, const char *name, struct error *err)
{
    const json_t *chain[EXTENDS_MAX];
    size_t count = 0;

    for (; name && name[0] != ':'; name = string_at(chain[count - 1], "extends")) {
        const json_t *next = json_object_get(profile->profiles, name);
        if (!json_is_object(next))
            return error_set(err, "there is no [permissions.%s], which is to be used", name);
        if (count == EXTENDS_MAX)
            return error_set(err, "permissions.%s extends itself, or too many others", name);
        chain[count++] = next;
    }
    profile->listed = !name;
    if (name && strcmp(name, ":read-only") == 0)
        set_preset(profile->import, "preset:readonly");
    else if (name && strcmp(name, ":workspace") == 0)
        set_preset(profile->import, "preset:workspace");
    else if (name)
        return error_set(err, "permissions \"%s\" ask for no sandbox, or are not known", name);
    while (count--) {
        const char *path;
        json_t *value;
        json_object_foreach(json_object_get(chain[count], "workspace_roots"), path, value)
        {
            if (json_is_true(value) && profile->root_count < ROOTS_MAX)
                profile->roots[profile->root_count++] = import_path(profile->import, slice_of(path));
        }
        if (!import_files(profile, json_object_get(chain[count], "filesystem"), err))
            return false;
        note_network(profile, json_object_get(chain[count], "network"));
    }
    import_network(profile);
    if (name && strcmp(name, ":workspace") == 0) {
        for (size_t i = 1; i < profile->root_count; i++)
            import_rule(profile->import, profile->roots[i], "write");
    }
    protect_names(profile->import);
    if (profile->listed) {
        import_set(profile->import, "filesystem", "readMode", json_string("listed"));
        import_set(profile->import, "filesystem", "platformDefaults", json_boolean(profile->minimal));
    }
    return true;
}

/* ---- shell_environment_policy ---- */

/* A pattern of Codex's, which knows "*" and "?" and ignores the case of letters. What is
 * not ASCII stands for anything here. "!" at the beginning would take back a denial, and
 * in a set would turn it round: there is a space before it, which no name has. */
static struct slice in_any_case(struct import *import, struct slice pattern)
{
    struct text out = text_in(import->arena);

    for (size_t i = 0; i < pattern.len; i++) {
        char byte = pattern.ptr[i];
        char lower = slice_lower(byte);
        if (lower >= 'a' && lower <= 'z')
            text_appendf(&out, "[%c%c]", lower ^ ('a' ^ 'A'), lower);
        else if (byte == '[')
            text_append_string(&out, "[[]");
        else if (byte == '!')
            text_append_string(&out, "[ !]");
        else
            text_append_byte(&out, (unsigned char)byte >= 0x80 ? '*' : byte);
    }
    return text_slice(&out);
}

static bool matches_any(struct import *import, const json_t *patterns, struct slice name)
{
    for (size_t i = 0; i < json_array_size(patterns); i++) {
        const json_t *pattern = json_array_get(patterns, i);
        if (json_is_string(pattern) && name_matches(in_any_case(import, json_slice(pattern)), name))
            return true;
    }
    return false;
}

/* What is excluded stays so in Codex; here a name that is passed would win over a denial. */
static bool is_excluded(struct import *import, const json_t *shell, struct slice name)
{
    static const char *const secrets[] = {"*KEY*", "*SECRET*", "*TOKEN*"};
    bool by_default = !json_is_true(json_object_get(shell, "ignore_default_excludes"));

    for (size_t i = 0; by_default && i < sizeof secrets / sizeof *secrets; i++)
        if (name_matches(in_any_case(import, slice_of(secrets[i])), name))
            return true;
    return matches_any(import, json_object_get(shell, "exclude"), name);
}

static void import_included(struct import *import, const json_t *shell, const json_t *only)
{
    for (size_t i = 0; i < json_array_size(only); i++) {
        if (!json_is_string(json_array_get(only, i)))
            continue;
        struct slice pattern = json_slice(json_array_get(only, i));
        if (is_excluded(import, shell, pattern))
            import_note(import, "shell_environment_policy.include_only \"%.*s\": it is excluded, which wins",
                        (int)pattern.len, pattern.ptr);
        else if (slice_find(pattern, '[') < pattern.len) /* no set in Codex */
            import_note(import, "shell_environment_policy.include_only \"%.*s\": no variable has such a name",
                        (int)pattern.len, pattern.ptr);
        else
            import_add(import, "environment", "pass", pattern);
    }
}

static void import_excluded(struct import *import, const json_t *patterns)
{
    for (size_t i = 0; i < json_array_size(patterns); i++)
        if (json_is_string(json_array_get(patterns, i)))
            import_add(import, "environment", "deny", in_any_case(import, json_slice(json_array_get(patterns, i))));
}

static void import_environment(struct import *import, const json_t *shell)
{
    static const char *const known[] = {"inherit", "exclude", "include_only", "set", "ignore_default_excludes", NULL};
    static const char *const core[] = {"HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP"};
    const char *inherit = string_at(shell, "inherit");
    const json_t *only = json_object_get(shell, "include_only");
    json_t *set = json_object_get(shell, "set");
    bool is_core = inherit && strcmp(inherit, "core") == 0;
    bool is_none = inherit && strcmp(inherit, "none") == 0;

    if (is_core || is_none || json_array_size(only))
        import_add(import, "environment", "pass", SLICE("!*"));
    for (size_t i = 0; is_core && i < sizeof core / sizeof *core; i++) {
        struct slice name = slice_of(core[i]);
        if ((json_array_size(only) == 0 || matches_any(import, only, name)) && !is_excluded(import, shell, name))
            import_add(import, "environment", "pass", name);
    }
    if (!is_core && !is_none)
        import_included(import, shell, only);
    import_excluded(import, json_object_get(shell, "exclude"));
    if (json_object_size(set))
        import_set(import, "environment", "set", json_incref(set));
    if (json_is_true(json_object_get(shell, "ignore_default_excludes")))
        import_note(import,
                    "shell_environment_policy.ignore_default_excludes: variables that look like secrets are held "
                    "back all the same; name those to be handed on in environment.pass");
    import_note_others(import, shell, known, "keys of shell_environment_policy without a counterpart");
}

/* Of the profile that is chosen, else the general one. */
static const char *mode_of(const json_t *config)
{
    const char *chosen = string_at(config, "profile");
    const json_t *profile = chosen ? json_object_get(json_object_get(config, "profiles"), chosen) : NULL;
    const char *mode = string_at(profile, "sandbox_mode");

    return mode ? mode : string_at(config, "sandbox_mode");
}

bool import_codex(struct import *import, const json_t *config, struct error *err)
{
    static const char *const known[] = {"sandbox_mode",
                                        "sandbox_workspace_write",
                                        "default_permissions",
                                        "permissions",
                                        "shell_environment_policy",
                                        "profile",
                                        "profiles",
                                        NULL};
    const char *name = string_at(config, "default_permissions");
    struct profile profile = {.import = import,
                              .profiles = json_object_get(config, "permissions"),
                              .roots = {SLICE("$PROJECT_DIR")},
                              .root_count = 1};
    const char *mode = mode_of(config);

    if (!json_is_object(config))
        return error_set(err, "this is no config.toml of Codex");
    if (name && !mode) {
        profile.domains = json_object();
        bool good = import_profile(&profile, name, err);
        json_decref(profile.domains);
        if (!good)
            return false;
    } else if (!import_mode(import, config, mode, err)) {
        return false;
    }
    if (name && mode)
        import_note(import, "default_permissions: sandbox_mode counts, as in Codex, where both are given");
    else if (!name && profile.profiles)
        import_note(import, "permissions: default_permissions names none of them, so sandbox_mode counts");
    import_environment(import, json_object_get(config, "shell_environment_policy"));
    import_note(import, "preset:base is beneath: secrets are hidden and tokens held back");
    import_note_others(import, config, known, "settings that say nothing of what a command may do");
    return true;
}
