/* What the first bytes of a connection are taken for. */
#include "net/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A ClientHello that is put together from extensions and can be cut into records of any size. */
struct made {
    char bytes[40000];
    size_t length;
};

static void put(struct made *made, struct slice bytes)
{
    assert_true(made->length + bytes.len <= sizeof made->bytes);
    memcpy(made->bytes + made->length, bytes.ptr, bytes.len);
    made->length += bytes.len;
}

static void put_u16(struct made *made, size_t value)
{
    char bytes[2] = {(char)(value >> 8), (char)value};

    put(made, (struct slice){bytes, 2});
}

static struct slice text_of(const struct made *made)
{
    return (struct slice){made->bytes, made->length};
}

/* The handshake message around the extensions. */
static void put_message(struct made *made, struct slice extensions)
{
    static const char random[32] = "0123456789abcdefghijklmnopqrstu";
    size_t length = 2 + 32 + 1 + 3 + 2 + 4 + 2 + 2 + extensions.len;

    put(made, SLICE("\1\0"));
    put_u16(made, length);
    put(made, SLICE("\3\3"));
    put(made, (struct slice){random, 32});
    put(made, SLICE("\3sid"));
    put_u16(made, 4);
    put(made, SLICE("\x13\1\x13\2"));
    put(made, SLICE("\1\0"));
    put_u16(made, extensions.len);
    put(made, extensions);
}

static void put_records(struct made *made, struct slice message, size_t size)
{
    while (message.len > 0) {
        size_t now = message.len < size ? message.len : size;
        put(made, SLICE("\x16\3\1"));
        put_u16(made, now);
        put(made, (struct slice){message.ptr, now});
        message = slice_from(message, now);
    }
}

static struct made hello_of(struct slice extensions, size_t record_size)
{
    struct made message = {.length = 0};
    struct made records = {.length = 0};

    put_message(&message, extensions);
    put_records(&records, text_of(&message), record_size);
    return records;
}

#define NAME                   \
    "\0\0\0\x10\0\x0e\0\0\x0b" \
    "Example.com"
#define GREASE "\x0a\x0a\0\1\0"
#define VERSIONS "\0\x2b\0\3\2\3\4"
#define ECH "\xfe\x0d\0\3\0\0\1"

static void test_the_name_is_read_from_a_client_hello(void **state)
{
    struct hello hello;
    struct made made = hello_of(SLICE(GREASE NAME VERSIONS), 4000);
    (void)state;

    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
    assert_true(hello.has_name);
    assert_string_equal(hello.name.name, "example.com");
    assert_false(hello.encrypted);
    put(&made, SLICE("early data and whatever"));
    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
}

static void test_a_client_hello_need_not_name_anybody(void **state)
{
    struct hello hello;
    struct made made = hello_of(SLICE(VERSIONS), 4000);
    (void)state;

    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
    assert_false(hello.has_name);
    made = hello_of(SLICE(""), 4000);
    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
    assert_false(hello.has_name);
}

/* Attack 86. */
static void test_an_encrypted_name_is_noticed(void **state)
{
    struct hello hello;
    struct made made = hello_of(SLICE(NAME ECH), 4000);
    (void)state;

    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
    assert_true(hello.has_name);
    assert_true(hello.encrypted);
}

/* Attack 84: what does not see through fragments can be walked past. */
static void test_fragments_and_single_bytes_hide_nothing(void **state)
{
    struct hello hello;
    (void)state;

    for (size_t size = 1; size < 120; size++) {
        struct made made = hello_of(SLICE(GREASE NAME ECH), size);

        for (size_t length = 0; length < made.length; length++)
            assert_int_equal(hello_examine((struct slice){made.bytes, length}, &hello), HELLO_MORE);
        assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
        assert_true(hello.has_name && hello.encrypted);
        assert_string_equal(hello.name.name, "example.com");
    }
}

static void test_a_client_hello_that_breaks_its_rules_is_bad(void **state)
{
    static const struct slice extensions[] = {
        SLICE(NAME NAME),  /* twice */
        SLICE("\0\0\0\0"), /* empty */
        SLICE("\0\0\0\x11\0\x0f\0\0\x0c"
              "Example.com\0"), /* NUL */
        SLICE("\0\0\0\x10\0\x0e\1\0\x0b"
              "Example.com"),                    /* no host name */
        SLICE("\0\0\0\x0a\0\x08\0\0\1a\0\0\1b"), /* two names */
        SLICE("\0\0\0\x10\0\x0d\0\0\x0b"
              "Example.com"), /* lengths that do not add up */
        SLICE("\0\0\0\x10\0\x0e\0\0\x0c"
              "Example.com"),
        SLICE("\0\0\0\x05\0\x03\0\0\0"), /* an empty name */
        SLICE("\0\0\0\x0d\0\x0b\0\0\x08"
              "evil.com\xff"
              "abc"),
        SLICE("\0\0\0\x0e\0\x0c\0\0\x09"
              "a b\r\nc.de"),
        SLICE(NAME "\0\x2b\0\4\2\3\4"), /* longer than what holds it */
        SLICE(NAME "\0"),
    };
    struct hello hello;
    (void)state;

    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        struct made made = hello_of(extensions[i], 4000);
        if (hello_examine(text_of(&made), &hello) != HELLO_BAD)
            fail_msg("extensions %zu", i);
        assert_false(hello.has_name);
    }
}

static void test_records_that_break_their_rules_are_bad(void **state)
{
    struct made made = hello_of(SLICE(NAME), 10);
    struct hello hello;
    (void)state;

    made.bytes[15] = 0x17; /* the second record: application data */
    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_BAD);
    assert_int_equal(hello_examine(SLICE("\x16\3\1\0\0"), &hello), HELLO_BAD);         /* an empty record */
    assert_int_equal(hello_examine(SLICE("\x16\3\1\x40\1\1\0\0"), &hello), HELLO_BAD); /* longer than a record can be */
    assert_int_equal(hello_examine(SLICE("\x16\3\1\0\x40\2\0\0"), &hello), HELLO_BAD); /* not a ClientHello */
    assert_int_equal(hello_examine(SLICE("\x16\3\1\0\x40\1\1\0\0"), &hello), HELLO_BAD); /* of 64 KB */
}

static void test_an_endless_client_hello_is_not_waited_for(void **state)
{
    struct made extension = {.length = 0};
    struct hello hello;
    (void)state;

    put_u16(&extension, 21); /* padding */
    put_u16(&extension, 4000);
    extension.length += 4000;
    struct made made = hello_of(text_of(&extension), 1);
    assert_true(made.length > HELLO_MAX);
    assert_int_equal(hello_examine((struct slice){made.bytes, HELLO_MAX - 1}, &hello), HELLO_MORE);
    assert_int_equal(hello_examine((struct slice){made.bytes, HELLO_MAX}, &hello), HELLO_BAD);
    made = hello_of(text_of(&extension), 16000); /* the same, told shortly */
    assert_int_equal(hello_examine(text_of(&made), &hello), HELLO_TLS);
}

static void test_other_protocols_are_told_apart(void **state)
{
    static const struct {
        struct slice input;
        enum hello_kind kind;
    } cases[] = {
        {SLICE(""), HELLO_MORE},
        {SLICE("\x16"), HELLO_MORE},
        {SLICE("\x16\3"), HELLO_MORE},
        {SLICE("\x16\2"), HELLO_OTHER},
        {SLICE("\x80\x2e\1"), HELLO_OTHER}, /* SSL 2 */
        {SLICE("G"), HELLO_MORE},
        {SLICE("GET"), HELLO_MORE},
        {SLICE("GET "), HELLO_MORE},
        {SLICE("GET /"), HELLO_HTTP},
        {SLICE("get /"), HELLO_HTTP},
        {SLICE("\r\n\nGET /"), HELLO_HTTP},
        {SLICE("\r\n"), HELLO_MORE},
        {SLICE("M-SEARCH * HTTP/1.1"), HELLO_HTTP},
        {SLICE("GET HTTP://x/"), HELLO_HTTP},
        {SLICE("GET htt"), HELLO_MORE},
        {SLICE("GET key"), HELLO_OTHER}, /* Redis */
        {SLICE("SSH-2.0-OpenSSH"), HELLO_OTHER},
        {SLICE("EHLO me"), HELLO_OTHER},
        {SLICE("PRI * HTTP/2.0"), HELLO_HTTP},
        {SLICE("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), HELLO_OTHER},
        {SLICE("\0\0\0\x08\4\xd2\x16\x2f"), HELLO_OTHER}, /* PostgreSQL asks for TLS in its own way */
    };
    struct hello hello;
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (hello_examine(cases[i].input, &hello) != cases[i].kind)
            fail_msg("case %zu", i);
    }
}

/* Behind a ClientHello in its own record the server might find another. */
static void test_nothing_may_stand_behind_a_client_hello_in_its_record(void **state)
{
    struct made message = {.length = 0};
    struct made records = {.length = 0};
    struct hello hello;
    (void)state;

    put_message(&message, SLICE(NAME));
    put_records(&records, text_of(&message), 4000);
    size_t alone = records.length;
    assert_int_equal(hello_examine(text_of(&records), &hello), HELLO_TLS);
    assert_int_equal(hello.length, alone);
    put(&records, SLICE("\x14\3\3\0\1\1"));
    assert_int_equal(hello_examine(text_of(&records), &hello), HELLO_TLS);
    assert_int_equal(hello.length, alone);
    put_message(&message, SLICE(NAME));
    records.length = 0;
    put_records(&records, text_of(&message), 4000);
    assert_int_equal(hello_examine(text_of(&records), &hello), HELLO_BAD);
}

#define RETRY                                                                                                  \
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e" \
    "\x09\xe2\xc8\xa8\x33\x9c"

static void test_a_server_that_wants_a_second_client_hello_is_noticed(void **state)
{
    struct slice retry = SLICE("\2\0\0\x54\3\3" RETRY);
    struct slice other = SLICE("\2\0\0\x54\3\3" RETRY);
    char changed[64];
    (void)state;

    for (size_t size = 1; size <= retry.len; size++) {
        struct made made = {.length = 0};

        put_records(&made, retry, size);
        for (size_t length = 0; length < made.length; length++)
            assert_int_equal(hello_examine_reply((struct slice){made.bytes, length}), HELLO_REPLY_MORE);
        assert_int_equal(hello_examine_reply(text_of(&made)), HELLO_REPLY_RETRY);
    }
    memcpy(changed, other.ptr, other.len);
    changed[other.len - 1] ^= 1;
    struct made made = {.length = 0};
    put_records(&made, (struct slice){changed, other.len}, 4000);
    assert_int_equal(hello_examine_reply(text_of(&made)), HELLO_REPLY_OTHER);
    assert_int_equal(hello_examine_reply(SLICE("\x15\3\3\0\2\2\x28")), HELLO_REPLY_OTHER);
    assert_int_equal(hello_examine_reply(SLICE("HTTP/1.1 400")), HELLO_REPLY_OTHER);
    assert_int_equal(hello_examine_reply(SLICE("\x16\3\3\0\4\0\0\0\0")), HELLO_REPLY_OTHER);
}

static void test_the_second_client_hello_is_found_behind_other_records(void **state)
{
    struct made hello_made = hello_of(SLICE(NAME VERSIONS), 30);
    struct made made = {.length = 0};
    struct hello hello;
    (void)state;

    put(&made, SLICE("\x17\3\3\0\5early\x14\3\3\0\1\1\x15\3\3\0\2\1\x5a"));
    put(&made, text_of(&hello_made));
    for (size_t length = 0; length < made.length; length++)
        assert_int_equal(hello_examine_second((struct slice){made.bytes, length}, &hello), HELLO_MORE);
    assert_int_equal(hello_examine_second(text_of(&made), &hello), HELLO_TLS);
    assert_string_equal(hello.name.name, "example.com");
    assert_int_equal(hello_examine_second(SLICE("\x18\3\3\0\1x"), &hello), HELLO_BAD);
    assert_int_equal(hello_examine_second(SLICE("\x17\3\3\xff\0x"), &hello), HELLO_BAD);
    assert_int_equal(hello_examine_second(SLICE("\x16\3\3\0\4\x10\0\0\0"), &hello), HELLO_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_name_is_read_from_a_client_hello),
        cmocka_unit_test(test_a_client_hello_need_not_name_anybody),
        cmocka_unit_test(test_an_encrypted_name_is_noticed),
        cmocka_unit_test(test_fragments_and_single_bytes_hide_nothing),
        cmocka_unit_test(test_a_client_hello_that_breaks_its_rules_is_bad),
        cmocka_unit_test(test_records_that_break_their_rules_are_bad),
        cmocka_unit_test(test_an_endless_client_hello_is_not_waited_for),
        cmocka_unit_test(test_other_protocols_are_told_apart),
        cmocka_unit_test(test_nothing_may_stand_behind_a_client_hello_in_its_record),
        cmocka_unit_test(test_a_server_that_wants_a_second_client_hello_is_noticed),
        cmocka_unit_test(test_the_second_client_hello_is_found_behind_other_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
