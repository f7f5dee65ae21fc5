/* What the rename of a directory may carry out of reach of a rule (attacks 5,
 * 112), and what it may not be refused for. */
#include "world.h"

#include "policy/decide.h"
#include "policy/rename.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static bool escapes(const struct world *world, const char *from, const char *to)
{
    struct renames renames;

    rename_index(&world->policy, &renames);
    return rename_escapes(&renames, slice_of(from), slice_of(to));
}

static bool names_below(const struct world *world, const char *directory)
{
    struct renames renames;

    rename_index(&world->policy, &renames);
    return rename_names_below(&renames, slice_of(directory));
}

static void test_directory_above_a_denied_path_carries_it_away(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/b/key\n/home/u/p/c/ro/f\n/home/u/p/d/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\"a/b/key\"],"
                           "\"denyWrite\":[\"c/ro\"]}}"));
    assert_true(escapes(&world, "/home/u/p/a", "/home/u/p/x"));
    assert_true(escapes(&world, "/home/u/p/a/b", "/home/u/p/a/x"));
    assert_true(escapes(&world, "/home/u/p/c", "/home/u/p/x"));
    assert_true(escapes(&world, "/home/u/p/x", "/home/u/p/c")); /* what nobody could have made there */
    assert_false(escapes(&world, "/home/u/p/d", "/home/u/p/x"));
    assert_false(escapes(&world, "/home/u/p/d", "/home/u/p/a/d"));
    assert_true(names_below(&world, "/home/u/p"));
    assert_true(names_below(&world, "/home/u/p/a/b"));
    assert_false(names_below(&world, "/home/u/p/a/b/key"));
    assert_false(names_below(&world, "/home/u/p/d"));
    world_free(&world);
}

static void test_denied_path_that_does_not_exist_holds_its_directory_too(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyWrite\":[\"a/later\"]}}"));
    assert_true(escapes(&world, "/home/u/p/a", "/home/u/p/x"));
    assert_true(escapes(&world, "/home/u/p/x", "/home/u/p/a"));
    world_free(&world);
}

static void test_no_link_may_stand_where_a_rule_or_a_pattern_begins(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\",\"c/*.log\"],"
                           "\"denyRead\":[\"a/*.key\",\"later/deeper/*.key\"],\"denyWrite\":[\"b/f\"]}}"));
    assert_true(names_below(&world, "/home/u/p/a"));
    assert_true(names_below(&world, "/home/u/p/later"));
    assert_true(names_below(&world, "/home/u/p/later/deeper"));
    assert_true(names_below(&world, "/home/u/p/b"));
    assert_false(names_below(&world, "/home/u/p/a/inside"));
    assert_false(names_below(&world, "/home/u/p/c"));
    assert_false(names_below(&world, "/home/u/p/other"));
    world_free(&world);
}

static void test_rules_that_say_less_than_write_hold_their_directories(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/f\n/home/u/p/b/f\n/home/u/p/c/f\n",
                           "{\"extends\":[],\"rules\":[{\"path\":\".\",\"access\":\"write\"},"
                           "{\"path\":\"a/f\",\"access\":\"read\"},{\"path\":\"b/f\",\"access\":\"none\"},"
                           "{\"path\":\"c/f\",\"access\":\"write\"}]}"));
    assert_true(names_below(&world, "/home/u/p/a"));
    assert_true(names_below(&world, "/home/u/p/b"));
    assert_false(names_below(&world, "/home/u/p/c"));
    assert_false(escapes(&world, "/home/u/p/c", "/home/u/p/d"));
    world_free(&world);
}

static void test_pattern_that_matches_before_and_after_forbids_no_rename(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\"**/*.pem\"]}}"));
    assert_false(escapes(&world, "/home/u/p/a", "/home/u/p/x/y"));
    assert_false(escapes(&world, "/home/u/p/a/b/c", "/home/u/p/b"));
    assert_true(escapes(&world, "/home/u/p/a", "/home/u/other")); /* the pattern ends at the project */
    world_free(&world);
}

static void test_pattern_that_matches_by_the_name_of_a_directory_forbids_its_rename(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],"
                           "\"denyWrite\":[\"**/secrets/*.key\",\"only/*.lock\",\"deep/*/x/*.z\"]}}"));
    assert_true(escapes(&world, "/home/u/p/q/secrets", "/home/u/p/q/public"));
    assert_true(escapes(&world, "/home/u/p/q/public", "/home/u/p/q/secrets"));
    assert_false(escapes(&world, "/home/u/p/q/secrets", "/home/u/p/r/secrets"));
    assert_false(escapes(&world, "/home/u/p/q", "/home/u/p/r"));
    assert_true(escapes(&world, "/home/u/p/only", "/home/u/p/x"));
    assert_true(escapes(&world, "/home/u/p/x", "/home/u/p/only"));
    assert_false(escapes(&world, "/home/u/p/only/sub", "/home/u/p/x"));
    assert_false(escapes(&world, "/home/u/p/deep/1", "/home/u/p/deep/2"));
    assert_true(escapes(&world, "/home/u/p/deep/1/x", "/home/u/p/deep/1/y"));
    assert_true(escapes(&world, "/home/u/p/deep", "/home/u/p/shallow"));
    world_free(&world);
}

static void test_grant_inside_what_a_pattern_hides_is_no_way_out(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/a/secret/pub/f\n/home/u/p/b/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\"**/secret\"],"
                           "\"allowRead\":[\"a/secret/pub\"]}}"));
    assert_true(escapes(&world, "/home/u/p/b", "/home/u/p/a"));
    assert_false(escapes(&world, "/home/u/p/b", "/home/u/p/c"));
    world_free(&world);
}

static void test_private_places_hold_the_directories_above_them(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/.cache/f\n/home/u/x/f\n/tmp/\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/home\"],\"caches\":\"private\"}}"));
    assert_true(names_below(&world, "/home/u"));
    assert_false(names_below(&world, "/home/u/x"));
    world_free(&world);
}

/* ---- a rename that is let through changes nothing ---- */

static unsigned dice(uint64_t *seed, unsigned sides)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*seed >> 33) % sides;
}

static void random_path(uint64_t *seed, const char *const *names, unsigned count, unsigned depth, char *out)
{
    for (unsigned i = 0; i < depth; i++) {
        const char *name = names[dice(seed, count)];
        size_t used = strlen(out);
        snprintf(out + used, 128 - used, "/%s", name);
    }
}

static const char *const plain[] = {"a", "b", "s", "x.k"};

static void random_policy(uint64_t *seed, char out[1024])
{
    static const char *const wild[] = {"a", "b", "s", "x.k", "*", "**", "[ab]", "*.k"};
    static const char *const lists[] = {"denyRead", "denyWrite", "allowRead"};
    char rules[3][512] = {"", "", ""};

    for (unsigned i = 0; i < 1 + dice(seed, 4); i++) {
        unsigned list = dice(seed, 4) % 3;
        char path[128] = "/w";
        /* Reading is granted by name only. */
        random_path(seed, list == 2 ? plain : wild, list == 2 ? 4 : 8, 1 + dice(seed, 3), path);
        size_t used = strlen(rules[list]);
        snprintf(rules[list] + used, sizeof rules[list] - used, "%s\"%s\"", used ? "," : "", path);
    }
    snprintf(out, 1024, "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/w\"],\"%s\":[%s],\"%s\":[%s],\"%s\":[%s]}}",
             lists[0], rules[0], lists[1], rules[1], lists[2], rules[2]);
}

static bool may_write(const struct world *world, const char *path)
{
    return decide_write_at(&world->policy, slice_of(path), true).allowed;
}

static bool may_read(const struct world *world, const char *path)
{
    return decide_real_path(&world->policy, OPERATION_READ, slice_of(path)).allowed;
}

static void compare_below(const struct world *world, uint64_t *seed, const char *policy, const char *from,
                          const char *to)
{
    for (int i = 0; i < 30; i++) {
        char tail[128] = "";
        char before[512];
        char after[512];
        random_path(seed, plain, 4, 1 + dice(seed, 3), tail);
        snprintf(before, sizeof before, "%s%s", from, tail);
        snprintf(after, sizeof after, "%s%s", to, tail);
        if (may_write(world, before) != may_write(world, after) || may_read(world, before) != may_read(world, after))
            fail_msg("%s: %s is judged otherwise than %s", policy, before, after);
    }
}

static void test_rename_that_is_let_through_changes_nothing_for_random_policies(void **state)
{
    enum { POLICIES = 1500 };
    uint64_t seed = 20261115;
    size_t through = 0;
    size_t tried = 0;
    (void)state;

    for (int i = 0; i < POLICIES; i++) {
        struct world world;
        char policy[1024];
        random_policy(&seed, policy);
        if (!world_make(&world, "/w/a/b/s\n/w/b/a/x.k\n/w/s/a/b/f\n/w/x.k/\n", policy))
            fail_msg("%s does not load", policy);
        for (int j = 0; j < 12; j++) {
            char from[128] = "/w";
            char to[128] = "/w";
            random_path(&seed, plain, 4, 1 + dice(&seed, 3), from);
            random_path(&seed, plain, 4, 1 + dice(&seed, 3), to);
            if (!may_write(&world, from) || !may_write(&world, to))
                continue;
            tried++;
            if (escapes(&world, from, to))
                continue;
            through++;
            compare_below(&world, &seed, policy, from, to);
        }
        world_free(&world);
    }
    /* One that refuses everything would pass for ever. */
    assert_true(through * 4 > tried && tried > POLICIES * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directory_above_a_denied_path_carries_it_away),
        cmocka_unit_test(test_denied_path_that_does_not_exist_holds_its_directory_too),
        cmocka_unit_test(test_no_link_may_stand_where_a_rule_or_a_pattern_begins),
        cmocka_unit_test(test_rules_that_say_less_than_write_hold_their_directories),
        cmocka_unit_test(test_pattern_that_matches_before_and_after_forbids_no_rename),
        cmocka_unit_test(test_pattern_that_matches_by_the_name_of_a_directory_forbids_its_rename),
        cmocka_unit_test(test_grant_inside_what_a_pattern_hides_is_no_way_out),
        cmocka_unit_test(test_rename_that_is_let_through_changes_nothing_for_random_policies),
        cmocka_unit_test(test_private_places_hold_the_directories_above_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
