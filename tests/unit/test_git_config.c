/* Git's configuration by meaning: which changes run nothing. */
#include "policy/git_config.h"

#include "base/text.h"
#include "git_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct git_config_verdict judge(struct arena *arena, const char *now, const char *next)
{
    struct git_config_verdict verdict;

    git_config_judge(arena, slice_of(now), slice_of(next), &verdict);
    return verdict;
}

static bool allows(const char *now, const char *next)
{
    ARENA_CLEANUP struct arena arena = {0};

    return judge(&arena, now, next).refused.count == 0;
}

/* A file with this key, as git writes it. The value is escaped already. */
static void spell(char text[1024], const char *section, const char *subsection, const char *key, const char *value)
{
    snprintf(text, 1024, subsection ? "[%s \"%s\"]\n\t%s = \"%s\"\n" : "[%s%s]\n\t%s = \"%s\"\n", section,
             subsection ? subsection : "", key, value);
}

static void full_name(char name[256], const struct git_key *key)
{
    snprintf(name, 256, "%s%s%s.%s", key->section, key->subsection ? "." : "", key->subsection ? key->subsection : "",
             key->key);
}

/* As git prints it: section and key in lower case. */
static bool is_named(struct slice found, const struct git_key *key)
{
    char name[256];

    full_name(name, key);
    return slice_equal_ignoring_case(found, slice_of(name)) &&
           (!key->subsection || memmem(found.ptr, found.len, key->subsection, strlen(key->subsection)));
}

static void test_each_key_of_git_has_its_verdict(void **state)
{
    (void)state;
    assert_true(sizeof git_keys / sizeof *git_keys > 250);
    for (size_t i = 0; i < sizeof git_keys / sizeof *git_keys; i++) {
        const struct git_key *key = &git_keys[i];
        ARENA_CLEANUP struct arena arena = {0};
        char text[1024];
        spell(text, key->section, key->subsection, key->key, key->value);
        struct git_config_verdict verdict = judge(&arena, "", text);
        if ((verdict.refused.count == 0) != key->allowed)
            fail_msg("%.*s = %s: %s", (int)strlen(text), text, key->value, key->reason);
        if (key->allowed)
            continue;
        assert_int_equal(verdict.refused.count, 1);
        assert_true(is_named(verdict.refused.items[0].name, key));
        assert_true(strlen(verdict.refused.items[0].words) > 0);
        /* What is there already may stay, beside something that is changed. */
        char beside[2048];
        snprintf(beside, sizeof beside, "%s[push]\n\tautoSetupRemote = true\n", text);
        if (strncmp(key->section, "include", 7) != 0)
            assert_true(allows(text, beside));
    }
}

/* Of the keys that are no git_keys[].allowed, none may be changed or taken away either. */
static void test_what_must_not_be_set_must_not_be_changed_or_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof git_keys / sizeof *git_keys; i++) {
        const struct git_key *key = &git_keys[i];
        ARENA_CLEANUP struct arena arena = {0};
        char text[1024];
        char other[1024];
        spell(text, key->section, key->subsection, key->key, key->value);
        spell(other, key->section, key->subsection, key->key, "the user's own");
        if (key->allowed || git_config_read(&arena, slice_of(other), &(struct git_config){0}, NULL) == false)
            continue;
        assert_false(allows(other, text));
        struct git_config_verdict verdict = judge(&arena, text, text);
        if (strncmp(key->section, "include", 7) != 0)
            assert_int_equal(verdict.refused.count, 0);
    }
    assert_false(allows("[core]\n\thooksPath = /dev/null\n", ""));
    assert_false(allows("[safe]\n\tbareRepository = explicit\n", "[user]\n\tname = x\n"));
    assert_false(allows("[credential]\n\thelper = \n\thelper = cache\n", "[credential]\n\thelper = cache\n"));
    assert_false(allows("[http]\n\tsslVerify = true\n", ""));
    assert_false(allows("[protocol \"file\"]\n\tallow = never\n", ""));
}

static void test_urls_lead_to_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof git_urls / sizeof *git_urls; i++) {
        static const char *const keys[][2] = {{"remote", "url"}, {"remote", "pushurl"}, {"submodule", "url"}};
        for (size_t j = 0; j < 3; j++) {
            char text[1024];
            spell(text, keys[j][0], "x", keys[j][1], git_urls[i].url);
            if (allows("", text) != git_urls[i].allowed)
                fail_msg("%s", text);
        }
    }
}

static void test_removing_what_runs_nothing_is_allowed(void **state)
{
    (void)state;
    assert_true(allows("[user]\n\tname = x\n\temail = y\n[pull]\n\tff = only\n", "[user]\n\temail = y\n"));
    assert_true(allows("[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", ""));
    assert_true(allows("[submodule \"x\"]\n\turl = https://a/b\n\tactive = true\n", ""));
    assert_true(allows("[remote \"o\"]\n\turl = https://a/b\n\tpushurl = https://a/c\n",
                       "[remote \"o\"]\n\turl = https://a/b\n"));
}

static void test_a_remote_keeps_its_url_and_core_keeps_what_it_says(void **state)
{
    static const char *const old = "[core]\n\tbare = false\n\trepositoryformatversion = 1\n"
                                   "[remote \"origin\"]\n\turl = https://a/b\n";
    (void)state;
    assert_true(allows(old, old));
    assert_false(allows(old, "[core]\n\tbare = false\n\trepositoryformatversion = 1\n"));
    assert_false(allows(old, "[core]\n\tbare = false\n\trepositoryformatversion = 1\n"
                             "[remote \"renamed\"]\n\turl = https://a/b\n"));
    assert_false(allows(old, "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a/b\n"));
    assert_false(allows(old, ""));
}

static void test_a_branch_follows_only_a_remote_that_is_there(void **state)
{
    static const char *const remote = "[remote \"origin\"]\n\turl = https://a/b\n";
    char text[512];

    (void)state;
    snprintf(text, sizeof text, "%s[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", remote);
    assert_true(allows(remote, text));
    assert_true(allows("", text));
    snprintf(text, sizeof text, "%s[branch \"x\"]\n\tremote = other\n", remote);
    assert_false(allows(remote, text));
    /* As the user has set it up, and whatever it is. */
    assert_true(
        allows("[remote \"l\"]\n\turl = /srv/x\n", "[remote \"l\"]\n\turl = /srv/x\n[branch \"x\"]\n\tremote = l\n"));
    assert_false(allows("[remote \"l\"]\n\turl = a\n\turl =\n",
                        "[remote \"l\"]\n\turl = a\n\turl =\n[branch \"x\"]\n\tremote = l\n"));
    assert_true(
        allows("[branch \"x\"]\n\tremote = /srv/x\n", "[branch \"x\"]\n\tremote = /srv/x\n[user]\n\tname = y\n"));
}

static void test_other_urls_of_what_was_there_are_told(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct git_config_verdict verdict =
        judge(&arena, "[remote \"origin\"]\n\turl = https://a/b\n", "[remote \"origin\"]\n\turl = https://evil/b\n");

    (void)state;
    assert_int_equal(verdict.refused.count, 0);
    assert_int_equal(verdict.told.count, 1);
    assert_true(slice_is(verdict.told.items[0].name, "remote.origin.url"));
    assert_string_equal(verdict.told.items[0].words, "was https://a/b and is now https://evil/b");
    verdict = judge(&arena, "[remote \"origin\"]\n\turl = https://a/b\n",
                    "[remote \"origin\"]\n\turl = https://a/b\n\tpushurl = https://evil/b\n");
    assert_int_equal(verdict.told.count, 1);
    assert_string_equal(verdict.told.items[0].words, "was not set and is now https://evil/b");
    verdict = judge(&arena, "", "[remote \"origin\"]\n\turl = https://a/b\n");
    assert_int_equal(verdict.refused.count + verdict.told.count, 0);
    verdict = judge(&arena, "[remote \"origin\"]\n\turl = https://a/b\n",
                    "[remote \"origin\"]\n\turl = https://evil/b\n[alias]\n\tx = y\n");
    assert_int_equal(verdict.refused.count, 1);
    assert_int_equal(verdict.told.count, 0);
}

static void test_every_refused_key_is_named(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct git_config_verdict verdict = judge(
        &arena, "[diff]\n\ttool = x\n",
        "[core]\n\tfsmonitor = e\n\tBARE = perhaps\n[Alias]\n\tST = !e\n[filter \"Q\"]\n\tclean = e\n\tclean = f\n");

    (void)state;
    assert_int_equal(verdict.refused.count, 5);
    static const char *const names[] = {"diff.tool", "core.fsmonitor", "core.bare", "alias.st", "filter.Q.clean"};
    for (size_t i = 0; i < 5; i++)
        assert_true(slice_is(verdict.refused.items[i].name, names[i]));
    /* Nobody is told a thousand names. */
    struct text many = text_in(&arena);
    text_append_string(&many, "[alias]\n");
    for (int i = 0; i < 1000; i++)
        text_appendf(&many, "\ta%d = x\n", i);
    git_config_judge(&arena, SLICE(""), text_slice(&many), &verdict);
    assert_int_equal(verdict.refused.count, GIT_CONFIG_FINDINGS_MAX);
    assert_int_equal(verdict.refused.unsaid, 1000 - GIT_CONFIG_FINDINGS_MAX);
}

static void test_order_and_repetition_of_other_keys_stay(void **state)
{
    static const char *const old = "[credential]\n\thelper =\n[credential \"https://a\"]\n\thelper = cache\n"
                                   "[user]\n\tname = x\n";

    (void)state;
    assert_true(
        allows(old, "[user]\n\tname = y\n[credential]\n\thelper =\n[credential \"https://a\"]\n\thelper = cache\n"));
    assert_false(
        allows(old, "[credential \"https://a\"]\n\thelper = cache\n[credential]\n\thelper =\n[user]\n\tname = x\n"));
    assert_false(
        allows(old, "[credential]\n\thelper =\n[credential \"https://a\"]\n\thelper = cache\n\thelper = cache\n"));
    assert_false(allows("[http]\n\tsslVerify\n", "[http]\n\tsslVerify =\n"));
}

static void test_a_file_that_includes_others_is_not_judged(void **state)
{
    static const char *const old = "[include]\n\tpath = x\n";

    (void)state;
    assert_false(allows(old, "[include]\n\tpath = x\n[user]\n\tname = y\n"));
    assert_false(allows(old, "[user]\n\tname = y\n"));
    assert_false(allows("", "[INCLUDE]\n\tPATH = x\n"));
    assert_false(allows("", "[includeIf \"onbranch:x\"]\n\tpath = x\n"));
}

struct spelling {
    const char *text;
    const char *name; /* of the one key in it; NULL: not read */
    const char *value;
};

#define LONG_KEY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_the_subset_is_read_and_nothing_else(void **state)
{
    static const struct spelling spellings[] = {
        {"[a]\nb = c", "a.b", "c"},
        {"[A]\n\tB=c\n", "a.b", "c"},
        {"[a \"B.c\"]\nb = d", "a.B.c.b", "d"},
        {"[a]  # x\n b = c ; d", "a.b", "c"},
        {"# x\n;y\n\n[a]\nb = c#d", "a.b", "c"},
        {"[a]\nb = \"c # d\"", "a.b", "c # d"},
        {"[a]\nb = c \" d\"  ", "a.b", "c  d"},
        {"[a]\nb = \" c \"  ", "a.b", " c "},
        {"[a]\nb = \"\" c", "a.b", "c"},
        {"[a]\nb = c\\\"d\\\\e", "a.b", "c\"d\\e"},
        {"[a]\nb = c\\td\\ne", "a.b", "c\td\ne"},
        {"[a]\nb = c\t # d", "a.b", "c"},
        {"[a]\nb =", "a.b", ""},
        {"[a]\nb", "a.b", ""},
        {"[a-1]\nb-1 = c", "a-1.b-1", "c"},
        {"[a \"x]y#z\"]\nb = c", "a.x]y#z.b", "c"},
        {"[" LONG_KEY "]\nb = c", LONG_KEY ".b", "c"},

        {"b = c", NULL, NULL},
        {"[a\nb = c", NULL, NULL},
        {"[]\nb = c", NULL, NULL},
        {"[a.b]\nc = d", NULL, NULL},
        {"[a \"b\" ]\nc = d", NULL, NULL},
        {"[a\"b\"]\nc = d", NULL, NULL},
        {"[a\t\"b\"]\nc = d", NULL, NULL},
        {"[a \"b]\nc = d", NULL, NULL},
        {"[a \"\"]\nc = d", NULL, NULL},
        {"[a \"b\\\"c\"]\nd = e", NULL, NULL},
        {"[a] b = c", NULL, NULL},
        {"[a b]\nc = d", NULL, NULL},
        {"[a]\n1b = c", NULL, NULL},
        {"[a]\nb c = d", NULL, NULL},
        {"[a]\nb_c = d", NULL, NULL},
        {"[a]\nb # = d", NULL, NULL},
        {"[a]\nb = c\\\nd", NULL, NULL},
        {"[a]\nb = c\\", NULL, NULL},
        {"[a]\n# x\\\nb = c", NULL, NULL},
        {"[a]\nb = c # x\\", NULL, NULL},
        {"[a]\nb = c\\x", NULL, NULL},
        {"[a]\nb = c\\b", NULL, NULL},
        {"[a]\nb = \"c\nd\"", NULL, NULL},
        {"[a]\nb = \"c", NULL, NULL},
        {"[a]\nb = c\td", NULL, NULL},
        {"[a]\r\nb = c", NULL, NULL},
        {"[a]\nb = c\r", NULL, NULL},
        {"[a]\nb = \033[2J", NULL, NULL},
        {"[a]\nb = \177", NULL, NULL},
        {"\357\273\277[a]\nb = c", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        ARENA_CLEANUP struct arena arena = {0};
        struct error err = {""};
        struct git_config config;
        bool read = git_config_read(&arena, slice_of(spellings[i].text), &config, &err);
        if (read != (spellings[i].name != NULL))
            fail_msg("%s: %s", spellings[i].text, err.text);
        if (!read) {
            assert_memory_equal(err.text, "line ", 5);
            continue;
        }
        assert_int_equal(config.count, 1);
        assert_true(slice_is(config.entries[0].name, spellings[i].name));
        if (!slice_is(config.entries[0].value, spellings[i].value))
            fail_msg("%s", spellings[i].text);
    }
}

static void test_nul_and_too_much_of_anything_are_not_read(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct git_config config;
    struct error err;

    (void)state;
    assert_false(git_config_read(&arena, SLICE("[a]\nb = c\0d\n"), &config, &err));
    char *huge = arena_alloc(&arena, GIT_CONFIG_SIZE_MAX + 2);
    memset(huge, '\n', GIT_CONFIG_SIZE_MAX + 1);
    assert_true(git_config_read(&arena, (struct slice){huge, GIT_CONFIG_SIZE_MAX}, &config, &err));
    assert_false(git_config_read(&arena, (struct slice){huge, GIT_CONFIG_SIZE_MAX + 1}, &config, &err));
    memset(huge, '#', GIT_CONFIG_LINE_MAX + 1);
    assert_true(git_config_read(&arena, (struct slice){huge, GIT_CONFIG_LINE_MAX}, &config, &err));
    assert_false(git_config_read(&arena, (struct slice){huge, GIT_CONFIG_LINE_MAX + 1}, &config, &err));
    struct text many = text_in(&arena);
    text_append_string(&many, "[a]\n");
    for (int i = 0; i < GIT_CONFIG_ENTRIES_MAX; i++)
        text_append_string(&many, "b=c\n");
    assert_true(git_config_read(&arena, text_slice(&many), &config, &err));
    assert_int_equal(config.count, GIT_CONFIG_ENTRIES_MAX);
    text_append_string(&many, "b=c\n");
    assert_false(git_config_read(&arena, text_slice(&many), &config, &err));
}

static void test_what_is_not_understood_is_refused_on_either_side(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct git_config_verdict verdict = judge(&arena, "[a.b]\nc = d\n", "[a.b]\nc = d\n[user]\n\tname = x\n");

    (void)state;
    assert_int_equal(verdict.refused.count, 1);
    assert_int_equal(verdict.refused.items[0].name.len, 0);
    assert_non_null(strstr(verdict.refused.items[0].words, "line 1"));
    assert_false(allows("[a.b]\nc = d\n", "[user]\n\tname = x\n"));
    assert_false(allows("[user]\n\tname = x\n", "[user]\n\tname = y\\\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_key_of_git_has_its_verdict),
        cmocka_unit_test(test_what_must_not_be_set_must_not_be_changed_or_removed),
        cmocka_unit_test(test_urls_lead_to_servers),
        cmocka_unit_test(test_removing_what_runs_nothing_is_allowed),
        cmocka_unit_test(test_a_remote_keeps_its_url_and_core_keeps_what_it_says),
        cmocka_unit_test(test_a_branch_follows_only_a_remote_that_is_there),
        cmocka_unit_test(test_other_urls_of_what_was_there_are_told),
        cmocka_unit_test(test_every_refused_key_is_named),
        cmocka_unit_test(test_order_and_repetition_of_other_keys_stay),
        cmocka_unit_test(test_a_file_that_includes_others_is_not_judged),
        cmocka_unit_test(test_the_subset_is_read_and_nothing_else),
        cmocka_unit_test(test_nul_and_too_much_of_anything_are_not_read),
        cmocka_unit_test(test_what_is_not_understood_is_refused_on_either_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
