/* Settings of Claude Code: permissions that speak of files and hosts, and its sandbox
 * section, whose keys are srt's. What commands may be run is not a question that a
 * sandbox answers; that is said.
 *
 * Paths of permissions are those of gitignore: "//x" is absolute, "/x" lies in the
 * project, a name without a slash, but for one at its end, is meant at any depth.
 *
 * Denials win there, and what is asked about is not given; here the deeper path wins,
 * and a literal one over a pattern. So whatever is allowed is dropped if a denial may
 * mean it. Little is lost: what nothing hides can be read anyway. */
#include "base/path.h"
#include "base/text.h"
#include "policy/import.h"
#include "policy/pattern.h"

struct rule {
    struct slice tool;
    struct slice argument; /* between the parentheses */
    bool has_argument;
};

static struct rule rule_of(struct slice text)
{
    size_t open = slice_find(text, '(');

    if (open == text.len || !slice_ends(text, SLICE(")")))
        return (struct rule){.tool = text};
    return (struct rule){{text.ptr, open}, {text.ptr + open + 1, text.len - open - 2}, true};
}

static bool is_edit(struct slice tool)
{
    return slice_is(tool, "Edit") || slice_is(tool, "Write") || slice_is(tool, "MultiEdit") ||
           slice_is(tool, "NotebookEdit");
}

/* Two stars at the end stand for all that is in a directory. */
static struct slice without_all(struct slice path)
{
    if (slice_ends(path, SLICE("/**")) && path.len > 3)
        path.len -= 3;
    else if (slice_is(path, "/**"))
        path.len = 1;
    return path;
}

/* A slash at the end says only that a directory is meant. */
static bool is_at_any_depth(struct slice path)
{
    while (slice_ends(path, SLICE("/")))
        path.len--;
    return path.len && slice_find(path, '/') == path.len && !slice_is(path, "~") && !slice_is(path, ".") &&
           !slice_is(path, "..") && !slice_is(path, "**");
}

static struct slice path_of(struct import *import, struct slice path)
{
    const char *prefix = "";

    if (slice_starts(path, SLICE("//")))
        return import_path(import, without_all(slice_from(path, 1)));
    if (slice_starts(path, SLICE("/")))
        path = slice_from(path, 1);
    else if (is_at_any_depth(path))
        prefix = "**/";
    path = without_all(path);
    if (!path.len || slice_is(path, "**"))
        path = SLICE(".");
    return slice_of(arena_printf(import->arena, "%s%s", prefix, import_path(import, path).ptr));
}

static struct rule rule_at(const json_t *entries, size_t i)
{
    const json_t *entry = json_array_get(entries, i);

    return rule_of(json_is_string(entry) ? json_slice(entry) : SLICE(""));
}

/* Where a path starts: "/", "/home" or "/project". */
static const char *base_of(struct slice path)
{
    if (slice_starts(path, SLICE("/")))
        return "/";
    return slice_is(path, "~") || slice_starts(path, SLICE("~/")) ? "/home" : "/project";
}

/* A path of any kind, with a stand-in for the base that is not known here. */
static bool comparable(struct import *import, struct slice path, struct pattern *pattern)
{
    struct slice below =
        slice_starts(path, SLICE("~")) && strcmp(base_of(path), "/home") == 0 ? slice_from(path, 1) : path;
    const char *text = arena_printf(import->arena, "%s/%.*s", base_of(path), (int)below.len, below.ptr);
    struct error ignored;

    return pattern_parse(import->arena, path_normal(import->arena, SLICE("/"), slice_of(text)), false, pattern,
                         &ignored);
}

/* Where neither leads out with "..", which may lead back in. */
static bool have_one_base(struct slice one, struct slice other)
{
    return strcmp(base_of(one), base_of(other)) == 0 && !memmem(one.ptr, one.len, "..", 2) &&
           !memmem(other.ptr, other.len, "..", 2);
}

static struct slice below_base(struct slice text, const char *base)
{
    if (strcmp(base, "/") == 0 || !path_covers(slice_of(base), text))
        return text;
    text = slice_from(text, strlen(base));
    return text.len ? text : SLICE("/");
}

/* May something that `wanted` gives be meant by `denied`, and given all the same? */
static bool may_meet(struct import *import, struct slice wanted, struct slice denied)
{
    struct pattern gives;
    struct pattern denies;
    struct pattern by_name;
    struct error ignored;
    size_t depth;

    if (!comparable(import, wanted, &gives) || !comparable(import, denied, &denies))
        return true;
    if (have_one_base(wanted, denied)) {
        if (gives.literal)
            return pattern_covers(&denies, gives.text, &depth);
        return path_covers(gives.fixed, denies.fixed) || path_covers(denies.fixed, gives.fixed);
    }
    /* One base may lie anywhere in the other: the last name of the denial tells. */
    struct slice name = path_name(below_base(denies.text, base_of(denied)));
    if (!name.len)
        return strcmp(base_of(denied), "/project") == 0 || !slice_is(wanted, ".");
    const char *anywhere = arena_printf(import->arena, "/**/%.*s", (int)name.len, name.ptr);
    return !gives.literal || !pattern_parse(import->arena, slice_of(anywhere), false, &by_name, &ignored) ||
           pattern_covers(&by_name, below_base(gives.text, base_of(wanted)), &depth);
}

static bool is_everything(const struct rule *rule)
{
    return !rule->has_argument || !rule->argument.len || slice_is(rule->argument, "*") ||
           slice_is(rule->argument, "**");
}

enum grant { GRANT_READ, GRANT_WRITE, GRANT_HOST };

static bool rule_denies(struct import *import, const struct rule *rule, enum grant grant, struct slice path)
{
    if (grant == GRANT_HOST)
        return slice_is(rule->tool, "WebFetch") && is_everything(rule);
    if (grant == GRANT_WRITE && is_edit(rule->tool) && is_everything(rule))
        return true;
    return slice_is(rule->tool, "Read") && rule->has_argument && rule->argument.len &&
           may_meet(import, path, path_of(import, rule->argument));
}

/* The name of the list that has a denial of it, or NULL. */
static const char *denied_by(struct import *import, const json_t *permissions, enum grant grant, struct slice path)
{
    static const char *const lists[] = {"deny", "ask"};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *entries = json_object_get(permissions, lists[i]);
        for (size_t j = 0; j < json_array_size(entries); j++) {
            struct rule rule = rule_at(entries, j);
            if (rule_denies(import, &rule, grant, path))
                return lists[i];
        }
    }
    return NULL;
}

/* `what` is how the settings name it. */
static void give(struct import *import, const json_t *permissions, enum grant grant, struct slice what,
                 struct slice value)
{
    const char *list = denied_by(import, permissions, grant, value);

    if (list)
        import_note(import, "%.*s: permissions.%s has it, or may have, and wins", (int)what.len, what.ptr, list);
    else if (grant == GRANT_HOST)
        import_add(import, "network", "allowedDomains", value);
    else
        import_add(import, "filesystem", grant == GRANT_READ ? "allowRead" : "allowWrite", value);
}

static struct slice allowed_name(struct import *import, const struct rule *rule)
{
    return slice_of(arena_printf(import->arena, "permissions.allow \"%.*s(%.*s)\"", (int)rule->tool.len, rule->tool.ptr,
                                 (int)rule->argument.len, rule->argument.ptr));
}

static void hide(struct import *import, struct slice path)
{
    import_hide(import, path, false);
    if (slice_is(path, "/") || slice_is(path, "~") || slice_is(path, "~/"))
        import_note(import,
                    "\"%.*s\" is hidden but for the project, if that lies there; a rule of access \"none\" hides both",
                    (int)path.len, path.ptr);
}

/* True if there is a counterpart. */
static bool import_permission(struct import *import, const json_t *permissions, const struct rule *rule, bool allow)
{
    if (rule->has_argument && rule->argument.len && slice_is(rule->tool, "Read")) {
        struct slice path = path_of(import, rule->argument);
        if (allow)
            give(import, permissions, GRANT_READ, allowed_name(import, rule), path);
        else
            hide(import, path);
        return true;
    }
    if (!allow && is_edit(rule->tool) && is_everything(rule)) {
        import_add(import, "filesystem", "denyWrite", SLICE("."));
        return true;
    }
    if (rule->has_argument && rule->argument.len && is_edit(rule->tool)) {
        struct slice path = path_of(import, rule->argument);
        if (allow)
            give(import, permissions, GRANT_WRITE, allowed_name(import, rule), path);
        else
            import_add(import, "filesystem", "denyWrite", path);
        return true;
    }
    if (slice_is(rule->tool, "WebFetch") && slice_starts(rule->argument, SLICE("domain:")) &&
        !(allow && slice_is(rule->argument, "domain:*"))) {
        struct slice host = slice_from(rule->argument, strlen("domain:"));
        if (allow)
            give(import, permissions, GRANT_HOST, allowed_name(import, rule), host);
        else
            import_add(import, "network", "deniedDomains", host);
        return true;
    }
    return false;
}

static const char *why_not(const struct rule *rule, bool allow)
{
    if (slice_is(rule->tool, "Bash"))
        return "cloche confines what a command does, not which command is run";
    if (slice_starts(rule->tool, SLICE("mcp__")))
        return "what an MCP server may do is said by a policy of its own: cloche run -p mcp -- SERVER";
    if (slice_is(rule->tool, "WebFetch") && allow)
        return "to let commands reach every host, add \"*\" to network.allowedDomains";
    if (slice_is(rule->tool, "WebFetch"))
        return "there is no network but for network.allowedDomains";
    return "it speaks of a tool of the agent, not of what commands may do";
}

static void import_permissions(struct import *import, const json_t *permissions, const char *list, bool allow)
{
    const json_t *entries = json_object_get(permissions, list);

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *entry = json_string_value(json_array_get(entries, i));
        struct rule rule = rule_at(entries, i);
        if (!import_permission(import, permissions, &rule, allow))
            import_note(import, "permissions.%s \"%s\": %s", list, entry ? entry : "?", why_not(&rule, allow));
    }
}

/* Nobody is asked, so it is denied; not even --ask speaks of what a rule denies by its name. */
static void import_asked(struct import *import, const json_t *permissions)
{
    const json_t *entries = json_object_get(permissions, "ask");

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *entry = json_string_value(json_array_get(entries, i));
        struct rule rule = rule_at(entries, i);
        const char *list = slice_is(rule.tool, "WebFetch") ? "network.deniedDomains"
                           : is_edit(rule.tool)            ? "filesystem.denyWrite"
                                                           : "filesystem.denyRead";
        if (import_permission(import, permissions, &rule, false))
            import_note(import,
                        "permissions.ask \"%s\": nobody is asked, so it is denied; take it out of %s to allow it",
                        entry ? entry : "?", list);
        else
            import_note(import, "permissions.ask \"%s\": nobody is asked, and it is not denied: %s",
                        entry ? entry : "?", why_not(&rule, false));
    }
}

static void import_directories(struct import *import, const json_t *permissions)
{
    const json_t *entries = json_object_get(permissions, "additionalDirectories");

    for (size_t i = 0; i < json_array_size(entries); i++) {
        if (!json_is_string(json_array_get(entries, i)))
            continue;
        struct slice path = json_slice(json_array_get(entries, i));
        const char *what =
            arena_printf(import->arena, "permissions.additionalDirectories \"%.*s\"", (int)path.len, path.ptr);
        if (slice_starts(path, SLICE("//")))
            path = slice_from(path, 1);
        give(import, permissions, GRANT_WRITE, slice_of(what), import_path(import, path));
    }
}

static void import_strings(struct import *import, const json_t *list, const char *section, const char *key, bool paths)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (!json_is_string(entry))
            continue;
        struct slice text = json_slice(entry);
        if (paths && slice_starts(text, SLICE("//")))
            text = slice_from(text, 1);
        if (paths)
            text = import_path(import, text);
        if (strcmp(key, "denyRead") == 0)
            import_hide(import, text, false);
        else
            import_add(import, section, key, text);
    }
}

static void import_sandbox(struct import *import, const json_t *sandbox)
{
    static const char *const known[] = {"enabled", "network", "filesystem", "ignoreViolations", "credentials", NULL};
    enum { NETWORK_APART = 4 }; /* those that follow are taken as they are */
    static const char *const network_known[] = {"allowedDomains",
                                                "deniedDomains",
                                                "allowUnixSockets",
                                                "allowLocalBinding",
                                                "allowAllUnixSockets",
                                                "httpProxyPort",
                                                "socksProxyPort",
                                                "strictAllowlist",
                                                "deniedResolvedAddresses",
                                                "deniedDomainReasons",
                                                "refuseOpaqueTunnels",
                                                "requireHostMatch",
                                                "parentProxy",
                                                "mitmProxy",
                                                "tlsTerminate",
                                                NULL};
    static const char *const paths[] = {"allowRead", "denyRead", "allowWrite", "denyWrite", NULL};
    const json_t *network = json_object_get(sandbox, "network");
    const json_t *files = json_object_get(sandbox, "filesystem");
    json_t *ignored = json_object_get(sandbox, "ignoreViolations");

    if (!json_is_true(json_object_get(sandbox, "enabled")))
        import_note(import, "sandbox.enabled is not true: Claude Code would run commands without any sandbox");
    import_strings(import, json_object_get(network, "allowedDomains"), "network", "allowedDomains", false);
    import_strings(import, json_object_get(network, "deniedDomains"), "network", "deniedDomains", false);
    import_strings(import, json_object_get(network, "allowUnixSockets"), "network", "allowUnixSockets", true);
    for (size_t i = 0; paths[i]; i++)
        import_strings(import, json_object_get(files, paths[i]), "filesystem", paths[i], true);
    for (size_t i = NETWORK_APART; network_known[i]; i++) {
        json_t *value = json_object_get(network, network_known[i]);
        if (value)
            import_set(import, "network", network_known[i], json_incref(value));
    }
    if (json_is_object(ignored))
        json_object_set(import->policy, "ignoreViolations", ignored);
    if (json_object_get(sandbox, "credentials"))
        json_object_set(import->policy, "credentials", json_object_get(sandbox, "credentials"));
    import_note_others(import, sandbox, known, "keys of sandbox without a counterpart");
    import_note_others(import, network, network_known, "keys of sandbox.network without a counterpart");
    import_note_others(import, files, paths, "keys of sandbox.filesystem without a counterpart");
}

static void import_environment(struct import *import, const json_t *environment)
{
    json_t *set = json_object();
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)environment, name, value)
    {
        if (json_is_string(value))
            json_object_set(set, name, value);
    }
    if (json_object_size(set))
        import_set(import, "environment", "set", set);
    else
        json_decref(set);
}

bool import_claude(struct import *import, const json_t *settings, struct error *err)
{
    static const char *const known[] = {"permissions", "sandbox", "env", "$schema", NULL};
    static const char *const permissions_known[] = {"allow", "deny", "ask", "additionalDirectories", NULL};
    const json_t *permissions = json_object_get(settings, "permissions");
    const json_t *sandbox = json_object_get(settings, "sandbox");

    if (!json_is_object(settings) || (!permissions && !sandbox))
        return error_set(err, "it has neither \"permissions\" nor \"sandbox\": these are no settings of Claude Code "
                              "(a JSON policy of Codex needs no import: cloche run -s codex:FILE)");
    give(import, permissions, GRANT_WRITE, SLICE("writing in the project"), SLICE("."));
    import_permissions(import, permissions, "allow", true);
    import_permissions(import, permissions, "deny", false);
    import_asked(import, permissions);
    import_directories(import, permissions);
    if (sandbox)
        import_sandbox(import, sandbox);
    import_environment(import, json_object_get(settings, "env"));
    import_note(import, "preset:base is beneath: secrets are hidden and tokens held back; \"extends\": [] for neither");
    import_note_others(import, permissions, permissions_known,
                       "keys of permissions that say nothing of what a command may do");
    import_note_others(import, settings, known, "settings that say nothing of what a command may do");
    return true;
}
