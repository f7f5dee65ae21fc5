/* Messages of D-Bus: ours byte for byte as the specification has them, and those
 * of others read with every length in doubt. */
#include "base/dbus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* An answer to call 2 with one object path, and a signal with four values. */
#define ANSWER        \
    "l\2\1\1"         \
    "\x0c\0\0\0"      \
    "\7\0\0\0"        \
    "\x0f\0\0\0"      \
    "\5\1u\0\2\0\0\0" \
    "\x08\1g\0\1o\0"  \
    "\0"              \
    "\7\0\0\0"        \
    "/job/12\0"
#define ANSWER_BIG    \
    "B\2\1\1"         \
    "\0\0\0\x0c"      \
    "\0\0\0\7"        \
    "\0\0\0\x0f"      \
    "\5\1u\0\0\0\0\2" \
    "\x08\1g\0\1o\0"  \
    "\0"              \
    "\0\0\0\7"        \
    "/job/12\0"

static void test_call_is_written_as_the_specification_has_it(void **state)
{
    static const char expected[] = "l\1\0\1"
                                   "\x08\0\0\0"
                                   "\1\0\0\0"
                                   "\x35\0\0\0"
                                   "\1\1o\0\2\0\0\0/a\0\0\0\0\0\0"
                                   "\2\1s\0\3\0\0\0b.c\0\0\0\0\0"
                                   "\3\1s\0\1\0\0\0D\0\0\0\0\0\0\0"
                                   "\x08\1g\0\1s\0"
                                   "\0\0\0\0"
                                   "\3\0\0\0two";
    struct arena arena ARENA_CLEANUP = {0};
    struct text body = text_in(&arena);
    (void)state;

    dbus_put_string(&body, SLICE("two"));
    struct dbus_call call = {.path = "/a", .interface = "b.c", .member = "D", .signature = "s", .serial = 1};
    call.body = text_slice(&body);
    struct slice written = dbus_call_write(&arena, &call);
    size_t fixed = 16;
    size_t fields = (unsigned char)written.ptr[12];
    assert_memory_equal(written.ptr, expected, 12);
    assert_memory_equal(written.ptr + fixed, expected + fixed, fields);
    assert_int_equal(fields, 0x37);
    assert_int_equal(written.len, fixed + 0x38 + 8);
    assert_memory_equal(written.ptr + fixed + 0x38, "\3\0\0\0two", 8);
}

static void test_arrays_of_structs_are_aligned_and_counted(void **state)
{
    static const char expected[] = "\x1d\0\0\0\0\0\0\0"
                                   "\1\0\0\0a\0\1t\0\0\0\0\0\0\0\0"
                                   "\xff\xff\xff\xff\xff\xff\xff\xff"
                                   "\1\0\0\0b";
    struct arena arena ARENA_CLEANUP = {0};
    struct text body = text_in(&arena);
    (void)state;

    struct dbus_array array = dbus_array_begin(&body, 8);
    dbus_put_struct(&body);
    dbus_put_string(&body, SLICE("a"));
    dbus_put_signature(&body, SLICE("t"));
    dbus_put_u64(&body, UINT64_MAX);
    dbus_put_struct(&body);
    dbus_put_string(&body, SLICE("b"));
    dbus_array_end(&body, array);
    assert_int_equal(body.len, 8 + 16 + 8 + 6);
    assert_int_equal((unsigned char)body.ptr[0], 16 + 8 + 6);
    assert_memory_equal(body.ptr + 4, expected + 4, body.len - 4 - 1);
}

static void test_empty_array_has_its_padding_and_no_length(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text body = text_in(&arena);
    (void)state;

    dbus_array_end(&body, dbus_array_begin(&body, 8));
    assert_int_equal(body.len, 8);
    assert_memory_equal(body.ptr, "\0\0\0\0\0\0\0", 8);
}

static void test_answers_are_read_in_both_byte_orders(void **state)
{
    struct slice answers[] = {SLICE(ANSWER), SLICE(ANSWER_BIG)};
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        struct dbus_message message;
        struct slice path;
        size_t taken = 0;
        assert_int_equal(dbus_read(answers[i], &message, &taken), DBUS_WHOLE);
        assert_int_equal(taken, answers[i].len);
        assert_int_equal(message.kind, DBUS_RETURN);
        assert_int_equal(message.reply_to, 2);
        assert_true(slice_equal(message.signature, SLICE("o")));
        struct dbus_cursor body = dbus_body(&message);
        assert_true(dbus_take_string(&body, &path));
        assert_true(slice_equal(path, SLICE("/job/12")));
        assert_false(dbus_take_string(&body, &path));
    }
}

static void test_what_is_not_whole_is_waited_for(void **state)
{
    struct slice answer = SLICE(ANSWER);
    struct dbus_message message;
    size_t taken = 0;
    (void)state;

    for (size_t length = 0; length < answer.len; length++)
        assert_int_equal(dbus_read((struct slice){answer.ptr, length}, &message, &taken), DBUS_MORE);
}

/* `byte` at a place of the answer makes it one that nobody may believe. */
static void test_what_lies_is_broken(void **state)
{
    static const struct {
        size_t at;
        char byte;
        const char *why;
    } lies[] = {
        {0, 'x', "no byte order"},
        {1, 0, "no kind"},
        {1, 5, "no kind"},
        {3, 2, "another version"},
        {6, 1, "body over the bound"},
        {14, 1, "fields over the bound"},
        {12, 9, "fields end midway"},
        {16, 0, "field 0"},
        {17, 2, "two types"},
        {18, 's', "a number that is said to be a string"},
        {18, 'v', "a type we skip not"},
        {25, 2, "two types again"},
        {28, 9, "a signature beyond"},
        {31, 1, "padding that holds something"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        char bytes[] = ANSWER;
        struct dbus_message message;
        size_t taken = 0;
        bytes[lies[i].at] = lies[i].byte;
        if (dbus_read((struct slice){bytes, sizeof bytes - 1}, &message, &taken) != DBUS_BROKEN)
            fail_msg("not broken: %s", lies[i].why);
    }
}

static void test_strings_of_a_body_end_where_they_say(void **state)
{
    static const struct slice bodies[] = {
        SLICE(""),
        SLICE("\1\0\0"),
        SLICE("\1\0\0\0"),
        SLICE("\1\0\0\0a"),      /* no NUL */
        SLICE("\1\0\0\0ab"),     /* something in its place */
        SLICE("\2\0\0\0a\0\0"),  /* a NUL within */
        SLICE("\xff\xff\xff\xff" /* all there is */
              "a\0"),
    };
    struct slice text;
    (void)state;

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct dbus_cursor cursor = {.bytes = bodies[i]};
        assert_false(dbus_take_string(&cursor, &text));
    }
    struct dbus_cursor good = {.bytes = SLICE("\1\0\0\0a\0")};
    assert_true(dbus_take_string(&good, &text));
    assert_true(slice_equal(text, SLICE("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_is_written_as_the_specification_has_it),
        cmocka_unit_test(test_arrays_of_structs_are_aligned_and_counted),
        cmocka_unit_test(test_empty_array_has_its_padding_and_no_length),
        cmocka_unit_test(test_answers_are_read_in_both_byte_orders),
        cmocka_unit_test(test_what_is_not_whole_is_waited_for),
        cmocka_unit_test(test_what_lies_is_broken),
        cmocka_unit_test(test_strings_of_a_body_end_where_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
