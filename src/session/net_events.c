/* Words for what happened on the network. Names come from inside: they are
 * canonical host names when S has judged them, and shown escaped all the same. */
#include "session/net_events.h"

#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char *protocol_name(enum net_protocol protocol)
{
    switch (protocol) {
    case NET_TRANSPARENT:
        return "tcp";
    case NET_HTTP:
        return "http";
    case NET_HTTP_CONNECT:
        return "http-connect";
    case NET_SOCKS:
        return "socks";
    case NET_DNS:
        return "dns";
    case NET_HOST_PORT:
        return "host-port";
    case NET_PUBLISHED:
        return "published";
    case NET_DATAGRAM:
        return "udp";
    }
    return "?";
}

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
    case NET_DATAGRAM:
        return "UDP";
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

static struct slice reason_of(const struct net_event *event)
{
    if (event->reason.len || event->refusal == NET_NOT_REFUSED)
        return event->reason;
    if (event->protocol == NET_DATAGRAM)
        return SLICE("datagrams (UDP) are carried to name servers only");
    return slice_of(refusal_words(event->refusal));
}

static const char *rule_of(struct arena *arena, const struct decision *decision)
{
    if (!decision || !decision->origin.file)
        return "";
    return arena_printf(arena, " (%s: %s)", escaped(arena, slice_of(decision->origin.file)),
                        decision->origin.path ? decision->origin.path : "");
}

static struct slice place_of(struct arena *arena, struct slice name, uint16_t port)
{
    struct text out = text_in(arena);
    bool brackets = port && slice_find(name, ':') < name.len;

    if (name.len == 0)
        name = SLICE("?");
    text_append_string(&out, brackets ? "[" : "");
    text_append(&out, name);
    text_append_string(&out, brackets ? "]" : "");
    if (port)
        text_appendf(&out, ":%u", (unsigned)port);
    return text_slice(&out);
}

static void say_now(struct arena *arena, const struct net_event *event, struct slice place)
{
    const char *shown = escaped(arena, place);

    if (event->refusal == NET_NOT_REFUSED)
        log_detail("net: %s, %s: %llu bytes out, %llu in, %llu ms%s", shown, protocol_words(event->protocol),
                   (unsigned long long)event->sent, (unsigned long long)event->received,
                   (unsigned long long)event->milliseconds, rule_of(arena, event->decision));
    else
        log_detail("net: refused %s, %s: %s%s", shown, protocol_words(event->protocol),
                   escaped(arena, reason_of(event)), rule_of(arena, event->decision));
}

/* What is the network's own trouble, or the client's, is no matter of policy. */
static enum event_verdict verdict_of(enum net_refusal refusal)
{
    switch (refusal) {
    case NET_NOT_REFUSED:
        return EVENT_ALLOWED;
    case NET_UNREACHABLE:
    case NET_BUSY:
    case NET_BAD_REQUEST:
        return EVENT_OBSERVED;
    default:
        return EVENT_DENIED;
    }
}

static struct net_tried *tried_of(struct net_events *told, const struct net_event *event, struct slice place)
{
    for (size_t i = 0; i < told->tried_count; i++) {
        if (told->tried[i].refusal == event->refusal && slice_is(place, told->tried[i].place))
            return &told->tried[i];
    }
    if (told->tried_count == NET_TRIED_MAX || place.len >= sizeof told->tried->place)
        return NULL;
    struct net_tried *tried = &told->tried[told->tried_count++];
    *tried = (struct net_tried){.refusal = event->refusal};
    memcpy(tried->place, place.ptr, place.len);
    return tried;
}

static void look(struct net_events *told, const struct net_event *event, struct net_client *client)
{
    if (told->looks == NET_LOOKS_MAX)
        return;
    told->looks++;
    net_client_find(told->init, event->protocol == NET_DNS || event->protocol == NET_DATAGRAM, event->client_port,
                    client);
}

/* NULL: not known. */
static const struct net_client *client_of(struct net_events *told, const struct net_event *event, struct slice place)
{
    struct net_tried *tried = tried_of(told, event, place);

    /* One who was let through may be gone by now. */
    if (tried && (event->refusal != NET_NOT_REFUSED || event->protocol == NET_HOST_PORT))
        look(told, event, &tried->client);
    return tried && tried->client.pid > 0 ? &tried->client : NULL;
}

void net_events_meet(struct net_events *told, const struct net_event *event)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct net_tried *tried = tried_of(told, event, place_of(&arena, event->name, event->port));

    if (tried && tried->client.pid == 0)
        look(told, event, &tried->client);
}

void net_events_tell(struct net_events *told, const struct net_event *event)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice place = place_of(&arena, event->name, event->port);
    bool dns = event->protocol == NET_DNS;
    struct event full = {
        .kind = dns ? EVENT_NET_DNS : EVENT_NET_CONNECT,
        .verdict = verdict_of(event->refusal),
        .op = dns ? SLICE("resolve") : SLICE("connect"),
        .object = place,
        .protocol = slice_of(protocol_name(event->protocol)),
        .port = event->port,
        .reason = reason_of(event),
        .sent = event->sent,
        .received = event->received,
        .milliseconds = event->milliseconds,
    };

    say_now(&arena, event, place);
    /* Many programs ask who they are: a question about this machine's own name says nothing. */
    if (dns && slice_equal(event->name, told->events->session->around.host_name))
        return;
    if (event->decision)
        full.rule = event->decision->origin;
    else if (event->protocol == NET_DATAGRAM)
        full.rule = (struct origin){"built-in", "network.mode"};
    const struct net_client *client = client_of(told, event, place);
    if (client) {
        full.pid = client->pid;
        full.program = slice_of(client->program);
        full.parent = client->parent;
        full.parent_program = slice_of(client->parent_program);
    }
    events_tell(told->events, &full);
}
