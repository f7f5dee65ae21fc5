/* Events as lines, and the store that folds them: whatever a command does, a line
 * is JSON that says the truth, and memory is bounded. */
#include "an_event.h"
#include "watch/event.h"
#include "watch/watch.h"

#include "base/json.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LINES_MAX = 2 * WATCH_EVENTS_MAX + EVENT_KINDS };

struct lines {
    struct arena arena;
    json_t *items[LINES_MAX];
    size_t count;
};

static void take_line(void *argument, struct slice line)
{
    struct lines *lines = argument;

    assert_true(line.len < EVENT_LINE_MAX);
    assert_true(slice_find(line, '\n') == line.len);
    json_t *value = json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    assert_true(lines->count < LINES_MAX);
    lines->items[lines->count++] = value;
}

static const char *word(const json_t *line, const char *key)
{
    const char *value = json_string_value(json_object_get(line, key));
    return value ? value : "";
}

static long long number(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

static void begin(struct watch *watch, struct lines *lines)
{
    memset(lines, 0, sizeof *lines);
    watch_open(watch);
    watch->write = take_line;
    watch->argument = lines;
}

static void end(struct watch *watch, struct lines *lines)
{
    watch_close(watch);
    for (size_t i = 0; i < lines->count; i++)
        json_decref(lines->items[i]);
}

static void test_line_has_the_keys_of_the_contract_in_their_order(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);
    const struct event_line line = {.run = "0123456789abcdef", .time = {1794731400, 123456789}, .count = 1};
    (void)state;

    event_write(&out, &denied_write, &line);
    assert_string_equal(
        out.ptr, "{\"time\":\"2026-11-15T08:30:00.123Z\",\"run\":\"0123456789abcdef\",\"kind\":\"fs.write\","
                 "\"op\":\"openat\",\"object\":\"/etc/x\",\"verdict\":\"denied\",\"errno\":\"EROFS\",\"pid\":123,"
                 "\"program\":\"/usr/bin/sh\",\"parent\":{\"pid\":1,\"program\":\"/bin/bash\"},"
                 "\"reason\":\"no allowWrite covers it\","
                 "\"rule\":{\"file\":\"/p/policy.json\",\"path\":\"filesystem.allowWrite\"},"
                 "\"hint\":\"--allow-write /etc/x\",\"count\":1}");
}

static void test_hostile_names_neither_break_a_line_nor_drive_a_terminal(void **state)
{
    static const struct {
        struct slice name;
        const char *shown;
    } names[] = {
        {SLICE("/a\n{\"kind\":\"run\"}"), "/a\\n{\"kind\":\"run\"}"},
        {SLICE("/\x1b[2J"), "/\\x1b[2J"},
        {SLICE("/\xe2\x80\xae"
               "cod\xe2\x80\xac"),
         "/\\xe2\\x80\\xaecod\\xe2\\x80\\xac"},
        {SLICE("/\xff\xfe"), "/\\xff\\xfe"},
        {SLICE("/back\\slash\"quote"), "/back\\\\slash\"quote"},
        {SLICE("/\xe6\x97\xa5"), "/\xe6\x97\xa5"},
    };
    struct watch watch;
    struct lines lines;
    (void)state;

    begin(&watch, &lines);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct event event = denied_write;
        event.object = names[i].name;
        watch_note(&watch, &event);
        assert_string_equal(word(lines.items[i], "object"), names[i].shown);
    }
    end(&watch, &lines);
}

static void test_longest_names_of_the_worst_bytes_stay_within_a_line(void **state)
{
    static char worst[16 * 1024];
    struct watch watch;
    struct lines lines;
    struct slice name = {worst, sizeof worst};
    struct event event = denied_write;
    (void)state;

    memset(worst, '\x1b', sizeof worst);
    event.object = event.program = event.parent_program = event.reason = event.op = event.protocol = name;
    begin(&watch, &lines);
    watch_note(&watch, &event);
    assert_int_equal(lines.count, 1);
    end(&watch, &lines);
}

static void test_repeats_are_told_once_and_at_the_end_with_their_count(void **state)
{
    struct watch watch;
    struct lines lines;
    struct event other = denied_write;
    (void)state;

    other.object = SLICE("/etc/y");
    begin(&watch, &lines);
    for (int i = 0; i < 1000; i++)
        watch_note(&watch, &denied_write);
    watch_note(&watch, &other);
    assert_int_equal(lines.count, 2);
    watch_finish(&watch);
    assert_int_equal(lines.count, 3);
    assert_int_equal(number(lines.items[0], "count"), 1);
    assert_null(json_object_get(lines.items[0], "folded"));
    assert_string_equal(word(lines.items[2], "object"), "/etc/x");
    assert_int_equal(number(lines.items[2], "count"), 1000);
    assert_true(json_is_true(json_object_get(lines.items[2], "folded")));
    assert_string_equal(word(lines.items[0], "run"), word(lines.items[2], "run"));
    assert_int_equal(watch.denied, 1001);
    end(&watch, &lines);
}

static void test_events_that_differ_in_any_part_of_the_key_are_told_apart(void **state)
{
    struct watch watch;
    struct lines lines;
    struct event events[7];
    (void)state;

    for (size_t i = 0; i < 7; i++)
        events[i] = denied_write;
    events[1].kind = EVENT_FS_READ;
    events[2].verdict = EVENT_OBSERVED;
    events[3].op = SLICE("openat/etc");
    events[3].object = SLICE("/x");
    events[4].error = EACCES;
    events[5].program = SLICE("/bin/other");
    events[6].op = SLICE("unlinkat");
    begin(&watch, &lines);
    for (size_t i = 0; i < 7; i++)
        watch_note(&watch, &events[i]);
    assert_int_equal(lines.count, 7);
    /* What is no part of it makes no difference. */
    events[0].pid = 77;
    watch_note(&watch, &events[0]);
    assert_int_equal(lines.count, 7);
    end(&watch, &lines);
}

static void test_bytes_of_all_connections_to_one_place_are_summed(void **state)
{
    struct watch watch;
    struct lines lines;
    const struct event event = {.kind = EVENT_NET_CONNECT,
                                .verdict = EVENT_ALLOWED,
                                .op = SLICE("connect"),
                                .object = SLICE("a.example:443"),
                                .port = 443,
                                .sent = 10,
                                .received = 100,
                                .milliseconds = 3};
    (void)state;

    begin(&watch, &lines);
    watch_note(&watch, &event);
    watch_note(&watch, &event);
    watch_finish(&watch);
    const json_t *bytes = json_object_get(lines.items[1], "bytes");
    assert_int_equal(number(bytes, "out"), 20);
    assert_int_equal(number(bytes, "in"), 200);
    assert_int_equal(number(lines.items[1], "ms"), 6);
    assert_int_equal(number(lines.items[0], "ms"), 3);
    end(&watch, &lines);
}

static void test_flood_of_different_events_is_bounded_and_counted(void **state)
{
    struct watch watch;
    struct lines lines;
    const size_t sent = 10 * WATCH_EVENTS_MAX;
    char name[64];
    (void)state;

    begin(&watch, &lines);
    for (size_t i = 0; i < sent; i++) {
        struct event event = denied_write;
        snprintf(name, sizeof name, "/flood/%zu", i);
        event.object = slice_of(name);
        watch_note(&watch, &event);
    }
    assert_int_equal(lines.count, WATCH_EVENTS_MAX);
    assert_int_equal(watch.denied, sent);
    watch_finish(&watch);
    assert_int_equal(lines.count, WATCH_EVENTS_MAX + 1);
    assert_int_equal(number(lines.items[lines.count - 1], "count"), sent - WATCH_EVENTS_MAX);
    end(&watch, &lines);
}

static void test_flood_of_long_names_is_bounded_by_their_bytes(void **state)
{
    static char name[PATH_MAX];
    struct watch watch;
    struct lines lines;
    (void)state;

    memset(name, 'x', sizeof name);
    begin(&watch, &lines);
    for (int i = 0; i < 2000; i++) {
        struct event event = denied_write;
        snprintf(name, 8, "/%d", i);
        event.object = (struct slice){name, sizeof name};
        watch_note(&watch, &event);
    }
    assert_true(watch.bytes < WATCH_BYTES_MAX + 4 * PATH_MAX);
    assert_true(lines.count < 1000);
    assert_int_equal(watch.denied, 2000);
    end(&watch, &lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_has_the_keys_of_the_contract_in_their_order),
        cmocka_unit_test(test_hostile_names_neither_break_a_line_nor_drive_a_terminal),
        cmocka_unit_test(test_longest_names_of_the_worst_bytes_stay_within_a_line),
        cmocka_unit_test(test_repeats_are_told_once_and_at_the_end_with_their_count),
        cmocka_unit_test(test_events_that_differ_in_any_part_of_the_key_are_told_apart),
        cmocka_unit_test(test_bytes_of_all_connections_to_one_place_are_summed),
        cmocka_unit_test(test_flood_of_different_events_is_bounded_and_counted),
        cmocka_unit_test(test_flood_of_long_names_is_bounded_by_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
