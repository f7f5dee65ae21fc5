/* Which rules put a doorman at the door, which are held by it, and what is refused
 * where there can be none. */
#include "world.h"

#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool has_reason(const struct world *world, const char *text)
{
    for (size_t i = 0; i < world->plan.doorman_reason_count; i++) {
        if (slice_is(world->plan.doorman_reasons[i].text, text))
            return true;
    }
    return false;
}

static const struct doorman_root *root_at(const struct world *world, const char *path)
{
    for (size_t i = 0; i < world->plan.doorman_root_count; i++) {
        if (slice_is(world->plan.doorman_roots[i].path, path))
            return &world->plan.doorman_roots[i];
    }
    return NULL;
}

static bool landlock_writes(const struct world *world, const char *path)
{
    for (size_t i = 0; i < world->plan.landlock_count; i++) {
        if (world->plan.landlock[i].write && slice_is(world->plan.landlock[i].path, path))
            return true;
    }
    return false;
}

static void test_writable_directory_has_a_doorman_for_protected_names(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n/home/u/p/deep/g\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\",\"deep\"]}}"));
    assert_true(world.plan.doorman.files);
    assert_true(world.plan.doorman.sockets);
    assert_false(world.plan.doorman.datagrams);
    assert_true(has_reason(&world, "protected names"));
    assert_int_equal(world_hold(&world, "protected names")->locks, LOCK_DOORMAN);
    assert_int_equal(world.plan.doorman_root_count, 1); /* one in another is none of its own */
    assert_non_null(root_at(&world, "/home/u/p"));
    assert_false(root_at(&world, "/home/u/p")->by_pattern);
    assert_int_equal(world.plan.refusal_count, 0);
    world_free(&world);
}

static const char *const repository_tree = "/home/u/p/.git/config\n/home/u/p/.git/hooks/\n/home/u/p/config\n"
                                           "/home/u/p/.git/modules/m/config\n/home/u/p/.git/config.worktree\n";

static bool may_be_replaced(const struct world *world, const char *path)
{
    return decide_git_config(&world->policy, slice_of(path));
}

static void test_gits_configuration_is_left_to_the_doorman_who_lets_git_replace_it(void **state)
{
    static const char *const paths[] = {"/home/u/p/.git/config", "/home/u/p/.git/modules/m/config",
                                        "/home/u/p/.git/config.worktree"};
    struct world world;
    (void)state;

    assert_true(world_make(&world, repository_tree, "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]}}"));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_string_equal(world_access(&world, paths[i]), "r-");
        assert_string_equal(world_step(&world, paths[i]), "");
        assert_int_equal(world_hold(&world, paths[i])->locks, LOCK_DOORMAN);
        assert_true(may_be_replaced(&world, paths[i]));
    }
    assert_string_equal(world_step(&world, "/home/u/p/.git/hooks"), "bind");
    assert_true(may_be_replaced(&world, "/home/u/p/new/.git/config"));
    assert_false(may_be_replaced(&world, "/home/u/p/.git/hooks/config"));
    assert_false(may_be_replaced(&world, "/home/u/p/.vscode/config"));
    assert_false(may_be_replaced(&world, "/home/u/p/.git/commondir"));
    assert_false(may_be_replaced(&world, "/home/u/.git/config"));
    world_free(&world);
}

static void test_gits_configuration_is_held_by_a_mount_where_something_else_refuses_it(void **state)
{
    static const char *const policies[] = {
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyWrite\":[\".git/config\"]}}",
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyWrite\":[\".git\"]}}",
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"protect\":[\"config\"]}}",
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\".git/config\"]}}",
        "{\"filesystem\":{\"allowWrite\":[\".\"]},\"rules\":[{\"path\":\".git/config\",\"access\":\"read\"}]}",
        "{\"extends\":[],\"filesystem\":{\"allowRead\":[\".\"]}}",
    };
    struct world world;
    (void)state;

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        assert_true(world_make(&world, repository_tree, policies[i]));
        assert_false(may_be_replaced(&world, "/home/u/p/.git/config"));
        assert_int_not_equal(plan_access_at(&world.plan, SLICE("/home/u/p/.git/config")), ACCESS_WRITE);
        world_free(&world);
    }
    static const char *const plain = "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]}}";
    assert_true(world_make_without_listener(&world, repository_tree, plain));
    assert_string_equal(world_step(&world, "/home/u/p/.git/config"), "bind");
    world_free(&world);
    assert_true(world_make_srt(&world, repository_tree,
                               "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},\"filesystem\":{"
                               "\"denyRead\":[],\"allowWrite\":[\".\"],\"denyWrite\":[]}}"));
    assert_false(may_be_replaced(&world, "/home/u/p/.git/config"));
    assert_string_equal(world_step(&world, "/home/u/p/.git/config"), "bind");
    world_free(&world);
}

static void test_who_needs_no_doorman_pays_for_none(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"seccomp\":{\"blockUnixSockets\":true},"
                           "\"filesystem\":{\"denyWrite\":[\"**/*.lock\",\"later\"]}}"));
    assert_false(plan_has_doorman(&world.plan));
    assert_int_equal(world.plan.doorman_reason_count, 0);
    assert_int_equal(world_hold(&world, "**/*.lock")->locks, LOCK_MOUNT);
    world_free(&world);

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"network\":{\"allowAllUnixSockets\":true},"
                           "\"filesystem\":{\"disabled\":true}}"));
    assert_false(plan_has_doorman(&world.plan));
    world_free(&world);

    /* A single file has no names in it. */
    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"seccomp\":{\"blockUnixSockets\":true},"
                           "\"filesystem\":{\"allowWrite\":[\"f\"]}}"));
    assert_false(plan_has_doorman(&world.plan));
    world_free(&world);
}

static void test_rules_about_names_to_come_are_held_by_the_doorman(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n/home/u/.config/\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\",\"~/.config\"],"
                           "\"denyWrite\":[\"later\",\"**/*.lock\",\"f\"]}}"));
    assert_int_equal(world.plan.refusal_count, 0);
    assert_int_equal(world_hold(&world, "later")->locks, LOCK_DOORMAN);
    assert_false(world_hold(&world, "later")->idle);
    assert_int_equal(world_hold(&world, "**/*.lock")->locks, LOCK_DOORMAN);
    assert_int_equal(world_hold(&world, "/home/u/.config/cloche")->locks, LOCK_DOORMAN);
    assert_int_equal(world_hold(&world, "f")->locks, LOCK_MOUNT | LOCK_DOORMAN);
    assert_true(has_reason(&world, "later"));
    assert_true(has_reason(&world, "**/*.lock"));
    assert_false(has_reason(&world, "f"));
    world_free(&world);
}

static void test_without_a_listener_they_are_refused_by_name(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make_without_listener(&world, "/home/u/p/f\n",
                                            "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\",\"out/*.log\"],"
                                            "\"denyWrite\":[\"later\",\"**/*.lock\"]}}"));
    assert_false(plan_has_doorman(&world.plan));
    assert_true(world_has_refusal(&world, "protected names (", "late-names"));
    assert_true(world_has_refusal(&world, "a socket of the host", "late-names"));
    assert_true(world_has_refusal(&world, "later does not exist", "late-names"));
    assert_true(world_has_refusal(&world, "**/*.lock", NULL));
    assert_true(world_has_refusal(&world, "out/*.log", NULL));
    assert_int_equal(world_hold(&world, "protected names")->locks, 0);
    world_free(&world);
}

static void test_other_reasons_why_there_can_be_no_doorman(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"allowNestedUserNamespaces\":true,"
                           "\"filesystem\":{\"allowWrite\":[\".\"]}}"));
    assert_false(plan_has_doorman(&world.plan));
    assert_true(world_has_refusal(&world, "allowNestedUserNamespaces", "late-names"));
    world_free(&world);

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"seccomp\":{\"enabled\":false},"
                           "\"filesystem\":{\"allowWrite\":[\".\"]}}"));
    assert_false(plan_has_doorman(&world.plan));
    assert_true(world_has_refusal(&world, "seccomp.enabled", "late-names"));
    world_free(&world);

    /* Nothing that only a doorman holds: nothing to refuse. */
    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"allowNestedUserNamespaces\":true,"
                           "\"seccomp\":{\"blockUnixSockets\":true}}"));
    assert_int_equal(world.plan.refusal_count, 0);
    world_free(&world);
}

static void test_srt_runs_as_srt_does_where_there_is_no_listener(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make_srt(&world, "/home/u/p/f\n",
                               "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"
                               "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[\".\"],\"denyWrite\":[]},"
                               "\"allowNestedUserNamespaces\":true}"));
    assert_false(plan_has_doorman(&world.plan));
    assert_int_equal(world.plan.refusal_count, 0);
    world_free(&world);

    assert_true(world_make_srt(&world, "/home/u/p/f\n",
                               "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"
                               "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[\".\"],\"denyWrite\":[]}}"));
    assert_true(world.plan.doorman.files);
    assert_false(world.plan.doorman.sockets);
    world_free(&world);
}

static void test_patterns_in_allow_write_are_written_by_the_doorman_alone(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/out/x.log\n/home/u/p/rw/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"out/*.log\",\"rw\",\"rw/*.x\","
                           "\"gone/*.y\"]}}"));
    assert_int_equal(world.plan.refusal_count, 0);
    assert_int_equal(world_hold(&world, "out/*.log")->locks, LOCK_DOORMAN);
    assert_non_null(root_at(&world, "/home/u/p/out"));
    assert_true(root_at(&world, "/home/u/p/out")->by_pattern);
    assert_non_null(root_at(&world, "/home/u/p/rw"));
    assert_false(root_at(&world, "/home/u/p/rw")->by_pattern);
    assert_int_equal(world.plan.doorman_root_count, 2);
    assert_string_equal(world_access(&world, "/home/u/p/out/y.log"), "rw");
    assert_string_equal(world_access(&world, "/home/u/p/out/y.txt"), "r-");
    assert_int_equal(plan_access_at(&world.plan, SLICE("/home/u/p/out/x.log")), ACCESS_READ);
    assert_true(landlock_writes(&world, "/home/u/p/out"));
    assert_int_equal(world_hold(&world, "gone/*.y")->locks, 0);
    world_free(&world);

    assert_true(world_make(&world, "/s/f\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/s\"],\"allowWrite\":[\"/s/*.log\"]}}"));
    assert_true(world_has_refusal(&world, "hidden", NULL));
    world_free(&world);
}

static void test_link_to_our_own_policy_is_not_to_be_exchanged(void **state)
{
    static const char tree[] =
        "/home/u/.config/cloche -> /home/u/dotfiles/cloche\n/home/u/dotfiles/cloche/policy.json\n";
    static const char policy[] = "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"~/.config\"]}}";
    struct world world;
    (void)state;

    assert_true(world_make(&world, tree, policy));
    assert_int_equal(world.plan.refusal_count, 0);
    assert_true(has_reason(&world, "/home/u/.config/cloche"));
    assert_false(decide_real_path(&world.policy, OPERATION_WRITE, SLICE("/home/u/.config/cloche"))
                     .allowed); /* the link itself */
    assert_true(decide_real_path(&world.policy, OPERATION_WRITE, SLICE("/home/u/.config/other")).allowed);
    world_free(&world);

    assert_true(world_make_without_listener(&world, tree, policy));
    assert_true(world_has_refusal(&world, "through the link", "late-names"));
    world_free(&world);
}

static void test_named_sockets_are_shown_and_told_apart_by_the_doorman(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world,
                           "/run/docker.sock\n/run/other.sock\n/home/u/.gnupg/S.gpg-agent\n/home/u/.gnupg/key\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"~/.gnupg\"]},\"network\":{"
                           "\"allowUnixSockets\":[\"/run/docker.sock\",\"~/.gnupg/S.gpg-agent\",\"/run\",\"@x\"],"
                           "\"unixDatagram\":true}}"));
    assert_int_equal(world.plan.refusal_count, 0);
    assert_true(world.plan.doorman.sockets);
    assert_true(world.plan.doorman.datagrams);
    assert_string_equal(world_access(&world, "/run/docker.sock"), "r-");
    assert_string_equal(world_access(&world, "/home/u/.gnupg/S.gpg-agent"), "r-");
    assert_string_equal(world_access(&world, "/home/u/.gnupg/key"), "--");
    assert_string_equal(world_step(&world, "/run/other.sock"), "");
    assert_int_equal(world_hold(&world, "/run/docker.sock")->locks, LOCK_MOUNT | LOCK_DOORMAN);
    world_free(&world);
}

static void test_sockets_that_cannot_be_told_apart_are_refused_by_name(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/run/s\n",
                           "{\"extends\":[],\"seccomp\":{\"blockUnixSockets\":true},"
                           "\"network\":{\"allowUnixSockets\":[\"/run/s\"]}}"));
    assert_true(world_has_refusal(&world, "blockUnixSockets refuses every", NULL));
    assert_false(decide_unix(&world.policy, SLICE("/run/s")).allowed);
    world_free(&world);

    assert_true(
        world_make_without_listener(&world, "/run/s\n", "{\"extends\":[],\"network\":{\"unixDatagram\":true}}"));
    assert_true(world_has_refusal(&world, "unixDatagram needs the doorman", NULL));
    world_free(&world);

    /* Attack 2: what ran here before chose the target. */
    assert_false(world_make(&world, "/run/docker.sock\n/home/u/p/agent.sock -> /run/docker.sock\n",
                            "{\"extends\":[],\"network\":{\"allowUnixSockets\":[\"agent.sock\"]}}"));
    assert_true(world_has_problem(&world, "passes through the link"));
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writable_directory_has_a_doorman_for_protected_names),
        cmocka_unit_test(test_gits_configuration_is_left_to_the_doorman_who_lets_git_replace_it),
        cmocka_unit_test(test_gits_configuration_is_held_by_a_mount_where_something_else_refuses_it),
        cmocka_unit_test(test_who_needs_no_doorman_pays_for_none),
        cmocka_unit_test(test_rules_about_names_to_come_are_held_by_the_doorman),
        cmocka_unit_test(test_without_a_listener_they_are_refused_by_name),
        cmocka_unit_test(test_other_reasons_why_there_can_be_no_doorman),
        cmocka_unit_test(test_srt_runs_as_srt_does_where_there_is_no_listener),
        cmocka_unit_test(test_patterns_in_allow_write_are_written_by_the_doorman_alone),
        cmocka_unit_test(test_link_to_our_own_policy_is_not_to_be_exchanged),
        cmocka_unit_test(test_named_sockets_are_shown_and_told_apart_by_the_doorman),
        cmocka_unit_test(test_sockets_that_cannot_be_told_apart_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
