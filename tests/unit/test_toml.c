/* TOML as other programs' settings have it. */
#include "base/toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_means(const char *toml, const char *json)
{
    struct error err = {{0}};
    json_t *value = NULL;
    json_t *expected = json_loads(json, 0, NULL);

    assert_non_null(expected);
    if (!toml_parse(slice_of(toml), "config.toml", &value, &err))
        fail_msg("%s: %s", toml, err.text);
    assert_true(json_equal(value, expected));
    json_decref(value);
    json_decref(expected);
}

static void test_values(void **state)
{
    (void)state;
    assert_means("", "{}");
    assert_means("# only a comment", "{}");
    assert_means("a = 1\nb = -2 # two\r\nc = true\nd = false\n", "{\"a\":1,\"b\":-2,\"c\":true,\"d\":false}");
    assert_means("a = \"x\\ty\\u00e4\\U0001F389\\\"\"", "{\"a\":\"x\\ty\xc3\xa4\xf0\x9f\x8e\x89\\\"\"}");
    assert_means("a = 'C:\\x'", "{\"a\":\"C:\\\\x\"}");
    assert_means("a = \"\"\"\none\n two \\\n   three\"\"\"\"", "{\"a\":\"one\\n two three\\\"\"}");
    assert_means("a = '''\nx'y'''", "{\"a\":\"x'y\"}");
    assert_means("a = [1, [2, 3],\n  # between\n  \"x\",\n]", "{\"a\":[1,[2,3],\"x\"]}");
    assert_means("a = { b = 1, \"c.d\" = [ ], e.f = 2 }", "{\"a\":{\"b\":1,\"c.d\":[],\"e\":{\"f\":2}}}");
    assert_means("a = 1_000\nb = 0x10\nc = 1.5\nd = 1979-05-27T07:32:00Z",
                 "{\"a\":\"1_000\",\"b\":\"0x10\",\"c\":\"1.5\",\"d\":\"1979-05-27T07:32:00Z\"}");
}

static void test_tables(void **state)
{
    (void)state;
    assert_means("[a.b]\nx = 1\n[a.\"c d\"]\ny = 2\n[a]\nz = 3\n",
                 "{\"a\":{\"b\":{\"x\":1},\"c d\":{\"y\":2},\"z\":3}}");
    assert_means("[[a]]\nx = 1\n[[a]]\nx = 2\n[a.b]\ny = 3\n", "{\"a\":[{\"x\":1},{\"x\":2,\"b\":{\"y\":3}}]}");
    assert_means("a.b.c = 1\na.b.d = 2\n", "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}");
    assert_means("[permissions.x.filesystem.\":workspace_roots\"]\n\".\" = \"write\"\n",
                 "{\"permissions\":{\"x\":{\"filesystem\":{\":workspace_roots\":{\".\":\"write\"}}}}}");
}

static void test_what_is_not_valid_is_refused_with_its_line(void **state)
{
    static const char *const texts[] = {
        "a",
        "a =",
        "a = x",
        "a = 1 2",
        "= 1",
        "a = \"x",
        "a = 'x\n'",
        "a = [1",
        "a = [1 2]",
        "a = {b}",
        "a = {b = 1",
        "[a",
        "[]",
        "[[a]",
        "a = 1\na = 2",
        "a = 1\n[a]",
        "a = 1\na.b = 2",
        "a = \"\\q\"",
        "a = \"\\ud800\"",
        "a = \"\\u0000\"",
        "a = \"\xff\"",
        "[a]]\n",
        "a = [1]\n[[a]]\nb = 1",
        "a = \"\\u12",
    };
    struct error err;
    json_t *value;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (toml_parse(slice_of(texts[i]), "config.toml", &value, &err))
            fail_msg("taken: %s", texts[i]);
        assert_memory_equal(err.text, "config.toml: line ", 18);
    }
    assert_false(toml_parse(SLICE("a = 1\n\nb = [\n1,\nx]"), "f", &value, &err));
    assert_memory_equal(err.text, "f: line 5: ", 11);
}

static void test_depth_is_bounded(void **state)
{
    char text[1003];
    struct error err;
    json_t *value;

    (void)state;
    memset(text, '[', sizeof text);
    memcpy(text, "a=", 2);
    assert_false(toml_parse((struct slice){text, sizeof text}, "f", &value, &err));
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "a.", 2);
    assert_false(toml_parse((struct slice){text, sizeof text - 1}, "f", &value, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_what_is_not_valid_is_refused_with_its_line),
        cmocka_unit_test(test_depth_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
