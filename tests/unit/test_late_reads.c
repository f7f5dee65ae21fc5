/* Rules about reading that speak of files to come: which of them the doorman holds,
 * which a mount, what is shown for it, and what is refused where there is none. */
#include "world.h"

#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_hiding_pattern_over_a_tree_is_held_by_the_doorman(void **state)
{
    static const char *const policies[] = {
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\"**/*.key\"]}}",
        "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"**/*.key\"]}}",
        "{\"extends\":[],\"rules\":[{\"path\":\"**/*.key\",\"access\":\"none\"}]}",
        "{\"extends\":[],\"rules\":[{\"path\":\"**/*.key\",\"access\":\"ro-bind-null\"}]}",
    };
    struct world world;
    (void)state;

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        assert_true(world_make(&world, "/home/u/p/a/x.key\n/home/u/p/a/y\n", policies[i]));
        assert_true(world.plan.doorman.performs_reads);
        assert_true(world.plan.doorman.files);
        assert_int_equal(world.plan.refusal_count, 0);
        assert_int_equal(world_hold(&world, "**/*.key")->locks, LOCK_DOORMAN);
        assert_string_equal(world_access(&world, "/home/u/p/a/x.key"), i == 3 ? "e-" : "--");
        assert_string_equal(world_access(&world, "/home/u/p/later/z.key"), i == 3 ? "e-" : "--");
        assert_true(world_access(&world, "/home/u/p/a/y")[0] == 'r');
        world_free(&world);
    }
}

static void test_what_mounts_can_hold_costs_no_open(void **state)
{
    static const char *const policies[] = {
        /* hidden with all that is around it */
        "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/s\",\"/s/**/*.key\",\"/s/absent\"]}}",
        /* never shown */
        "{\"extends\":[],\"filesystem\":{\"readMode\":\"listed\",\"allowRead\":[\"/u\"],\"denyRead\":[\"/s/**/*.k\"]}}",
        /* what the entries are when the run starts */
        "{\"extends\":[],\"filesystem\":{\"denyRead\":[{\"path\":\".env*\",\"atStart\":true}]}}",
        /* nothing is hidden where it lets things be read */
        "{\"extends\":[],\"filesystem\":{\"allowRead\":[\"/s/**/*.pub\"]}}",
        "{\"extends\":[],\"rules\":[{\"path\":\"/s/**/*.pub\",\"access\":\"read\"}]}",
    };
    struct world world;
    (void)state;

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        assert_true(world_make(&world, "/s/d/x.key\n/s/d/x.pub\n/home/u/p/.env\n/usr/bin/\n", policies[i]));
        assert_false(world.plan.doorman.performs_reads);
        assert_int_equal(world.plan.refusal_count, 0);
        world_free(&world);
    }
}

static void test_pattern_shows_what_it_matches_inside_of_what_is_hidden(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/s/d/x.pub\n/s/d/x\n/s/deeper/own/y.pub\n/t/x\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/s\",\"/t\",\"/s/deeper/own\"],"
                           "\"allowRead\":[\"/s/d/*.pub\"]}}"));
    assert_string_equal(world_access(&world, "/s/d/x.pub"), "r-");
    assert_string_equal(world_access(&world, "/s/d/later.pub"), "r-");
    assert_string_equal(world_access(&world, "/s/d/x"), "--");
    /* The rest stays out of sight. */
    assert_string_equal(world_step(&world, "/s"), "hide directory");
    assert_string_equal(world_step(&world, "/s/d"), "bind");
    assert_string_equal(world_step(&world, "/t"), "hide directory");
    assert_int_equal(plan_access_at(&world.plan, SLICE("/s/deeper")), ACCESS_NONE);
    assert_int_equal(plan_access_at(&world.plan, SLICE("/s/d/x")), ACCESS_READ);
    assert_true(plan_is_judged(&world.plan, SLICE("/s/d/x")));
    assert_false(plan_is_judged(&world.plan, SLICE("/s/deeper")));
    assert_true(world.plan.doorman.performs_reads);
    assert_int_equal(world_hold(&world, "/s/d/*.pub")->locks, LOCK_DOORMAN);
    assert_int_equal(world_hold(&world, "/s")->locks, LOCK_MOUNT);
    world_free(&world);

    /* Over all of it, the mount has nothing left to hide but what no pattern reaches. */
    assert_true(world_make(&world, "/s/d/x.pub\n/s/own/y\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/s\",\"/s/own\"],"
                           "\"allowRead\":[\"/s/**/*.pub\"]}}"));
    assert_string_equal(world_step(&world, "/s"), "bind");
    assert_int_equal(world_hold(&world, "/s")->locks, LOCK_DOORMAN);
    world_free(&world);

    assert_true(world_make(&world, "/s/d/x.h\n/usr/bin/\n",
                           "{\"extends\":[],\"filesystem\":{\"readMode\":\"listed\",\"allowRead\":[\"/usr\","
                           "\"/s/**/*.h\"]}}"));
    assert_string_equal(world_step(&world, "/s"), "bind");
    assert_string_equal(world_access(&world, "/s/d/x.h"), "r-");
    assert_string_equal(world_access(&world, "/s/d"), "--");
    assert_true(world.plan.doorman.performs_reads);
    world_free(&world);
}

static void test_absent_path_is_hidden_when_it_comes_if_somebody_wrote_it(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"later\"]}}"));
    assert_true(world.plan.doorman.performs_reads);
    assert_int_equal(world_hold(&world, "later")->locks, LOCK_DOORMAN);
    world_free(&world);

    assert_true(world_make(&world, "/home/u/p/f\n/s/\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/s\",\"/s/later\"]}}"));
    assert_false(world.plan.doorman.performs_reads);
    assert_int_equal(world_hold(&world, "/s/later")->locks, LOCK_MOUNT);
    world_free(&world);

    /* Presets name hundreds of things that are nowhere, and cost nobody his opens. */
    assert_true(world_make(&world, "/home/u/p/f\n", "{\"extends\":[\"preset:dev\"]}"));
    assert_false(world.plan.doorman.performs_reads);
    world_free(&world);
}

static void test_where_no_doorman_can_be_patterns_on_reading_are_refused_by_name(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make_without_listener(
        &world, "/home/u/p/f\n/s/x\n",
        "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"**/*.key\",\".env*\",\"/s\",\"later\"],"
        "\"allowRead\":[\"/s/*.pub\"]}}"));
    assert_true(world_has_refusal(&world, "**/*.key is a pattern over a whole tree", NULL));
    assert_true(world_has_refusal(&world, ".env* also speaks of files made during the run", "late-names"));
    assert_true(world_has_refusal(&world, "/s/*.pub lets files be read by a pattern", NULL));
    assert_false(world.plan.doorman.performs_reads);
    assert_string_equal(world_step(&world, "/s"), "hide directory");
    assert_int_equal(world_hold(&world, "later")->locks, 0);
    world_free(&world);
}

static void test_pattern_that_cannot_be_shown_is_refused_by_name(void **state)
{
    static const struct {
        const char *policy;
        const char *words;
    } cases[] = {
        {"{\"extends\":[],\"filesystem\":{\"allowRead\":[\"/tmp/x/*.pub\"]}}", "which is the run's own"},
        {"{\"extends\":[],\"filesystem\":{\"readMode\":\"listed\",\"allowRead\":[\"/**/*.pub\"]}}",
         "which is the run's own"},
        {"{\"extends\":[],\"filesystem\":{\"allowRead\":[{\"path\":\"*.pub\",\"atStart\":true}]}}",
         "atStart is for what hides"},
    };
    struct world world;
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(world_make(&world, "/home/u/p/f\n/tmp/x/f\n", cases[i].policy));
        assert_true(world_has_refusal(&world, cases[i].words, NULL));
        world_free(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hiding_pattern_over_a_tree_is_held_by_the_doorman),
        cmocka_unit_test(test_what_mounts_can_hold_costs_no_open),
        cmocka_unit_test(test_pattern_shows_what_it_matches_inside_of_what_is_hidden),
        cmocka_unit_test(test_absent_path_is_hidden_when_it_comes_if_somebody_wrote_it),
        cmocka_unit_test(test_where_no_doorman_can_be_patterns_on_reading_are_refused_by_name),
        cmocka_unit_test(test_pattern_that_cannot_be_shown_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
