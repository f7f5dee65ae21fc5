/* HTTP at the proxy: what is understood, what is refused because two readers
 * could understand two things, and what the origin is told. */
#include "net/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define END "\r\n\r\n"
#define HOST "\r\nHost: example.com"
#define GET "GET http://example.com/ HTTP/1.1" HOST
#define POST "POST http://example.com/ HTTP/1.1" HOST

static struct http_request parsed(struct slice text)
{
    struct http_request request;

    if (http_request_parse(text, &request) != HTTP_DONE)
        fail_msg("%.*s: %s", (int)text.len, text.ptr, request.why ? request.why : "more is wanted");
    return request;
}

static void test_absolute_form_names_host_port_and_path(void **state)
{
    static const struct {
        const char *target, *host, *path;
        uint16_t port;
    } cases[] = {
        {"http://example.com/", "example.com", "/", 80},
        {"http://example.com", "example.com", "", 80},
        {"HTTP://Example.COM./a/../b?c=d", "example.com", "/a/../b?c=d", 80},
        {"http://example.com:8080?x", "example.com", "?x", 8080},
        {"http://192.0.2.1/", "192.0.2.1", "/", 80},
        {"http://[2001:DB8::1]:81/x", "2001:db8::1", "/x", 81},
        {"http://[::ffff:127.0.0.1]/", "127.0.0.1", "/", 80},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: other" END, cases[i].target);
        struct http_request request = parsed(slice_of(text));
        assert_int_equal(request.form, HTTP_ABSOLUTE);
        assert_string_equal(request.host.name, cases[i].host);
        assert_int_equal(request.port, cases[i].port);
        assert_true(slice_is(request.path, cases[i].path));
        assert_true(request.host_differs);
        assert_int_equal(request.head_length, strlen(text));
    }
}

static void test_connect_names_host_and_port(void **state)
{
    struct http_request request = parsed(SLICE("CONNECT Example.com:443 HTTP/1.1\r\nHost: example.com" END "hello"));
    (void)state;

    assert_int_equal(request.form, HTTP_AUTHORITY);
    assert_string_equal(request.host.name, "example.com");
    assert_int_equal(request.port, 443);
    assert_int_equal(request.body, HTTP_NO_BODY);
    assert_int_equal(request.head_length, strlen("CONNECT Example.com:443 HTTP/1.1\r\nHost: example.com" END));
    /* as socat sends it, and as old clients do */
    assert_int_equal(parsed(SLICE("CONNECT [2001:db8::1]:22 HTTP/1.0" END)).port, 22);
    assert_int_equal(parsed(SLICE("CONNECT a.b:1 HTTP/1.1\r\nContent-Length: 0" END)).port, 1);
    assert_int_equal(parsed(SLICE("CONNECT a.b:1 HTTP/1.1" END)).port, 1);
}

static void test_origin_form_is_for_the_host_of_its_header(void **state)
{
    struct http_request request = parsed(SLICE("GET /x HTTP/1.1\r\nhost: Example.com:8080" END));
    (void)state;

    assert_int_equal(request.form, HTTP_ORIGIN);
    assert_string_equal(request.host.name, "example.com");
    assert_int_equal(request.port, 8080);
    assert_true(slice_is(request.path, "/x"));
    request = parsed(SLICE("OPTIONS * HTTP/1.1" HOST END));
    assert_int_equal(request.form, HTTP_ORIGIN);
    assert_true(slice_is(request.path, "*"));
    assert_int_equal(parsed(SLICE("GET / HTTP/1.0" END)).host.name_length, 0);
}

static void test_the_host_header_is_compared_with_the_target(void **state)
{
    static const struct {
        const char *target, *header;
        bool differs;
    } cases[] = {
        {"example.com", "example.com", false},       {"example.com", "EXAMPLE.com", false},
        {"example.com", "example.com:80", false},    {"example.com:80", "example.com", false},
        {"example.com:81", "example.com:81", false}, {"[::1]", "[::1]", false},
        {"example.com", "evil.com", true},           {"example.com", "example.com:81", true},
        {"example.com:81", "example.com", true},     {"example.com", "", true},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET http://%s/ HTTP/1.1\r\nHost: %s" END, cases[i].target, cases[i].header);
        if (parsed(slice_of(text)).host_differs != cases[i].differs)
            fail_msg("%s, %s", cases[i].target, cases[i].header);
    }
    assert_false(parsed(SLICE("GET http://example.com/ HTTP/1.0" END)).host_differs);
}

static void test_bodies_are_framed_in_one_way(void **state)
{
    (void)state;

    assert_int_equal(parsed(SLICE(GET END)).body, HTTP_NO_BODY);
    struct http_request request = parsed(SLICE(POST "\r\nContent-Length: 12" END));
    assert_int_equal(request.body, HTTP_LENGTH);
    assert_int_equal(request.length, 12);
    assert_int_equal(parsed(SLICE(POST "\r\nTransfer-Encoding: Chunked" END)).body, HTTP_CHUNKED);
}

/* Attack 87, and 76 and 77 in HTTP's clothes. */
static void test_what_two_readers_could_read_in_two_ways_is_refused(void **state)
{
    static const struct {
        struct slice text;
        int status;
    } cases[] = {
        {SLICE(GET "\r\nHost: evil.com" END), 400},
        {SLICE(GET "\r\nhost: example.com" END), 400},
        {SLICE("GET http://example.com/ HTTP/1.1" END), 400},
        {SLICE("GET http://example.com/ HTTP/1.1\r\nHost: a b" END), 400},
        {SLICE("GET http://example.com/ HTTP/1.1\r\nHost: user@example.com" END), 400},
        {SLICE("GET http://example.com/ HTTP/1.1\r\nHost: example.com/x" END), 400},
        {SLICE(POST "\r\nContent-Length: 3\r\nTransfer-Encoding: chunked" END), 400},
        {SLICE(POST "\r\nContent-Length: 3\r\nContent-Length: 3" END), 400},
        {SLICE(POST "\r\nContent-Length: 3\r\ncontent-length: 4" END), 400},
        {SLICE(POST "\r\nContent-Length: 3, 3" END), 400},
        {SLICE(POST "\r\nContent-Length: +3" END), 400},
        {SLICE(POST "\r\nContent-Length: -3" END), 400},
        {SLICE(POST "\r\nContent-Length: 0x3" END), 400},
        {SLICE(POST "\r\nContent-Length: " END), 400},
        {SLICE(POST "\r\nContent-Length: 3 3" END), 400},
        {SLICE(POST "\r\nContent-Length: 18446744073709551617" END), 400},
        {SLICE(POST "\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked" END), 400},
        {SLICE(POST "\r\nTransfer-Encoding: chunked, identity" END), 501},
        {SLICE(POST "\r\nTransfer-Encoding: xchunked" END), 501},
        {SLICE(POST "\r\nTransfer-Encoding: gzip, chunked" END), 501},
        {SLICE(POST "\r\nTransfer-Encoding: \x0b"
                    "chunked" END),
         400},
        {SLICE(POST "\r\nTransfer-Encoding:" END), 501},
        {SLICE("POST http://example.com/ HTTP/1.0" HOST "\r\nTransfer-Encoding: chunked" END), 400},
        {SLICE(POST "\r\nTransfer-Encoding : chunked" END), 400}, /* a blank before the colon */
        {SLICE(POST "\r\nTransfer-Encoding\t: chunked" END), 400},
        {SLICE(POST "\r\n Transfer-Encoding: chunked" END), 400}, /* folded */
        {SLICE(POST "\r\nX: y\r\n\tTransfer-Encoding: chunked" END), 400},
        {SLICE("GET http://example.com/ HTTP/1.1\r\n Host: example.com" END), 400},
        {SLICE(GET "\nX: y" END), 400}, /* a line feed on its own */
        {SLICE(GET "\rX: y" END), 400}, /* a carriage return on its own */
        {SLICE(GET "\r\nX: y\rZ: z" END), 400},
        {SLICE(GET "\r\nX: y\0z" END), 400},
        {SLICE(GET "\r\nX: y\x7f" END), 400},
        {SLICE(GET "\r\nX: \x1b[2J" END), 400},
        {SLICE(GET "\r\n: y" END), 400},
        {SLICE(GET "\r\nno colon" END), 400},
        {SLICE(GET "\r\nX\xc3\xbc: y" END), 400},
        {SLICE(GET "\r\nX y: z" END), 400},
        {SLICE(GET "\r\nProxy-Authorization: Basic YQ==\r\nProxy-Authorization: Basic Yg==" END), 400},
        {SLICE("GET  http://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com/  HTTP/1.1" HOST END), 400},
        {SLICE("GET\thttp://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com/ HTTP/1.1 " HOST END), 400},
        {SLICE("GET http://example.com/ http/1.1" HOST END), 400},
        {SLICE("GET http://example.com/" HOST END), 400},
        {SLICE("GET http://example.com/ HTTP/2.0" HOST END), 505},
        {SLICE("GET http://example.com/ HTTP/1.2" HOST END), 505},
        {SLICE("PRI * HTTP/2.0" END "SM" END), 505},
        {SLICE(" GET http://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("\r\nGET http://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("G\xc3\xa4T http://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com/\xc3\xbc HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com/\0 HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com/#x HTTP/1.1" HOST END), 400},
        {SLICE("GET /#x HTTP/1.1" HOST END), 400},
        {SLICE("GET http://user@example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com:80:80/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com:0/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com:65536/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com:/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http:///x HTTP/1.1" HOST END), 400},
        {SLICE("GET http://exam%70le.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://example.com\\@evil.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://127.1/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://2130706433/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://0x7f.0.0.1/ HTTP/1.1" HOST END), 400},
        {SLICE("GET http://[fe80::1%25lo]/ HTTP/1.1" HOST END), 400},
        {SLICE("GET https://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET ftp://example.com/ HTTP/1.1" HOST END), 400},
        {SLICE("GET example.com:443 HTTP/1.1" HOST END), 400},
        {SLICE("GET * HTTP/1.1" HOST END), 400},
        {SLICE("connect example.com:443 HTTP/1.1" HOST END), 400},
        {SLICE("CONNECT example.com HTTP/1.1" HOST END), 400},
        {SLICE("CONNECT http://example.com:443 HTTP/1.1" HOST END), 400},
        {SLICE("CONNECT 2001:db8::1 HTTP/1.1" HOST END), 400},
        {SLICE("CONNECT /x HTTP/1.1" HOST END), 400},
        {SLICE("CONNECT example.com:443 HTTP/1.1\r\nContent-Length: 5" END), 400},
        {SLICE("CONNECT example.com:443 HTTP/1.1\r\nTransfer-Encoding: chunked" END), 400},
        {SLICE("TRACE http://example.com/ HTTP/1.1" HOST END), 405}, /* attack 88 */
        {SLICE("TRACK http://example.com/ HTTP/1.1" HOST END), 405},
        {SLICE(END), 400},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_request request;
        enum http_result result = http_request_parse(cases[i].text, &request);
        if (result != HTTP_BAD || request.status != cases[i].status || !request.why)
            fail_msg("case %zu: %d, status %d", i, (int)result, request.status);
    }
}

static void test_a_head_is_waited_for_while_it_can_still_become_one(void **state)
{
    static const struct slice whole = SLICE(POST "\r\nContent-Length: 3\r\nX: y" END "abc");
    struct http_request request;
    (void)state;

    for (size_t length = 0; length < whole.len - 3; length++)
        assert_int_equal(http_request_parse((struct slice){whole.ptr, length}, &request), HTTP_MORE);
    for (size_t length = whole.len - 3; length <= whole.len; length++)
        assert_int_equal(http_request_parse((struct slice){whole.ptr, length}, &request), HTTP_DONE);
    assert_int_equal(http_request_parse(SLICE("\x16\3\1"), &request), HTTP_BAD);
    assert_int_equal(http_request_parse(SLICE("GET / HTTP/1.1\nHost: "), &request), HTTP_BAD);
    assert_int_equal(http_request_parse(SLICE("\n"), &request), HTTP_BAD);
}

static void test_heads_that_are_too_long_are_refused(void **state)
{
    static char text[2 * HTTP_HEAD_MAX];
    struct http_request request;
    (void)state;

    memset(text, 'a', sizeof text);
    assert_int_equal(http_request_parse((struct slice){text, HTTP_HEAD_MAX - 1}, &request), HTTP_MORE);
    assert_int_equal(http_request_parse((struct slice){text, HTTP_HEAD_MAX}, &request), HTTP_BAD);
    assert_int_equal(request.status, 414);
    memcpy(text, GET "\r\nX: ", strlen(GET "\r\nX: "));
    assert_int_equal(http_request_parse((struct slice){text, HTTP_HEAD_MAX}, &request), HTTP_BAD);
    assert_int_equal(request.status, 431);
    memcpy(text + HTTP_HEAD_MAX - 4, END, 4);
    assert_int_equal(http_request_parse((struct slice){text, sizeof text}, &request), HTTP_DONE);

    size_t length = strlen(GET);
    for (int i = 0; i < HTTP_HEADERS_MAX; i++) {
        memcpy(text + length, "\r\nX:", 4);
        length += 4;
    }
    memcpy(text + length, END, 4);
    assert_int_equal(http_request_parse((struct slice){text, length + 4}, &request), HTTP_BAD);
    assert_int_equal(request.status, 431);
    memmove(text + strlen(GET), text + strlen(GET) + 4, length - strlen(GET)); /* one less */
    assert_int_equal(http_request_parse((struct slice){text, length}, &request), HTTP_DONE);
}

static void test_the_token_is_the_password_of_any_user(void **state)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    static const struct {
        const char *value;
        bool good;
    } cases[] = {
        {"Basic c3J0LmFiYzowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==", true},
        {"basic  \tc3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm ", true},
        {"Basic c3J0LmFiYzowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg", true}, /* without padding */
        {"Basic OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm", false},          /* no user */
        {"Basic MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", false},          /* no colon */
        {"Basic c3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVl", false},      /* one digit is wrong */
        {"Basic c3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGU=", false},      /* one is missing */
        {"Basic c3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmIA==", false},  /* a blank behind it */
        {"Basic c3J0!jAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm", false},
        {"Basic c3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm x", false},
        {"Bearer c3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm", false},
        {"Basicc3J0OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm", false},
        {"Basic", false},
        {"Basic ", false},
        {"Basic =", false},
        {"", false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, GET "\r\nProxy-Authorization: %s" END, cases[i].value);
        struct http_request request = parsed(slice_of(text));
        if (http_token_is(request.authorization, token) != cases[i].good)
            fail_msg("%s", cases[i].value);
    }
    assert_false(http_token_is(parsed(SLICE(GET END)).authorization, token));
    static char long_value[10000];
    memset(long_value, 'A', sizeof long_value);
    assert_false(http_token_is((struct slice){long_value, sizeof long_value}, token));
}

static void assert_written(struct slice text, bool for_proxy, const char *authorization, const char *expected)
{
    struct http_request request = parsed(text);
    char out[2000];

    size_t length = http_request_write(&request, for_proxy, authorization, out, sizeof out - 1);
    out[length] = '\0';
    assert_string_equal(out, expected);
    for (size_t capacity = 0; capacity < length; capacity++) /* never a part of it */
        assert_int_equal(http_request_write(&request, for_proxy, authorization, out, capacity), 0);
}

static void test_the_origin_is_told_what_was_understood(void **state)
{
    (void)state;

    assert_written(SLICE("GET http://Example.com:80 HTTP/1.1\r\nHost: evil.com\r\nAccept: */*" END), false, "",
                   "GET / HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nConnection: close" END);
    assert_written(SLICE("GET http://[2001:DB8::1]:81?q HTTP/1.0\r\nA:b" END), false, "",
                   "GET /?q HTTP/1.0\r\nHost: [2001:db8::1]:81\r\nA: b\r\nConnection: close" END);
    assert_written(SLICE("OPTIONS http://example.com HTTP/1.1" HOST END), false, "",
                   "OPTIONS * HTTP/1.1\r\nHost: example.com\r\nConnection: close" END);
    assert_written(SLICE(POST "\r\nContent-Length: 5\r\nConnection: content-length" END), false, "",
                   "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nConnection: close" END);
    assert_written(SLICE(POST "\r\nTransfer-Encoding: CHUNKED\r\nTrailer: X" END), false, "",
                   "POST / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\nConnection: close" END);
}

static void test_what_concerns_this_connection_stays_here(void **state)
{
    (void)state;

    assert_written(SLICE(GET "\r\nProxy-Authorization: Basic c3J0OnRva2Vu\r\nproxy-connection: keep-alive\r\n"
                             "Keep-Alive: 5\r\nTE: trailers\r\nConnection: keep-alive, X-Secret\r\nconnection: y\r\n"
                             "x-secret: 1\r\nY: 2\r\nZ: 3\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nProxy-Foo: bar" END),
                   false, "", "GET / HTTP/1.1\r\nHost: example.com\r\nZ: 3\r\nConnection: close" END);
}

static void test_only_websocket_is_an_upgrade(void **state)
{
    (void)state;

    assert_written(SLICE(GET "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k" END),
                   false, "",
                   "GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\n"
                   "Connection: upgrade" END);
    assert_true(parsed(SLICE(GET "\r\nConnection: upgrade\r\nUpgrade: websocket" END)).upgrade);
    assert_false(parsed(SLICE(GET "\r\nConnection: upgrade\r\nUpgrade: h2c" END)).upgrade);
    assert_false(parsed(SLICE(GET "\r\nUpgrade: websocket" END)).upgrade);
    assert_false(parsed(SLICE(GET "\r\nConnection: upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c" END)).upgrade);
}

static void test_a_proxy_above_gets_the_whole_url_and_its_own_password(void **state)
{
    struct host host;
    char out[200];
    (void)state;

    assert_written(SLICE("GET http://example.com:8080/x HTTP/1.1" HOST "\r\nProxy-Authorization: Basic c3J0" END), true,
                   "dTpw",
                   "GET http://example.com:8080/x HTTP/1.1\r\nHost: example.com:8080\r\n"
                   "Proxy-Authorization: Basic dTpw\r\nConnection: close" END);
    assert_written(SLICE(GET END), true, "",
                   "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: close" END);
    assert_written(SLICE("OPTIONS http://example.com HTTP/1.1" HOST END), true, "",
                   "OPTIONS http://example.com HTTP/1.1\r\nHost: example.com\r\nConnection: close" END);

    assert_true(host_parse(SLICE("2001:db8::1"), &host, NULL));
    out[http_connect_write(&host, 443, "dTpw", out, sizeof out - 1)] = '\0';
    assert_string_equal(out, "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n"
                             "Proxy-Authorization: Basic dTpw" END);
    assert_int_equal(http_connect_write(&host, 443, "", out, 20), 0);
}

static void test_the_answer_of_a_proxy_above_is_understood(void **state)
{
    int status = 0;
    size_t length = 0;
    (void)state;

    assert_int_equal(http_response_parse(SLICE("HTTP/1.1 200 OK\r\nVia: x" END "tunnel"), &status, &length), HTTP_DONE);
    assert_int_equal(status, 200);
    assert_int_equal(length, strlen("HTTP/1.1 200 OK\r\nVia: x" END));
    assert_int_equal(http_response_parse(SLICE("HTTP/1.0 407" END), &status, &length), HTTP_DONE);
    assert_int_equal(status, 407);
    assert_int_equal(http_response_parse(SLICE("HTT"), &status, &length), HTTP_MORE);
    assert_int_equal(http_response_parse(SLICE("HTTP/1.1 200 OK\r\n"), &status, &length), HTTP_MORE);
    static const struct slice bad[] = {
        SLICE("SSH-2.0"),           SLICE("HTTP/2.0 200 OK" END), SLICE("HTTP/1.1 2x0 OK" END),
        SLICE("HTTP/1.1 20" END),   SLICE("HTTP/1.1 2000" END),   SLICE("HTTP/1.1" END),
        SLICE("HTTP/1.1 099 x" END)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(http_response_parse(bad[i], &status, &length), HTTP_BAD);
}

static void test_a_response_ends_where_its_head_says_beyond_doubt(void **state)
{
    static const struct slice plain[] = {
        SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nServer: x y\r\ncontent-length:5 \r\nEmpty:\r\n\r\n"),
    };
    static const struct slice doubtful[] = {
        SLICE("HTTP/1.1 200 OK\r\n\r\n"), /* until it is closed */
        SLICE("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nX: y\r\n Content-Length: 5\r\nContent-Length: 7\r\n\r\n"), /* folded */
        SLICE("HTTP/1.1 200 OK\r\nX: y\nContent-Length: 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nX: y\rContent-Length: 5\r\nContent-Length: 7\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 5\r\n\r\n"),
        SLICE("HTTP/1.1 200 OK\r\nno header\r\nContent-Length: 5\r\n\r\n"),
    };
    struct http_body_reader reader;
    size_t taken;
    (void)state;

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        assert_true(http_response_frame(plain[i], false, &reader));
        assert_int_equal(http_body_take(&reader, SLICE("hello, and more"), &taken), HTTP_DONE);
        assert_int_equal(taken, 5);
        assert_true(http_response_frame(plain[i], true, &reader));
        assert_int_equal(http_body_take(&reader, SLICE("next"), &taken), HTTP_DONE);
        assert_int_equal(taken, 0);
    }
    assert_true(http_response_frame(SLICE("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"), false, &reader));
    assert_int_equal(http_body_take(&reader, SLICE("3\r\nabc\r\n0\r\n\r\nHTTP"), &taken), HTTP_DONE);
    assert_int_equal(taken, 13);
    for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful; i++) {
        if (http_response_frame(doubtful[i], false, &reader))
            fail_msg("response %zu", i);
    }
}

static void test_a_response_is_said_anew_for_a_connection_that_goes_on(void **state)
{
    struct slice head = SLICE("HTTP/1.1 200 Fine\r\nconnection: close\r\nKeep-Alive: timeout=5\r\nX-Y:  z \r\n"
                              "Content-Length: 0\r\n\r\n");
    char out[200];
    (void)state;

    size_t length = http_response_write(head, out, sizeof out - 1);
    assert_true(length > 0);
    out[length] = '\0';
    assert_string_equal(out, "HTTP/1.1 200 Fine\r\nX-Y: z\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
    assert_int_equal(http_response_write(head, out, 40), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absolute_form_names_host_port_and_path),
        cmocka_unit_test(test_connect_names_host_and_port),
        cmocka_unit_test(test_origin_form_is_for_the_host_of_its_header),
        cmocka_unit_test(test_the_host_header_is_compared_with_the_target),
        cmocka_unit_test(test_bodies_are_framed_in_one_way),
        cmocka_unit_test(test_what_two_readers_could_read_in_two_ways_is_refused),
        cmocka_unit_test(test_a_head_is_waited_for_while_it_can_still_become_one),
        cmocka_unit_test(test_heads_that_are_too_long_are_refused),
        cmocka_unit_test(test_the_token_is_the_password_of_any_user),
        cmocka_unit_test(test_the_origin_is_told_what_was_understood),
        cmocka_unit_test(test_what_concerns_this_connection_stays_here),
        cmocka_unit_test(test_only_websocket_is_an_upgrade),
        cmocka_unit_test(test_a_proxy_above_gets_the_whole_url_and_its_own_password),
        cmocka_unit_test(test_the_answer_of_a_proxy_above_is_understood),
        cmocka_unit_test(test_a_response_ends_where_its_head_says_beyond_doubt),
        cmocka_unit_test(test_a_response_is_said_anew_for_a_connection_that_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
