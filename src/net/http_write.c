/* A request said anew, from what was understood and not from what was spelled:
 * the canonical host, one framing, and no header that concerns this connection
 * or this proxy. So the origin cannot read a request that we did not judge. */
#include "net/http.h"

#include "net/target.h"

enum { PORT_HTTP = 80 };

/* Headers between two neighbours only. */
static bool is_of_one_hop(struct slice name)
{
    static const char *const names[] = {"Connection",     "Keep-Alive",       "TE", "Trailer", "Upgrade", "Host",
                                        "HTTP2-Settings", "Transfer-Encoding"};

    if (name.len >= 6 && slice_equal_ignoring_case((struct slice){name.ptr, 6}, SLICE("Proxy-")))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (slice_equal_ignoring_case(name, slice_of(names[i])))
            return true;
    }
    return false;
}

/* Does a Connection header say that this one is for the next hop only? It cannot
 * say so of the body's length: without it the body would be another request. */
static bool is_named_by_connection(const struct http_request *request, struct slice name)
{
    if (slice_equal_ignoring_case(name, SLICE("Content-Length")))
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        struct slice list = request->headers[i].value;

        if (!slice_equal_ignoring_case(request->headers[i].name, SLICE("Connection")))
            continue;
        for (struct slice word; http_list_next(&list, &word);) {
            if (slice_equal_ignoring_case(word, name))
                return true;
        }
    }
    return false;
}

bool http_request_persists(const struct http_request *request)
{
    if (request->minor == 0 || request->upgrade)
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        struct slice list = header->value;

        if (!slice_equal_ignoring_case(header->name, SLICE("Connection")) &&
            !slice_equal_ignoring_case(header->name, SLICE("Proxy-Connection")))
            continue;
        for (struct slice word; http_list_next(&list, &word);) {
            if (slice_equal_ignoring_case(word, SLICE("close")))
                return false;
        }
    }
    return true;
}

static void put_header(struct wire_writer *out, struct slice name, struct slice value)
{
    wire_put(out, name);
    wire_put_string(out, ": ");
    wire_put(out, value);
    wire_put_string(out, "\r\n");
}

static void put_authorization(struct wire_writer *out, const char *authorization)
{
    if (authorization[0] == '\0')
        return;
    wire_put_string(out, "Proxy-Authorization: Basic ");
    wire_put_string(out, authorization);
    wire_put_string(out, "\r\n");
}

static void put_path(struct wire_writer *out, const struct http_request *request)
{
    if (request->path.len == 0)
        wire_put_string(out, slice_is(request->method, "OPTIONS") ? "*" : "/");
    else if (request->path.ptr[0] == '?')
        wire_put_string(out, "/");
    wire_put(out, request->path);
}

static void put_start(struct wire_writer *out, const struct http_request *request, bool for_proxy)
{
    wire_put(out, request->method);
    wire_put_string(out, " ");
    if (for_proxy) {
        wire_put_string(out, "http://");
        target_put(out, &request->host, request->port, PORT_HTTP);
    }
    if (!for_proxy || request->path.len > 0 || !slice_is(request->method, "OPTIONS"))
        put_path(out, request);
    wire_put_string(out, request->minor == 1 ? " HTTP/1.1\r\nHost: " : " HTTP/1.0\r\nHost: ");
    target_put(out, &request->host, request->port, PORT_HTTP);
    wire_put_string(out, "\r\n");
}

size_t http_request_write(const struct http_request *request, bool for_proxy, const char *authorization, char *out,
                          size_t capacity)
{
    struct wire_writer head = wire_into(out, capacity);

    put_start(&head, request, for_proxy);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        bool kept = !is_of_one_hop(header->name) && !is_named_by_connection(request, header->name);

        if (kept || (request->upgrade && slice_equal_ignoring_case(header->name, SLICE("Upgrade"))))
            put_header(&head, header->name, header->value);
    }
    if (request->body == HTTP_CHUNKED)
        wire_put_string(&head, "Transfer-Encoding: chunked\r\n");
    if (for_proxy)
        put_authorization(&head, authorization);
    wire_put_string(&head, request->upgrade ? "Connection: upgrade\r\n\r\n" : "Connection: close\r\n\r\n");
    return wire_written(&head).len;
}

size_t http_connect_write(const struct host *host, uint16_t port, const char *authorization, char *out, size_t capacity)
{
    struct wire_writer head = wire_into(out, capacity);

    wire_put_string(&head, "CONNECT ");
    target_put(&head, host, port, 0);
    wire_put_string(&head, " HTTP/1.1\r\nHost: ");
    target_put(&head, host, port, 0);
    wire_put_string(&head, "\r\n");
    put_authorization(&head, authorization);
    wire_put_string(&head, "\r\n");
    return wire_written(&head).len;
}
