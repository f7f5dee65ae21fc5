/* A settings file must get the verdict and the words of srt itself. What srt
 * 0.0.83 answered to each of the files was recorded by
 * tests/compat/record_srt_settings.mjs; where we differ on purpose the record
 * says so, with the reason. */
#include "policy/srt.h"

#include "base/json.h"
#include "policy/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CASES_AT_LEAST = 200, SHOWN_AT_MOST = 20 };

static json_t *load_cases(const char *path)
{
    json_error_t problem;
    json_t *record = json_load_file(path, JSON_ALLOW_NUL, &problem);

    if (!record)
        fail_msg("%s: line %d: %s", path, problem.line, problem.text);
    return record;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* What our check has to say, in srt's form: "path: message" each. */
static json_t *check_messages(struct arena *arena, struct slice settings, bool *is_json)
{
    struct problems problems = {.arena = arena};
    json_t *root JSON_CLEANUP = NULL;
    json_t *messages = json_array();
    struct error err;

    *is_json = json_parse(settings, "settings", &root, &err);
    if (*is_json)
        srt_check(root, "settings", &problems);
    for (size_t i = 0; i < problems.count; i++)
        json_array_append_new(messages, json_sprintf("%s: %s", problems.items[i].path, problems.items[i].text));
    return messages;
}

static bool agrees(struct arena *arena, const json_t *each)
{
    const json_t *ours = json_object_get(each, "ours");
    const json_t *valid = json_object_get(ours ? ours : each, "valid");
    const json_t *expected = json_object_get(ours ? ours : each, "messages");
    bool is_json = false;
    json_t *messages JSON_CLEANUP = check_messages(arena, json_slice(json_object_get(each, "settings")), &is_json);
    bool good = is_json && json_array_size(messages) == 0;

    if (good == json_is_true(valid) && (!expected || json_equal(messages, expected)))
        return true;
    char *said = json_dumps(messages, 0);
    char *wanted = expected ? json_dumps(expected, 0) : NULL;
    print_error("# %s\n#   %s\n#   srt:  %s %s\n#   ours: %s %s\n", text_of(each, "name"), text_of(each, "settings"),
                json_is_true(valid) ? "valid" : "refused", wanted ? wanted : "", good ? "valid" : "refused", said);
    free(said);
    free(wanted);
    return false;
}

static void test_each_file_gets_the_verdict_and_the_words_of_srt(void **state)
{
    json_t *record JSON_CLEANUP = load_cases(SRT_SETTINGS);
    const json_t *cases = json_object_get(record, "cases");
    size_t valid = 0;
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(cases) && wrong < SHOWN_AT_MOST; i++) {
        struct arena arena ARENA_CLEANUP = {0};
        const json_t *each = json_array_get(cases, i);
        wrong += !agrees(&arena, each);
        valid += json_is_true(json_object_get(each, "valid"));
    }
    assert_int_equal(wrong, 0);
    assert_true(json_array_size(cases) >= CASES_AT_LEAST);
    assert_true(valid >= CASES_AT_LEAST / 2);
}

/* Every difference must give its reason, so that none creeps in unnoticed. */
static void test_each_difference_from_srt_has_a_reason(void **state)
{
    json_t *record JSON_CLEANUP = load_cases(SRT_SETTINGS);
    const json_t *cases = json_object_get(record, "cases");
    size_t differences = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *ours = json_object_get(json_array_get(cases, i), "ours");
        assert_true(!ours || json_string_length(json_object_get(ours, "reason")) > 0);
        differences += ours != NULL;
    }
    assert_true(differences > 0);
}

/* Reads a file as the srt personality does, and prints what it then prints. */
static const char *printed(struct arena *arena, const json_t *each)
{
    struct problems problems = {.arena = arena};
    struct text out = text_in(arena);
    const json_t *settings = json_object_get(each, "settings");
    json_t *root JSON_CLEANUP = NULL;
    struct error err;

    if (!settings)
        problem_add(&problems, "FILE", "", SRT_MISSING);
    else if (slice_is(json_slice(settings), "DIRECTORY"))
        problem_add(&problems, "FILE", "", SRT_UNREADABLE, "EISDIR");
    else if (slice_is(json_slice(settings), "LOOP"))
        problem_add(&problems, "FILE", "", SRT_UNREADABLE, "ELOOP");
    else if (strspn(json_string_value(settings), " \t\r\n") == json_string_length(settings))
        problem_add(&problems, "FILE", "", SRT_EMPTY);
    else if (json_parse(json_slice(settings), "FILE", &root, &err))
        srt_check(root, "FILE", &problems);
    else
        problem_add(&problems, "FILE", "", SRT_NOT_JSON "Unexpected token '}', \"%s\" is not valid JSON",
                    json_string_value(settings));
    warning_add(&problems, "FILE", "network.x", "srt does not say this");
    srt_print_problems(&problems, &out);
    return text_slice(&out).ptr;
}

static void test_refusals_are_printed_as_srt_prints_them(void **state)
{
    json_t *record JSON_CLEANUP = load_cases(SRT_CLI);
    const json_t *cases = json_object_get(record, "cases");
    size_t refused = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        struct arena arena ARENA_CLEANUP = {0};
        const json_t *each = json_array_get(cases, i);
        if (json_integer_value(json_object_get(each, "status")) == 0 || strchr(text_of(each, "file"), '/'))
            continue; /* the last are refused by the directory above, which is the loader's business */
        assert_string_equal(printed(&arena, each), text_of(each, "stderr"));
        refused++;
    }
    assert_true(refused >= 10);
}

static void test_problems_of_two_files_are_told_apart(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct problems problems = {.arena = &arena};
    struct text out = text_in(&arena);
    json_t *root JSON_CLEANUP = json_object();

    (void)state;
    srt_check(root, "one", &problems);
    srt_check(root, "two", &problems);
    srt_print_problems(&problems, &out);
    assert_non_null(
        strstr(out.ptr, "Error: one does not hold a valid config — network: Required; filesystem: Required\n"));
    assert_non_null(
        strstr(out.ptr, "Error: two does not hold a valid config — network: Required; filesystem: Required\n"));
}

/* The file is read, not run: a pattern made to cost much costs little here. */
static void test_hostile_patterns_end_soon(void **state)
{
    static const char *const pieces[] = {"(", "[", "\\k<a>(?<a>x)", "(?<a", "{1,", "x{1}", "\\", "((x)|"};

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct arena arena ARENA_CLEANUP = {0};
        struct text settings = text_in(&arena);
        bool is_json;
        text_append_string(&settings, "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},\"filesystem\":"
                                      "{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]},\"credentials\":"
                                      "{\"files\":[{\"path\":\"a\",\"mode\":\"deny\",\"extract\":");
        struct text pattern = text_in(&arena);
        for (int k = 0; k < 20000; k++)
            text_append_string(&pattern, pieces[i]);
        text_append_json(&settings, text_slice(&pattern));
        text_append_string(&settings, "}]}}");
        json_t *messages JSON_CLEANUP = check_messages(&arena, text_slice(&settings), &is_json);
        assert_true(is_json);
        assert_int_equal(json_array_size(messages), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file_gets_the_verdict_and_the_words_of_srt),
        cmocka_unit_test(test_each_difference_from_srt_has_a_reason),
        cmocka_unit_test(test_refusals_are_printed_as_srt_prints_them),
        cmocka_unit_test(test_problems_of_two_files_are_told_apart),
        cmocka_unit_test(test_hostile_patterns_end_soon),
    };
    return cmocka_run_group_tests_name("srt", tests, NULL, NULL);
}
