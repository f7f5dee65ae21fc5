/* Plain HTTP through the proxy. The request goes out as the parser understood it
 * and only as long as it said it would be: nothing can be smuggled behind it
 * (attack 87). The response is for the client to read, and is handed on as it
 * is, but for "Connection: close". */
#include "net/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { STATUS_SWITCHING = 101, STATUS_NO_CONTENT = 204, STATUS_NOT_MODIFIED = 304 };

bool exchange_begin(struct tunnel *tunnel, const struct http_request *request, struct slice bytes)
{
    struct exchange *exchange = calloc(1, sizeof *exchange + request->head_length);

    if (!exchange)
        return false;
    exchange->head_length = request->head_length;
    memcpy(exchange->head, bytes.ptr, request->head_length);
    http_body_begin(request, &exchange->body);
    exchange->body_done = request->body == HTTP_NO_BODY;
    exchange->upgrade = request->upgrade;
    exchange->no_body = slice_is(request->method, "HEAD");
    /* Only on the proxy's own connections. */
    exchange->persists = tunnel->protocol == NET_HTTP && http_request_persists(request);
    tunnel->exchange = exchange;
    return true;
}

bool exchange_connected(struct tunnel *tunnel)
{
    const struct exchange *exchange = tunnel->exchange;
    /* Not within a tunnel through one. */
    bool for_proxy = tunnel->protocol == NET_HTTP && tunnel->route != NET_DIRECT;
    const char *authorization =
        for_proxy && tunnel->route == NET_PARENT ? tunnel->network->config->parent_http.authorization : "";
    char *out = tunnel->network->scratch;
    struct http_request request;

    if (http_request_parse((struct slice){exchange->head, exchange->head_length}, &request) != HTTP_DONE)
        return false;
    size_t length = http_request_write(&request, for_proxy, authorization, out, SCRATCH_SIZE);
    return length > 0 && relay_give(&tunnel->server, out, length);
}

bool exchange_take_body(struct tunnel *tunnel, struct slice *bytes)
{
    struct exchange *exchange = tunnel->exchange;
    size_t taken = 0;

    if (exchange->raw)
        return true;
    if (!exchange->body_done) {
        enum http_result result = http_body_take(&exchange->body, *bytes, &taken);
        if (result == HTTP_BAD)
            return false;
        exchange->body_done = result == HTTP_DONE;
    }
    bytes->len = taken;
    return true;
}

bool exchange_take_response(struct tunnel *tunnel, struct slice *bytes)
{
    struct exchange *exchange = tunnel->exchange;
    size_t taken = 0;

    if (!exchange->persists || !exchange->response_begun)
        return true;
    enum http_result result = http_body_take(&exchange->response, *bytes, &taken);
    exchange->response_done = result == HTTP_DONE;
    bytes->len = taken;
    return result != HTTP_BAD;
}

bool exchange_holds_client(const struct tunnel *tunnel)
{
    const struct exchange *exchange = tunnel->exchange;

    return exchange && exchange->persists && exchange->body_done;
}

/* To a client that may go on. */
static bool give_framed_head(struct tunnel *tunnel, struct slice head)
{
    char *out = tunnel->network->scratch + HTTP_HEAD_MAX;
    size_t length = http_response_write(head, out, SCRATCH_SIZE - HTTP_HEAD_MAX);
    size_t none;

    /* It may be over with its head. */
    tunnel->exchange->response_done =
        http_body_take(&tunnel->exchange->response, (struct slice){"", 0}, &none) == HTTP_DONE;
    return length > 0 && relay_give(&tunnel->client, out, length);
}

static bool give_head(struct tunnel *tunnel, struct slice head)
{
    static const char closing[] = "Connection: close\r\n";
    size_t line = slice_find(head, '\n') + 1;

    return relay_give(&tunnel->client, head.ptr, line) && relay_give(&tunnel->client, closing, sizeof closing - 1) &&
           relay_give(&tunnel->client, head.ptr + line, head.len - line);
}

static enum http_result read_response(struct tunnel *tunnel)
{
    struct exchange *exchange = tunnel->exchange;
    struct side *server = &tunnel->server;
    char *scratch = tunnel->network->scratch;
    ssize_t length = recv(server->watch.fd, scratch, HTTP_HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
    size_t head_length;
    int status;

    if (length < 0 && errno == EAGAIN) {
        server->readable = false;
        return HTTP_MORE;
    }
    if (length <= 0)
        return HTTP_BAD;
    enum http_result result = http_response_parse((struct slice){scratch, (size_t)length}, &status, &head_length);
    if (result == HTTP_MORE) {
        server->readable = server->ending;
        return server->ending ? HTTP_BAD : HTTP_MORE;
    }
    if (result == HTTP_BAD || recv(server->watch.fd, scratch, head_length, MSG_DONTWAIT) != (ssize_t)head_length)
        return HTTP_BAD;
    struct slice head = {scratch, head_length};
    exchange->raw = status == STATUS_SWITCHING;
    if (exchange->raw && !exchange->upgrade)
        return HTTP_BAD;
    exchange->response_begun = exchange->raw || status / 100 != 1;
    if (status / 100 == 1)
        return relay_give(&tunnel->client, head.ptr, head.len) ? HTTP_DONE : HTTP_BAD;
    bool no_body = exchange->no_body || status == STATUS_NO_CONTENT || status == STATUS_NOT_MODIFIED;
    if (exchange->persists && !http_response_frame(head, no_body, &exchange->response)) {
        exchange->persists = false;
        /* What was kept behind the request is thrown away after all: left there, it would make closing a reset. */
        tunnel->client.readable = true;
        loop_soon(&tunnel->network->loop, &tunnel->errand);
    }
    bool given = exchange->persists ? give_framed_head(tunnel, head) : give_head(tunnel, head);
    return given ? HTTP_DONE : HTTP_BAD;
}

enum http_result exchange_begin_response(struct tunnel *tunnel)
{
    enum http_result result = read_response(tunnel);

    if (result != HTTP_BAD)
        return result;
    tunnel_tell_refused(tunnel, NET_UNREACHABLE);
    if (tunnel->client.pending || tunnel->exchange->response_begun)
        tunnel_reset(tunnel); /* in the middle of other words */
    else
        tunnel_refuse(tunnel, NET_UNREACHABLE, 0, SLICE("the server gave no answer in HTTP"));
    return HTTP_BAD;
}
