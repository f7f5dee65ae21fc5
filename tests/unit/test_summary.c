/* The few lines at the end of a run, and what the policy wants nothing told of. */
#include "an_event.h"
#include "watch/ignore.h"
#include "watch/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *summary_of(struct arena *arena, const struct event *events, size_t count, struct summary_style style)
{
    struct text out = text_in(arena);
    struct watch watch;

    watch_open(&watch);
    for (size_t i = 0; i < count; i++)
        watch_note(&watch, &events[i]);
    summary_write(&out, &watch, &style);
    watch_close(&watch);
    return text_slice(&out).ptr;
}

static void test_nothing_is_said_where_nothing_was_denied(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct event events[] = {denied_write, denied_write};
    (void)state;

    events[0].verdict = EVENT_ALLOWED;
    events[1].kind = EVENT_LIMIT; /* said when it was hit */
    assert_string_equal(summary_of(&arena, events, 2, (struct summary_style){.name = "cloche", .note = "x"}), "");
}

static void test_a_denial_is_told_with_its_rule_and_its_remedy(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    (void)state;

    assert_string_equal(
        summary_of(&arena, &denied_write, 1, (struct summary_style){.name = "cloche"}),
        "cloche: denied:\n"
        "cloche:   write /etc/x, by sh: no allowWrite covers it (/p/policy.json: filesystem.allowWrite)\n"
        "cloche:     to allow it: --allow-write /etc/x\n");
}

static void test_one_object_is_one_line_whatever_was_tried_on_it(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct event events[] = {denied_write, denied_write, denied_write};
    (void)state;

    events[1].op = SLICE("unlinkat");
    events[2].program = SLICE("/usr/bin/rm");
    const char *text = summary_of(&arena, events, 3, (struct summary_style){.name = "cloche"});
    assert_non_null(strstr(text, "denied, 3 times in all:\n"));
    assert_non_null(strstr(text, "write /etc/x, 3 times, by sh"));
    assert_null(strstr(strstr(text, "/etc/x,") + 1, "/etc/x,"));
}

static void test_many_in_one_directory_are_one_line_and_there_are_never_many_lines(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct event events[200];
    char names[200][32];
    size_t lines = 0;
    (void)state;

    for (size_t i = 0; i < 200; i++) {
        events[i] = denied_write;
        snprintf(names[i], sizeof names[i], i < 100 ? "/etc/f%zu" : "/d%zu/f", i);
        events[i].object = slice_of(names[i]);
    }
    const char *text = summary_of(&arena, events, 200, (struct summary_style){.name = "cloche"});
    assert_non_null(strstr(text, "write /etc/f0 and 99 others in /etc, 100 times"));
    assert_null(strstr(text, "/etc/f1,"));
    assert_non_null(strstr(text, "and 89 more; cloche log tells each\n"));
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_in_range(lines, 10, 30);
}

static void test_names_cannot_drive_a_terminal_or_begin_a_line(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct event event = denied_write;
    (void)state;

    event.object = SLICE("/a\ncloche: all is well\x1b[2J");
    event.program = SLICE("/bin/\x9b\xff");
    event.reason = SLICE("\r\x1b]0;title\x07");
    const char *text = summary_of(&arena, &event, 1, (struct summary_style){.name = "cloche"});
    assert_null(strstr(text, "\ncloche: all"));
    for (const char *at = text; *at; at++)
        assert_true(*at == '\n' || ((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f));
}

static void test_colours_stand_around_words_and_never_around_names(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    (void)state;

    const char *text = summary_of(&arena, &denied_write, 1, (struct summary_style){.name = "cloche", .colour = true});
    assert_non_null(strstr(text, "\x1b[31mwrite\x1b[0m /etc/x"));
    assert_non_null(strstr(text, "\x1b[32m--allow-write /etc/x\x1b[0m\n"));
}

static void test_what_may_run_later_is_listed_by_itself(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct event event = {
        .kind = EVENT_EXEC_LATER, .verdict = EVENT_OBSERVED, .object = SLICE("/p/.envrc"), .reason = SLICE("why")};
    (void)state;

    const char *text = summary_of(&arena, &event, 1, (struct summary_style){.name = "cloche", .note = "x"});
    assert_non_null(strstr(text, "cloche:   /p/.envrc: why\n"));
    assert_null(strstr(text, "denied"));
}

static void test_ignored_violations_match_as_srt_matches(void **state)
{
    struct ignore_rule rules[] = {{SLICE("npm"), SLICE("/.npm")},
                                  {SLICE("*"), SLICE("mkdir /opt")},
                                  {SLICE("curl"), SLICE("evil.example:80 (no evil")},
                                  {SLICE("git"), SLICE("~/.cache")}};
    const struct policy policy = {.ignored = rules, .ignored_count = 4, .around.home = SLICE("/home/a")};
    const struct {
        const char *command;
        struct event event;
        bool ignored;
    } cases[] = {
        {"npm install", {.object = SLICE("/home/a/.npm/x"), .op = SLICE("openat")}, true},
        {"run npm", {.object = SLICE("/x/.npm"), .op = SLICE("openat")}, true},
        {"pnp install", {.object = SLICE("/home/a/.npm/x"), .op = SLICE("openat")}, false},
        {"anything", {.object = SLICE("/opt/zz"), .op = SLICE("mkdir")}, true},
        {"anything", {.object = SLICE("/opt/zz"), .op = SLICE("mkdirat")}, false},
        {"curl x",
         {.kind = EVENT_NET_CONNECT, .object = SLICE("evil.example:80"), .reason = SLICE("no evil please")},
         true},
        {"curl x", {.kind = EVENT_NET_CONNECT, .object = SLICE("evil.example:80")}, false},
        {"git gc", {.object = SLICE("/home/a/.cache/y"), .op = SLICE("open")}, true},
        {"git gc", {.object = SLICE("/home/a/.cache/y"), .op = SLICE("open"), .verdict = EVENT_OBSERVED}, false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct event event = cases[i].event;
        if (event.kind != EVENT_NET_CONNECT)
            event.kind = EVENT_FS_WRITE;
        if (event_is_ignored(&policy, slice_of(cases[i].command), &event) != cases[i].ignored)
            fail_msg("case %zu: %s", i, cases[i].command);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_said_where_nothing_was_denied),
        cmocka_unit_test(test_a_denial_is_told_with_its_rule_and_its_remedy),
        cmocka_unit_test(test_one_object_is_one_line_whatever_was_tried_on_it),
        cmocka_unit_test(test_many_in_one_directory_are_one_line_and_there_are_never_many_lines),
        cmocka_unit_test(test_names_cannot_drive_a_terminal_or_begin_a_line),
        cmocka_unit_test(test_colours_stand_around_words_and_never_around_names),
        cmocka_unit_test(test_what_may_run_later_is_listed_by_itself),
        cmocka_unit_test(test_ignored_violations_match_as_srt_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
