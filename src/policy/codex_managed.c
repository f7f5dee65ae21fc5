/* Codex's managed proxy: a run that has no network but the proxies Codex itself
 * serves on the host's loopback, which the proxy variables name. Those ports are
 * brought in as hostPorts, under their own numbers, so the variables are true
 * inside as they are outside and none is rewritten; everything else stays out.
 *
 * 3128 and 1080 are inside those of cloche's own proxies, so that there the user's
 * own take their place, as network.httpProxyPort has it. */
#include "policy/codex.h"

#include "base/text.h"
#include "policy/loader.h"

enum { HTTP_PORT = 3128, SOCKS_PORT = 1080, DEFAULT_HTTPS = 443, DEFAULT_HTTP = 80, DEFAULT_SOCKS = 1080 };

static const char *const proxy_names[] = {"HTTP_PROXY",
                                          "HTTPS_PROXY",
                                          "ALL_PROXY",
                                          "FTP_PROXY",
                                          "WS_PROXY",
                                          "WSS_PROXY",
                                          "YARN_HTTP_PROXY",
                                          "YARN_HTTPS_PROXY",
                                          "NPM_CONFIG_HTTP_PROXY",
                                          "NPM_CONFIG_HTTPS_PROXY",
                                          "NPM_CONFIG_PROXY",
                                          "BUNDLE_HTTP_PROXY",
                                          "BUNDLE_HTTPS_PROXY",
                                          "PIP_PROXY",
                                          "DOCKER_HTTP_PROXY",
                                          "DOCKER_HTTPS_PROXY",
                                          NULL};

static bool is_proxy_variable(struct slice name)
{
    for (size_t i = 0; proxy_names[i]; i++) {
        if (slice_equal_ignoring_case(name, slice_of(proxy_names[i])))
            return true;
    }
    return false;
}

static uint16_t default_port(struct slice scheme)
{
    if (slice_starts(scheme, SLICE("socks")))
        return DEFAULT_SOCKS;
    return slice_equal_ignoring_case(scheme, SLICE("https")) ? DEFAULT_HTTPS : DEFAULT_HTTP;
}

static bool is_loopback(struct slice host)
{
    return slice_equal_ignoring_case(host, SLICE("localhost")) || slice_is(host, "127.0.0.1") ||
           slice_is(host, "[::1]");
}

/* [scheme://][user[:password]@]host[:port][/...]: the port, 0 unless it is one of
 * this host's loopback. */
static uint16_t loopback_port(struct slice url)
{
    const char *mark = url.len ? memmem(url.ptr, url.len, "://", 3) : NULL;
    struct slice scheme = {url.ptr, mark ? (size_t)(mark - url.ptr) : 0};
    struct slice rest = mark ? slice_from(url, scheme.len + 3) : url;
    size_t end = 0;
    unsigned port = 0;

    while (end < rest.len && !strchr("/?#\\", rest.ptr[end]))
        end++;
    rest.len = end;
    const char *at = rest.len ? memrchr(rest.ptr, '@', rest.len) : NULL;
    if (at)
        rest = slice_from(rest, (size_t)(at - rest.ptr) + 1);
    size_t colon = rest.len;
    while (colon > 0 && rest.ptr[colon - 1] >= '0' && rest.ptr[colon - 1] <= '9')
        colon--;
    bool has_port = colon > 0 && colon < rest.len && rest.ptr[colon - 1] == ':';
    struct slice host = {rest.ptr, has_port ? colon - 1 : rest.len};
    for (size_t i = colon; has_port && i < rest.len && port <= UINT16_MAX; i++)
        port = port * 10 + (unsigned)(rest.ptr[i] - '0');
    if (!is_loopback(host) || port > UINT16_MAX)
        return 0;
    return has_port ? (uint16_t)port : default_port(scheme);
}

static struct slice trimmed(struct slice text)
{
    while (text.len && strchr(" \t\r\n", text.ptr[0]))
        text = slice_from(text, 1);
    while (text.len && strchr(" \t\r\n", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* The value of a proxy variable that says something; empty otherwise. */
static struct slice proxy_value(const char *variable, struct slice *name)
{
    struct slice text = slice_of(variable);

    *name = (struct slice){text.ptr, slice_find(text, '=')};
    return name->len < text.len && is_proxy_variable(*name) ? trimmed(slice_from(text, name->len + 1)) : SLICE("");
}

const char *codex_proxies_missing(char *const *environment)
{
    bool any = false;
    struct slice name;

    for (; environment && *environment; environment++) {
        struct slice url = proxy_value(*environment, &name);
        any = any || url.len;
        if (url.len && loopback_port(url))
            return NULL;
    }
    return any ? "managed proxy mode requires parseable loopback proxy endpoints"
               : "managed proxy mode requires proxy environment variables";
}

static void bring_in(struct loader *loader, uint16_t port, struct origin origin)
{
    struct policy *policy = loader->policy;

    if (port == HTTP_PORT)
        policy->network.http_proxy_port = port;
    else if (port == SOCKS_PORT)
        policy->network.socks_proxy_port = port;
    else
        policy_add_port(policy, &policy->network.host_ports, port, origin);
}

static void bring_proxies_in(struct loader *loader)
{
    const char *missing = codex_proxies_missing(loader->around.environment);
    struct slice name;

    if (missing)
        loader_problem(loader, NULL, "%s", missing);
    for (char *const *variable = loader->around.environment; variable && *variable; variable++) {
        struct slice url = proxy_value(*variable, &name);
        uint16_t port = url.len ? loopback_port(url) : 0;
        if (port)
            bring_in(loader, port, (struct origin){"environment", escaped(loader->arena, name)});
    }
}

static const json_t *list_member(struct loader *loader, const json_t *root, const struct place *place)
{
    const json_t *array = json_object_get(root, place->name);

    if (!array || json_is_array(array))
        return array;
    loader_problem(loader, place, "found %s; an array is expected", value_words(loader->arena, array));
    return NULL;
}

static void ports_member(struct loader *loader, const json_t *root)
{
    struct place place = {.name = "loopbackPorts"};
    const json_t *array = list_member(loader, root, &place);

    for (size_t i = 0; i < json_array_size(array) && !loader->problems_unsaid; i++) {
        struct place here = {.parent = &place, .index = i};
        int64_t port;
        if (value_integer(json_array_get(array, i), 1, UINT16_MAX, &port))
            bring_in(loader, (uint16_t)port, loader_origin(loader, &here));
        else
            loader_problem(loader, &here, "found %s; a port from 1 to 65535 is expected",
                           value_words(loader->arena, json_array_get(array, i)));
    }
}

static void sockets_member(struct loader *loader, const json_t *root)
{
    struct place place = {.name = "allowUnixSockets"};
    const json_t *array = list_member(loader, root, &place);
    struct policy *policy = loader->policy;

    for (size_t i = 0; i < json_array_size(array) && !loader->problems_unsaid; i++) {
        struct place here = {.parent = &place, .index = i};
        struct slice path;
        if (codex_path(loader, &here, json_array_get(array, i), &path))
            policy_add_name(policy, &policy->network.unix_sockets, path, loader_origin(loader, &here));
    }
}

void codex_managed_network(struct loader *loader, const json_t *root)
{
    static const char *const members[] = {"loopbackPorts", "allowLocalBinding", "allowUnixSockets",
                                          "dangerouslyAllowAllUnixSockets", NULL};
    struct place at_sockets = {.name = "dangerouslyAllowAllUnixSockets"};
    struct policy *policy = loader->policy;

    if (!codex_members(loader, NULL, root, members))
        return;
    policy->network.mode = NETWORK_FILTERED;
    policy->network.mode_origin = loader_origin(loader, NULL);
    policy->network.keeps_proxy_variables = true;
    policy->network.allow_all_unix_sockets = codex_flag(loader, NULL, root, "dangerouslyAllowAllUnixSockets", false);
    policy->network.all_unix_origin = loader_origin(loader, &at_sockets);
    policy->unconfined = false;
    /* A run has a loopback of its own and may always bind to it. */
    codex_flag(loader, NULL, root, "allowLocalBinding", false);
    ports_member(loader, root);
    sockets_member(loader, root);
    bring_proxies_in(loader);
}
