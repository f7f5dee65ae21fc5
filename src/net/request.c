/* What a client of one of the two proxies asks for. A head or message is left in
 * the socket until all of it is there. */
#include "host/tproxy.h"
#include "net/exchange.h"
#include "net/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

static const char established[] = "HTTP/1.1 200 Connection Established\r\n\r\n";

/* False: nothing there, or its end. */
static bool peek(struct tunnel *tunnel, size_t most, struct slice *bytes)
{
    char *scratch = tunnel->network->scratch;
    ssize_t length = recv(tunnel->client.watch.fd, scratch, most, MSG_PEEK | MSG_DONTWAIT);

    if (length < 0 && errno == EAGAIN)
        return false;
    if (length <= 0) {
        tunnel_close(tunnel);
        return false;
    }
    *bytes = (struct slice){scratch, (size_t)length};
    return true;
}

static bool take(struct tunnel *tunnel, size_t length)
{
    return recv(tunnel->client.watch.fd, tunnel->network->scratch, length, MSG_DONTWAIT) == (ssize_t)length;
}

static void wait_for_more(struct tunnel *tunnel)
{
    if (tunnel->client.ending)
        tunnel_close(tunnel); /* nothing more comes */
}

static void refuse_request(struct tunnel *tunnel, enum net_refusal refusal, int status, const char *why)
{
    tunnel_tell_refused(tunnel, refusal);
    tunnel_refuse(tunnel, refusal, status, slice_of(why));
}

/* A client that resolves names by itself asks for the address that stands for
 * one: it means the name. One that stands for none is judged as what it is. */
static void set_target(struct tunnel *tunnel, const struct host *host, uint16_t port)
{
    struct slice name;

    tunnel->host = *host;
    tunnel->port = port;
    if (!host->is_address || !names_find(tunnel->network->names, &host->address, &name) || name.len == 0)
        return;
    tunnel->host = (struct host){.name_length = name.len};
    memcpy(tunnel->host.name, name.ptr, name.len);
}

static void take_http(struct tunnel *tunnel, const struct http_request *request, struct slice bytes)
{
    const struct net_config *config = tunnel->network->config;

    if (request->form == HTTP_AUTHORITY) {
        set_target(tunnel, &request->host, request->port);
    } else {
        tunnel->host = request->host;
        tunnel->port = request->port;
    }
    tunnel->protocol = request->form == HTTP_AUTHORITY ? NET_HTTP_CONNECT : NET_HTTP;
    if (*config->token && !http_token_is(request->authorization, config->token))
        refuse_request(tunnel, NET_NO_TOKEN, 0, "the proxy's user name and password are missing");
    else if (request->form == HTTP_ORIGIN)
        refuse_request(tunnel, NET_BAD_REQUEST, 400, "this is a proxy: the request must name a whole URL");
    else if (request->form == HTTP_AUTHORITY && config->refuse_opaque_tunnels)
        refuse_request(tunnel, NET_OPAQUE, 0, "tunnels that cannot be looked into are refused");
    else if (request->host_differs && config->require_host_match)
        refuse_request(tunnel, NET_NAME_MISMATCH, 0, "Host header does not match the request target");
    else if (request->form == HTTP_ABSOLUTE && !exchange_begin(tunnel, request, bytes))
        refuse_request(tunnel, NET_BUSY, 0, "the request does not fit");
    else if (!take(tunnel, request->head_length))
        tunnel_reset(tunnel);
    else {
        /* What comes after this look at it is announced anew. */
        tunnel->client.readable = bytes.len > request->head_length || tunnel->client.ending;
        tunnel_ask(tunnel);
    }
}

static void read_http(struct tunnel *tunnel)
{
    struct http_request request;
    struct slice bytes;

    if (!peek(tunnel, HTTP_HEAD_MAX + 1, &bytes))
        return;
    switch (http_request_parse(bytes, &request)) {
    case HTTP_MORE:
        wait_for_more(tunnel);
        return;
    case HTTP_BAD:
        refuse_request(tunnel, NET_BAD_REQUEST, request.status, request.why);
        return;
    default:
        take_http(tunnel, &request, bytes);
    }
}

static bool begin_socks(struct tunnel *tunnel)
{
    if (tunnel->socks)
        return true;
    tunnel->socks = calloc(1, sizeof *tunnel->socks);
    if (tunnel->socks)
        socks_begin(tunnel->socks, tunnel->network->config->token);
    return tunnel->socks != NULL;
}

static void take_socks(struct tunnel *tunnel)
{
    set_target(tunnel, &tunnel->socks->host, tunnel->socks->port);
    if (tunnel->network->config->refuse_opaque_tunnels)
        refuse_request(tunnel, NET_OPAQUE, 0, "tunnels that cannot be looked into are refused");
    else
        tunnel_ask(tunnel);
}

static void read_socks(struct tunnel *tunnel)
{
    struct socks *socks = tunnel->socks;
    struct slice bytes;
    size_t taken;

    while (peek(tunnel, SOCKS_MESSAGE_MAX, &bytes)) {
        enum socks_result result = socks_take(socks, bytes, &taken);
        if (result == SOCKS_MORE) {
            wait_for_more(tunnel);
            return;
        }
        if (result == SOCKS_CLOSE) {
            tunnel_last_words(tunnel, socks->reply, socks->reply_length);
            return;
        }
        if (!take(tunnel, taken) ||
            (result == SOCKS_REPLY && !side_say(&tunnel->client, socks->reply, socks->reply_length))) {
            tunnel_reset(tunnel);
            return;
        }
        if (result == SOCKS_REQUEST) {
            take_socks(tunnel);
            return;
        }
    }
}

static void read_announcement(struct tunnel *tunnel)
{
    static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};
    struct tproxy_announcement announcement;
    struct address address = {0};
    struct slice bytes;

    if (!peek(tunnel, sizeof announcement, &bytes))
        return;
    if (bytes.len < sizeof announcement) {
        wait_for_more(tunnel);
        return;
    }
    memcpy(&announcement, bytes.ptr, sizeof announcement);
    if (!take(tunnel, sizeof announcement)) {
        tunnel_reset(tunnel);
        return;
    }
    /* The doorman does not write ::ffff:a.b.c.d; whoever else does means the same. */
    bool mapped = announcement.v6 && memcmp(announcement.address, mapped_prefix, sizeof mapped_prefix) == 0;
    address.v6 = announcement.v6 && !mapped;
    memcpy(address.bytes, announcement.address + (mapped ? sizeof mapped_prefix : 0), address.v6 ? 16 : 4);
    tunnel_set_wanted(tunnel, &address, ntohs(announcement.port));
}

void request_ready(struct tunnel *tunnel)
{
    if (tunnel->protocol == NET_TRANSPARENT)
        read_announcement(tunnel);
    else if (tunnel->protocol != NET_SOCKS)
        read_http(tunnel);
    else if (begin_socks(tunnel))
        read_socks(tunnel);
    else
        tunnel_reset(tunnel);
}

void request_connected(struct tunnel *tunnel)
{
    uint8_t reply[SOCKS_REPLY_MAX];
    bool said = true;

    tunnel->gate = GATE_OPEN;
    switch (tunnel->protocol) {
    case NET_HTTP:
        said = exchange_connected(tunnel);
        break;
    case NET_HTTP_CONNECT:
        tunnel->gate = GATE_LOOK;
        said = side_say(&tunnel->client, established, sizeof established - 1);
        break;
    case NET_SOCKS:
        tunnel->gate = GATE_LOOK;
        said = side_say(&tunnel->client, reply, socks_answer(NET_NOT_REFUSED, reply));
        break;
    case NET_TRANSPARENT:
        tunnel->gate = GATE_LOOK;
        break;
    default:
        break;
    }
    if (!said)
        tunnel_reset(tunnel);
}
