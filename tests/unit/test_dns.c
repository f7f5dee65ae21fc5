/* DNS messages: what is read from a query, what is answered, and that an answer
 * from upstream is only passed on to the question it answers. */
#include "net/dns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define HEADER(id, flags, questions, answers, authorities, additional) \
    id flags "\0" questions "\0" answers "\0" authorities "\0" additional
#define PLAIN HEADER("\x12\x34", "\x01\x00", "\1", "\0", "\0", "\0")
#define WITH_EDNS HEADER("\x12\x34", "\x01\x00", "\1", "\0", "\0", "\1")
#define EXAMPLE "\7ExAmple\3com\0"
#define A_IN "\0\1\0\1"
#define TXT_IN "\0\20\0\1"
#define OPT_1232 "\0\0\51\4\xd0\0\0\0\0\0\0"

static struct dns_query parsed(struct slice message)
{
    struct dns_query query;

    assert_int_equal(dns_query_parse(message, &query), DNS_QUERY);
    return query;
}

static unsigned rejected(struct slice message)
{
    struct dns_query query;

    assert_int_equal(dns_query_parse(message, &query), DNS_REJECT);
    return query.code;
}

static void test_a_question_is_read_and_its_name_made_canonical(void **state)
{
    struct dns_query query = parsed(SLICE(PLAIN EXAMPLE A_IN));
    (void)state;

    assert_int_equal(query.id, 0x1234);
    assert_int_equal(query.type, DNS_TYPE_A);
    assert_true(query.is_host);
    assert_string_equal(query.host.name, "example.com");
    assert_false(query.has_edns);
    assert_int_equal(query.payload, 512);
    assert_int_equal(query.question_length, 17);
}

static void test_edns_says_how_much_the_client_takes(void **state)
{
    (void)state;

    struct dns_query query = parsed(SLICE(WITH_EDNS EXAMPLE A_IN OPT_1232));
    assert_true(query.has_edns);
    assert_int_equal(query.payload, 1232);
    /* less than 512 means 512, and more than we ever send is no use */
    assert_int_equal(parsed(SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\51\0\1\0\0\0\0\0\0")).payload, 512);
    assert_int_equal(parsed(SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\51\xff\xff\0\0\0\0\0\0")).payload, DNS_MESSAGE_MAX);
    /* options are read over */
    assert_true(parsed(SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\51\4\xd0\0\0\0\0\0\6\0\12\0\2ab")).has_edns);
}

static void test_what_is_no_query_gets_no_answer(void **state)
{
    struct dns_query query;
    (void)state;

    assert_int_equal(dns_query_parse(SLICE(""), &query), DNS_IGNORE);
    assert_int_equal(dns_query_parse(SLICE("\x12\x34\1\0\0\1\0\0\0\0\0"), &query), DNS_IGNORE);
    assert_int_equal(
        dns_query_parse(SLICE(HEADER("\x12\x34", "\x81\x00", "\1", "\0", "\0", "\0") EXAMPLE A_IN), &query),
        DNS_IGNORE);
}

static void test_malformed_queries_are_rejected_with_their_error(void **state)
{
    static const struct {
        struct slice message;
        unsigned code;
    } cases[] = {
        {SLICE(PLAIN), DNS_FORMERR},
        {SLICE(PLAIN EXAMPLE), DNS_FORMERR},
        {SLICE(PLAIN "\7exam"), DNS_FORMERR},
        {SLICE(PLAIN "\7example\3com" A_IN), DNS_FORMERR},                           /* no end of the name */
        {SLICE(PLAIN "\xc0\x0c" A_IN), DNS_FORMERR},                                 /* a pointer to itself */
        {SLICE(PLAIN "\7example\xc0\x0c" A_IN), DNS_FORMERR},                        /* a pointer back */
        {SLICE(PLAIN "\100example\0" A_IN), DNS_FORMERR},                            /* 0x40: no kind of label */
        {SLICE(PLAIN EXAMPLE A_IN "x"), DNS_FORMERR},                                /* something behind it */
        {SLICE(WITH_EDNS EXAMPLE A_IN), DNS_FORMERR},                                /* announced and missing */
        {SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\1\0\1\0\0\0\0\0\0"), DNS_FORMERR},       /* a record that is not EDNS */
        {SLICE(WITH_EDNS EXAMPLE A_IN "\1x\0\0\51\4\xd0\0\0\0\0\0\0"), DNS_FORMERR}, /* EDNS with a name */
        {SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\51\4\xd0\0\0\0\0\0\1"), DNS_FORMERR},    /* an option cut short */
        {SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\51\4\xd0\0\1\0\0\0\0"), DNS_BADVERS},
        {SLICE(HEADER("\1\2", "\1\0", "\0", "\0", "\0", "\0")), DNS_FORMERR},
        {SLICE(HEADER("\1\2", "\1\0", "\2", "\0", "\0", "\0") EXAMPLE A_IN EXAMPLE A_IN), DNS_FORMERR},
        {SLICE(HEADER("\1\2", "\1\0", "\1", "\1", "\0", "\0") EXAMPLE A_IN), DNS_FORMERR},
        {SLICE(HEADER("\1\2", "\1\0", "\1", "\0", "\1", "\0") EXAMPLE A_IN), DNS_FORMERR},
        {SLICE(HEADER("\1\2", "\1\0", "\1", "\0", "\0", "\2") EXAMPLE A_IN OPT_1232 OPT_1232), DNS_FORMERR},
        {SLICE(HEADER("\1\2", "\3\0", "\1", "\0", "\0", "\0") EXAMPLE A_IN), DNS_FORMERR},  /* truncated */
        {SLICE(HEADER("\1\2", "\x28\0", "\1", "\0", "\0", "\0") EXAMPLE A_IN), DNS_NOTIMP}, /* update */
        {SLICE(PLAIN EXAMPLE "\0\1\0\3"), DNS_REFUSED},                                     /* class CHAOS */
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (rejected(cases[i].message) != cases[i].code)
            fail_msg("case %zu: %u", i, rejected(cases[i].message));
    }
}

static void test_names_longer_than_dns_allows_are_rejected(void **state)
{
    char message[400] = PLAIN;
    size_t length = 12;
    (void)state;

    for (int i = 0; i < 4; i++) { /* 4 labels of 63: 256 bytes */
        message[length++] = 63;
        memset(message + length, 'a', 63);
        length += 63;
    }
    message[length++] = 0;
    memcpy(message + length, A_IN, 4);
    assert_int_equal(rejected((struct slice){message, length + 4}), DNS_FORMERR);

    message[length - 65] = 61; /* the last label two shorter: 255 bytes, and a name of 253 characters */
    message[length - 3] = 0;
    memcpy(message + length - 2, A_IN, 4);
    struct dns_query query = parsed((struct slice){message, length + 2});
    assert_true(query.is_host);
    assert_int_equal(query.host.name_length, 253);
}

/* Attacks 76 and 77: what only looks like an allowed name must not become one. */
static void test_labels_with_other_bytes_are_no_host(void **state)
{
    static const struct slice names[] = {
        SLICE("\0"),                         /* the root */
        SLICE("\13example.com\0"),           /* a dot within a label */
        SLICE("\4evil\1\0\7example\3com\0"), /* NUL */
        SLICE("\5a b\tc\3com\0"),            /* blanks */
        SLICE("\3\xc3\xbc"
              "x\3com\0"),                 /* UTF-8 is not sent in DNS */
        SLICE("\1*\7example\3com\0"),      /* a wildcard */
        SLICE("\4-bad\3com\0"),            /* a hyphen in front */
        SLICE("\003127\0010\0010\0011\0"), /* an address is no name */
        SLICE("\12"
              "2130706433\0"), /* nor is its number */
    };
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char message[100] = PLAIN;

        memcpy(message + 12, names[i].ptr, names[i].len);
        memcpy(message + 12 + names[i].len, A_IN, 4);
        if (parsed((struct slice){message, 12 + names[i].len + 4}).is_host)
            fail_msg("name %zu passes for a host", i);
    }
    assert_true(parsed(SLICE(PLAIN "\6_dmarc\7example\3com\0" TXT_IN)).is_host);
}

static void test_reverse_names_give_their_address(void **state)
{
    struct dns_query query = parsed(SLICE(PLAIN "\0011\0010\00218\003198\7in-addr\4ARPA\0\0\14\0\1"));
    char text[46];
    (void)state;

    assert_true(query.is_reverse);
    address_print(&query.reverse, text);
    assert_string_equal(text, "198.18.0.1");
    assert_int_equal(dns_handling_of(&query), DNS_REVERSE);

    query = parsed(SLICE(PLAIN "\1b\1a\0019\0018\0017\0016\0015\0014\0013\0012\0011\0010\0010\0010\0010\0010"
                               "\0010\0010\0010\0010\0010\0010\0010\0010\1F\1e\1d\1c\0010\0010\1d\1f"
                               "\3ip6\4arpa\0\0\14\0\1"));
    assert_true(query.is_reverse);
    address_print(&query.reverse, text);
    assert_string_equal(text, "fd00:cdef::123:4567:89ab");

    assert_false(parsed(SLICE(PLAIN "\0011\0010\00218\7in-addr\4arpa\0\0\14\0\1")).is_reverse);
    assert_false(parsed(SLICE(PLAIN "\0011\0010\00218\003256\7in-addr\4arpa\0\0\14\0\1")).is_reverse);
    assert_false(parsed(SLICE(PLAIN "\0011\0011\0010\00218\003198\7in-addr\4arpa\0\0\14\0\1")).is_reverse);
    assert_false(parsed(SLICE(PLAIN "\0011\0010\00218\003198\7in-addr\4arpa\0" A_IN)).is_reverse);
}

static void test_what_would_lead_past_the_synthetic_addresses_has_no_data(void **state)
{
    static const struct {
        uint16_t type;
        enum dns_handling handling;
    } cases[] = {
        {1, DNS_SYNTHESIZE}, {28, DNS_SYNTHESIZE}, {65, DNS_NO_DATA}, {64, DNS_NO_DATA}, {255, DNS_NO_DATA},
        {252, DNS_DECLINE},  {251, DNS_DECLINE},   {41, DNS_DECLINE}, {0, DNS_DECLINE},  {249, DNS_DECLINE},
        {16, DNS_FORWARD},   {15, DNS_FORWARD},    {33, DNS_FORWARD}, {2, DNS_FORWARD},  {257, DNS_FORWARD},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dns_query query = {.type = cases[i].type};
        if (dns_handling_of(&query) != cases[i].handling)
            fail_msg("type %u", cases[i].type);
    }
}

static void assert_message(const uint8_t *out, size_t length, struct slice expected)
{
    assert_int_equal(length, expected.len);
    assert_memory_equal(out, expected.ptr, expected.len);
}

static void test_an_address_is_answered_in_the_spelling_of_the_question(void **state)
{
    uint8_t out[512];
    struct address address = {.bytes = {198, 18, 0, 7}};
    struct dns_query query = parsed(SLICE(PLAIN EXAMPLE A_IN));
    (void)state;

    assert_message(out, dns_answer_address(&query, &address, 60, out, sizeof out),
                   SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\1", "\0", "\0") EXAMPLE A_IN
                         "\xc0\x0c" A_IN "\0\0\0\x3c\0\4\xc6\x12\0\7"));

    query = parsed(SLICE(WITH_EDNS EXAMPLE "\0\34\0\1" OPT_1232));
    assert_message(out, dns_answer_address(&query, &address, 60, out, sizeof out), /* no data of that family */
                   SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\0", "\0", "\1") EXAMPLE "\0\34\0\1"
                                                                                        "\0\0\51\x10\0\0\0\0\0\0\0"));
    address = (struct address){.v6 = true, .bytes = {0xfd, [15] = 9}};
    assert_message(out, dns_answer_address(&query, &address, 60, out, sizeof out),
                   SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\1", "\0", "\1") EXAMPLE
                         "\0\34\0\1"
                         "\xc0\x0c\0\34\0\1\0\0\0\x3c\0\20\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\11"
                         "\0\0\51\x10\0\0\0\0\0\0\0"));
}

static void test_a_refusal_says_blocked_to_clients_that_understand_it(void **state)
{
    uint8_t out[512];
    struct dns_query query = parsed(SLICE(PLAIN EXAMPLE A_IN));
    (void)state;

    assert_message(out, dns_answer_code(&query, DNS_NXDOMAIN, DNS_EDE_BLOCKED, "no", out, sizeof out),
                   SLICE(HEADER("\x12\x34", "\x81\x83", "\1", "\0", "\0", "\0") EXAMPLE A_IN));
    query = parsed(SLICE(WITH_EDNS EXAMPLE A_IN OPT_1232));
    assert_message(out, dns_answer_code(&query, DNS_NXDOMAIN, DNS_EDE_BLOCKED, "no\nevil", out, sizeof out),
                   SLICE(HEADER("\x12\x34", "\x81\x83", "\1", "\0", "\0", "\1") EXAMPLE A_IN
                         "\0\0\51\x10\0\0\0\0\0\0\x0d\0\17\0\11\0\17no evil"));
}

static void test_an_unreadable_query_is_answered_without_its_question(void **state)
{
    uint8_t out[512];
    struct dns_query query;
    (void)state;

    assert_int_equal(dns_query_parse(SLICE(PLAIN "\xc0\x0c"), &query), DNS_REJECT);
    assert_message(out, dns_answer_code(&query, query.code, DNS_EDE_NONE, NULL, out, sizeof out),
                   SLICE(HEADER("\x12\x34", "\x81\x81", "\0", "\0", "\0", "\0")));
    assert_int_equal(dns_query_parse(SLICE(WITH_EDNS EXAMPLE A_IN "\0\0\51\4\xd0\0\1\0\0\0\0"), &query), DNS_REJECT);
    assert_message(
        out, dns_answer_code(&query, query.code, DNS_EDE_NONE, NULL, out, sizeof out),
        SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\0", "\0", "\1") EXAMPLE A_IN "\0\0\51\x10\0\1\0\0\0\0\0"));
}

static void test_a_name_is_answered_for_an_address(void **state)
{
    uint8_t out[512];
    struct dns_query query = parsed(SLICE(PLAIN "\0011\0010\00218\003198\7in-addr\4arpa\0\0\14\0\1"));
    (void)state;

    assert_message(out, dns_answer_name(&query, SLICE("www.example.com"), 5, out, sizeof out),
                   SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\1", "\0",
                                "\0") "\0011\0010\00218\003198\7in-addr\4arpa\0\0\14\0\1"
                                      "\xc0\x0c\0\14\0\1\0\0\0\5\0\21\3www\7example\3com\0"));
}

#define ANSWERED HEADER("\xaa\xbb", "\x85\xa0", "\1", "\1", "\1", "\1")
#define TXT_RECORD "\xc0\x0c\0\20\0\1\0\0\0\x3c\0\3\2hi"
#define NS_RECORD "\xc0\x0c\0\2\0\1\0\0\0\x3c\0\5\2ns\xc0\x0c"
#define GLUE "\2ns\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1"

static void test_an_upstream_answer_is_passed_on_without_its_additional_records(void **state)
{
    uint8_t out[512];
    size_t length = 0;
    struct dns_query query = parsed(SLICE(PLAIN EXAMPLE TXT_IN));
    struct slice upstream = SLICE(ANSWERED "\7example\3COM\0" TXT_IN TXT_RECORD NS_RECORD GLUE);
    (void)state;

    assert_true(dns_answer_forward(&query, upstream, false, out, sizeof out, &length));
    assert_message(out, length,
                   SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\1", "\1", "\0") EXAMPLE TXT_IN TXT_RECORD NS_RECORD));

    query = parsed(SLICE(WITH_EDNS EXAMPLE TXT_IN OPT_1232));
    assert_true(dns_answer_forward(&query, upstream, false, out, sizeof out, &length));
    assert_message(out, length,
                   SLICE(HEADER("\x12\x34", "\x81\x80", "\1", "\1", "\1", "\1") EXAMPLE TXT_IN TXT_RECORD NS_RECORD
                         "\0\0\51\x10\0\0\0\0\0\0\0"));
}

static void test_an_answer_to_another_question_is_not_passed_on(void **state)
{
    static const struct slice answers[] = {
        SLICE(""),
        SLICE("\xaa\xbb\x85\xa0"),
        SLICE(ANSWERED "\7examplf\3com\0" TXT_IN TXT_RECORD NS_RECORD GLUE),                     /* another name */
        SLICE(ANSWERED EXAMPLE A_IN TXT_RECORD NS_RECORD GLUE),                                  /* another type */
        SLICE(HEADER("\xaa\xbb", "\x05\xa0", "\1", "\1", "\0", "\0") EXAMPLE TXT_IN TXT_RECORD), /* no answer */
        SLICE(HEADER("\xaa\xbb", "\x85\xa0", "\0", "\1", "\0", "\0") TXT_RECORD),
        SLICE(HEADER("\xaa\xbb", "\x85\xa0", "\1", "\2", "\0", "\0") EXAMPLE TXT_IN TXT_RECORD), /* one is missing */
        SLICE(HEADER("\xaa\xbb", "\x85\xa0", "\1", "\1", "\0", "\0") EXAMPLE TXT_IN
              "\xc0\x0c\0\20\0\1\0\0\0\x3c\0\4hi"),
        SLICE(HEADER("\xaa\xbb", "\x85\xa0", "\1", "\1", "\0", "\0") EXAMPLE TXT_IN
              "\xc0\x1d\0\20\0\1\0\0\0\x3c\0\3\2hi"), /* a pointer to itself */
        SLICE(HEADER("\xaa\xbb", "\x85\xa0", "\1", "\1", "\0", "\0") EXAMPLE TXT_IN
              "\x80\0\20\0\1\0\0\0\x3c\0\3\2hi"), /* no kind of label */
    };
    uint8_t out[512];
    size_t length = 0;
    struct dns_query query = parsed(SLICE(PLAIN EXAMPLE TXT_IN));
    (void)state;

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (dns_answer_forward(&query, answers[i], false, out, sizeof out, &length))
            fail_msg("answer %zu was passed on", i);
    }
    assert_true(dns_answer_forward(&query, SLICE(HEADER("\xaa\xbb", "\x85\xa3", "\1", "\0", "\0", "\0") EXAMPLE TXT_IN),
                                   false, out, sizeof out, &length));
    assert_int_equal(out[3] & 15, DNS_NXDOMAIN);
}

static void test_an_answer_too_long_for_udp_is_cut_and_goes_whole_over_tcp(void **state)
{
    char upstream[1000] = HEADER("\xaa\xbb", "\x85\x80", "\1", "\1", "\0", "\0") EXAMPLE TXT_IN
        "\xc0\x0c\0\20\0\1\0\0\0\x3c\2\x58"; /* 600 bytes */
    uint8_t out[2000];
    size_t length = 0;
    struct dns_query query = parsed(SLICE(PLAIN EXAMPLE TXT_IN));
    struct slice whole = {upstream, 12 + 17 + 12 + 600};
    (void)state;

    assert_true(dns_answer_forward(&query, whole, false, out, sizeof out, &length));
    assert_message(out, length, SLICE(HEADER("\x12\x34", "\x83\x80", "\1", "\0", "\0", "\0") EXAMPLE TXT_IN));
    assert_true(dns_answer_forward(&query, whole, true, out, sizeof out, &length));
    assert_int_equal(length, whole.len);
    assert_int_equal(out[2], 0x81);
    query = parsed(SLICE(WITH_EDNS EXAMPLE TXT_IN OPT_1232));
    assert_true(dns_answer_forward(&query, whole, false, out, sizeof out, &length));
    assert_int_equal(length, whole.len + 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_question_is_read_and_its_name_made_canonical),
        cmocka_unit_test(test_edns_says_how_much_the_client_takes),
        cmocka_unit_test(test_what_is_no_query_gets_no_answer),
        cmocka_unit_test(test_malformed_queries_are_rejected_with_their_error),
        cmocka_unit_test(test_names_longer_than_dns_allows_are_rejected),
        cmocka_unit_test(test_labels_with_other_bytes_are_no_host),
        cmocka_unit_test(test_reverse_names_give_their_address),
        cmocka_unit_test(test_what_would_lead_past_the_synthetic_addresses_has_no_data),
        cmocka_unit_test(test_an_address_is_answered_in_the_spelling_of_the_question),
        cmocka_unit_test(test_a_refusal_says_blocked_to_clients_that_understand_it),
        cmocka_unit_test(test_an_unreadable_query_is_answered_without_its_question),
        cmocka_unit_test(test_a_name_is_answered_for_an_address),
        cmocka_unit_test(test_an_upstream_answer_is_passed_on_without_its_additional_records),
        cmocka_unit_test(test_an_answer_to_another_question_is_not_passed_on),
        cmocka_unit_test(test_an_answer_too_long_for_udp_is_cut_and_goes_whole_over_tcp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
