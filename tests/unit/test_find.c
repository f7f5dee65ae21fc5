/* Which policy governs a run: the first that is there; what is there but cannot
 * be used stops the run. */
#include "policy/find.h"

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct found {
    struct policy_source source;
    const char *passed_over;
};

static struct found find(struct scratch *scratch)
{
    struct error err = {""};
    struct found found = {0};

    if (!policy_find(&scratch->arena, &scratch->around, &found.source, &found.passed_over, &err))
        fail_msg("%s", err.text);
    return found;
}

static void finds_file(struct scratch *scratch, const char *path)
{
    struct found found = find(scratch);

    assert_int_equal(found.source.kind, SOURCE_FILE);
    assert_string_equal(found.source.name, path);
}

static void refuses(struct scratch *scratch, const char *because)
{
    struct error err = {""};
    struct found found;

    assert_false(policy_find(&scratch->arena, &scratch->around, &found.source, &found.passed_over, &err));
    if (!strstr(err.text, because))
        fail_msg("\"%s\" does not say \"%s\"", err.text, because);
}

static void test_the_order_is_that_of_the_manual(void **state)
{
    struct scratch *scratch = *state;
    struct error err = {""};
    struct found found = find(scratch);

    assert_int_equal(found.source.kind, SOURCE_PRESET);
    assert_string_equal(found.source.name, "dev");
    assert_null(found.passed_over);

    char *srt = scratch_write(scratch, "home/.srt-settings.json", "{}");
    finds_file(scratch, srt);
    char *own = scratch_write(scratch, "home/.config/cloche/policy.json", "{}");
    finds_file(scratch, own);

    char *project = scratch_write(scratch, "home/project/.cloche.json", "{}");
    finds_file(scratch, own);
    assert_string_equal(find(scratch).passed_over, project);
    assert_true(trust_grant(&scratch->arena, &scratch->around, project, &err));
    finds_file(scratch, project);
    assert_null(find(scratch).passed_over);

    char *named = scratch_write(scratch, "named.json", "{}");
    scratch->environment[0] = arena_printf(&scratch->arena, "CLOCHE_POLICY=%s", named);
    finds_file(scratch, named);
    assert_null(find(scratch).passed_over);
}

static void test_a_project_policy_that_changed_is_passed_over(void **state)
{
    struct scratch *scratch = *state;
    struct error err = {""};
    char *project = scratch_write(scratch, "home/project/.cloche.json", "{}");

    assert_true(trust_grant(&scratch->arena, &scratch->around, project, &err));
    finds_file(scratch, project);
    scratch_write(scratch, "home/project/.cloche.json", "{\"network\": {\"mode\": \"host\"}}");
    assert_int_equal(find(scratch).source.kind, SOURCE_PRESET);
    assert_string_equal(find(scratch).passed_over, project);
}

/* Even broken, it is a stranger's file: it must not stop anybody's run. */
static void test_an_untrusted_project_policy_is_not_read(void **state)
{
    struct scratch *scratch = *state;
    char *project = scratch_write(scratch, "home/project/.cloche.json", "not json");

    assert_string_equal(find(scratch).passed_over, project);
    scratch_write(scratch, "home/project/.cloche.json", "");
    assert_string_equal(find(scratch).passed_over, project);
    assert_int_equal(unlink(project), 0);
    assert_int_equal(symlink("nowhere", project), 0);
    assert_string_equal(find(scratch).passed_over, project);
}

static void test_only_the_projects_top_is_looked_at(void **state)
{
    struct scratch *scratch = *state;

    scratch_write(scratch, "home/.cloche.json", "{}");
    scratch_write(scratch, "home/project/below/.cloche.json", "{}");
    assert_null(find(scratch).passed_over);
    assert_int_equal(find(scratch).source.kind, SOURCE_PRESET);
}

static void test_a_named_policy_that_is_absent_is_an_error(void **state)
{
    struct scratch *scratch = *state;

    scratch_write(scratch, "home/.config/cloche/policy.json", "{}");
    scratch->environment[0] = arena_printf(&scratch->arena, "CLOCHE_POLICY=%s/absent.json", scratch->root);
    refuses(scratch, "no such file");
    scratch->environment[0] = (char[]){"CLOCHE_POLICY="};
    refuses(scratch, "empty");
}

static void test_a_policy_that_is_there_but_unusable_is_an_error_not_a_fall_back(void **state)
{
    struct scratch *scratch = *state;
    char *own = scratch_write(scratch, "home/.config/cloche/policy.json", "");

    scratch_write(scratch, "home/.srt-settings.json", "{}");
    refuses(scratch, "is empty");
    assert_int_equal(unlink(own), 0);
    assert_int_equal(mkdir(own, 0700), 0);
    refuses(scratch, "not a regular file");
    assert_int_equal(rmdir(own), 0);
    assert_int_equal(symlink("nowhere", own), 0);
    refuses(scratch, "link");
    assert_int_equal(unlink(own), 0);
    assert_int_equal(find(scratch).source.kind, SOURCE_FILE);

    if (geteuid() != 0) {
        scratch_write(scratch, "home/.config/cloche/policy.json", "{}");
        assert_int_equal(chmod(own, 0), 0);
        refuses(scratch, "cannot read");
        assert_int_equal(chmod(scratch_path(scratch, "home/.config"), 0), 0);
        refuses(scratch, "cannot look");
    }
}

static void test_a_policy_may_be_a_link_where_only_its_user_can_put_one(void **state)
{
    struct scratch *scratch = *state;
    char *own = scratch_write(scratch, "home/.config/cloche/policy.json", "{}");

    assert_int_equal(rename(own, scratch_path(scratch, "dotfiles.json")), 0);
    assert_int_equal(symlink("../../../dotfiles.json", own), 0);
    finds_file(scratch, own);
}

static void test_the_configuration_directory_follows_xdg_when_it_is_absolute(void **state)
{
    struct scratch *scratch = *state;
    char *own = scratch_write(scratch, "elsewhere/cloche/policy.json", "{}");
    char *usual = scratch_write(scratch, "home/.config/cloche/policy.json", "{}");

    scratch->environment[0] = arena_printf(&scratch->arena, "XDG_CONFIG_HOME=%s/elsewhere", scratch->root);
    finds_file(scratch, own);
    scratch->environment[0] = (char[]){"XDG_CONFIG_HOME=elsewhere"};
    finds_file(scratch, usual);
}

static void test_srt_reads_its_own_settings_and_nothing_else(void **state)
{
    struct scratch *scratch = *state;

    scratch->around.personality = PERSONALITY_SRT;
    scratch_write(scratch, "home/.config/cloche/policy.json", "{}");
    scratch_write(scratch, "home/project/.cloche.json", "{}");
    scratch->environment[0] = (char[]){"CLOCHE_POLICY=/nowhere"};
    assert_int_equal(find(scratch).source.kind, SOURCE_TEXT);
    assert_true(find(scratch).source.text.len > 0);
    assert_null(find(scratch).passed_over);
    finds_file(scratch, scratch_write(scratch, "home/.srt-settings.json", "{}"));
    /* Not the defaults: the loader refuses it, in srt's words. */
    finds_file(scratch, scratch_write(scratch, "home/.srt-settings.json", ""));
}

#define scratch_test(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(test_the_order_is_that_of_the_manual),
        scratch_test(test_a_project_policy_that_changed_is_passed_over),
        scratch_test(test_an_untrusted_project_policy_is_not_read),
        scratch_test(test_only_the_projects_top_is_looked_at),
        scratch_test(test_a_named_policy_that_is_absent_is_an_error),
        scratch_test(test_a_policy_that_is_there_but_unusable_is_an_error_not_a_fall_back),
        scratch_test(test_a_policy_may_be_a_link_where_only_its_user_can_put_one),
        scratch_test(test_the_configuration_directory_follows_xdg_when_it_is_absolute),
        scratch_test(test_srt_reads_its_own_settings_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
