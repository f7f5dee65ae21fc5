/* What the command line adds, after all files: each option goes the way the key
 * it stands for would. */
#include "policy/loader.h"

#include "base/text.h"

static const struct {
    enum option_kind kind;
    const char *option;
    const char *object;
    const char *key;
} options[] = {
    {OPTION_ALLOW_READ, "--allow-read", "filesystem", "allowRead"},
    {OPTION_DENY_READ, "--deny-read", "filesystem", "denyRead"},
    {OPTION_ALLOW_WRITE, "--allow-write", "filesystem", "allowWrite"},
    {OPTION_DENY_WRITE, "--deny-write", "filesystem", "denyWrite"},
    {OPTION_ALLOW_DOMAIN, "--allow-domain", "network", "allowedDomains"},
    {OPTION_DENY_DOMAIN, "--deny-domain", "network", "deniedDomains"},
    {OPTION_ALLOW_UNIX, "--allow-unix", "network", "allowUnixSockets"},
    {OPTION_HOST_PORT, "--host-port", "network", "hostPorts"},
    {OPTION_PUBLISH, "--publish", "network", "publishPorts"},
    {OPTION_DEVICE, "--device", "filesystem", "devices"},
    {OPTION_ENV, "--env", "environment", "pass"},
    {OPTION_TIMEOUT, "--timeout", "limits", "wallSeconds"},
    {OPTION_MEMORY, "--memory", "limits", "memory"},
    {OPTION_PIDS, "--pids", "limits", "processes"},
};

static void apply_variable(struct loader *loader, const struct key *key, const struct place *place, struct slice text)
{
    size_t end = slice_find(text, '=');
    struct slice name = {text.ptr, end};

    if (end == 0)
        loader_problem(loader, place, "found \"%s\"; NAME or NAME=VALUE is expected", escaped(loader->arena, text));
    else if (end == text.len)
        list_add_text(loader, key, place, text);
    else
        environment_set(loader->policy, arena_slice(loader->arena, name), slice_from(text, end + 1),
                        loader_origin(loader, place));
}

/* 90, 90s, 5m, 2h, 1d: in seconds. */
static bool seconds_parse(struct slice text, uint64_t most, uint64_t *seconds)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    uint64_t scale = 1;

    for (size_t i = 0; text.len > 1 && i < sizeof units / sizeof *units; i++) {
        if (text.ptr[text.len - 1] == units[i].unit) {
            scale = units[i].seconds;
            text.len--;
            break;
        }
    }
    *seconds = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *seconds > most)
            return false;
        *seconds = *seconds * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *seconds *= scale;
    return text.len > 0 && *seconds >= 1 && *seconds <= most;
}

static void apply_limit(struct loader *loader, const struct key *key, const struct place *place, enum option_kind kind,
                        struct slice text)
{
    uint64_t *stored = (uint64_t *)(void *)((char *)loader->policy + key->offset);
    const char *expected = kind == OPTION_TIMEOUT  ? "a time (seconds, or a number with s, m, h or d like 5m)"
                           : kind == OPTION_MEMORY ? "a size (bytes, or a number with K, M, G or T like 2G)"
                                                   : "a number of processes";
    bool good;

    if (kind == OPTION_TIMEOUT)
        good = seconds_parse(text, (uint64_t)key->most, stored);
    else
        good = size_parse(text, stored) && *stored > 0 && (key->most == 0 || *stored <= (uint64_t)key->most);
    if (!good)
        loader_problem(loader, place, "found \"%s\"; %s is expected", escaped(loader->arena, text), expected);
    else if (key->origin_offset)
        *(struct origin *)(void *)((char *)loader->policy + key->origin_offset) = loader_origin(loader, place);
}

static bool opens_network(enum option_kind kind)
{
    return kind == OPTION_ALLOW_DOMAIN || kind == OPTION_HOST_PORT || kind == OPTION_PUBLISH;
}

/* Who names a host for this run wants it reached, whatever the preset says. */
static void open_network(struct loader *loader, const struct place *place)
{
    struct policy *policy = loader->policy;

    if (policy->network.mode != NETWORK_NONE)
        return;
    policy->network.mode = NETWORK_FILTERED;
    policy->network.mode_origin = loader_origin(loader, place);
}

static void apply_option(struct loader *loader, const struct policy_option *option)
{
    size_t i = 0;

    while (options[i].kind != option->kind)
        i++;
    const struct key *key = key_find(key_find(policy_keys, options[i].object)->children, options[i].key);
    struct place place = {.name = options[i].option};
    struct slice text = arena_slice(loader->arena, slice_of(option->value));

    if (text.len == 0) {
        loader_problem(loader, &place, "its value is empty");
        return;
    }
    switch (option->kind) {
    case OPTION_ENV:
        apply_variable(loader, key, &place, text);
        break;
    case OPTION_TIMEOUT:
    case OPTION_MEMORY:
    case OPTION_PIDS:
        apply_limit(loader, key, &place, option->kind, text);
        break;
    default:
        if (!list_add_text(loader, key, &place, text))
            break;
        if (key->unbuilt)
            unbuilt_note(loader, key, &place, true);
        if (opens_network(option->kind))
            open_network(loader, &place);
        break;
    }
}

void options_apply(struct loader *loader, const struct policy_request *request)
{
    loader->file = "command line";
    for (size_t i = 0; i < request->option_count; i++)
        apply_option(loader, &request->options[i]);
}
