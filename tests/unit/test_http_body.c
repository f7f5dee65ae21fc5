/* Where a body ends, and how a refusal is said. */
#include "net/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct http_body_reader begun(enum http_body kind, uint64_t length)
{
    struct http_request request = {.body = kind, .length = length};
    struct http_body_reader reader;

    http_body_begin(&request, &reader);
    return reader;
}

static void test_a_counted_body_ends_at_its_count(void **state)
{
    struct http_body_reader reader = begun(HTTP_LENGTH, 5);
    size_t taken = 0;
    (void)state;

    assert_int_equal(http_body_take(&reader, SLICE("abc"), &taken), HTTP_MORE);
    assert_int_equal(taken, 3);
    assert_int_equal(http_body_take(&reader, SLICE(""), &taken), HTTP_MORE);
    assert_int_equal(http_body_take(&reader, SLICE("deGET http://evil/"), &taken), HTTP_DONE);
    assert_int_equal(taken, 2);
    assert_int_equal(http_body_take(&reader, SLICE("GET"), &taken), HTTP_DONE);
    assert_int_equal(taken, 0);
    reader = begun(HTTP_NO_BODY, 0);
    assert_int_equal(http_body_take(&reader, SLICE("GET"), &taken), HTTP_DONE);
    assert_int_equal(taken, 0);
    reader = begun(HTTP_LENGTH, 0);
    assert_int_equal(http_body_take(&reader, SLICE("GET"), &taken), HTTP_DONE);
    assert_int_equal(taken, 0);
}

static void test_a_chunked_body_ends_behind_its_last_chunk(void **state)
{
    static const struct slice bodies[] = {
        SLICE("0\r\n\r\n"),
        SLICE("3\r\nabc\r\n0\r\n\r\n"),
        SLICE("3;a=\"b\"\r\nabc\r\n00A \r\n0123456789\r\n0\r\n\r\n"),
        SLICE("1\r\n\n\r\n2\r\n\r\n\r\n0\r\nX: y\r\nZ:\r\n\r\n"),
        SLICE("000000000000001\r\na\r\n0;x\r\n\r\n"),
    };
    (void)state;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[200];
        size_t taken = 0;
        size_t whole = bodies[i].len;

        memcpy(text, bodies[i].ptr, whole);
        memcpy(text + whole, "GET ", 4);
        struct http_body_reader reader = begun(HTTP_CHUNKED, 0);
        assert_int_equal(http_body_take(&reader, (struct slice){text, whole + 4}, &taken), HTTP_DONE);
        assert_int_equal(taken, whole);

        reader = begun(HTTP_CHUNKED, 0); /* and byte by byte */
        for (size_t at = 0; at < whole; at++) {
            enum http_result result = http_body_take(&reader, (struct slice){text + at, 1}, &taken);
            assert_int_equal(taken, 1);
            assert_int_equal(result, at + 1 < whole ? HTTP_MORE : HTTP_DONE);
        }
    }
}

/* Attack 87: the places where readers of chunks have disagreed. */
static void test_chunks_that_could_be_read_in_two_ways_are_refused(void **state)
{
    static const struct slice bodies[] = {
        SLICE("\r\n"),
        SLICE("x\r\n"),
        SLICE("-1\r\n"),
        SLICE("+1\r\n"),
        SLICE("0x1\r\na"),
        SLICE(" 1\r\na"),
        SLICE("1\na\r\n"), /* a line feed on its own */
        SLICE("1\r\ra"),
        SLICE("1;a\nb\r\na"), /* ... within an extension */
        SLICE("1;a\rb\r\na"),
        SLICE("1;\0\r\na"),
        SLICE("1\r\nab\r\n"), /* longer than it says */
        SLICE("1\r\na\n0\r\n"),
        SLICE("1\r\na\r0\r\n"),
        SLICE("10000000000000000\r\n"), /* 2^64 */
        SLICE("0000000000000001\r\n"),
        SLICE("0\r\nX: y\n\r\n"),
        SLICE("0\r\nno colon\r\n\r\n"),
        SLICE("0\r\nX : y\r\n\r\n"),
        SLICE("0\r\n folded: y\r\n\r\n"),
        SLICE("0\r\n: y\r\n\r\n"),
        SLICE("0\r\nX: \0\r\n\r\n"),
        SLICE("0\r\n\rX"),
    };
    (void)state;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct http_body_reader reader = begun(HTTP_CHUNKED, 0);
        size_t taken = 0;

        if (http_body_take(&reader, bodies[i], &taken) != HTTP_BAD || taken >= bodies[i].len)
            fail_msg("body %zu", i);
        assert_int_equal(http_body_take(&reader, SLICE("0\r\n\r\n"), &taken), HTTP_BAD);
        assert_int_equal(taken, 0);
    }
}

static void test_lines_between_chunks_and_trailers_are_bounded(void **state)
{
    static char text[20000];
    size_t taken = 0;
    (void)state;

    memset(text, 'a', sizeof text);
    memcpy(text, "1;", 2);
    struct http_body_reader reader = begun(HTTP_CHUNKED, 0);
    assert_int_equal(http_body_take(&reader, (struct slice){text, sizeof text}, &taken), HTTP_BAD);
    assert_true(taken < 1000);
    memcpy(text, "0\r\nX:", 5);
    reader = begun(HTTP_CHUNKED, 0);
    assert_int_equal(http_body_take(&reader, (struct slice){text, sizeof text}, &taken), HTTP_BAD);
    assert_true(taken < 10000);
    for (size_t at = 3; at + 6 <= sizeof text; at += 6)
        memcpy(text + at, "X: y\r\n", 6);
    reader = begun(HTTP_CHUNKED, 0);
    assert_int_equal(http_body_take(&reader, (struct slice){text, sizeof text}, &taken), HTTP_BAD);
    assert_true(taken < 15000);
}

static void assert_refusal(enum net_refusal refusal, int status, bool connect, struct slice reason, const char *head,
                           const char *body)
{
    char out[HTTP_REPLY_MAX];
    char text[HTTP_REPLY_MAX + 1];
    char expected[HTTP_REPLY_MAX];

    size_t length = http_refusal(refusal, status, connect, "example.com", reason, out);
    memcpy(text, out, length);
    text[length] = '\0';
    snprintf(expected, sizeof expected, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", head,
             strlen(body), body);
    assert_string_equal(text, expected);
}

#define TEXT "\r\nContent-Type: text/plain"
#define BY_LIST TEXT "\r\nX-Proxy-Error: blocked-by-allowlist"
#define BY_US TEXT "\r\nX-Proxy-Error: blocked-by-sandbox-runtime"

static void test_refusals_are_said_as_srt_says_them(void **state)
{
    static const struct slice unlisted = SLICE("host is not on the allow list");
    static const struct slice loopback = SLICE("resolved to a loopback address");
    static const struct slice mismatch = SLICE("Host header does not match the request target");
    (void)state;

    assert_refusal(NET_NOT_ALLOWED, 0, true, unlisted, "403 host is not on the allow list" BY_LIST,
                   "Connection blocked by network allowlist");
    assert_refusal(NET_NOT_ALLOWED, 0, false, unlisted, "403 Forbidden" BY_LIST,
                   "Connection blocked by network allowlist\n");
    assert_refusal(NET_BAD_ADDRESS, 0, true, loopback, "403 resolved to a loopback address" BY_US,
                   "Connection to example.com blocked: resolved to a loopback address");
    assert_refusal(NET_BAD_ADDRESS, 0, false, loopback, "403 Forbidden" BY_US,
                   "Connection to example.com blocked: resolved to a loopback address\n");
    assert_refusal(NET_OPAQUE, 0, true, SLICE(""), "403 Forbidden" BY_US,
                   "this proxy does not tunnel CONNECTs it cannot inspect");
    assert_refusal(NET_NAME_MISMATCH, 0, false, mismatch, "421 Misdirected Request" BY_US,
                   "Host header does not match the request target\n");
    assert_refusal(NET_NO_TOKEN, 0, true, SLICE(""),
                   "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"srt\"", "");
    assert_refusal(NET_UNREACHABLE, 0, true, SLICE("nobody"), "502 Bad Gateway", "");
    assert_refusal(NET_UNREACHABLE, 0, false, SLICE(""), "502 Bad Gateway" TEXT, "Bad Gateway");
}

static void test_refusals_that_srt_leaves_bare_say_what_is_wrong(void **state)
{
    (void)state;

    assert_refusal(NET_UNREACHABLE, 0, false, SLICE("it does not resolve"), "502 Bad Gateway" TEXT,
                   "Bad Gateway: it does not resolve\n");
    assert_refusal(NET_BAD_REQUEST, 431, false, SLICE("the headers are too long"),
                   "431 Request Header Fields Too Large" TEXT "\r\nX-Proxy-Error: bad-request",
                   "the headers are too long\n");
    assert_refusal(NET_BAD_REQUEST, 0, false, SLICE(""), "400 Bad Request\r\nX-Proxy-Error: bad-request", "");
}

static void test_a_reason_cannot_write_headers_or_lines_of_its_own(void **state)
{
    (void)state;

    assert_refusal(NET_NOT_ALLOWED, 0, true, SLICE("no\r\nX-Evil: 1\r\n\r\nbody \x1b[31m \xc3\xbc\xff"),
                   "403 no X-Evil: 1 body [31m ??" BY_LIST, "Connection blocked by network allowlist");
}

static void test_every_refusal_fits_whatever_its_reason(void **state)
{
    static char reason[5000];
    char out[HTTP_REPLY_MAX];
    char host[254];
    (void)state;

    memset(host, 'h', sizeof host);
    host[253] = '\0';
    for (int refusal = NET_NOT_REFUSED; refusal <= NET_BUSY; refusal++) {
        for (int connect = 0; connect < 2; connect++) {
            memset(reason, 'r', sizeof reason);
            size_t length =
                http_refusal((enum net_refusal)refusal, 0, connect, host, (struct slice){reason, sizeof reason}, out);
            assert_true(length > 40 && length < sizeof out);
            assert_memory_equal(out, "HTTP/1.1 ", 9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_counted_body_ends_at_its_count),
        cmocka_unit_test(test_a_chunked_body_ends_behind_its_last_chunk),
        cmocka_unit_test(test_chunks_that_could_be_read_in_two_ways_are_refused),
        cmocka_unit_test(test_lines_between_chunks_and_trailers_are_bounded),
        cmocka_unit_test(test_refusals_are_said_as_srt_says_them),
        cmocka_unit_test(test_refusals_that_srt_leaves_bare_say_what_is_wrong),
        cmocka_unit_test(test_a_reason_cannot_write_headers_or_lines_of_its_own),
        cmocka_unit_test(test_every_refusal_fits_whatever_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
