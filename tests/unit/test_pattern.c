/* Path patterns: what they mean, what is refused, and that no pattern is slow. */
#include "policy/pattern.h"

#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { NOT_COVERED = -1 };

static struct pattern parsed(struct arena *arena, const char *text)
{
    struct pattern pattern;
    struct error err = {""};

    if (!pattern_parse(arena, slice_of(text), false, &pattern, &err))
        fail_msg("%s: %s", text, err.text);
    return pattern;
}

static void assert_slice(struct slice found, const char *wanted)
{
    if (!slice_is(found, wanted))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)found.len, found.ptr, wanted);
}

static int depth_of(const struct pattern *pattern, const char *path)
{
    size_t depth;

    return pattern_covers(pattern, slice_of(path), &depth) ? (int)depth : NOT_COVERED;
}

static void test_parsed_pattern_is_normal(void **state)
{
    static const struct {
        const char *text, *normal, *fixed;
        bool literal;
    } cases[] = {
        {"/", "/", "/", true},
        {"//", "/", "/", true},
        {"/**", "/", "/", true},
        {"/**/**/", "/", "/", true},
        {"/a", "/a", "/a", true},
        {"/a/", "/a", "/a", true},
        {"//a///b//", "/a/b", "/a/b", true},
        {"/a/./b/.", "/a/b", "/a/b", true},
        {"/a/../b", "/b", "/b", true},
        {"/../../b", "/b", "/b", true},
        {"/a/../b*", "/b*", "/", false},
        {"/a/**", "/a", "/a", true},
        {"/a/**/", "/a", "/a", true},
        {"/a/**/**", "/a", "/a", true},
        {"/a/b*/**", "/a/b*", "/a", false},
        {"/a/**/b", "/a/**/b", "/a", false},
        {"/a/*", "/a/*", "/a", false},
        {"/*", "/*", "/", false},
        {"/a/b?/c", "/a/b?/c", "/a", false},
        {"/a/[bc]/d", "/a/[bc]/d", "/a", false},
        {"/a/[bc/d", "/a/[bc/d", "/a/[bc/d", true},
        {"/a/[b/c]", "/a/[b/c]", "/a/[b/c]", true},
        {"/a/[]/b", "/a/[]/b", "/a/[]/b", true},
        {"/a/]/b", "/a/]/b", "/a/]/b", true},
        {"/a***", "/a***", "/", false},
        {"/a/***", "/a/***", "/a", false},
        {"/a\\*", "/a\\*", "/", false},
        {"/a\nb/\xff/~", "/a\nb/\xff/~", "/a\nb/\xff/~", true},
    };
    struct arena arena ARENA_CLEANUP = {0};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern pattern = parsed(&arena, cases[i].text);
        assert_slice(pattern.text, cases[i].normal);
        assert_slice(pattern.fixed, cases[i].fixed);
        assert_int_equal(pattern.literal, cases[i].literal);
        assert_int_equal(pattern.text.ptr[pattern.text.len], '\0');
    }
}

static void test_wildcards_in_a_literal_are_ordinary_bytes(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct pattern pattern;
    struct error err;
    (void)state;

    assert_true(pattern_parse(&arena, SLICE("/app/[id]/*/../**/"), true, &pattern, &err));
    assert_slice(pattern.text, "/app/[id]/**");
    assert_slice(pattern.fixed, "/app/[id]/**");
    assert_true(pattern.literal);
    assert_int_equal(depth_of(&pattern, "/app/[id]/**/x"), 3);
    assert_int_equal(depth_of(&pattern, "/app/i/x"), NOT_COVERED);
    assert_int_equal(depth_of(&pattern, "/app/[id]/x"), NOT_COVERED);
}

static void test_patterns_that_mean_trouble_are_refused_by_name(void **state)
{
    char long_text[PATTERN_TEXT_MAX + 2];
    char deep_text[2 * (PATTERN_COMPONENTS_MAX + 1) + 1];
    memset(long_text, 'a', sizeof long_text);
    long_text[0] = '/';
    for (size_t i = 0; i < sizeof deep_text; i++)
        deep_text[i] = i % 2 ? 'a' : '/';
    const struct {
        struct slice text;
        bool as_literal;
        const char *reason;
    } cases[] = {
        {SLICE(""), false, "empty"},
        {SLICE("a/b"), false, "not absolute"},
        {SLICE("~/x"), false, "not absolute"},
        {SLICE("/a\0b"), false, "NUL"},
        {SLICE("/a\0b"), true, "NUL"},
        {SLICE("/a/*/../b"), false, "\"..\" behind a wildcard"},
        {SLICE("/a/**/.."), false, "\"..\" behind a wildcard"},
        {SLICE("/a/[[:alpha:]]"), false, "character class"},
        {SLICE("/a/x[!a[:digit:]_]"), false, "character class"},
        {{long_text, PATTERN_TEXT_MAX + 1}, false, "4096"},
        {{long_text, PATTERN_TEXT_MAX + 1}, true, "4096"},
        {{deep_text, 2 * (PATTERN_COMPONENTS_MAX + 1)}, false, "256"},
        {{deep_text, 2 * (PATTERN_COMPONENTS_MAX + 1)}, true, "256"},
    };
    struct arena arena ARENA_CLEANUP = {0};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern pattern;
        struct error err = {""};
        assert_false(pattern_parse(&arena, cases[i].text, cases[i].as_literal, &pattern, &err));
        if (!strstr(err.text, cases[i].reason))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text, cases[i].reason);
    }
}

static void test_patterns_at_the_limits_are_accepted(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    char long_text[PATTERN_TEXT_MAX];
    char deep_text[2 * PATTERN_COMPONENTS_MAX];
    struct pattern pattern;
    struct error err;
    (void)state;

    memset(long_text, 'a', sizeof long_text);
    long_text[0] = '/';
    assert_true(pattern_parse(&arena, (struct slice){long_text, sizeof long_text}, false, &pattern, &err));
    for (size_t i = 0; i < sizeof deep_text; i++)
        deep_text[i] = i % 2 ? '?' : '/';
    assert_true(pattern_parse(&arena, (struct slice){deep_text, sizeof deep_text}, false, &pattern, &err));
    assert_true(pattern_matches(&pattern, (struct slice){deep_text, sizeof deep_text}));
    /* A class needs both its ends; without them brackets are what they always are. */
    assert_true(pattern_parse(&arena, SLICE("/[[:alpha"), false, &pattern, &err));
    assert_true(pattern_parse(&arena, SLICE("/[a:]"), false, &pattern, &err));
}

static void test_error_quotes_names_without_control_characters(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct pattern pattern;
    struct error err;
    (void)state;

    assert_false(pattern_parse(&arena, SLICE("x\x1b[2J\n"), false, &pattern, &err));
    assert_string_equal(err.text, "path \"x\\x1b[2J\\n\" is not absolute");
}

static void test_deepest_covered_ancestor_is_found(void **state)
{
    static const struct {
        const char *pattern, *path;
        int depth;
    } cases[] = {
        /* literals: by component, never by prefix of bytes */
        {"/", "/", 0},
        {"/", "/a/b", 0},
        {"/a/b", "/a/b", 2},
        {"/a/b", "/a/b/c/d", 2},
        {"/a/b", "/a/bc", NOT_COVERED},
        {"/a/b", "/a", NOT_COVERED},
        {"/a/b", "/", NOT_COVERED},
        {"/a/b/**", "/a/b", 2},
        {"/a/b/**", "/a/b/c", 2},
        {"/a\n/b", "/a\n/b", 2},
        {"/a/\xff", "/a/\xff/x", 2},
        /* one component */
        {"/a/*", "/a/b", 2},
        {"/a/*", "/a/b/c", 2},
        {"/a/*", "/a", NOT_COVERED},
        {"/a/*", "/a/.hidden", 2},
        {"/a/*/c", "/a/b/c", 3},
        {"/a/*/c", "/a/b/b/c", NOT_COVERED},
        {"/a/*/c", "/a/b/cc", NOT_COVERED},
        {"/*", "/a/b/c", 1},
        {"/*", "/", NOT_COVERED},
        {"/a/.env*", "/a/.env", 2},
        {"/a/.env*", "/a/.env.local", 2},
        {"/a/.env*", "/a/.en", NOT_COVERED},
        {"/a/.env*", "/a/b/.env", NOT_COVERED},
        {"/a/?", "/a/b", 2},
        {"/a/?", "/a/bc", NOT_COVERED},
        {"/a/?", "/a/\xc3\xa4", NOT_COVERED},
        {"/a/??", "/a/\xc3\xa4", 2},
        {"/?/b", "/a/b", 2},
        {"/a?b", "/a/b", NOT_COVERED},
        {"/a*b", "/a/b", NOT_COVERED},
        {"/a[/]b", "/a/b", NOT_COVERED},
        {"/a[!x]b", "/a/b", NOT_COVERED},
        {"/a/***", "/a/b/c", 2},
        /* any depth */
        {"/**/x", "/x", 1},
        {"/**/x", "/a/b/x", 3},
        {"/**/x", "/a/b/x/c", 3},
        {"/**/x", "/x/a/x/b", 3},
        {"/**/x", "/a/xx", NOT_COVERED},
        {"/**/x", "/", NOT_COVERED},
        {"/a/**/x", "/a/x", 2},
        {"/a/**/x", "/a/b/c/x", 4},
        {"/a/**/x", "/b/x", NOT_COVERED},
        {"/a/**/x", "/ax/x", NOT_COVERED},
        {"/a/**/**/x", "/a/x", 2},
        {"/a/**/**/x", "/a/1/2/3/x", 5},
        {"/a/**/b/**/c", "/a/b/c", 3},
        {"/a/**/b/**/c", "/a/1/b/2/3/c/4", 6},
        {"/a/**/b/**/c", "/a/c/b", NOT_COVERED},
        {"/a/**/b/c", "/a/b/b/c", 4},
        {"/a/**/b/c", "/a/b/b/b", NOT_COVERED},
        {"/a/**/b/*/d", "/a/b/b/x/d", 5},
        {"/**/*.pem", "/a/key.pem", 2},
        {"/**/*.pem", "/a/key.pem.d/x", NOT_COVERED},
        {"/**/*.pem", "/a/d.pem/x", 2},
        {"/a/**/*", "/a/b", 2},
        {"/a/**/*", "/a/b/c", 3},
        {"/a/**/*", "/a", NOT_COVERED},
        {"/a/x**y/b", "/a/x/y/b", NOT_COVERED},
        {"/a/x**y/b", "/a/x--y/b", 3},
        {"/**/.git/hooks", "/p/.git/hooks/pre-commit", 3},
        {"/**/.git/hooks", "/p/.git/config", NOT_COVERED},
    };
    struct arena arena ARENA_CLEANUP = {0};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern pattern = parsed(&arena, cases[i].pattern);
        int depth = depth_of(&pattern, cases[i].path);
        if (depth != cases[i].depth)
            fail_msg("%s on %s: %d instead of %d", cases[i].pattern, cases[i].path, depth, cases[i].depth);
        bool whole = cases[i].depth == (int)path_depth(slice_of(cases[i].path));
        assert_int_equal(pattern_matches(&pattern, slice_of(cases[i].path)), whole);
    }
}

static void test_names_match_byte_by_byte(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "anything", true},
        {"**", "anything", true},
        {"?", "", false},
        {"?", "a", true},
        {"a", "", false},
        {"a*", "a", true},
        {"*a", "ba", true},
        {"*a", "ab", false},
        {"*_TOKEN", "GH_TOKEN", true},
        {"*_TOKEN", "GH_TOKENS", false},
        {"*_TOKEN", "_TOKEN", true},
        {"AWS_*", "AWS_", true},
        {"AWS_*", "aws_x", false},
        {"*a*b*c*", "xaybzc", true},
        {"*a*b*c*", "xaycb", false},
        {"*ab", "aab", true},
        {"*aab", "aaaab", true},
        {"a*a", "a", false},
        {"a/b", "a/b", true},
        {"a*b", "a/b", true},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[abc]", "", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[c-a]", "b", false},
        {"[!abc]", "d", true},
        {"[!abc]", "a", false},
        {"[^abc]", "d", true},
        {"[^abc]", "a", false},
        {"[!]", "[!]", true},
        {"[!]", "x", false},
        {"[]", "[]", true},
        {"[]a]", "]", true},
        {"[]a]", "a", true},
        {"[]a]", "b", false},
        {"[!]a]", "]", false},
        {"[!]a]", "b", true},
        {"[^]", "[^]", true},
        {"[^]", "^", false},
        {"[^]a]", "]", false},
        {"[^]a]", "b", true},
        {"[a^]", "^", true},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[-a]", "a", true},
        {"[-a]", "b", false},
        {"[!-a]", "-", false},
        {"[a-c-e]", "-", true},
        {"[a-c-e]", "d", false},
        {"[*]", "*", true},
        {"[*]", "a", false},
        {"[?]", "?", true},
        {"[[]", "[", true},
        {"[a!]", "!", true},
        {"[\x80-\xff]", "\xc3", true},
        {"[\x80-\xff]", "a", false},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"*[a", "x[a", true},
        {"[a]]", "a]", true},
        {"[[[[", "[[[[", true},
        {"\\*", "\\x", true},
        {"\\*", "*", false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (name_matches(slice_of(cases[i].pattern), slice_of(cases[i].name)) != cases[i].matches)
            fail_msg("%s on %s should %smatch", cases[i].pattern, cases[i].name, cases[i].matches ? "" : "not ");
    }
    assert_true(name_matches(SLICE("a?b"), SLICE("a\0b")));
    assert_false(name_matches(SLICE("a"), SLICE("a\0")));
}

static void test_wildcards_are_recognized(void **state)
{
    static const struct {
        const char *pattern;
        bool wild;
    } cases[] = {
        {"", false},    {"a.b", false}, {"*", true},     {"a?", true},  {"[a]", true},
        {"[!a]", true}, {"[a", false},  {"a]", false},   {"[]", false}, {"[!]", false},
        {"[]]", true},  {"][", false},  {"]a[b]", true}, {"[[", false}, {"\\", false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (name_has_wildcard(slice_of(cases[i].pattern)) != cases[i].wild)
            fail_msg("%s should %sbe wild", cases[i].pattern, cases[i].wild ? "" : "not ");
    }
}

static double milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Naive matchers try every way to share the path among the stars: years for
 * these. The bound is generous, for sanitizers and slow machines. */
static void test_hostile_patterns_take_bounded_time(void **state)
{
    static const struct {
        const char *prefix, *unit;
    } cases[] = {
        {"/", "*a"}, {"/", "**/"}, {"/", "**/a/"},   {"/", "*[ab]"}, {"/*", "["},
        {"/", "*["}, {"/", "?*"},  {"/", "**/*a*/"}, {"/*[]", "[]"}, {"/*", "a"},
    };
    struct arena arena ARENA_CLEANUP = {0};
    char text[PATTERN_TEXT_MAX + 1];
    char path[PATTERN_TEXT_MAX];
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *unit = cases[i].unit;
        bool deep = strchr(unit, '/') != NULL;
        size_t len = strlen(cases[i].prefix);
        memcpy(text, cases[i].prefix, len);
        for (size_t count = 0; len < PATTERN_TEXT_MAX / 2 && (!deep || count < 120); count++) {
            memcpy(text + len, unit, strlen(unit));
            len += strlen(unit);
        }
        text[len++] = 'b';
        text[len] = '\0';
        struct pattern pattern = parsed(&arena, text);

        for (int slashes = 0; slashes < 2; slashes++) {
            for (size_t j = 0; j < sizeof path; j++)
                path[j] = slashes && j % 2 == 0 ? '/' : strchr(unit, 'a') ? 'a' : '[';
            path[0] = '/';
            double before = milliseconds();
            assert_false(pattern_matches(&pattern, (struct slice){path, sizeof path}));
            double took = milliseconds() - before;
            if (took > 1000)
                fail_msg("%s and many times %s took %.0f ms", cases[i].prefix, unit, took);
        }
    }
}

static void test_a_thousand_patterns_are_matched_in_no_time(void **state)
{
    enum { COUNT = 1000, ROUNDS = 20 };
    static const char *const forms[] = {"/home/user/project%zu/src/*.c", "/**/secret%zu*.pem",
                                        "/home/user/.config/x%zu", "/home/*/work/**/build%zu/*"};
    struct arena arena ARENA_CLEANUP = {0};
    struct pattern *patterns = arena_alloc(&arena, COUNT * sizeof *patterns);
    size_t covered = 0;
    size_t depth;
    double best = 1e9;
    (void)state;

    for (size_t i = 0; i < COUNT; i++) {
        const char *form = forms[i % 4];
        const char *number = strstr(form, "%zu");
        patterns[i] = parsed(&arena, arena_printf(&arena, "%.*s%zu%s", (int)(number - form), form, i, number + 3));
    }
    for (int round = 0; round < ROUNDS; round++) {
        double before = milliseconds();
        for (size_t i = 0; i < COUNT; i++)
            covered += pattern_covers(&patterns[i], SLICE("/home/user/work/a/b/c/build7/secret1.pem"), &depth);
        double took = milliseconds() - before;
        best = took < best ? took : best;
    }
    /* In each round: what lies in build7, and secret1 itself. */
    assert_int_equal(covered, 2 * ROUNDS);
    print_message("# 1000 patterns: %.3f ms\n", best);
    assert_true(best < 10); /* an order of magnitude of slack for sanitizers */
}

static void test_letters_never_rule_a_match_out(void **state)
{
    static const struct {
        const char *pattern;
        const char *name;
    } matches[] = {
        {"*TOKEN*", "GITHUB_TOKEN"},
        {"*[Tt][Oo][Kk][Ee][Nn]*", "my_Token_1"},
        {"[abc]x", "cx"},
        {"[!a]b", "Xb"},
        {"a?c", "azc"},
        {"[a-z]Q", "kQ"},
        {"[]a]", "]"},
        {"[ab", "[ab"},
        {"[Aa]", "a"},
        {"[Ab]", "b"},
        {"*", "ANYTHING"},
        {"", ""},
        {"[^x]y", "_y"},
        {"[A-a]", "_"},
        {"PRE[Xx]*[Yy]Z?[0-9]", "PRExxyZ_7"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof matches / sizeof *matches; i++) {
        struct slice pattern = slice_of(matches[i].pattern);
        struct slice name = slice_of(matches[i].name);
        assert_true(name_matches(pattern, name));
        assert_int_equal(name_pattern_letters(pattern) & ~name_letters(name), 0);
    }
    assert_int_not_equal(name_pattern_letters(SLICE("*[Tt][Oo]*")) & ~name_letters(SLICE("TEA")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parsed_pattern_is_normal),
        cmocka_unit_test(test_wildcards_in_a_literal_are_ordinary_bytes),
        cmocka_unit_test(test_patterns_that_mean_trouble_are_refused_by_name),
        cmocka_unit_test(test_patterns_at_the_limits_are_accepted),
        cmocka_unit_test(test_error_quotes_names_without_control_characters),
        cmocka_unit_test(test_deepest_covered_ancestor_is_found),
        cmocka_unit_test(test_names_match_byte_by_byte),
        cmocka_unit_test(test_wildcards_are_recognized),
        cmocka_unit_test(test_hostile_patterns_take_bounded_time),
        cmocka_unit_test(test_letters_never_rule_a_match_out),
        cmocka_unit_test(test_a_thousand_patterns_are_matched_in_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
