/* Words for what happened on the network. Names come from inside: they are
 * canonical host names when S has judged them, and shown escaped all the same. */
#include "session/refused_hosts.h"

#include "base/log.h"
#include "base/text.h"

#include <string.h>

static const char *protocol_words(enum net_protocol protocol)
{
    switch (protocol) {
    case NET_TRANSPARENT:
        return "connect";
    case NET_HTTP:
        return "HTTP proxy";
    case NET_HTTP_CONNECT:
        return "HTTP proxy, tunnel";
    case NET_SOCKS:
        return "SOCKS proxy";
    case NET_DNS:
        return "DNS";
    case NET_HOST_PORT:
        return "port of the host";
    case NET_PUBLISHED:
        return "published port";
    }
    return "?";
}

static const char *refusal_words(enum net_refusal refusal)
{
    switch (refusal) {
    case NET_NOT_REFUSED:
        break;
    case NET_NOT_ALLOWED:
        return "not allowed";
    case NET_BAD_ADDRESS:
        return "it leads to an address that names must not lead to";
    case NET_NAME_MISMATCH:
        return "the connection was for another name";
    case NET_OPAQUE:
        return "tunnels whose content cannot be seen are refused";
    case NET_UNASSIGNED:
        return "the address belongs to no name";
    case NET_BAD_REQUEST:
        return "what was sent is not a request that can be read in one way only";
    case NET_NO_TOKEN:
        return "the proxy's password was missing or wrong";
    case NET_UNREACHABLE:
        return "nobody answers there";
    case NET_BUSY:
        return "too many connections at once";
    }
    return "refused";
}

static const char *reason_of(struct arena *arena, const struct net_event *event)
{
    if (event->reason.len)
        return escaped(arena, event->reason);
    return refusal_words(event->refusal);
}

static const char *rule_of(struct arena *arena, const struct decision *decision)
{
    if (!decision || !decision->origin.file)
        return "";
    return arena_printf(arena, " (%s: %s)", escaped(arena, slice_of(decision->origin.file)),
                        decision->origin.path ? decision->origin.path : "");
}

static const char *place_of(struct arena *arena, struct slice name, uint16_t port)
{
    const char *shown = name.len ? escaped(arena, name) : "?";
    bool brackets = port && slice_find(name, ':') < name.len;

    if (!port)
        return shown;
    return arena_printf(arena, "%s%s%s:%u", brackets ? "[" : "", shown, brackets ? "]" : "", (unsigned)port);
}

static void say_now(struct arena *arena, const struct net_event *event)
{
    const char *place = place_of(arena, event->name, event->port);

    if (event->refusal == NET_NOT_REFUSED)
        log_detail("net: %s, %s: %llu bytes out, %llu in, %llu ms%s", place, protocol_words(event->protocol),
                   (unsigned long long)event->sent, (unsigned long long)event->received,
                   (unsigned long long)event->milliseconds, rule_of(arena, event->decision));
    else
        log_detail("net: refused %s, %s: %s%s", place, protocol_words(event->protocol), reason_of(arena, event),
                   rule_of(arena, event->decision));
}

/* What is the network's own trouble, or the client's, is no matter of policy. */
static bool is_worth_a_summary(enum net_refusal refusal)
{
    return refusal != NET_NOT_REFUSED && refusal != NET_UNREACHABLE && refusal != NET_BUSY &&
           refusal != NET_BAD_REQUEST;
}

static void remember(struct refused_hosts *refused, struct arena *arena, const struct net_event *event)
{
    struct slice name = {event->name.ptr,
                         event->name.len < HOST_NAME_MAX_LENGTH ? event->name.len : HOST_NAME_MAX_LENGTH};

    for (size_t i = 0; i < refused->count; i++) {
        struct refused_host *known = &refused->items[i];
        if (known->port == event->port && slice_is(name, known->name) && known->refusal == event->refusal) {
            known->count++;
            return;
        }
    }
    if (refused->count == REFUSED_HOSTS_MAX) {
        refused->unlisted++;
        return;
    }
    struct refused_host *host = &refused->items[refused->count++];
    const char *reason = reason_of(arena, event);
    size_t length = strlen(reason) < NET_REASON_MAX ? strlen(reason) : NET_REASON_MAX - 1;
    *host = (struct refused_host){.port = event->port,
                                  .refusal = event->refusal,
                                  .by_policy = event->refusal == NET_NOT_ALLOWED &&
                                               (!event->decision || event->decision->rule_text.len == 0),
                                  .count = 1};
    memcpy(host->name, name.ptr, name.len);
    memcpy(host->reason, reason, length);
    net_client_find(refused->init, event->protocol == NET_DNS, event->client_port, &host->client);
}

void refused_hosts_note(struct refused_hosts *refused, struct arena *arena, const struct net_event *event)
{
    say_now(arena, event);
    if (is_worth_a_summary(event->refusal))
        remember(refused, arena, event);
}

void refused_hosts_say(const struct refused_hosts *refused)
{
    enum { SHOWN_MAX = 10 };
    struct arena arena ARENA_CLEANUP = {0};
    size_t shown = refused->count < SHOWN_MAX ? refused->count : SHOWN_MAX;

    for (size_t i = 0; i < shown; i++) {
        const struct refused_host *host = &refused->items[i];
        const char *place = place_of(&arena, slice_of(host->name), host->port);
        const char *times = host->count > 1 ? arena_printf(&arena, ", %zu times", host->count) : "";
        const char *who = host->client.pid
                              ? arena_printf(&arena, " by %s (process %d)",
                                             escaped(&arena, slice_of(host->client.program)), (int)host->client.pid)
                              : "";
        if (host->by_policy)
            log_warning("denied: network to %s%s%s: %s; to allow it: --allow-domain %s", place, who, times,
                        host->reason, shell_word(&arena, place));
        else
            log_warning("denied: network to %s%s%s: %s", place, who, times, host->reason);
    }
    if (refused->count > shown || refused->unlisted)
        log_warning("denied: %zu more on the network; -v tells each", refused->count - shown + refused->unlisted);
}
