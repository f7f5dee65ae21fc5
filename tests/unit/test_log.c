/* A log read back: lines, entries, times, filters, the chain. What stands in it was
 * chosen by commands that are not trusted. */
#include "watch/log_chain.h"
#include "watch/log_filter.h"
#include "watch/log_lines.h"
#include "watch/log_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

#define HEAD "{\"time\":\"2026-11-15T08:30:00.123Z\",\"run\":\"1a2b3c4d5e6f7081\","

static struct log_entry parsed(const char *line)
{
    struct log_entry entry;

    assert_true(log_entry_parse(&arena, slice_of(line), &entry));
    return entry;
}

static void test_every_key_of_an_event_is_read(void **state)
{
    (void)state;
    struct log_entry entry = parsed(
        HEAD "\"kind\":\"fs.write\",\"op\":\"openat\",\"object\":\"/etc/x\",\"verdict\":\"denied\",\"errno\":\"EROFS\","
             "\"pid\":123,\"program\":\"/usr/bin/sh\",\"parent\":{\"pid\":1,\"program\":\"/bin/bash\"},"
             "\"protocol\":\"tls\",\"port\":443,\"reason\":\"because\",\"rule\":{\"file\":\"f\",\"path\":\"p\"},"
             "\"hint\":\"--allow-write /etc/x\",\"count\":7,\"folded\":true,\"bytes\":{\"out\":1,\"in\":2},\"ms\":12}");

    assert_true(entry.time == 1794731400123);
    assert_string_equal(entry.run.ptr, "1a2b3c4d5e6f7081");
    assert_string_equal(entry.kind.ptr, "fs.write");
    assert_string_equal(entry.op.ptr, "openat");
    assert_string_equal(entry.object.ptr, "/etc/x");
    assert_true(log_entry_is_denied(&entry));
    assert_string_equal(entry.error.ptr, "EROFS");
    assert_int_equal(entry.pid, 123);
    assert_string_equal(entry.program.ptr, "/usr/bin/sh");
    assert_string_equal(entry.parent.ptr, "/bin/bash");
    assert_string_equal(entry.protocol.ptr, "tls");
    assert_string_equal(entry.reason.ptr, "because");
    assert_string_equal(entry.rule_file.ptr, "f");
    assert_string_equal(entry.rule_path.ptr, "p");
    assert_string_equal(entry.hint.ptr, "--allow-write /etc/x");
    assert_int_equal(entry.count, 7);
    assert_true(entry.folded);
    assert_int_equal(entry.sent, 1);
    assert_int_equal(entry.received, 2);
    assert_int_equal(entry.milliseconds, 12);
}

static void test_what_is_absent_or_of_another_type_is_empty(void **state)
{
    (void)state;
    struct log_entry entry =
        parsed(HEAD "\"kind\":\"limit\",\"verdict\":\"denied\",\"object\":5,\"rule\":\"x\",\"count\":-1,\"bytes\":[]}");

    assert_int_equal(entry.object.len, 0);
    assert_int_equal(entry.rule_file.len, 0);
    assert_int_equal(entry.count, 1);
    assert_int_equal(entry.pid, -1);
    assert_int_equal(entry.status, -1);
}

static void test_lines_that_are_no_events_are_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "x",
        "[]",
        "null",
        "{}",
        "{\"time\":\"2026-11-15T08:30:00Z\"",
        "{\"time\":\"yesterday\",\"run\":\"r\",\"kind\":\"limit\",\"verdict\":\"denied\"}",
        "{\"time\":\"2026-11-15T08:30:00Z\",\"kind\":\"limit\",\"verdict\":\"denied\"}",
        HEAD "\"kind\":\"limit\"}",
        HEAD "\"verdict\":\"denied\"}",
        HEAD "\"kind\":\"limit\",\"verdict\":\"denied\",\"verdict\":\"allowed\"}",
        HEAD "\"kind\":\"limit\",\"verdict\":\"denied\",\"object\":\"a\\u0000b\"}",
        HEAD "\"kind\":\"limit\",\"verdict\":\"denied\"} more",
    };
    struct log_entry entry;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(log_entry_parse(&arena, slice_of(lines[i]), &entry));
}

static void test_text_that_drives_a_terminal_is_made_harmless(void **state)
{
    (void)state;
    struct log_entry entry = parsed(HEAD "\"kind\":\"limit\",\"verdict\":\"denied\","
                                         "\"object\":\"a\\u001b[2J\\nb\\u202ec \xc3\xbc\",\"hint\":\"\\u009b1m\"}");
    struct text out = text_in(&arena);

    assert_string_equal(entry.object.ptr, "a?[2J?b???c \xc3\xbc");
    assert_string_equal(entry.hint.ptr, "??1m");

    log_line_append(&out, SLICE("{\"a\":\"\xe2\x80\xae\x7f\xc3\xbc\"}"));
    assert_string_equal(out.ptr, "{\"a\":\"\\u202E\\u007f\\u00FC\"}\n");
    out = text_in(&arena);
    log_line_append(&out, SLICE("{\"a\": \"\xc3\xbc\"}"));
    assert_string_equal(out.ptr, "{\"a\": \"\xc3\xbc\"}\n");
}

static void test_lines_come_whole_however_the_bytes_come(void **state)
{
    static const char text[] = "one\n\ntwo\nthree\nfour";
    struct log_lines *lines = calloc(1, sizeof *lines);

    (void)state;
    for (size_t step = 1; step <= sizeof text; step++) {
        struct text joined = text_in(&arena);
        memset(lines, 0, sizeof *lines);
        for (size_t at = 0; at < sizeof text - 1; at += step) {
            struct slice bytes = {text + at, at + step < sizeof text - 1 ? step : sizeof text - 1 - at};
            struct slice line;
            while (log_lines_next(lines, &bytes, &line)) {
                text_append(&joined, line);
                text_appendf(&joined, "@%zu,", lines->number);
            }
        }
        assert_string_equal(joined.ptr, "one@1,two@3,three@4,");
        log_lines_end(lines);
        assert_int_equal(lines->skipped, 1);
    }
    free(lines);
}

static void test_a_line_that_is_too_long_is_passed_over_and_the_next_is_read(void **state)
{
    enum { LONG = LOG_LINE_MAX + 1 };
    struct log_lines *lines = calloc(1, sizeof *lines);
    char *text = malloc(2 * LONG + 10);
    struct slice bytes = {text, 2 * LONG + 10};
    struct slice line;

    (void)state;
    memset(text, 'x', bytes.len);
    text[LONG] = '\n';
    memcpy(text + LONG + 1, "good\n", 5);
    text[LONG + 6 + LOG_LINE_MAX] = '\n';
    bytes.len = LONG + 6 + LOG_LINE_MAX + 1;
    assert_true(log_lines_next(lines, &bytes, &line));
    assert_true(slice_is(line, "good"));
    assert_int_equal(lines->skipped, 1);
    assert_int_equal(lines->number, 2);
    /* The longest that is allowed. */
    assert_true(log_lines_next(lines, &bytes, &line));
    assert_int_equal(line.len, LOG_LINE_MAX);
    assert_int_equal(lines->skipped, 1);
    free(text);
    free(lines);
}

static void test_times_as_people_name_them(void **state)
{
    const int64_t now = 1794731400000; /* 2026-11-15T08:30:00Z */
    static const struct {
        const char *text;
        int64_t ago;
    } times[] = {
        {"90s", 90},
        {"30m", 1800},
        {"2h", 7200},
        {"1h30m", 5400},
        {"3d", 259200},
        {"1w", 604800},
        {"2026-11-15T08:29:00Z", 60},
        {"2026-11-15T08:29:00.000Z", 60},
        {"08:00", 1800},
        {"2026-11-15", 30600},
        {"2026-11-15 08:29", 60},
        {"2026-11-15T08:29:30", 30},
    };
    static const char *const wrong[] = {"",        "2",           "h",         "2x",
                                        "-2h",     "2h ",         "25:00",     "8:00",
                                        "08:00 x", "2026-13-01",  "2026-1-1",  "99999999999999999999s",
                                        "now",     "2026-11-15T", "1969-01-01"};
    struct error err;
    int64_t time;

    (void)state;
    setenv("TZ", "UTC0", 1);
    tzset();
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(log_time_asked(slice_of(times[i].text), now, &time, &err));
        assert_true(time == now - times[i].ago * 1000);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(log_time_asked(slice_of(wrong[i]), now, &time, &err));
}

static void test_a_folded_line_corrects_the_one_that_it_repeats(void **state)
{
    struct log_book book = log_book_in(&arena);
    static const char *const lines[] = {
        HEAD "\"kind\":\"run\",\"op\":\"start\",\"object\":\"make\",\"verdict\":\"observed\",\"project\":\"/"
             "p\",\"policy\":[\"a\",\"b\"]}",
        HEAD "\"kind\":\"fs.write\",\"op\":\"openat\",\"object\":\"/x\",\"verdict\":\"denied\",\"count\":1}",
        HEAD "\"kind\":\"fs.write\",\"op\":\"openat\",\"object\":\"/y\",\"verdict\":\"denied\",\"count\":1}",
        HEAD
        "\"kind\":\"fs.write\",\"op\":\"openat\",\"object\":\"/x\",\"verdict\":\"denied\",\"count\":9,\"folded\":true}",
        HEAD "\"kind\":\"fs.write\",\"op\":\"openat\",\"object\":\"/"
             "gone\",\"verdict\":\"denied\",\"count\":3,\"folded\":true}",
        HEAD "\"kind\":\"run\",\"op\":\"end\",\"object\":\"make\",\"verdict\":\"observed\",\"status\":2,\"ms\":50}",
    };
    struct log_run *run = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct log_entry entry = parsed(lines[i]);
        run = log_book_run(&book, &entry);
        if (!log_entry_is_run(&entry))
            log_book_keep(&book, run, &entry);
    }
    assert_int_equal(book.run_count, 1);
    assert_int_equal(run->event_count, 3);
    assert_int_equal(run->events[0].count, 9);
    assert_int_equal(run->events[1].count, 1);
    assert_int_equal(run->events[2].count, 3); /* its first line was rotated away */
    assert_string_equal(run->command.ptr, "make");
    assert_string_equal(run->policy.ptr, "a, b");
    assert_true(run->ended);
    assert_int_equal(run->status, 2);
}

static bool wanted(struct log_filter filter, const char *rest)
{
    struct log_entry entry = parsed(arena_printf(&arena, HEAD "%s}", rest));
    struct log_run run = {.id = entry.run, .command = SLICE("npm install left-pad"), .project = SLICE("/home/a/shop")};

    if (!filter.until)
        filter.until = INT64_MAX;
    return log_filter_entry(&filter, &run, &entry);
}

static void test_filters(void **state)
{
    static const char denied[] = "\"kind\":\"fs.write\",\"verdict\":\"denied\"";
    static const char allowed[] = "\"kind\":\"net.connect\",\"verdict\":\"allowed\"";
    static const char later[] = "\"kind\":\"exec.later\",\"verdict\":\"observed\"";
    const int64_t then = 1794731400123;
    struct log_filter all = {.verdicts = LOG_ALL};
    struct error err;

    (void)state;
    assert_true(wanted((struct log_filter){0}, denied));
    assert_true(wanted((struct log_filter){0}, later));
    assert_false(wanted((struct log_filter){0}, allowed));
    assert_true(wanted((struct log_filter){.verdicts = LOG_DENIED}, denied));
    assert_false(wanted((struct log_filter){.verdicts = LOG_DENIED}, later));
    assert_true(wanted(all, allowed));

    assert_true(wanted((struct log_filter){.since = then, .until = then}, denied));
    assert_false(wanted((struct log_filter){.since = then + 1}, denied));
    assert_false(wanted((struct log_filter){.until = then - 1}, denied));

    assert_true(wanted((struct log_filter){.project = SLICE("/home/a")}, denied));
    assert_true(wanted((struct log_filter){.project = SLICE("/home/a/shop")}, denied));
    assert_false(wanted((struct log_filter){.project = SLICE("/home/a/sho")}, denied));
    assert_true(wanted((struct log_filter){.command = SLICE("install left")}, denied));
    assert_false(wanted((struct log_filter){.command = SLICE("uninstall")}, denied));
    assert_true(wanted((struct log_filter){.run = SLICE("1a2b")}, denied));
    assert_false(wanted((struct log_filter){.run = SLICE("a2b")}, denied));

    struct log_filter kinds = {.verdicts = LOG_ALL};
    assert_true(log_filter_kinds(&kinds, SLICE("limit,net"), &err));
    assert_true(wanted(kinds, allowed));
    assert_false(wanted(kinds, denied));
    assert_false(log_filter_kinds(&kinds, SLICE("ne"), &err));
    assert_false(log_filter_kinds(&kinds, SLICE(""), &err));
    assert_false(log_filter_kinds(&kinds, SLICE("fs,,net"), &err));
}

/* ---- the chain ---- */

enum { LINES = 5 };

static void make_chain(struct slice lines[LINES])
{
    struct log_chain_value last = {""};

    for (int i = 0; i < LINES; i++) {
        const char *plain = arena_printf(&arena, "{\"line\":%d}", i);
        last = log_chain_next(&last, slice_of(plain));
        lines[i] = slice_of(arena_printf(&arena, "{\"line\":%d,\"chain\":\"%s\"}", i, last.text));
    }
}

/* The number of the first line where the chain is broken, from 1; 0: nowhere. */
static size_t broken_at(const struct slice *lines, size_t count, bool older_gone)
{
    struct log_chain chain = {0};

    for (size_t i = 0; i < count; i++)
        if (!log_chain_follow(&chain, lines[i], older_gone))
            return i + 1;
    return 0;
}

static void test_the_chain_is_what_the_manual_says(void **state)
{
    /* printf '{"a":1}' | sha256sum; then that value and {"b":2} */
    struct log_chain_value first = log_chain_next(&(struct log_chain_value){""}, SLICE("{\"a\":1}"));
    struct log_chain_value second = log_chain_next(&first, SLICE("{\"b\":2}"));

    (void)state;
    assert_string_equal(first.text, "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
    assert_string_equal(second.text, "baf9f83c9ebd3a7e019a3d0130608999938549f4da529dccc001740b3fb3194a");
}

static void test_an_unbroken_chain_holds(void **state)
{
    struct slice lines[LINES];

    (void)state;
    make_chain(lines);
    assert_int_equal(broken_at(lines, LINES, false), 0);
    assert_int_equal(broken_at(lines + 2, LINES - 2, true), 0);
}

static void test_every_change_breaks_the_chain_where_it_was_made(void **state)
{
    struct slice lines[LINES];

    (void)state;
    /* A byte that is changed, in the line or in its value. */
    for (size_t at = 0; at < 60; at++) {
        make_chain(lines);
        char *byte = (char *)lines[2].ptr + at;
        *byte = *byte == '7' ? '6' : '7';
        size_t broken = broken_at(lines, LINES, false);
        /* Where the key itself is spoilt the line has no chain, and the next one tells. */
        assert_true(broken == 3 || broken == 4);
    }
    /* Removed, exchanged, doubled, at the front. */
    make_chain(lines);
    memmove(lines + 2, lines + 3, 2 * sizeof *lines);
    assert_int_equal(broken_at(lines, LINES - 1, false), 3);
    make_chain(lines);
    struct slice other = lines[2];
    lines[2] = lines[3];
    lines[3] = other;
    assert_int_equal(broken_at(lines, LINES, false), 3);
    make_chain(lines);
    lines[3] = lines[2];
    assert_int_equal(broken_at(lines, LINES, false), 4);
    make_chain(lines);
    assert_int_equal(broken_at(lines + 1, LINES - 1, false), 1);
}

static void test_lines_outside_the_chain_are_counted(void **state)
{
    struct slice lines[LINES];
    struct log_chain chain = {0};

    (void)state;
    make_chain(lines);
    for (int i = 0; i < LINES; i++) {
        assert_true(log_chain_follow(&chain, lines[i], false));
        assert_true(log_chain_follow(&chain, SLICE("{\"put\":\"in\"}"), false));
    }
    assert_int_equal(chain.chained, LINES);
    assert_int_equal(chain.outside, LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_key_of_an_event_is_read, forget),
        cmocka_unit_test_teardown(test_what_is_absent_or_of_another_type_is_empty, forget),
        cmocka_unit_test_teardown(test_lines_that_are_no_events_are_refused, forget),
        cmocka_unit_test_teardown(test_text_that_drives_a_terminal_is_made_harmless, forget),
        cmocka_unit_test_teardown(test_lines_come_whole_however_the_bytes_come, forget),
        cmocka_unit_test(test_a_line_that_is_too_long_is_passed_over_and_the_next_is_read),
        cmocka_unit_test(test_times_as_people_name_them),
        cmocka_unit_test_teardown(test_a_folded_line_corrects_the_one_that_it_repeats, forget),
        cmocka_unit_test_teardown(test_filters, forget),
        cmocka_unit_test(test_the_chain_is_what_the_manual_says),
        cmocka_unit_test_teardown(test_an_unbroken_chain_holds, forget),
        cmocka_unit_test_teardown(test_every_change_breaks_the_chain_where_it_was_made, forget),
        cmocka_unit_test_teardown(test_lines_outside_the_chain_are_counted, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
