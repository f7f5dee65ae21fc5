/* Section 5 of the product, as the doorman asks: names that appear, vanish, or
 * are made in a directory of this very run. */
#include "world.h"

#include "base/path.h"
#include "policy/decide.h"
#include "policy/git_layout.h"
#include "policy/protect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define PROJECT_WRITABLE "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]}}"

static bool writable(const struct world *world, const char *path, bool made_here)
{
    return decide_write_at(&world->policy, slice_of(path), made_here).allowed;
}

static const char *unless_made(const struct world *world, const char *path)
{
    static char text[256];
    struct decision decision = decide_real_path(&world->policy, OPERATION_WRITE, slice_of(path));

    snprintf(text, sizeof text, "%.*s", (int)decision.unless_made.len, decision.unless_made.ptr);
    return text;
}

static void note(void *argument, struct slice rest)
{
    char *text = argument;
    size_t used = strlen(text);

    snprintf(text + used, 2048 - used, " %.*s", (int)rest.len, rest.ptr);
}

static const char *rests(const struct world *world, const char *path)
{
    static char text[2048];

    text[0] = '\0';
    protect_rests(&world->policy, slice_of(path), note, text);
    return text;
}

static bool has_rest(const struct world *world, const char *path, const char *rest)
{
    char text[2048 + 2];
    char wanted[128];

    snprintf(text, sizeof text, "%s ", rests(world, path));
    snprintf(wanted, sizeof wanted, " %s ", rest);
    return strstr(text, wanted) != NULL;
}

static void test_protected_names_may_be_made_in_a_directory_of_this_run(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    assert_false(writable(&world, "/home/u/p/clone/.bashrc", false));
    assert_true(writable(&world, "/home/u/p/clone/.bashrc", true));
    assert_string_equal(unless_made(&world, "/home/u/p/clone/.bashrc"), "/home/u/p/clone");
    assert_string_equal(unless_made(&world, "/home/u/p/pkg/.vscode/a/b"), "/home/u/p/pkg");
    assert_string_equal(unless_made(&world, "/home/u/p/f"), "");
    world_free(&world);
}

static void test_what_else_is_refused_stays_refused_in_a_directory_of_this_run(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"denyWrite\":[\"new/secret\"],"
                           "\"denyRead\":[\"new/hidden\"]}}"));
    assert_true(writable(&world, "/home/u/p/new/x", true));
    assert_false(writable(&world, "/home/u/p/new/secret/x", true));
    assert_false(writable(&world, "/home/u/p/new/hidden", true));
    assert_false(writable(&world, "/etc/passwd", true));
    world_free(&world);
}

static void test_new_repository_is_its_own_holder_and_a_new_agent_directory_is_not(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    assert_string_equal(unless_made(&world, "/home/u/p/.git/hooks/pre-commit"), "/home/u/p/.git");
    assert_string_equal(unless_made(&world, "/home/u/p/.git/info/attributes"), "/home/u/p/.git");
    assert_string_equal(unless_made(&world, "/home/u/p/.git/objects/info/alternates"), "/home/u/p/.git");
    assert_string_equal(unless_made(&world, "/home/u/p/.git/worktrees/w/commondir"), "/home/u/p/.git/worktrees/w");
    assert_string_equal(unless_made(&world, "/home/u/p/.git/modules/a/b/config"), "/home/u/p/.git/modules/a/b");
    assert_string_equal(unless_made(&world, "/home/u/p/.git/modules/a/info/attributes"), "/home/u/p/.git/modules/a");
    /* Attack 34: mkdir .claude, then write what the agent obeys. */
    assert_string_equal(unless_made(&world, "/home/u/p/.claude/settings.json"), "/home/u/p");
    assert_string_equal(unless_made(&world, "/home/u/p/.CLAUDE/Commands/x"), "/home/u/p");
    world_free(&world);
}

static void test_innermost_protected_name_names_the_holder(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    assert_string_equal(unless_made(&world, "/home/u/p/.husky/x/.git/hooks/y"), "/home/u/p/.husky/x/.git");
    world_free(&world);
}

static void test_paths_of_any_depth_are_judged_to_their_end(void **state)
{
    struct world world;
    char path[5000] = "/home/u/p";
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    for (size_t i = 0; i < 2000; i++)
        memcpy(path + strlen(path), "/a", 3);
    assert_true(writable(&world, path, false));
    memcpy(path + strlen(path), "/.git/hooks/x", sizeof "/.git/hooks/x");
    assert_false(writable(&world, path, false));
    world_free(&world);
}

static void test_rests_of_a_name_that_appears_or_vanishes(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    assert_true(has_rest(&world, "/home/u/p/.git", "hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.git", "config"));
    assert_true(has_rest(&world, "/home/u/p/.git", "commondir"));
    assert_true(has_rest(&world, "/home/u/p/.git", "info/attributes"));
    assert_true(has_rest(&world, "/home/u/p/.git", "worktrees/*/gitdir"));
    assert_true(has_rest(&world, "/home/u/p/.git", "modules/**/hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.GIT/Worktrees", "*/commondir"));
    assert_true(has_rest(&world, "/home/u/p/.git/worktrees/w", "commondir"));
    assert_false(has_rest(&world, "/home/u/p/.git/worktrees/w", "hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.git/modules", "**/hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.git/modules", "hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.git/modules/x", "hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.git/modules/x", "**/hooks/"));
    assert_true(has_rest(&world, "/home/u/p/.git/modules/x/info", "attributes"));
    assert_true(has_rest(&world, "/home/u/p/.git/modules/x/info", "**/info/attributes"));
    assert_string_equal(rests(&world, "/home/u/p/.git/modules/x/refs"), "");
    assert_string_equal(rests(&world, "/home/u/p/.git/modules/x/refs/heads"), "");
    assert_string_equal(rests(&world, "/home/u/p/.claude"), " commands/ agents/ settings*.json");
    assert_string_equal(rests(&world, "/home/u/p/.git/hooks"), "");
    assert_string_equal(rests(&world, "/home/u/p/.git/refs"), "");
    assert_string_equal(rests(&world, "/home/u/p/git"), "");
    assert_string_equal(rests(&world, "/"), "");
    world_free(&world);
}

static void test_prefixes_of_names_that_were_added_and_lifted(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"allowGitConfig\":true,"
                           "\"protect\":[\"ci/*.yml\"],\"unprotect\":[\".claude/commands\",\".claude/agents\","
                           "\".claude/settings*.json\"]}}"));
    assert_string_equal(rests(&world, "/home/u/p/CI"), " *.yml");
    assert_true(protect_is_prefix(&world.policy, SLICE("/home/u/p/ci")));
    assert_false(protect_is_prefix(&world.policy, SLICE("/home/u/p/.claude")));
    assert_true(protect_is_prefix(&world.policy, SLICE("/home/u/p/.git")));
    assert_true(has_rest(&world, "/home/u/p/.git", "hooks/"));
    assert_false(has_rest(&world, "/home/u/p/.git", "config"));
    assert_false(protect_is_prefix(&world.policy, SLICE("/home/u/p/c")));
    world_free(&world);
}

static unsigned dice(uint64_t *seed, unsigned sides)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*seed >> 33) % sides;
}

static const char *random_path(uint64_t *seed, char out[256])
{
    static const char *const names[] = {".git",       "modules",   "worktrees",     "x",       "info",
                                        "objects",    "hooks",     "config",        ".claude", "refs",
                                        "attributes", "commondir", "settings.json", ".Git"};
    size_t used = (size_t)snprintf(out, 256, "/home/u/p");

    for (unsigned left = 1 + dice(seed, 6); left; left--)
        used += (size_t)snprintf(out + used, 256 - used, "/%s", names[dice(seed, 14)]);
    return out;
}

struct below {
    const struct world *world;
    const char *path;
    size_t seen;
};

/* Whatever is left of a name, put behind the path, is protected. */
static void check_rest(void *argument, struct slice rest)
{
    struct below *below = argument;
    char path[512];
    size_t used = (size_t)snprintf(path, sizeof path, "%s", below->path);
    struct slice part;

    while (path_next(&rest, &part)) {
        struct slice name = slice_is(part, "**") || slice_is(part, "*") ? SLICE("w")
                            : slice_is(part, "settings*.json")          ? SLICE("settings.local.json")
                                                                        : part;
        used += (size_t)snprintf(path + used, sizeof path - used, "/%.*s", (int)name.len, name.ptr);
    }
    below->seen++;
    if (writable(below->world, path, false))
        fail_msg("%s can be written", path);
}

/* A name whose loss makes something below it writable has a rest. */
static void check_rename_away(const struct world *world, const char *path, size_t *seen)
{
    for (size_t depth = 4; depth < path_depth(slice_of(path)); depth++) {
        struct slice above = path_prefix(slice_of(path), depth);
        struct slice parent = path_parent(above);
        char moved[512];
        snprintf(moved, sizeof moved, "%.*s/zz%s", (int)parent.len, parent.ptr, path + above.len);
        if (!writable(world, moved, false) || !decide_real_path(&world->policy, OPERATION_WRITE, above).allowed)
            continue;
        (*seen)++;
        if (!protect_is_prefix(&world->policy, above))
            fail_msg("%.*s can be renamed, and frees %s", (int)above.len, above.ptr, path);
    }
}

static void test_rests_agree_with_the_decision_for_random_paths(void **state)
{
    uint64_t seed = 20261115;
    size_t renamed = 0;
    struct world world;
    char path[256];
    struct below below = {.world = &world, .path = path};
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    for (int i = 0; i < 20000; i++) {
        random_path(&seed, path);
        protect_rests(&world.policy, slice_of(path), check_rest, &below);
        if (!writable(&world, path, false))
            check_rename_away(&world, path, &renamed);
    }
    assert_true(below.seen > 10000 && renamed > 1000);
    world_free(&world);
}

static void test_git_pointer_is_known_by_its_name(void **state)
{
    (void)state;

    assert_true(protect_is_git_pointer(SLICE("/p/.git")));
    assert_true(protect_is_git_pointer(SLICE("/p/.Git")));
    assert_false(protect_is_git_pointer(SLICE("/p/x.git")));
    assert_false(protect_is_git_pointer(SLICE("/p/.git/x")));
    assert_false(protect_is_git_pointer(SLICE("/")));
}

static bool dangerous(const struct world *world, const char *inside)
{
    return git_layout_is_dangerous(&world->policy, slice_of(inside));
}

static void test_git_directory_is_known_by_what_it_is_not_by_its_name(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", PROJECT_WRITABLE));
    assert_true(dangerous(&world, "hooks"));
    assert_true(dangerous(&world, "Hooks/pre-commit"));
    assert_true(dangerous(&world, "config"));
    assert_true(dangerous(&world, "config.worktree"));
    assert_true(dangerous(&world, "commondir"));
    assert_true(dangerous(&world, "gitdir"));
    assert_true(dangerous(&world, "info/attributes"));
    assert_true(dangerous(&world, "objects/info/alternates"));
    assert_false(dangerous(&world, "info"));
    assert_false(dangerous(&world, "config.lock"));
    assert_false(dangerous(&world, "refs/heads/config"));
    assert_false(dangerous(&world, "objects/info/packs"));
    assert_false(dangerous(&world, "HEAD"));
    world_free(&world);
}

static void test_git_directory_anywhere_obeys_what_policy_lifts(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"allowGitConfig\":true,"
                           "\"unprotect\":[\".git/info/attributes\"]}}"));
    assert_false(dangerous(&world, "config"));
    assert_false(dangerous(&world, "config.worktree"));
    assert_false(dangerous(&world, "info/attributes"));
    assert_true(dangerous(&world, "hooks/x"));
    assert_true(dangerous(&world, "commondir"));
    world_free(&world);
}

static void test_protected_name_has_one_double_star_at_most(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/f\n", "{\"extends\":[],\"filesystem\":{\"protect\":[\"a/**/b\"]}}"));
    world_free(&world);
    assert_false(world_make(&world, "/home/u/p/f\n", "{\"extends\":[],\"filesystem\":{\"protect\":[\"**/a/**/b\"]}}"));
    assert_true(world_has_problem(&world, "one \"**\" at most"));
    world_free(&world);
}

static void test_host_sockets_are_allowed_by_path_and_abstract_ones_by_exact_name(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/run/agent/s\n/run/s2\n/home/u/l -> /run/s2\n",
                           "{\"extends\":[],\"network\":{\"allowUnixSockets\":[\"/run/agent\",\"@x/y\",\"~/l\"]}}"));
    assert_true(decide_unix(&world.policy, SLICE("/run/agent/s")).allowed);
    assert_true(decide_unix(&world.policy, SLICE("/run/s2")).allowed);
    assert_false(decide_unix(&world.policy, SLICE("/run/agents")).allowed);
    assert_true(decide_unix(&world.policy, SLICE("@x/y")).allowed);
    assert_false(decide_unix(&world.policy, SLICE("@x/y/z")).allowed);
    assert_false(decide_unix(&world.policy, SLICE("@x")).allowed);
    assert_false(decide_unix(&world.policy, SLICE("/home/u/p/@x/y")).allowed);
    world_free(&world);

    assert_true(world_make(&world, "/f\n", "{\"extends\":[],\"network\":{\"allowUnixSockets\":[\"/\"]}}"));
    assert_true(decide_unix(&world.policy, SLICE("/run/s")).allowed);
    assert_false(decide_unix(&world.policy, SLICE("@s")).allowed);
    world_free(&world);

    assert_true(world_make(&world, "/f\n", "{\"extends\":[],\"network\":{\"allowAllUnixSockets\":true}}"));
    assert_true(decide_unix(&world.policy, SLICE("@s")).allowed);
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protected_names_may_be_made_in_a_directory_of_this_run),
        cmocka_unit_test(test_what_else_is_refused_stays_refused_in_a_directory_of_this_run),
        cmocka_unit_test(test_new_repository_is_its_own_holder_and_a_new_agent_directory_is_not),
        cmocka_unit_test(test_innermost_protected_name_names_the_holder),
        cmocka_unit_test(test_paths_of_any_depth_are_judged_to_their_end),
        cmocka_unit_test(test_rests_of_a_name_that_appears_or_vanishes),
        cmocka_unit_test(test_prefixes_of_names_that_were_added_and_lifted),
        cmocka_unit_test(test_rests_agree_with_the_decision_for_random_paths),
        cmocka_unit_test(test_git_pointer_is_known_by_its_name),
        cmocka_unit_test(test_git_directory_is_known_by_what_it_is_not_by_its_name),
        cmocka_unit_test(test_git_directory_anywhere_obeys_what_policy_lifts),
        cmocka_unit_test(test_protected_name_has_one_double_star_at_most),
        cmocka_unit_test(test_host_sockets_are_allowed_by_path_and_abstract_ones_by_exact_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
