/* Problems are collected, and misspelt words get a fitting suggestion. */
#include "policy/problems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const words[] = {"allowRead", "denyRead", "allowWrite", "denyWrite", "tmp", "caches", "mode", NULL};

static void test_near_word_is_suggested(void **state)
{
    static const struct {
        const char *found, *meant;
    } cases[] = {
        {"alowRead", "allowRead"},
        {"allowRaed", "allowRead"},
        {"allowread", "allowRead"},
        {"DENY_WRITE", "denyWrite"},
        {"allowReads", "allowRead"},
        {"tpm", "tmp"},
        {"tmpp", "tmp"},
        {"cahces", "caches"},
        {"mdoe", "mode"},
        {"denyRaed", "denyRead"},
        {"allowReed", "allowRead"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *meant = did_you_mean(slice_of(cases[i].found), words);
        assert_non_null(meant);
        assert_string_equal(meant, cases[i].meant);
    }
}

static void test_far_word_is_not_suggested(void **state)
{
    static const char *const cases[] = {"", "t", "xx", "mo", "readable", "network", "alwRd", "tnpx"};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_null(did_you_mean(slice_of(cases[i]), words));
}

static void test_nearest_of_several_wins_and_first_of_equals(void **state)
{
    static const char *const close[] = {"allowWritten", "allowWrite", "AllowWrite", NULL};
    (void)state;

    assert_string_equal(did_you_mean(SLICE("allowWrte"), close), "allowWrite");
}

static void test_long_words_are_passed_over(void **state)
{
    char found[5000];
    char word[66];
    const char *const list[] = {word, "short", NULL};
    (void)state;

    memset(found, 'a', sizeof found);
    memset(word, 'a', sizeof word - 1);
    word[65] = '\0';
    assert_null(did_you_mean((struct slice){found, sizeof found}, list));
    assert_null(did_you_mean((struct slice){found, 64}, list));
    word[64] = '\0';
    assert_ptr_equal(did_you_mean((struct slice){found, 64}, list), word);
}

static void test_bytes_that_are_no_text_are_compared_as_bytes(void **state)
{
    (void)state;
    assert_null(did_you_mean((struct slice){"\0\xff\0\xff", 4}, words));
    assert_string_equal(did_you_mean((struct slice){"mod\0e", 5}, words), "mode");
}

static void test_problems_are_kept_in_order_and_errors_counted(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct problems problems = {.arena = &arena};
    (void)state;

    for (int i = 0; i < 100; i++) {
        problem_add(&problems, "a.json", "x", "problem %d", i);
        warning_add(&problems, "b.json", "y", "warning %d", i);
    }
    assert_int_equal(problems.count, 200);
    assert_int_equal(problems.errors, 100);
    assert_string_equal(problems.items[198].text, "problem 99");
    assert_false(problems.items[198].warning);
    assert_string_equal(problems.items[199].text, "warning 99");
    assert_string_equal(problems.items[199].file, "b.json");
    assert_string_equal(problems.items[199].path, "y");
    assert_true(problems.items[199].warning);
}

static void test_problem_text_cannot_drive_a_terminal(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct problems problems = {.arena = &arena};
    (void)state;

    problem_add(&problems, "a.json", "", "found %s", "\x1b[2J\x7f");
    assert_string_equal(problems.items[0].text, "found ?[2J?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_word_is_suggested),
        cmocka_unit_test(test_far_word_is_not_suggested),
        cmocka_unit_test(test_nearest_of_several_wins_and_first_of_equals),
        cmocka_unit_test(test_long_words_are_passed_over),
        cmocka_unit_test(test_bytes_that_are_no_text_are_compared_as_bytes),
        cmocka_unit_test(test_problems_are_kept_in_order_and_errors_counted),
        cmocka_unit_test(test_problem_text_cannot_drive_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
