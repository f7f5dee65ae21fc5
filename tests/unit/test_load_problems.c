/* Every mistake in a policy is named: where, what was found, what is allowed,
 * and what was probably meant. */
#include "loading.h"

#include <unistd.h>

static const struct {
    const char *text;
    const char *path;
    const char *words;
} mistakes[] = {
    /* keys */
    {"{\"filesytem\": {}}", "filesytem", "did you mean \"filesystem\"?"},
    {"{\"FileSystem\": {}}", "FileSystem", "did you mean \"filesystem\"?"},
    {"{\"denyRead\": []}", "denyRead", "it belongs at filesystem.denyRead"},
    {"{\"allowGitConfig\": true}", "allowGitConfig", "it belongs at filesystem.allowGitConfig"},
    {"{\"filesystem\": {\"allowedDomains\": []}}", "filesystem.allowedDomains", "network.allowedDomains"},
    {"{\"qwertz\": 1}", "qwertz", "there is no such key here"},
    {"{\"a b\": 1}", "[\"a b\"]", "there is no such key here"},
    {"{\"rules\": [{\"path\": \"/x\", \"access\": \"read\", \"when\": {\"comand\": \"x\"}}]}", "rules[0].when.comand",
     "did you mean \"command\"?"},
    {"{\"filesystem\": {\"allowRead\": [\"/a\", {\"path\": \"/b\", \"litteral\": true}]}}",
     "filesystem.allowRead[1].litteral", "did you mean \"literal\"?"},
    {"{\"credentials\": {\"fils\": []}}", "credentials.fils", "did you mean \"files\"?"},
    /* types */
    {"{\"filesystem\": []}", "filesystem", "found an empty array; an object is expected"},
    {"{\"filesystem\": null}", "filesystem", "found null"},
    {"{\"filesystem\": {\"disabled\": \"yes\"}}", "filesystem.disabled", "found \"yes\"; true or false is expected"},
    {"{\"filesystem\": {\"disabled\": 1}}", "filesystem.disabled", "found 1;"},
    {"{\"filesystem\": {\"allowRead\": \"/x\"}}", "filesystem.allowRead", "an array of paths is expected"},
    {"{\"filesystem\": {\"allowRead\": [\"/a\", 7]}}", "filesystem.allowRead[1]", "found 7;"},
    {"{\"filesystem\": {\"allowRead\": [[]]}}", "filesystem.allowRead[0]", "found an empty array"},
    {"{\"filesystem\": {\"allowRead\": [{\"literal\": true}]}}", "filesystem.allowRead[0]", "\"path\" is missing"},
    {"{\"filesystem\": {\"allowRead\": [{\"path\": 1}]}}", "filesystem.allowRead[0].path", "found 1"},
    {"{\"filesystem\": {\"tmp\": \"privte\"}}", "filesystem.tmp", "did you mean \"private\"?"},
    {"{\"filesystem\": {\"tmp\": 1}}", "filesystem.tmp", "one of \"private\", \"session\", \"host\""},
    {"{\"network\": {\"allowedDomains\": {}}}", "network.allowedDomains", "an array of host patterns"},
    {"{\"network\": {\"httpProxyPort\": 0}}", "network.httpProxyPort", "a whole number from 1 to 65535"},
    {"{\"network\": {\"httpProxyPort\": 80.5}}", "network.httpProxyPort", "found 80.5"},
    {"{\"network\": {\"httpProxyPort\": 1e300}}", "network.httpProxyPort", "a whole number"},
    {"{\"network\": {\"hostPorts\": [65536]}}", "network.hostPorts[0]", "a port from 1 to 65535"},
    {"{\"network\": {\"filterRequest\": \"x\"}}", "network.filterRequest", "only the library"},
    {"{\"network\": {\"mitmProxy\": {\"socketPath\": \"/s\"}}}", "network.mitmProxy", "\"domains\" is missing"},
    {"{\"network\": {\"mitmProxy\": {\"socketPath\": \"/s\", \"domains\": []}}}", "network.mitmProxy.domains",
     "at least one entry"},
    {"{\"network\": {\"tlsTerminate\": {\"caCertPath\": \"/c\"}}}", "network.tlsTerminate", "go together"},
    {"{\"network\": {\"deniedDomainReasons\": {\"x.com\": 1}}}", "network.deniedDomainReasons[\"x.com\"]", "found 1"},
    {"{\"network\": {\"deniedResolvedAddresses\": [\"x.com\"]}}", "network.deniedResolvedAddresses[0]", "10.0.0.0/8"},
    {"{\"rules\": {}}", "rules", "an array of objects"},
    {"{\"rules\": [{\"access\": \"read\"}]}", "rules[0]", "\"path\" is missing"},
    {"{\"rules\": [{\"path\": \"/x\"}]}", "rules[0]", "\"access\" is missing"},
    {"{\"rules\": [{\"path\": \"/x\", \"access\": \"rw\"}]}", "rules[0].access",
     "one of \"none\", \"read\", \"write\""},
    {"{\"rules\": [{\"path\": \"/x\", \"access\": \"read\", \"when\": {\"env\": 3}}]}", "rules[0].when.env",
     "NAME or NAME=VALUE"},
    {"{\"rules\": [{\"path\": \"/x\", \"access\": \"read\", \"when\": {\"exists\": \"$NO/x\"}}]}",
     "rules[0].when.exists", "$NO"},
    {"{\"rules\": [{\"path\": \"/x\", \"access\": \"read\", \"when\": {\"project\": \"$NO\"}}]}",
     "rules[0].when.project", "$NO"},
    {"{\"environment\": {\"pass\": [\"A=1\"]}}", "environment.pass[0]", "environment.set"},
    {"{\"environment\": {\"set\": {\"A\": 1}}}", "environment.set.A", "a string is expected"},
    {"{\"environment\": {\"set\": {\"A=B\": \"1\"}}}", "environment.set[\"A=B\"]", "holds no \"=\""},
    {"{\"environment\": {\"set\": {\"\": \"1\"}}}", "environment.set[\"\"]", "not empty"},
    {"{\"environment\": {\"set\": {\"A\": \"x\\u0000y\"}}}", "environment.set.A", "NUL"},
    {"{\"ignoreViolations\": {\"npm\": \"x\"}}", "ignoreViolations.npm", "an array of strings"},
    {"{\"ignoreViolations\": {\"npm\": [1]}}", "ignoreViolations.npm[0]", "found 1"},
    {"{\"seccomp\": {\"deny\": [\"Ptrace()\"]}}", "seccomp.deny[0]", "small letters"},
    {"{\"mandatoryDenySearchDepth\": 11}", "mandatoryDenySearchDepth", "from 1 to 10"},
    {"{\"rootCapabilities\": \"all\"}", "rootCapabilities", "one of \"none\", \"files\""},
    {"{\"credentials\": {\"files\": [{\"path\": \"/k\", \"mode\": \"hide\"}]}}", "credentials.files[0].mode",
     "one of \"deny\", \"mask\""},
    {"{\"credentials\": {\"files\": [{\"path\": \"/k\", \"mode\": \"mask\", \"decode\": \"x\"}]}}",
     "credentials.files[0].decode", "\"jwt\" is expected"},
    /* strings */
    {"{\"filesystem\": {\"denyRead\": [\"\"]}}", "filesystem.denyRead[0]", "an empty string"},
    {"{\"filesystem\": {\"denyRead\": [\"/a\\u0000b\"]}}", "filesystem.denyRead[0]", "NUL"},
    {"{\"filesystem\": {\"denyRead\": [\"a/*/../b\"]}}", "filesystem.denyRead[0]", ".."},
    {"{\"filesystem\": {\"protect\": [\"/etc/x\"]}}", "filesystem.protect[0]", "denyWrite"},
    {"{\"filesystem\": {\"protect\": [\"a/../b\"]}}", "filesystem.protect[0]", "\"..\""},
    {"{\"filesystem\": {\"devices\": [\"/dev\"]}}", "filesystem.devices[0]", "below /dev"},
    {"{\"filesystem\": {\"devices\": [\"dri\"]}}", "filesystem.devices[0]", "below /dev"},
    {"{\"network\": {\"allowedDomains\": [\"a b\"]}}", "network.allowedDomains[0]", "white space"},
    {"{\"network\": {\"allowedDomains\": [\"2130706433\"]}}", "network.allowedDomains[0]", "IPv4"},
    {"{\"network\": {\"allowUnixSockets\": [\"\"]}}", "network.allowUnixSockets[0]", "an empty string"},
};

static void test_every_mistake_is_named_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct loaded *loaded = load(mistakes[i].text);
        if (!find_problem(loaded, mistakes[i].path, mistakes[i].words)) {
            show_problems(loaded);
            fail_msg("%s: nothing at \"%s\" says \"%s\"", mistakes[i].text, mistakes[i].path, mistakes[i].words);
        }
        assert_int_equal(loaded->problems.errors, 1);
        assert_string_equal(find_problem(loaded, mistakes[i].path, mistakes[i].words)->file, "test");
        unload(loaded);
    }
}

static void test_all_mistakes_are_reported_at_once(void **state)
{
    struct loaded *loaded = load("{\"filesystem\": {\"allowRead\": [1, \"/good\", \"\", \"$X\"], \"tmp\": 0}, "
                                 "\"netwrok\": {}, \"limits\": {\"processes\": -1}, \"rules\": [{}, 5]}");

    (void)state;
    assert_int_equal(loaded->problems.errors, 9);
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/good"));
    unload(loaded);
}

static void test_a_path_is_judged_where_its_object_is_wrong_elsewhere(void **state)
{
    struct loaded *loaded = load("{\"rules\": [{\"path\": \"$HOM/x\", \"access\": \"raed\"}], "
                                 "\"filesystem\": {\"denyRead\": [{\"path\": \"$HOM/y\", \"litteral\": true}]}, "
                                 "\"credentials\": {\"files\": [{\"path\": \"$HOM/z\"}]}}");

    (void)state;
    assert_int_equal(loaded->problems.errors, 6);
    assert_said(loaded, false, "rules[0]", "$HOM");
    assert_said(loaded, false, "rules[0].access", "raed");
    assert_said(loaded, false, "filesystem.denyRead[0]", "$HOM");
    assert_said(loaded, false, "credentials.files[0]", "$HOM");
    unload(loaded);
}

static void test_more_mistakes_than_anyone_reads_are_counted_and_still_refused(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text text = text_in(&arena);

    (void)state;
    text_append_string(&text, "{\"filesystem\": {\"allowRead\": [0");
    for (size_t i = 0; i < 5000; i++)
        text_append_string(&text, ",\"!/no/such/entry\"");
    text_append_string(&text, "]}}");
    struct loaded *loaded = load(text.ptr);
    assert_false(loaded->good);
    assert_true(loaded->problems.count <= 101);
    assert_said(loaded, false, "", "more problems than the 100 listed");
    unload(loaded);
}

static void test_a_flood_of_unknown_keys_is_answered_soon(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text text = text_in(&arena);

    (void)state;
    text_append_string(&text, "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, "
                              "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}");
    for (size_t i = 0; i < 50000; i++)
        text_appendf(&text, ",\"filesystm%zu\": 1", i);
    text_append_string(&text, "}");
    alarm(20); /* it takes some hundredths of a second */
    struct loaded *native = load(text.ptr);
    struct loaded *srt = load_srt(text.ptr);
    alarm(0);
    assert_false(native->good);
    assert_true(native->problems.count <= 101);
    assert_true(srt->good);
    assert_true(srt->problems.count <= 101);
    unload(native);
    unload(srt);
}

static void test_warnings_never_crowd_out_an_error(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text text = text_in(&arena);

    (void)state;
    text_append_string(&text, "{\"network\": {\"deniedDomainReasons\": {\"a\": \"b\"");
    for (size_t i = 0; i < 300; i++)
        text_appendf(&text, ",\"x%zu.com\": \"no\"", i);
    text_append_string(&text, "}}, \"filesystem\": {\"tmp\": 1}}");
    struct loaded *loaded = load(text.ptr);
    assert_false(loaded->good);
    assert_int_equal(loaded->problems.errors, 1);
    unload(loaded);
}

static void test_lists_are_bounded(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text text = text_in(&arena);

    (void)state;
    text_append_string(&text, "{\"filesystem\": {\"allowRead\": [\"a\"");
    for (size_t i = 0; i < 10000; i++)
        text_append_string(&text, ",\"a\"");
    text_append_string(&text, "]}}");
    struct loaded *loaded = load(text.ptr);
    assert_said(loaded, false, "filesystem.allowRead", "at most 10000");
    unload(loaded);
}

static void test_what_a_file_says_reaches_messages_escaped(void **state)
{
    struct loaded *loaded = load("{\"filesystem\": {\"tmp\": \"\\u001b[2J\\u202ex\"}, \"\\u001b]0;x\": 1}");

    (void)state;
    assert_int_equal(loaded->problems.errors, 2);
    for (size_t i = 0; i < loaded->problems.count; i++) {
        assert_null(strchr(loaded->problems.items[i].text, '\x1b'));
        assert_null(strchr(loaded->problems.items[i].path, '\x1b'));
        assert_null(strstr(loaded->problems.items[i].text, "\u202e"));
    }
    unload(loaded);
}

static void test_long_values_are_cut_in_messages(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text text = text_in(&arena);

    (void)state;
    text_append_string(&text, "{\"filesystem\": {\"tmp\": \"");
    for (size_t i = 0; i < 10000; i++)
        text_append_byte(&text, 'x');
    text_append_string(&text, "\"}}");
    struct loaded *loaded = load(text.ptr);
    assert_said(loaded, false, "filesystem.tmp", "xxx...\"");
    assert_true(strlen(loaded->problems.items[0].text) < 300);
    unload(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake_is_named_with_its_place),
        cmocka_unit_test(test_all_mistakes_are_reported_at_once),
        cmocka_unit_test(test_a_path_is_judged_where_its_object_is_wrong_elsewhere),
        cmocka_unit_test(test_more_mistakes_than_anyone_reads_are_counted_and_still_refused),
        cmocka_unit_test(test_a_flood_of_unknown_keys_is_answered_soon),
        cmocka_unit_test(test_warnings_never_crowd_out_an_error),
        cmocka_unit_test(test_lists_are_bounded),
        cmocka_unit_test(test_what_a_file_says_reaches_messages_escaped),
        cmocka_unit_test(test_long_values_are_cut_in_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
