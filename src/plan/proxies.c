/* The variables of a filtered run, as srt 0.0.83 sets them: programs that know of
 * proxies get a refusal in words from them. Programs that do not are carried to
 * the same place, so none of these is needed, and what srt adds only for want of
 * that (an agent for Java, a relay for ssh) is left out.
 *
 * The password is the run's token: who else might reach the proxy does not have
 * it (attack 91). The user name says what runs, as srt has it. */
#include "plan/internal.h"

#include "base/text.h"

#include <nettle/base64.h>

enum { COMMAND_SHOWN_MAX = 100, ENCODED_MAX = BASE64_ENCODE_RAW_LENGTH(COMMAND_SHOWN_MAX) };

static const char *const http_names[] = {"HTTP_PROXY",        "HTTPS_PROXY",       "http_proxy", "https_proxy",
                                         "ALL_PROXY",         "all_proxy",         "GRPC_PROXY", "grpc_proxy",
                                         "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY"};
static const char *const socks_names[] = {"FTP_PROXY", "ftp_proxy"};
static const char *const direct_names[] = {"NO_PROXY", "no_proxy"};
static const char *const other_names[] = {"RSYNC_PROXY", "GIT_CONFIG_PARAMETERS", "GIT_SSH_COMMAND"};
static const char *const cloud_names[] = {"CLOUDSDK_PROXY_TYPE", "CLOUDSDK_PROXY_ADDRESS", "CLOUDSDK_PROXY_PORT",
                                          "CLOUDSDK_PROXY_USERNAME", "CLOUDSDK_PROXY_PASSWORD"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char direct[] = "localhost,127.0.0.1,::1,169.254.0.0/16,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16";

/* The command as its caller would type it. */
static struct slice command_text(const struct plan *plan)
{
    char *const *words = plan->policy->around.command;
    struct text out = text_in(plan->arena);

    if (!words || !words[0])
        return SLICE("");
    if (plan->policy->around.personality == PERSONALITY_SRT && words[1] && words[2]) {
        if (!words[3])
            return slice_of(words[2]); /* bash -c TEXT */
        words += 4;                    /* bash -c '"$@"' bash WORD... */
    }
    for (size_t i = 0; words[i] && out.len < COMMAND_SHOWN_MAX; i++)
        text_appendf(&out, "%s%s", i ? " " : "", shell_word(plan->arena, words[i]));
    return text_slice(&out);
}

static const char *user_name(const struct plan *plan)
{
    struct slice command = command_text(plan);
    char encoded[ENCODED_MAX + 1];
    size_t length = command.len < COMMAND_SHOWN_MAX ? command.len : COMMAND_SHOWN_MAX;

    base64_encode_raw(encoded, length, (const uint8_t *)command.ptr);
    encoded[BASE64_ENCODE_RAW_LENGTH(length)] = '\0';
    return arena_printf(plan->arena, "srt.%s", encoded);
}

/* Of the characters of base64, these three mean something in a URL. */
static const char *percent_encoded(struct arena *arena, const char *text)
{
    struct text out = text_in(arena);

    for (; *text; text++) {
        if (*text == '+' || *text == '/' || *text == '=')
            text_appendf(&out, "%%%02X", (unsigned)*text);
        else
            text_append_byte(&out, *text);
    }
    return arena_slice(arena, text_slice(&out)).ptr;
}

struct list {
    struct arena *arena;
    const char **items;
    size_t count;
};

static void add(struct list *list, const char *name, const char *value)
{
    list->items[list->count++] = arena_printf(list->arena, "%s=%s", name, value);
}

static void add_each(struct list *list, const char *const *names, size_t count, const char *value)
{
    for (size_t i = 0; i < count; i++)
        add(list, names[i], value);
}

/* `external`: of the user's own, which does not know our token. */
static const char *proxy_url(const struct plan *plan, const char *scheme, const char *login, bool external,
                             unsigned port)
{
    return arena_printf(plan->arena, "%s://%s%slocalhost:%u", scheme, external ? "" : login, external ? "" : "@", port);
}

size_t proxy_variables(const struct plan *plan, const char ***variables)
{
    enum {
        ALL = COUNT(http_names) + COUNT(socks_names) + COUNT(direct_names) + COUNT(other_names) + COUNT(cloud_names)
    };
    struct list list = {.arena = plan->arena};
    const struct policy *policy = plan->policy;

    if (plan->network != NETWORK_FILTERED || policy->network.keeps_proxy_variables)
        return 0;
    const char *user = user_name(plan);
    const char *token = policy->around.proxy_token ? policy->around.proxy_token : "TOKEN";
    const char *login = arena_printf(plan->arena, "%s:%s", percent_encoded(plan->arena, user), token);
    bool external = policy->network.http_proxy_port != 0;

    list.items = arena_alloc(plan->arena, ALL * sizeof *list.items);
    add_each(&list, http_names, COUNT(http_names), proxy_url(plan, "http", login, external, PLAN_HTTP_PORT));
    add_each(&list, socks_names, COUNT(socks_names),
             proxy_url(plan, "socks5h", login, policy->network.socks_proxy_port != 0, PLAN_SOCKS_PORT));
    add_each(&list, direct_names, COUNT(direct_names), direct);
    add(&list, "RSYNC_PROXY", arena_printf(plan->arena, "localhost:%d", PLAN_SOCKS_PORT));
    add(&list, "GIT_CONFIG_PARAMETERS", "'http.proxyAuthMethod=basic'");
    /* A connection that somebody else keeps open would be beside the policy. */
    add(&list, "GIT_SSH_COMMAND", "ssh -o ControlMaster=no -o ControlPath=none");
    add(&list, "CLOUDSDK_PROXY_TYPE", "http");
    add(&list, "CLOUDSDK_PROXY_ADDRESS", "localhost");
    add(&list, "CLOUDSDK_PROXY_PORT", arena_printf(plan->arena, "%d", PLAN_HTTP_PORT));
    if (!external) {
        add(&list, "CLOUDSDK_PROXY_USERNAME", user);
        add(&list, "CLOUDSDK_PROXY_PASSWORD", token);
    }
    *variables = list.items;
    return list.count;
}

static bool is_among(const char *const *names, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_is(name, names[i]))
            return true;
    }
    return false;
}

bool proxy_variable_is(const struct plan *plan, struct slice name)
{
    return plan->network == NETWORK_FILTERED && !plan->policy->network.keeps_proxy_variables &&
           (is_among(http_names, COUNT(http_names), name) || is_among(socks_names, COUNT(socks_names), name) ||
            is_among(direct_names, COUNT(direct_names), name) || is_among(other_names, COUNT(other_names), name) ||
            is_among(cloud_names, COUNT(cloud_names), name));
}
