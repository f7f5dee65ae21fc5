/* Looks at a client's first bytes before any of them goes out. TLS must be for
 * the name the connection was let out for (attack 84), or, where it was for an
 * address, for a name that is allowed by itself. A server that asks for another
 * ClientHello gets one that is judged like the first: until its answer is known,
 * the client's next bytes wait. Plain HTTP is read as the proxy
 * would where the policy asks for that (requireHostMatch, refuseOpaqueTunnels):
 * one request per connection, for that host. */
#include "net/exchange.h"
#include "net/hello.h"
#include "net/tunnel.h"

#include <errno.h>
#include <sys/socket.h>

static void close_gate(struct tunnel *tunnel, enum net_refusal refusal)
{
    tunnel_tell_refused(tunnel, refusal);
    tunnel_reset(tunnel);
}

static bool open_gate(struct tunnel *tunnel)
{
    tunnel->gate = GATE_OPEN;
    return true;
}

/* The first ClientHello goes out, and nothing behind it yet; the second, and what follows. */
static bool pass_hello(struct tunnel *tunnel)
{
    size_t length = tunnel->hello_length;
    char *scratch = tunnel->network->scratch;

    if (length == 0)
        return open_gate(tunnel);
    if (recv(tunnel->client.watch.fd, scratch, length, MSG_DONTWAIT) != (ssize_t)length ||
        !relay_give(&tunnel->server, scratch, length)) {
        tunnel_reset(tunnel);
        return false;
    }
    tunnel->gate = GATE_LISTEN;
    return false;
}

static void answered(void *argument, const struct net_verdict *verdict, int fd)
{
    struct tunnel *tunnel = argument;

    (void)fd;
    tunnel->ask = NULL;
    if (verdict->refusal) {
        tunnel_reset(tunnel);
        return;
    }
    pass_hello(tunnel);
    if (!tunnel->over)
        relay_continue(tunnel);
}

static bool is_same(const struct host *a, const struct host *b)
{
    return slice_equal((struct slice){a->name, a->name_length}, (struct slice){b->name, b->name_length});
}

static void ask_for(struct tunnel *tunnel, const struct host *name)
{
    struct ask *asked = ask_new(tunnel->network, NET_ASK_SNI, answered, tunnel);

    if (!asked) {
        tunnel_reset(tunnel);
        return;
    }
    asked->question.protocol = tunnel->protocol;
    asked->question.client_port = tunnel->client_port;
    asked->question.client_v6 = tunnel->client_v6;
    ask_set_host(&asked->question, name, tunnel->port);
    tunnel->ask = asked;
    tunnel->gate = GATE_ASKED;
    ask_send(tunnel->network, asked);
}

static bool judge_name(struct tunnel *tunnel, const struct hello *hello)
{
    if (!hello->has_name || is_same(&hello->name, &tunnel->host))
        return pass_hello(tunnel);
    if (tunnel->host.is_address)
        ask_for(tunnel, &hello->name);
    else
        close_gate(tunnel, NET_NAME_MISMATCH);
    return false;
}

static void refuse_http(struct tunnel *tunnel, enum net_refusal refusal, int status, const char *why)
{
    char reply[HTTP_REPLY_MAX];

    tunnel_tell_refused(tunnel, refusal);
    tunnel_last_words(tunnel, reply, http_refusal(refusal, status, false, tunnel->host.name, slice_of(why), reply));
}

static bool judge_request(struct tunnel *tunnel, struct slice bytes)
{
    struct http_request request;

    switch (http_request_parse(bytes, &request)) {
    case HTTP_MORE:
        tunnel->client.readable = false;
        return false;
    case HTTP_BAD:
        refuse_http(tunnel, NET_BAD_REQUEST, request.status, request.why);
        return false;
    default:
        break;
    }
    if (request.form == HTTP_AUTHORITY || request.host_differs || !is_same(&request.host, &tunnel->host)) {
        refuse_http(tunnel, NET_NAME_MISMATCH, 0, "the request is for another host than the connection");
        return false;
    }
    if (!exchange_begin(tunnel, &request, bytes) ||
        recv(tunnel->client.watch.fd, tunnel->network->scratch, request.head_length, MSG_DONTWAIT) !=
            (ssize_t)request.head_length ||
        !exchange_connected(tunnel)) {
        tunnel_reset(tunnel);
        return false;
    }
    return open_gate(tunnel);
}

/* What is neither HTTP nor for a name that could be compared. */
static bool judge_opaque(struct tunnel *tunnel)
{
    if (!tunnel->network->config->refuse_opaque_tunnels)
        return open_gate(tunnel);
    close_gate(tunnel, NET_OPAQUE);
    return false;
}

static bool judge_second(struct tunnel *tunnel)
{
    struct side *client = &tunnel->client;
    char *scratch = tunnel->network->scratch;
    struct hello hello;
    ssize_t length = recv(client->watch.fd, scratch, SCRATCH_SIZE, MSG_PEEK | MSG_DONTWAIT);

    if (length < 0 && errno == EAGAIN) {
        client->readable = false;
        return false;
    }
    if (length <= 0)
        return open_gate(tunnel);
    switch (hello_examine_second((struct slice){scratch, (size_t)length}, &hello)) {
    case HELLO_TLS:
        tunnel->hello_length = 0;
        return judge_name(tunnel, &hello);
    case HELLO_MORE:
        if (client->ending)
            return open_gate(tunnel);
        client->readable = false;
        if (length < SCRATCH_SIZE)
            return false;
        break;
    default:
        break;
    }
    close_gate(tunnel, NET_BAD_REQUEST);
    return false;
}

bool gate_listens(struct tunnel *tunnel)
{
    enum {
        REPLY_LOOKED_AT = 1024
    }; /* a HelloRetryRequest shows by its first 43 bytes, be they in ever so small records */
    struct side *server = &tunnel->server;
    char *scratch = tunnel->network->scratch;
    ssize_t length = recv(server->watch.fd, scratch, REPLY_LOOKED_AT, MSG_PEEK | MSG_DONTWAIT);

    if (length < 0 && errno == EAGAIN) {
        server->readable = false;
        return false;
    }
    enum hello_reply reply = HELLO_REPLY_OTHER;
    if (length > 0)
        reply = hello_examine_reply((struct slice){scratch, (size_t)length});
    if (reply == HELLO_REPLY_MORE && !server->ending) {
        server->readable = false;
        return false;
    }
    tunnel->gate = reply == HELLO_REPLY_RETRY ? GATE_AGAIN : GATE_OPEN;
    if (tunnel->client.readable)
        loop_soon(&tunnel->network->loop, &tunnel->errand); /* what waits there may be carried now */
    return true;
}

bool gate_passes(struct tunnel *tunnel)
{
    const struct net_config *config = tunnel->network->config;
    bool reads_http = config->require_host_match || config->refuse_opaque_tunnels;
    struct side *client = &tunnel->client;
    char *scratch = tunnel->network->scratch;
    struct hello hello;

    if (tunnel->gate == GATE_ASKED || tunnel->gate == GATE_LISTEN)
        return false;
    if (tunnel->gate == GATE_AGAIN)
        return judge_second(tunnel);
    ssize_t length =
        recv(client->watch.fd, scratch, reads_http ? HTTP_HEAD_MAX + 1 : HELLO_MAX, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN) {
        client->readable = false;
        return false;
    }
    if (length <= 0)
        return open_gate(tunnel); /* its end, or an error: for the relay to find */
    struct slice bytes = {scratch, (size_t)length};
    switch (hello_examine(bytes, &hello)) {
    case HELLO_MORE:
        /* Text may be all that its client has to say for now; and if nothing more comes, it will never be TLS. */
        if (client->ending || (!reads_http && !hello_may_be_tls(bytes)))
            return judge_opaque(tunnel);
        client->readable = false;
        return false;
    case HELLO_TLS:
        if (config->refuse_opaque_tunnels)
            return judge_opaque(tunnel);
        tunnel->hello_length = (uint32_t)hello.length;
        return judge_name(tunnel, &hello);
    case HELLO_HTTP:
        return reads_http ? judge_request(tunnel, bytes) : open_gate(tunnel);
    case HELLO_BAD:
        close_gate(tunnel, NET_BAD_REQUEST);
        return false;
    default:
        return judge_opaque(tunnel);
    }
}
