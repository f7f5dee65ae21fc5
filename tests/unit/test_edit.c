/* Adding an entry to a policy file keeps everything else in it as it is. */
#include "policy/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *before;
    const char *after;
};

static const char *added_to(struct arena *arena, const char *text)
{
    struct slice edited;
    struct error err = {{0}};

    if (!edit_add(arena, slice_of(text), "FILE", "filesystem", "allowWrite", SLICE("/new"), &edited, &err))
        return arena_string(arena, err.text);
    return arena_slice(arena, edited).ptr;
}

static void entry_is_added_in_the_style_of_the_file(void **state)
{
    static const struct example examples[] = {
        {"{}", "{\n  \"filesystem\": { \"allowWrite\": [\"/new\"] }\n}"},
        {"{\"a\": 1}\n", "{\"a\": 1, \"filesystem\": { \"allowWrite\": [\"/new\"] }}\n"},
        {"{\n    \"a\": 1\n}\n", "{\n    \"a\": 1,\n    \"filesystem\": { \"allowWrite\": [\"/new\"] }\n}\n"},
        {"{\"filesystem\": {}}", "{\"filesystem\": {\n  \"allowWrite\": [\"/new\"]\n}}"},
        {"{\"filesystem\": {\"allowWrite\": []}}", "{\"filesystem\": {\"allowWrite\": [\"/new\"]}}"},
        {"{\"filesystem\": {\"allowWrite\": [\"/a\"]}}", "{\"filesystem\": {\"allowWrite\": [\"/a\", \"/new\"]}}"},
        {"{\"filesystem\": {\"allowWrite\": [ \"/a\" ]}}", "{\"filesystem\": {\"allowWrite\": [ \"/a\", \"/new\" ]}}"},
        {"{\"filesystem\": {\"allowWrite\": [\n\t\t\"/a\" // mine\n\t\t// more\n\t]}}",
         "{\"filesystem\": {\"allowWrite\": [\n\t\t\"/a\", // mine\n\t\t// more\n\t\t\"/new\"\n\t]}}"},
        {"{\"filesystem\": {\"allowWrite\": [\"/a\" /* x */]}}",
         "{\"filesystem\": {\"allowWrite\": [\"/a\", /* x */\n\"/new\"]}}"},
        {"{\"x\": {\"allowWrite\": [\"]\"]}, \"filesystem\": {\"denyWrite\": [\"\\\"]}\"], \"allowWrite\": [\"/a\"]}}",
         "{\"x\": {\"allowWrite\": [\"]\"]}, \"filesystem\": {\"denyWrite\": [\"\\\"]}\"], \"allowWrite\": [\"/a\", "
         "\"/new\"]}}"},
        {"{ // \"filesystem\": {\"allowWrite\": []}\n}",
         "{ // \"filesystem\": {\"allowWrite\": []}\n  \"filesystem\": { \"allowWrite\": [\"/new\"] }\n}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct arena arena ARENA_CLEANUP = {0};
        assert_string_equal(added_to(&arena, examples[i].before), examples[i].after);
    }
}

static void what_is_no_policy_is_left_alone(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{",
                                        "{\"filesystem\": []}",
                                        "{\"filesystem\": {\"allowWrite\": \"/a\"}}",
                                        "{\"filesystem\": 1, \"filesystem\": {}}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena ARENA_CLEANUP = {0};
        struct slice edited;
        struct error err = {{0}};
        assert_false(
            edit_add(&arena, slice_of(texts[i]), "FILE", "filesystem", "allowWrite", SLICE("/new"), &edited, &err));
        assert_non_null(strstr(err.text, "FILE"));
    }
}

static void value_is_one_text_whatever_is_in_it(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice edited;
    struct error err = {{0}};

    (void)state;
    assert_true(edit_add(&arena, SLICE("{}"), "FILE", "a", "b", SLICE("x\"], \"c\": [\"\n"), &edited, &err));
    assert_string_equal(arena_slice(&arena, edited).ptr,
                        "{\n  \"a\": { \"b\": [\"x\\\"], \\\"c\\\": [\\\"\\u000a\"] }\n}");
    /* What is not UTF-8 cannot be said in JSON. */
    assert_false(edit_add(&arena, SLICE("{}"), "FILE", "a", "b", SLICE("\xff"), &edited, &err));
}

static void difference_shows_the_lines_that_changed(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};

    (void)state;
    assert_string_equal(edit_difference(&arena, SLICE("a\nb\nc\n"), SLICE("a\nb,\nd\nc\n")), "- b\n+ b,\n+ d\n");
    assert_string_equal(edit_difference(&arena, SLICE(""), SLICE("{\n}\n")), "+ {\n+ }\n");
    assert_string_equal(edit_difference(&arena, SLICE("x"), SLICE("x")), "");
    assert_string_equal(edit_difference(&arena, SLICE("x"), SLICE("\x1b")), "- x\n+ \\x1b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_is_added_in_the_style_of_the_file),
        cmocka_unit_test(what_is_no_policy_is_left_alone),
        cmocka_unit_test(value_is_one_text_whatever_is_in_it),
        cmocka_unit_test(difference_shows_the_lines_that_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
