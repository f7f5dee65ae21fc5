/* What people are told about a file that is not JSON: the commas they forgot or
 * have too many of, in plain words and at the right place. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *text;
    const char *said; /* how the message ends */
};

static void expect_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value JSON_CLEANUP = NULL;
        struct error err = {{0}};
        assert_false(json_parse(slice_of(examples[i].text), "FILE", &value, &err));
        if (!slice_ends(slice_of(err.text), slice_of(examples[i].said)))
            fail_msg("%s: %s", examples[i].text, err.text);
    }
}

static void missing_comma_is_named_by_what_stands_behind_it(void **state)
{
    static const struct example examples[] = {
        {"{\"a\": 1\n \"limits\": {}}", "line 2, column 9: not valid JSON: a comma is missing before \"limits\""},
        {"{\"a\": {} // why\n \"b\": 1}", "a comma is missing before \"b\""},
        {"[\"x\" \"y\"]", "a comma is missing before \"y\""},
        {"[1 2]", "a comma is missing before 2"},
        {"[[] {}]", "a comma is missing before {"},
        {"{\"\\\"\": \"\\\\\" \"next\": 1}", "a comma is missing before \"next\""},
        {"[1 \"gr\xc3\xbcn\"]", "a comma is missing before this"},
        {"[1 \"a name that is much longer than anybody wants to read\"]", "a comma is missing before this"},
    };

    (void)state;
    expect_all(examples, sizeof examples / sizeof *examples);
}

static void comma_too_many_is_named_by_the_bracket_behind_it(void **state)
{
    static const struct example examples[] = {
        {"[1,]", "line 1, column 4: not valid JSON: a comma before ']' is not allowed"},
        {"{\"a\": [1, 2], // last\n}", "line 2, column 1: not valid JSON: a comma before '}' is not allowed"},
        {"{\"a\": \",\",}", "a comma before '}' is not allowed"},
    };

    (void)state;
    expect_all(examples, sizeof examples / sizeof *examples);
}

static void byte_order_mark_is_named(void **state)
{
    static const struct example examples[] = {
        {"\xef\xbb\xbf{}",
         "line 1, column 1: not valid JSON: a byte order mark stands before it; save the file without one"},
    };

    (void)state;
    expect_all(examples, sizeof examples / sizeof *examples);
}

static void other_mistakes_are_not_blamed_on_commas(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[",
        "[1",
        "{\"a\"",
        "{\"a\" 1}",
        "{\"a\":}",
        "[}",
        "[1}",
        "{]",
        "[:]",
        "[1:2]",
        "[1,,2]",
        "nonsense",
        "[,",
        "{\"a\": 1} x",
        "\"",
        "[\"",
        "{\"a\": 1, \"a\": 2}",
        "[1 \"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *value JSON_CLEANUP = NULL;
        struct error err = {{0}};
        assert_false(json_parse(slice_of(texts[i]), "FILE", &value, &err));
        assert_non_null(strstr(err.text, "not valid JSON: "));
        if (strstr(err.text, "a comma"))
            fail_msg("%s: %s", texts[i], err.text);
    }
}

static void byte_zero_does_not_stop_the_search(void **state)
{
    json_t *value JSON_CLEANUP = NULL;
    struct error err = {{0}};

    (void)state;
    assert_false(json_parse(SLICE("[1 \0 2]"), "FILE", &value, &err));
    assert_false(json_parse(SLICE("\0\0[1 2]"), "FILE", &value, &err));
}

static void right_commas_are_right(void **state)
{
    json_t *value JSON_CLEANUP = NULL;
    struct error err = {{0}};

    (void)state;
    assert_true(json_parse(SLICE("{\"a\": [1, 2], /* , */ \"b\": \",}\"}"), "FILE", &value, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_comma_is_named_by_what_stands_behind_it),
        cmocka_unit_test(comma_too_many_is_named_by_the_bracket_behind_it),
        cmocka_unit_test(byte_order_mark_is_named),
        cmocka_unit_test(other_mistakes_are_not_blamed_on_commas),
        cmocka_unit_test(byte_zero_does_not_stop_the_search),
        cmocka_unit_test(right_commas_are_right),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
