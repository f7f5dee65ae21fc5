/* SOCKS5 as a client of ours sees it, and the refusal that ssh shows. */
#include "net/socks.h"
#include "net/ssh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define LOGIN "\1\7srt.abc\40" TOKEN

/* Gives the messages one after the other; the result of the last one. */
static enum socks_result say(struct socks *socks, const struct slice *messages, size_t count)
{
    enum socks_result result = SOCKS_CLOSE;

    for (size_t i = 0; i < count; i++) {
        size_t taken = 0;
        result = socks_take(socks, messages[i], &taken);
        if (i + 1 < count)
            assert_int_equal(result, SOCKS_REPLY);
        if (result == SOCKS_REPLY || result == SOCKS_REQUEST)
            assert_int_equal(taken, messages[i].len);
    }
    return result;
}

static void assert_reply(const struct socks *socks, struct slice expected)
{
    assert_int_equal(socks->reply_length, expected.len);
    assert_memory_equal(socks->reply, expected.ptr, expected.len);
}

static enum socks_result ask(struct socks *socks, struct slice request)
{
    struct slice messages[] = {SLICE("\5\2\0\2"), SLICE(LOGIN), request};

    socks_begin(socks, TOKEN);
    return say(socks, messages, 3);
}

static void test_names_and_addresses_can_be_asked_for(void **state)
{
    static const struct {
        struct slice request;
        const char *host;
        uint16_t port;
    } cases[] = {
        {SLICE("\5\1\0\3\13Example.com\1\xbb"), "example.com", 443},
        {SLICE("\5\1\0\1\300\0\2\1\0\x50"), "192.0.2.1", 80},
        {SLICE("\5\1\0\4\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x16"), "2001:db8::1", 22},
        {SLICE("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\177\0\0\1\0\x50"), "127.0.0.1", 80}, /* IPv4 within IPv6 */
        {SLICE("\5\1\0\3\x09"
               "192.0.2.1\0\x50"),
         "192.0.2.1", 80},
    };
    struct socks socks;
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ask(&socks, cases[i].request), SOCKS_REQUEST);
        assert_string_equal(socks.host.name, cases[i].host);
        assert_int_equal(socks.port, cases[i].port);
    }
}

static void test_where_no_token_is_asked_for_none_or_any_will_do(void **state)
{
    static const struct slice request = SLICE("\5\1\0\3\13Example.com\1\xbb");
    const struct slice none[] = {SLICE("\5\2\0\2"), request};
    const struct slice any[] = {SLICE("\5\1\2"), SLICE("\1\1u\1p"), request};
    struct socks socks;

    (void)state;
    socks_begin(&socks, "");
    assert_int_equal(say(&socks, none, 2), SOCKS_REQUEST);
    socks_begin(&socks, "");
    assert_int_equal(say(&socks, any, 3), SOCKS_REQUEST);
}

/* Attacks 76 and 77. */
static void test_names_that_could_be_read_in_two_ways_are_refused(void **state)
{
    static const struct slice requests[] = {
        SLICE("\5\1\0\3\20evil\0example.com\0\x50"),
        SLICE("\5\1\0\3\0\0\x50"),
        SLICE("\5\1\0\3\14example.com\n\0\x50"),
        SLICE("\5\1\0\3\12"
              "2130706433\0\x50"),
        SLICE("\5\1\0\3\5"
              "127.1\0\x50"),
        SLICE("\5\1\0\3\6"
              "0x7f.1\0\x50"),
        SLICE("\5\1\0\3\15user@evil.com\0\x50"),
        SLICE("\5\1\0\3\12"
              "fe80::1%lo\0\x50"),
        SLICE("\5\1\0\3\3\xc3\xbc"
              "x\0\x50"),
        SLICE("\5\1\0\3\16example.com:80\0\x50"),
        SLICE("\5\1\0\3\13example.com\0\0"), /* port 0 */
    };
    struct socks socks;
    (void)state;

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (ask(&socks, requests[i]) != SOCKS_CLOSE)
            fail_msg("request %zu: \"%s\"", i, socks.host.name);
        assert_int_equal(socks.refusal, NET_BAD_REQUEST);
        assert_reply(&socks, SLICE("\5\2\0\1\0\0\0\0\0\0"));
    }
}

static void test_only_connect_is_offered(void **state)
{
    struct socks socks;
    (void)state;

    assert_int_equal(ask(&socks, SLICE("\5\2\0\3\13example.com\1\xbb")), SOCKS_CLOSE); /* BIND */
    assert_reply(&socks, SLICE("\5\7\0\1\0\0\0\0\0\0"));
    assert_int_equal(ask(&socks, SLICE("\5\3\0\1\0\0\0\0\0\0")), SOCKS_CLOSE); /* UDP */
    assert_reply(&socks, SLICE("\5\7\0\1\0\0\0\0\0\0"));
    assert_int_equal(ask(&socks, SLICE("\5\1\0\2\0\0\0\0\0\0")), SOCKS_CLOSE); /* no type of address */
    assert_reply(&socks, SLICE("\5\10\0\1\0\0\0\0\0\0"));
    assert_int_equal(ask(&socks, SLICE("\5\11\0\1\0\0\0\0\0\0")), SOCKS_CLOSE); /* no command */
    assert_int_equal(ask(&socks, SLICE("\4\1\0\1\0\0\0\0\0\0")), SOCKS_CLOSE);
}

static void test_the_token_opens_and_nothing_else_does(void **state)
{
    static const struct slice good[] = {SLICE(LOGIN), SLICE("\1\3srt\40" TOKEN), SLICE("\1\4srt.\40" TOKEN)};
    static const struct slice wrong[] = {
        SLICE("\1\3srt\40"
              "1123456789abcdef0123456789abcdef"),
        SLICE("\1\3srt\37"
              "0123456789abcdef0123456789abcde"),
        SLICE("\1\3srt\0"),
        SLICE("\1\0\40" TOKEN),
        SLICE("\1\4evil\40" TOKEN),
        SLICE("\1\4srtx\40" TOKEN),
        SLICE("\1\3srt\41" TOKEN "f"),
    };
    struct socks socks;
    (void)state;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct slice messages[] = {SLICE("\5\1\2"), good[i]};
        socks_begin(&socks, TOKEN);
        assert_int_equal(say(&socks, messages, 2), SOCKS_REPLY);
        assert_reply(&socks, SLICE("\1\0"));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct slice messages[] = {SLICE("\5\1\2"), wrong[i]};
        socks_begin(&socks, TOKEN);
        if (say(&socks, messages, 2) != SOCKS_CLOSE)
            fail_msg("login %zu passes", i);
        assert_int_equal(socks.refusal, NET_NO_TOKEN);
        assert_reply(&socks, SLICE("\1\1"));
    }
}

/* As srt: a client that has no token learns about the destination, not about methods of authentication. */
static void test_a_client_without_the_token_is_refused_its_destination(void **state)
{
    struct slice messages[] = {SLICE("\5\1\0"), SLICE("\5\1\0\3\13example.com\1\xbb")};
    struct slice ssh[] = {SLICE("\5\1\0"), SLICE("\5\1\0\3\13example.com\0\x16")};
    struct slice other[] = {SLICE("\5\1\1")};
    struct socks socks;
    (void)state;

    socks_begin(&socks, TOKEN);
    assert_int_equal(say(&socks, messages, 2), SOCKS_CLOSE);
    assert_int_equal(socks.refusal, NET_NO_TOKEN);
    assert_string_equal(socks.host.name, "example.com");
    assert_reply(&socks, SLICE("\5\2\0\1\0\0\0\0\0\0"));

    socks_begin(&socks, TOKEN);
    assert_int_equal(say(&socks, ssh, 2), SOCKS_CLOSE);
    assert_int_equal(socks.refusal, NET_NO_TOKEN);
    assert_memory_equal(socks.reply, "\5\0\0\1\0\0\0\0\0\0SSH-2.0-policy_refusal\r\n\0\0", 36);

    socks_begin(&socks, TOKEN);
    assert_int_equal(say(&socks, other, 1), SOCKS_CLOSE);
    assert_reply(&socks, SLICE("\5\xff"));
}

static void test_without_a_token_everybody_inside_may_ask(void **state)
{
    struct slice messages[] = {SLICE("\5\2\0\2"), SLICE("\5\1\0\3\13example.com\1\xbb")};
    struct socks socks;
    (void)state;

    socks_begin(&socks, "");
    assert_int_equal(say(&socks, messages, 1), SOCKS_REPLY);
    assert_reply(&socks, SLICE("\5\0"));
    socks_begin(&socks, "");
    assert_int_equal(say(&socks, messages, 2), SOCKS_REQUEST);
}

static void test_what_is_not_socks5_is_closed_at_once(void **state)
{
    static const struct slice inputs[] = {SLICE("\4\1\0\x50\1\2\3\4"), SLICE("GET / HTTP/1.1\r\n"), SLICE("\5\0"),
                                          SLICE("\5\x81"), SLICE("\x16\3\1")};
    struct socks socks;
    size_t taken;
    (void)state;

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        socks_begin(&socks, TOKEN);
        assert_int_equal(socks_take(&socks, inputs[i], &taken), SOCKS_CLOSE);
        assert_int_equal(socks.refusal, NET_BAD_REQUEST);
        assert_int_equal(socks.reply_length, 0);
    }
}

static void test_bytes_may_come_one_by_one_and_more_may_follow(void **state)
{
    static const struct slice talk = SLICE("\5\2\0\2" LOGIN "\5\1\0\3\13example.com\1\xbb"
                                           "then the tunnel");
    enum socks_result result = SOCKS_MORE;
    struct socks socks;
    size_t start = 0;
    size_t taken = 0;
    (void)state;

    socks_begin(&socks, TOKEN);
    for (size_t end = 0; end <= talk.len && result != SOCKS_REQUEST; end++) {
        result = socks_take(&socks, (struct slice){talk.ptr + start, end - start}, &taken);
        assert_int_not_equal(result, SOCKS_CLOSE);
        start += taken;
    }
    assert_int_equal(result, SOCKS_REQUEST);
    assert_int_equal(start, talk.len - strlen("then the tunnel"));

    /* and all at once */
    socks_begin(&socks, TOKEN);
    struct slice rest = talk;
    do {
        result = socks_take(&socks, rest, &taken);
        rest = slice_from(rest, taken);
    } while (result == SOCKS_REPLY);
    assert_int_equal(result, SOCKS_REQUEST);
    assert_true(slice_is(rest, "then the tunnel"));
}

static void test_answers_have_the_codes_of_srt(void **state)
{
    static const struct {
        enum net_refusal refusal;
        uint8_t code;
    } cases[] = {{NET_NOT_REFUSED, 0}, {NET_NOT_ALLOWED, 2}, {NET_BAD_ADDRESS, 2}, {NET_UNREACHABLE, 4},
                 {NET_OPAQUE, 1},      {NET_BUSY, 1},        {NET_UNASSIGNED, 2}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t out[SOCKS_ANSWER_MAX];
        assert_int_equal(socks_answer(cases[i].refusal, out), 10);
        assert_int_equal(out[0], 5);
        assert_int_equal(out[1], cases[i].code);
        assert_memory_equal(out + 2, "\0\1\0\0\0\0\0\0", 8);
    }
}

static void test_ssh_is_told_the_reason_in_one_packet(void **state)
{
    static const char greeting[] = "SSH-2.0-policy_refusal\r\n";
    uint8_t out[SSH_REFUSAL_MAX];
    char reason[2000];
    (void)state;

    size_t length = ssh_refusal(SLICE("use https\r\nReceived: lies"), out);
    const uint8_t *packet = out + strlen(greeting);
    size_t packet_length = (size_t)packet[2] << 8 | packet[3];
    assert_memory_equal(out, greeting, strlen(greeting));
    assert_int_equal(length, strlen(greeting) + 4 + packet_length);
    assert_int_equal((4 + packet_length) % 8, 0);
    assert_true(packet[4] >= 4);
    assert_memory_equal(packet + 5, "\1\0\0\0\1\0\0\0\30use https Received: lies\0\0\0\0", 37);
    assert_int_equal(packet_length, 1 + 37 + packet[4]);

    /* long ones are cut, at a character's end, and never written over the edge */
    memset(reason, 'x', sizeof reason);
    for (size_t i = 1; i + 1 < sizeof reason; i += 2)
        memcpy(reason + i, "\xc3\xbc", 2);
    for (size_t size = 400; size < sizeof reason; size += 7) {
        length = ssh_refusal((struct slice){reason, size}, out);
        assert_true(length > 400 && length <= sizeof out);
        size_t text_length = (size_t)packet[12] << 8 | packet[13];
        assert_int_not_equal(packet[14 + text_length - 1], 0xc3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_addresses_can_be_asked_for),
        cmocka_unit_test(test_where_no_token_is_asked_for_none_or_any_will_do),
        cmocka_unit_test(test_names_that_could_be_read_in_two_ways_are_refused),
        cmocka_unit_test(test_only_connect_is_offered),
        cmocka_unit_test(test_the_token_opens_and_nothing_else_does),
        cmocka_unit_test(test_a_client_without_the_token_is_refused_its_destination),
        cmocka_unit_test(test_without_a_token_everybody_inside_may_ask),
        cmocka_unit_test(test_what_is_not_socks5_is_closed_at_once),
        cmocka_unit_test(test_bytes_may_come_one_by_one_and_more_may_follow),
        cmocka_unit_test(test_answers_have_the_codes_of_srt),
        cmocka_unit_test(test_ssh_is_told_the_reason_in_one_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
