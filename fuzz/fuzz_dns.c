/* The first two bytes say how long the query is; what follows it is an answer
 * from upstream. Every answer that is made must repeat id and question, fit, and
 * end where its records end. */
#include "net/dns.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static unsigned u16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static size_t name_end(const uint8_t *message, size_t length, size_t at)
{
    for (;;) {
        require(at < length);
        if (message[at] == 0)
            return at + 1;
        if (message[at] >= 0xc0) {
            require(at + 1 < length && (u16(message + at) & 0x3fff) < at);
            return at + 2;
        }
        require(message[at] < 0x40);
        at += 1 + (size_t)message[at];
    }
}

static void check_answer(const struct dns_query *query, const uint8_t *message, size_t length)
{
    size_t at = 12 + query->question_length;

    require(length >= at);
    require(u16(message) == query->id && message[2] & 0x80 && message[3] & 0x80);
    require(u16(message + 4) == (query->question_length > 0));
    require(memcmp(message + 12, query->question, query->question_length) == 0);
    require(u16(message + 10) == query->has_edns);
    for (unsigned left = u16(message + 6) + u16(message + 8) + u16(message + 10); left > 0; left--) {
        at = name_end(message, length, at);
        require(at + 10 <= length);
        at += 10 + u16(message + at + 8);
        require(at <= length);
    }
    require(at == length);
}

static void check_host(const struct dns_query *query)
{
    size_t dots = 0;
    size_t labels = 0;

    require(strlen(query->host.name) == query->host.name_length && !query->host.is_address);
    for (size_t i = 0; i < query->host.name_length; i++)
        dots += query->host.name[i] == '.';
    for (size_t at = 0; query->question[at] != 0; at += 1 + (size_t)query->question[at])
        labels++;
    require(labels == dots + 1); /* no dot came from within a label */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct address v4 = {.bytes = {198, 18, 0, 1}};
    static const struct address v6 = {.v6 = true, .bytes = {0xfd, [15] = 1}};
    static uint8_t out[DNS_MESSAGE_MAX];
    struct dns_query query;
    size_t length = 0;

    if (size < 2)
        return 0;
    size_t first = u16(data) < size - 2 ? u16(data) : size - 2;
    struct slice message = {(const char *)data + 2, first};
    struct slice upstream = {(const char *)data + 2 + first, size - 2 - first};
    enum dns_result result = dns_query_parse(message, &query);
    if (result == DNS_IGNORE)
        return 0;
    check_answer(&query, out, dns_answer_code(&query, query.code, DNS_EDE_BLOCKED, "not allowed", out, DNS_PLAIN_MAX));
    if (result == DNS_REJECT)
        return 0;
    require(query.payload >= DNS_PLAIN_MAX && query.payload <= DNS_MESSAGE_MAX);
    if (query.is_host)
        check_host(&query);
    check_answer(&query, out, dns_answer_address(&query, &v4, 60, out, DNS_PLAIN_MAX));
    check_answer(&query, out, dns_answer_address(&query, &v6, 60, out, DNS_PLAIN_MAX));
    if (query.is_reverse)
        check_answer(&query, out, dns_answer_name(&query, SLICE("www.example.com"), 60, out, DNS_PLAIN_MAX));
    if (dns_handling_of(&query) == DNS_FORWARD &&
        dns_answer_forward(&query, upstream, false, out, sizeof out, &length)) {
        require(length <= query.payload);
        check_answer(&query, out, length);
    }
    return 0;
}
