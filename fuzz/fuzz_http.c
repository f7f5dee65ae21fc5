/* Requests to the HTTP proxy. Whatever is accepted and said anew is read again as
 * the origin would: it must be the same request, with the same body. What follows
 * the head is read as the body, whole and in pieces, with the same end. */
#include "net/http.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool same_host(const struct http_request *a, const struct http_request *b)
{
    return a->host.name_length == b->host.name_length && strcmp(a->host.name, b->host.name) == 0 && a->port == b->port;
}

static bool holds_word(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (slice_equal_ignoring_case(request->headers[i].name, slice_of(name)))
            return true;
    }
    return false;
}

static void check_rewritten(const struct http_request *request, bool for_proxy)
{
    static char out[HTTP_HEAD_MAX + 1024];
    static struct http_request again;

    size_t length = http_request_write(request, for_proxy, for_proxy ? "dTpw" : "", out, sizeof out);
    require(length > 0);
    if (length > HTTP_HEAD_MAX)
        return;
    require(http_request_parse((struct slice){out, length}, &again) == HTTP_DONE);
    require(again.head_length == length);
    require(slice_equal(again.method, request->method) && again.minor == request->minor);
    require(again.body == request->body && again.length == request->length);
    require(!again.host_differs && same_host(&again, request));
    require(holds_word(&again, "Proxy-Authorization") == for_proxy && !holds_word(&again, "Proxy-Connection"));
    require(again.upgrade == request->upgrade);
    require(again.form == (for_proxy ? HTTP_ABSOLUTE : HTTP_ORIGIN));
}

static void check_body(const struct http_request *request, struct slice rest)
{
    struct http_body_reader whole;
    struct http_body_reader pieces;
    size_t taken = 0;
    size_t sum = 0;
    enum http_result piecewise = HTTP_MORE;

    http_body_begin(request, &whole);
    http_body_begin(request, &pieces);
    enum http_result result = http_body_take(&whole, rest, &taken);
    require(taken <= rest.len && (result != HTTP_MORE || taken == rest.len));
    do {
        size_t now = 0;
        size_t size = sum % 3 + 1 < rest.len - sum ? sum % 3 + 1 : rest.len - sum;
        piecewise = http_body_take(&pieces, (struct slice){rest.ptr + sum, size}, &now);
        sum += now;
    } while (piecewise == HTTP_MORE && sum < rest.len);
    require(piecewise == result && sum == taken);
}

static void check_prefixes(struct slice input, size_t head_length)
{
    static struct http_request ignored;

    for (size_t length = 0; length < head_length; length += 1 + length / 16)
        require(http_request_parse((struct slice){input.ptr, length}, &ignored) == HTTP_MORE);
}

/* A response whose end can be told ends at the same place for who reads it after us. */
static void check_response(struct slice head)
{
    static char out[HTTP_HEAD_MAX];
    struct http_body_reader first;
    struct http_body_reader second;
    size_t length = 0;
    int status = 0;

    if (!http_response_frame(head, false, &first))
        return;
    size_t written = http_response_write(head, out, sizeof out);
    require(written > 0);
    if (http_response_parse((struct slice){out, written}, &status, &length) != HTTP_DONE) {
        require(written > head.len); /* it has become too long */
        return;
    }
    require(length == written && http_response_frame((struct slice){out, written}, false, &second));
    require(first.kind == second.kind && first.left == second.left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_request request;
    struct slice input = {(const char *)data, size};
    char out[HTTP_REPLY_MAX];
    int status = 0;
    size_t length = 0;

    enum http_result result = http_request_parse(input, &request);
    if (result == HTTP_BAD) {
        require(request.why && request.status >= 400 && request.status < 600);
        require(http_refusal(NET_BAD_REQUEST, request.status, size % 2, "", slice_of(request.why), out) > 0);
    } else if (result == HTTP_DONE) {
        require(request.head_length <= size);
        check_prefixes(input, request.head_length);
        if (request.form == HTTP_ABSOLUTE) {
            check_rewritten(&request, false);
            check_rewritten(&request, true);
        }
        check_body(&request, slice_from(input, request.head_length));
        require(!http_token_is(request.authorization, "0123456789abcdef0123456789abcdef"));
    }

    if (http_response_parse(input, &status, &length) == HTTP_DONE) {
        require(length <= size && status >= 100 && status <= 999);
        check_response((struct slice){input.ptr, length});
    }
    length = http_refusal((enum net_refusal)(size % (NET_BUSY + 1)), 0, size % 3 == 0, "example.com", input, out);
    require(length > 0 && memmem(out, length, "\r\n\r\n", 4) != NULL);
    const char *second = memmem(out, length, "\r\n", 2); /* nothing of the reason is behind the first line's end */
    require(memchr(out, '\n', length) == second + 1);
    return 0;
}
