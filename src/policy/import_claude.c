/* Settings of Claude Code: permissions that speak of files and hosts, and its sandbox
 * section, whose keys are srt's. What commands may be run is not a question that a
 * sandbox answers; that is said.
 *
 * Paths of permissions are those of gitignore: "//x" is absolute, "/x" lies in the
 * project, a name without a slash is meant at any depth. */
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

static struct slice path_of(struct import *import, struct slice path)
{
    const char *prefix = "";

    if (slice_starts(path, SLICE("//")))
        return import_path(import, without_all(slice_from(path, 1)));
    if (slice_starts(path, SLICE("/")))
        path = slice_from(path, 1);
    else if (slice_find(path, '/') == path.len && !slice_starts(path, SLICE("~")) && !slice_is(path, ".") &&
             !slice_is(path, "**"))
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

/* So that paths of all kinds can be compared. */
static struct slice comparable(struct import *import, struct slice path)
{
    const char *base = slice_starts(path, SLICE("/")) ? "" : slice_starts(path, SLICE("~")) ? "/home" : "/project";

    return path_normal(import->arena, SLICE("/"),
                       slice_of(arena_printf(import->arena, "%s/%.*s", base, (int)path.len, path.ptr)));
}

/* A denial wins over every allowance there; here the deeper path would. */
static bool is_denied(struct import *import, const json_t *permissions, struct slice path)
{
    const json_t *denied = json_object_get(permissions, "deny");
    struct slice wanted = comparable(import, path);

    for (size_t i = 0; i < json_array_size(denied); i++) {
        struct rule rule = rule_at(denied, i);
        struct pattern pattern;
        struct error ignored;
        size_t depth;
        if (slice_is(rule.tool, "Read") && rule.has_argument && rule.argument.len &&
            pattern_parse(import->arena, comparable(import, path_of(import, rule.argument)), false, &pattern,
                          &ignored) &&
            pattern_covers(&pattern, wanted, &depth))
            return true;
    }
    return false;
}

static bool is_everything(const struct rule *rule)
{
    return !rule->has_argument || !rule->argument.len || slice_is(rule->argument, "*") ||
           slice_is(rule->argument, "**");
}

/* True if there is a counterpart. */
static bool import_permission(struct import *import, const json_t *permissions, const struct rule *rule, bool allow)
{
    if (rule->has_argument && rule->argument.len && slice_is(rule->tool, "Read")) {
        struct slice path = path_of(import, rule->argument);
        if (!allow)
            import_hide(import, path, false);
        else if (is_denied(import, permissions, path))
            import_note(import, "permissions.allow \"Read(%.*s)\": permissions.deny has it, and wins",
                        (int)rule->argument.len, rule->argument.ptr);
        else
            import_add(import, "filesystem", "allowRead", path);
        return true;
    }
    if (!allow && is_edit(rule->tool) && is_everything(rule)) {
        import_add(import, "filesystem", "denyWrite", SLICE("."));
        return true;
    }
    if (rule->has_argument && rule->argument.len && is_edit(rule->tool)) {
        import_add(import, "filesystem", allow ? "allowWrite" : "denyWrite", path_of(import, rule->argument));
        return true;
    }
    if (slice_is(rule->tool, "WebFetch") && slice_starts(rule->argument, SLICE("domain:")) &&
        !(allow && slice_is(rule->argument, "domain:*"))) {
        import_add(import, "network", allow ? "allowedDomains" : "deniedDomains",
                   slice_from(rule->argument, strlen("domain:")));
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

static void import_asked(struct import *import, const json_t *permissions)
{
    const json_t *entries = json_object_get(permissions, "ask");

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *entry = json_string_value(json_array_get(entries, i));
        import_note(import, "permissions.ask \"%s\": nobody is asked; what is not allowed is denied",
                    entry ? entry : "?");
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
    static const char *const network_known[] = {"allowedDomains",
                                                "deniedDomains",
                                                "allowUnixSockets",
                                                "allowAllUnixSockets",
                                                "httpProxyPort",
                                                "socksProxyPort",
                                                "allowLocalBinding",
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
    static const char *const scalars[] = {"allowAllUnixSockets",
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
    for (size_t i = 0; scalars[i]; i++) {
        json_t *value = json_object_get(network, scalars[i]);
        if (value)
            import_set(import, "network", scalars[i], json_incref(value));
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
    import_add(import, "filesystem", "allowWrite", SLICE("."));
    import_permissions(import, permissions, "allow", true);
    import_permissions(import, permissions, "deny", false);
    import_asked(import, permissions);
    import_strings(import, json_object_get(permissions, "additionalDirectories"), "filesystem", "allowWrite", true);
    if (sandbox)
        import_sandbox(import, sandbox);
    import_environment(import, json_object_get(settings, "env"));
    import_note(import, "preset:base is beneath: secrets are hidden and tokens held back; \"extends\": [] for neither");
    import_note_others(import, permissions, permissions_known,
                       "keys of permissions that say nothing of what a command may do");
    import_note_others(import, settings, known, "settings that say nothing of what a command may do");
    return true;
}
