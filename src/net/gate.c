/* Looks at a client's first bytes before any of them goes out. TLS must be for
 * the name the connection was let out for (attack 84), or, where it was for an
 * address, for a name that is allowed by itself. */
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

static void answered(void *argument, const struct net_verdict *verdict, int fd)
{
    struct tunnel *tunnel = argument;

    (void)fd;
    tunnel->ask = NULL;
    if (verdict->refusal) {
        tunnel_reset(tunnel);
        return;
    }
    open_gate(tunnel);
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
        return open_gate(tunnel);
    if (tunnel->host.is_address)
        ask_for(tunnel, &hello->name);
    else
        close_gate(tunnel, NET_NAME_MISMATCH);
    return false;
}

bool gate_passes(struct tunnel *tunnel)
{
    struct side *client = &tunnel->client;
    char *scratch = tunnel->network->scratch;
    struct hello hello;

    if (tunnel->gate == GATE_ASKED)
        return false;
    ssize_t length = recv(client->watch.fd, scratch, HELLO_MAX, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN) {
        client->readable = false;
        return false;
    }
    if (length <= 0)
        return open_gate(tunnel); /* its end, or an error: for the relay to find */
    switch (hello_examine((struct slice){scratch, (size_t)length}, &hello)) {
    case HELLO_MORE:
        if (client->ending)
            return open_gate(tunnel); /* nothing more comes, so it will never be TLS */
        client->readable = false;
        return false;
    case HELLO_TLS:
        return judge_name(tunnel, &hello);
    case HELLO_BAD:
        close_gate(tunnel, NET_BAD_REQUEST);
        return false;
    default:
        return open_gate(tunnel);
    }
}
