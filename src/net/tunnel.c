/* A tunnel's way from a client that wants something to two connected sockets:
 * asking S, resolving, asking S again, dialling; and its end, with a word to the
 * client in its own protocol where there is one. */
#include "net/tunnel.h"

#include "net/ssh.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT_HTTP = 80, PORT_SSH = 22 };

static void client_ready(struct watch *watch, uint32_t events);
static void server_ready(struct watch *watch, uint32_t events);
static void expired(struct timer *timer);

#define TUNNEL_OF(member, pointer) ((struct tunnel *)((char *)(pointer)-offsetof(struct tunnel, member)))

static void carry_on(struct errand *errand)
{
    struct tunnel *tunnel = TUNNEL_OF(errand, errand);

    if (tunnel->stage == STAGE_REQUEST)
        request_ready(tunnel);
    else
        relay_continue(tunnel);
}

static void init_side(struct side *side, struct tunnel *tunnel, bool is_client)
{
    side->tunnel = tunnel;
    side->is_client = is_client;
    side->watch = (struct watch){.fd = -1, .ready = is_client ? client_ready : server_ready};
    side->pipe.ends[0] = side->pipe.ends[1] = -1;
}

struct tunnel *tunnel_new(struct network *network, int client, enum net_protocol protocol)
{
    struct tunnel *tunnel = calloc(1, sizeof *tunnel);

    if (!tunnel) {
        close(client);
        return NULL;
    }
    tunnel->network = network;
    tunnel->protocol = protocol;
    tunnel->errand.run = carry_on;
    tunnel->timer.expired = expired;
    tunnel->unix_socket = -1;
    tunnel->began = network->loop.now;
    init_side(&tunnel->client, tunnel, true);
    init_side(&tunnel->server, tunnel, false);
    tunnel->client.watch.fd = client;
    network->tunnel_count++;
    link_append(&network->tunnels, &tunnel->link);
    loop_timer_start(&network->loop, &tunnel->timer, LOOP_HANDSHAKE);
    if (!loop_watch(&network->loop, &tunnel->client.watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        tunnel_reset(tunnel);
        return NULL;
    }
    if (network->tunnel_count >= network->tunnel_limit)
        listen_pause(network, true);
    return tunnel;
}

bool side_say(struct side *side, const void *bytes, size_t length)
{
    return send(side->watch.fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

static void tell_end(struct tunnel *tunnel)
{
    struct net_question question = {
        .kind = NET_TELL_CLOSED,
        .protocol = tunnel->protocol,
        .client_port = tunnel->client_port,
        .client_v6 = tunnel->client_v6,
        .sent = tunnel->server.taken,
        .received = tunnel->client.taken,
        .milliseconds = tunnel->network->loop.now - tunnel->began,
    };

    ask_set_host(&question, &tunnel->host, tunnel->port);
    ask_tell(tunnel->network, &question);
}

void tunnel_tell_refused(struct tunnel *tunnel, enum net_refusal refusal)
{
    struct net_question question = {
        .kind = NET_TELL_REFUSED,
        .protocol = tunnel->protocol,
        .refusal = refusal,
        .client_port = tunnel->client_port,
        .client_v6 = tunnel->client_v6,
    };

    if (tunnel->host.name_length == 0)
        return; /* it did not get so far as to name one */
    ask_set_host(&question, &tunnel->host, tunnel->port);
    ask_tell(tunnel->network, &question);
}

static void end_side(struct network *network, struct side *side)
{
    loop_close(&side->watch);
    free(side->pending);
    side->pending = NULL;
    if (side->pipe.ends[0] < 0)
        return;
    if (side->in_pipe == 0 && network->pipe_count < PIPES_MAX) {
        network->pipes[network->pipe_count++] = side->pipe;
    } else {
        close(side->pipe.ends[0]);
        close(side->pipe.ends[1]);
        network->pipes_made--;
    }
    side->pipe.ends[0] = side->pipe.ends[1] = -1;
}

void tunnel_close(struct tunnel *tunnel)
{
    struct network *network = tunnel->network;

    if (tunnel->over)
        return;
    tunnel->over = true;
    if (tunnel->allowed && network->config->tell_ends)
        tell_end(tunnel);
    loop_timer_stop(&tunnel->timer);
    loop_errand_stop(&tunnel->errand);
    ask_forget(network, tunnel->ask);
    resolver_forget(tunnel->resolving);
    end_side(network, &tunnel->client);
    end_side(network, &tunnel->server);
    if (tunnel->unix_socket >= 0)
        close(tunnel->unix_socket);
    free(tunnel->socks);
    free(tunnel->exchange);
    link_remove(&tunnel->link);
    link_append(&network->graveyard, &tunnel->link);
    network->tunnel_count--;
    if (network->listeners_paused && network->tunnel_count < network->tunnel_limit)
        listen_pause(network, false);
}

void tunnel_again(struct tunnel *tunnel)
{
    struct network *network = tunnel->network;

    if (tunnel->allowed && network->config->tell_ends)
        tell_end(tunnel);
    end_side(network, &tunnel->server);
    tunnel->server = (struct side){0};
    init_side(&tunnel->server, tunnel, false);
    free(tunnel->exchange);
    tunnel->exchange = NULL;
    tunnel->stage = STAGE_REQUEST;
    tunnel->allowed = false;
    tunnel->host = (struct host){0};
    tunnel->address_count = 0;
    tunnel->client.taken = 0;
    tunnel->began = network->loop.now;
    loop_timer_start(&network->loop, &tunnel->timer, LOOP_HANDSHAKE);
    loop_soon(&network->loop, &tunnel->errand);
}

void tunnels_end(struct network *network)
{
    while (!link_is_empty(&network->tunnels))
        tunnel_reset((struct tunnel *)network->tunnels.next);
}

void tunnels_bury(struct network *network)
{
    for (struct link *first; (first = link_take(&network->graveyard));)
        free(first); /* the link is the first thing in a tunnel */
}

/* Closing it will be a reset; one that was reset by the other end needs no more. */
static void harden(const struct side *side)
{
    const struct linger hard = {.l_onoff = 1};

    if (side->watch.fd >= 0 && !side->hung_up)
        setsockopt(side->watch.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

void tunnel_reset(struct tunnel *tunnel)
{
    harden(&tunnel->client);
    harden(&tunnel->server);
    tunnel_close(tunnel);
}

void tunnel_last_words(struct tunnel *tunnel, const void *bytes, size_t length)
{
    struct network *network = tunnel->network;

    if (!side_say(&tunnel->client, bytes, length)) {
        tunnel_reset(tunnel);
        return;
    }
    shutdown(tunnel->client.watch.fd, SHUT_WR);
    tunnel->stage = STAGE_REFUSED;
    end_side(network, &tunnel->server);
    loop_timer_start(&network->loop, &tunnel->timer, LOOP_DRAIN);
    client_ready(&tunnel->client.watch, EPOLLIN);
}

void tunnel_refuse(struct tunnel *tunnel, enum net_refusal refusal, int status, struct slice reason)
{
    char reply[HTTP_REPLY_MAX];
    uint8_t message[SSH_REFUSAL_MAX];
    bool connect = tunnel->protocol == NET_HTTP_CONNECT;

    switch (tunnel->protocol) {
    case NET_HTTP:
    case NET_HTTP_CONNECT:
        tunnel_last_words(tunnel, reply, http_refusal(refusal, status, connect, tunnel->host.name, reason, reply));
        return;
    case NET_SOCKS:
        tunnel_last_words(tunnel, message, socks_answer(refusal, message));
        return;
    case NET_TRANSPARENT:
        if (refusal == NET_UNREACHABLE || refusal == NET_BUSY)
            break; /* as it would be without us */
        if (tunnel->port == PORT_SSH) {
            tunnel_last_words(tunnel, message, ssh_refusal(reason, message));
            return;
        }
        if (tunnel->port == PORT_HTTP) {
            tunnel_last_words(tunnel, reply, http_refusal(refusal, status, connect, tunnel->host.name, reason, reply));
            return;
        }
        break;
    default:
        break;
    }
    tunnel_reset(tunnel);
}

static void expired(struct timer *timer)
{
    struct tunnel *tunnel = TUNNEL_OF(timer, timer);

    if (tunnel->stage == STAGE_REQUEST || tunnel->stage == STAGE_REFUSED) {
        tunnel_close(tunnel);
        return;
    }
    if (tunnel->stage == STAGE_DIAL) {
        dial_ready(tunnel, 0);
        return;
    }
    tunnel_refuse(tunnel, NET_UNREACHABLE, 0, SLICE("no answer in time"));
}

static void drain(struct tunnel *tunnel)
{
    struct network *network = tunnel->network;

    for (int i = 0; i < 16; i++) {
        ssize_t length = recv(tunnel->client.watch.fd, network->scratch, SCRATCH_SIZE, MSG_DONTWAIT);
        if (length < 0 && errno == EAGAIN)
            return;
        if (length <= 0)
            break;
    }
    tunnel_close(tunnel); /* it is at its end, or has had its share */
}

static void note(struct side *side, uint32_t events)
{
    const uint32_t over = EPOLLHUP | EPOLLERR;

    side->readable |= (events & (EPOLLIN | EPOLLRDHUP | over)) != 0;
    side->writable |= (events & EPOLLOUT) != 0;
    side->ending |= (events & (EPOLLRDHUP | over)) != 0;
    side->hung_up |= (events & over) != 0;
}

static void client_ready(struct watch *watch, uint32_t events)
{
    struct tunnel *tunnel = ((struct side *)watch)->tunnel;

    note(&tunnel->client, events);
    switch (tunnel->stage) {
    case STAGE_REFUSED:
        drain(tunnel);
        return;
    case STAGE_REQUEST:
        if (!tunnel->errand.link
                 .next) /* else it is looked at after this turn's events, of which one may be the old server's */
            request_ready(tunnel);
        return;
    case STAGE_OPEN:
        relay_continue(tunnel);
        return;
    default:
        if (tunnel->client.hung_up)
            tunnel_reset(tunnel); /* nobody waits for the answer */
    }
}

static void server_ready(struct watch *watch, uint32_t events)
{
    struct tunnel *tunnel = ((struct side *)watch)->tunnel;

    if (tunnel->stage != STAGE_OPEN) {
        dial_ready(tunnel, events);
        return;
    }
    note(&tunnel->server, events);
    relay_continue(tunnel);
}

static void answered(void *argument, const struct net_verdict *verdict, int fd);

/* `addresses`: also which of those that are known now may be dialled. */
static void ask(struct tunnel *tunnel, enum net_question_kind kind)
{
    struct ask *asked = ask_new(tunnel->network, kind, answered, tunnel);

    if (!asked) {
        tunnel_refuse(tunnel, NET_BUSY, 0, SLICE("too many connections at once"));
        return;
    }
    struct net_question *question = &asked->question;
    question->protocol = tunnel->protocol;
    question->client_port = tunnel->client_port;
    question->client_v6 = tunnel->client_v6;
    ask_set_host(question, &tunnel->host, tunnel->port);
    question->address_count = (uint8_t)tunnel->address_count;
    memcpy(question->addresses, tunnel->addresses, sizeof question->addresses);
    tunnel->ask = asked;
    tunnel->stage = STAGE_ASK;
    if (tunnel->network->config->answers_take_long)
        loop_timer_start(&tunnel->network->loop, &tunnel->timer, LOOP_ANSWER);
    ask_send(tunnel->network, asked);
}

static void set_addresses(struct tunnel *tunnel, const struct resolution *resolution)
{
    tunnel->address_count = resolution->count;
    memcpy(tunnel->addresses, resolution->addresses, sizeof tunnel->addresses);
}

void tunnel_ask(struct tunnel *tunnel)
{
    struct resolution known;

    if (tunnel->host.is_address) {
        tunnel->addresses[0] = tunnel->host.address;
        tunnel->address_count = 1;
    } else if (resolver_knows(tunnel->network->resolver, (struct slice){tunnel->host.name, tunnel->host.name_length},
                              &known) &&
               known.result == RESOLVED) {
        set_addresses(tunnel, &known);
    }
    ask(tunnel, NET_ASK_CONNECT);
}

static void unresolved(struct tunnel *tunnel, enum resolve_result result)
{
    tunnel_tell_refused(tunnel, NET_UNREACHABLE);
    tunnel_refuse(tunnel, NET_UNREACHABLE, 0,
                  result == RESOLVE_FAILED ? SLICE("the name could not be resolved: no answer")
                                           : SLICE("there is no such name"));
}

static void resolved(void *argument, const struct resolution *resolution)
{
    struct tunnel *tunnel = argument;

    tunnel->resolving = NULL;
    if (resolution->result != RESOLVED) {
        unresolved(tunnel, resolution->result);
        return;
    }
    set_addresses(tunnel, resolution);
    /* Of a proxy above, which the user named: nobody has to judge it. */
    if (tunnel->route == NET_PARENT) {
        tunnel->usable = ~0U;
        dial_begin(tunnel);
        return;
    }
    ask(tunnel, NET_ASK_ADDRESSES);
}

static void resolve(struct tunnel *tunnel, const struct host *host)
{
    struct slice name = {host->name, host->name_length};
    struct resolution known;

    tunnel->stage = STAGE_RESOLVE;
    if (host->is_address) {
        known = (struct resolution){.result = RESOLVED, .count = 1};
        known.addresses[0] = host->address;
        resolved(tunnel, &known);
    } else if (resolver_knows(tunnel->network->resolver, name, &known)) {
        resolved(tunnel, &known);
    } else {
        tunnel->resolving = resolver_ask(tunnel->network->resolver, name, resolved, tunnel);
        if (!tunnel->resolving)
            tunnel_refuse(tunnel, NET_BUSY, 0, SLICE("too many names are being resolved"));
    }
}

const struct net_parent *tunnel_parent(const struct tunnel *tunnel)
{
    const struct net_config *config = tunnel->network->config;

    return tunnel->protocol == NET_HTTP ? &config->parent_http : &config->parent_https;
}

static void answered(void *argument, const struct net_verdict *verdict, int fd)
{
    struct tunnel *tunnel = argument;

    tunnel->ask = NULL;
    tunnel->unix_socket = fd;
    if (verdict->refusal) {
        tunnel_refuse(tunnel, (enum net_refusal)verdict->refusal, 0,
                      (struct slice){verdict->reason, verdict->reason_length});
        return;
    }
    tunnel->allowed = true;
    if (tunnel->network->config->answers_take_long)
        loop_timer_start(&tunnel->network->loop, &tunnel->timer, LOOP_HANDSHAKE);
    tunnel->route = (enum net_route)verdict->route;
    tunnel->usable = verdict->usable;
    if (tunnel->route == NET_PARENT)
        resolve(tunnel, &tunnel_parent(tunnel)->host);
    else if (tunnel->route == NET_MITM || tunnel->usable)
        dial_begin(tunnel);
    else
        resolve(tunnel, &tunnel->host);
}
