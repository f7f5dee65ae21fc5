/* Section 4 of the product: who may what, and which rule says so. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ACCESS(path, expected) assert_string_equal(world_access(&world, path), expected)

static void test_nested_allow_deny_allow(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/d/secrets/public/ro/f\n/d/secrets/key\n/d/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/d\",\"/d/secrets/public\"],"
                           "\"denyRead\":[\"/d/secrets\"],\"denyWrite\":[\"/d/secrets/public/ro\"]}}"));
    ACCESS("/d/f", "rw");
    ACCESS("/d/secrets", "p-");
    ACCESS("/d/secrets/key", "--");
    ACCESS("/d/secrets/public/x", "rw");
    ACCESS("/d/secrets/public/ro/f", "r-");
    ACCESS("/etc", "r-");
    world_free(&world);
}

static void test_names_are_compared_by_component(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/repo/app/f\n/repo/app-tools/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/repo/app\"]}}"));
    ACCESS("/repo/app/f", "rw");
    ACCESS("/repo/app-tools/f", "r-");
    world_free(&world);
}

static void test_deny_write_wins_over_a_deeper_allow_write(void **state)
{
    struct world world;
    (void)state;

    assert_true(
        world_make(&world, "/d/a/b/f\n/d/c\n",
                   "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/d\",\"/d/a/b\"],\"denyWrite\":[\"/d/a\"]}}"));
    ACCESS("/d/a/b/f", "r-");
    ACCESS("/d/c", "rw");
    world_free(&world);
}

static void test_allow_read_of_the_same_path_lifts_deny_read(void **state)
{
    struct world world;
    (void)state;

    assert_true(
        world_make(&world, "/s/f\n/home/u/p/.env\n/home/u/p/.env.example\n",
                   "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/s\",{\"path\":\".env*\",\"atStart\":true}],"
                   "\"allowRead\":[\"/s\",\".env.example\"]}}"));
    ACCESS("/s/f", "r-");
    ACCESS("/home/u/p/.env.example", "r-");
    ACCESS("/home/u/p/.env", "--");
    world_free(&world);
}

static void test_rule_that_says_none_is_not_lifted_at_its_own_depth(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/s/f\n/s/pub/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowRead\":[\"/s\"]},\"rules\":["
                           "{\"path\":\"/s\",\"access\":\"none\"},{\"path\":\"/s/pub\",\"access\":\"read\"}]}"));
    ACCESS("/s/f", "--");
    ACCESS("/s/pub/f", "r-");
    world_free(&world);
}

static void test_rule_with_more_conditions_wins_at_equal_depth(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/s/f\n/t/f\n",
                           "{\"extends\":[],\"rules\":[{\"path\":\"/s\",\"access\":\"none\"},"
                           "{\"path\":\"/s\",\"access\":\"write\",\"when\":{\"user\":\"u\"}},"
                           "{\"path\":\"/t\",\"access\":\"none\"},"
                           "{\"path\":\"/t\",\"access\":\"write\",\"when\":{\"user\":\"other\"}}]}"));
    ACCESS("/s/f", "rw");
    ACCESS("/t/f", "--");
    world_free(&world);
}

static void test_what_is_hidden_cannot_be_written(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/d/key\n/d/f\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/d\"],\"denyRead\":[\"/d/key\"]}}"));
    ACCESS("/d/key", "--");
    ACCESS("/d/f", "rw");
    world_free(&world);
}

static void test_listed_reads_show_only_what_is_named(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/srv/a/f\n/srv/b\n/bin -> usr/bin\n/usr/bin/x\n",
                           "{\"extends\":[],\"filesystem\":{\"readMode\":\"listed\",\"allowRead\":[\"/srv/a\"]}}"));
    ACCESS("/srv/a/f", "r-");
    ACCESS("/srv", "p-");
    ACCESS("/srv/b", "--");
    ACCESS("/usr/bin/x", "r-");
    ACCESS("/bin/x", "r-");
    ACCESS("/home/u", "--");
    world_free(&world);
}

static void test_paths_are_judged_by_what_they_really_are(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/data/ssh/key\n/home/u/.ssh -> /data/ssh\n/home/u/p/x -> ../.ssh\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"~/.ssh\"],\"allowWrite\":[\".\"]}}"));
    ACCESS("/data/ssh/key", "--");
    ACCESS("/home/u/.ssh/key", "--");
    ACCESS("/home/u/p/x/key", "--");
    ACCESS("/home/u/p/f", "rw");
    world_free(&world);
}

static void test_link_in_a_writable_root_chooses_nothing(void **state)
{
    struct world world;
    (void)state;

    assert_false(world_make(&world, "/home/u/.ssh/key\n/home/u/p/out -> /home/u/.ssh\n",
                            "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\",\"./out\"]}}"));
    assert_true(world_has_problem(&world, "Name the target itself: /home/u/.ssh"));
    world_free(&world);
    /* The same link where nothing could have written it is an ordinary name. */
    assert_true(world_make(&world, "/data/out/f\n/home/u/out -> /data/out\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\",\"~/out\"]}}"));
    ACCESS("/data/out/f", "rw");
    world_free(&world);
}

static void test_protected_names_at_any_depth_and_in_any_case(void **state)
{
    static const char *const refused[] = {"/home/u/p/.bashrc",
                                          "/home/u/p/a/b/.BashRC",
                                          "/home/u/p/.git/hooks/pre-commit",
                                          "/home/u/p/x/.git/config",
                                          "/home/u/p/.GIT/Hooks/x",
                                          "/home/u/p/.git/modules/a/b/hooks/x",
                                          "/home/u/p/.vscode/f/g",
                                          "/home/u/p/.claude/settings.local.json",
                                          "/home/u/p/.git/worktrees/w/commondir",
                                          "/home/u/p/.cloche.json"};
    static const char *const fine[] = {"/home/u/p/bashrc",
                                       "/home/u/p/.git/HEAD",
                                       "/home/u/p/.git",
                                       "/home/u/p/.claude/x",
                                       "/home/u/p/.git/modules/a/refs/heads/config",
                                       "/home/u/p/.vscodeish",
                                       "/home/u/p/git/hooks/x"};
    struct world world;
    (void)state;

    assert_true(world_make(&world, "", "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]}}"));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ACCESS(refused[i], "r-");
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        ACCESS(fine[i], "rw");
    world_free(&world);
}

static void test_unprotect_and_protect_change_the_names(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"unprotect\":[\".vscode\"],"
                           "\"protect\":[\"ci/*.yml\"],\"allowGitConfig\":true}}"));
    ACCESS("/home/u/p/.vscode/x", "rw");
    ACCESS("/home/u/p/.git/config", "rw");
    ACCESS("/home/u/p/.git/hooks/x", "r-");
    ACCESS("/home/u/p/a/ci/build.yml", "r-");
    ACCESS("/home/u/p/a/ci/build.txt", "rw");
    world_free(&world);
}

static void test_existing_protected_names_are_held_however_they_are_spelt(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world,
                           "/home/u/p/.git/worktrees/w/commondir\n/home/u/p/.git/modules/m/hooks/\n/home/u/p/.IDEA/\n"
                           "/home/u/p/ci/a.yml\n/home/u/p/.claude/settings.extra.json\n/home/u/p/real/\n"
                           "/home/u/p/.husky -> real\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],\"protect\":[\"ci/*.yml\"]}}"));
    assert_string_equal(world_step(&world, "/home/u/p/.git/worktrees/w/commondir"), "bind");
    assert_string_equal(world_step(&world, "/home/u/p/.git/modules/m/hooks"), "bind");
    assert_string_equal(world_step(&world, "/home/u/p/.IDEA"), "bind");
    assert_string_equal(world_step(&world, "/home/u/p/ci/a.yml"), "bind");
    assert_string_equal(world_step(&world, "/home/u/p/.claude/settings.extra.json"), "bind");
    assert_string_equal(world_step(&world, "/home/u/p/real"), "bind");
    ACCESS("/home/u/p/.husky/pre-commit", "r-");
    world_free(&world);

    assert_true(world_make(&world, "/home/u/p/.git := gitdir: /elsewhere\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]}}"));
    ACCESS("/home/u/p/.git", "r-");
    world_free(&world);
}

static void test_rules_about_what_comes_later_are_not_believed(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make_without_listener(
        &world, "",
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]},\"rules\":["
        "{\"path\":\"lock\",\"access\":\"read\"},{\"path\":\"null\",\"access\":\"ro-bind-null\"}]}"));
    ACCESS("/home/u/p/lock", "r-");
    assert_true(world_has_refusal(&world, "lock does not exist", "late-names"));
    assert_true(world_has_refusal(&world, "null does not exist", "late-names"));
    world_free(&world);

    assert_true(world_make_without_listener(&world, "/home/u/.config/\n",
                                            "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"~/.config\"]}}"));
    assert_true(world_has_refusal(&world, "the next run would obey", "late-names"));
    world_free(&world);

    assert_true(
        world_make(&world, "", "{\"extends\":[],\"network\":{\"mode\":\"host\",\"deniedDomains\":[\"x.org\"]}}"));
    assert_true(world_has_refusal(&world, "filters nothing", NULL));
    world_free(&world);
}

static void test_pattern_at_start_says_nothing_of_names_made_later(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/p/.env\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"],"
                           "\"denyRead\":[{\"path\":\".env*\",\"atStart\":true}]}}"));
    ACCESS("/home/u/p/.env", "--");
    ACCESS("/home/u/p/.env.new", "rw"); /* cp .env.example .env.new, as one does */
    world_free(&world);
}

static void test_deny_write_covers_private_places_too(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/.cache/x\n",
                           "{\"extends\":[],\"filesystem\":{\"denyWrite\":[\"~\",\"/tmp\"],\"caches\":\"private\"}}"));
    ACCESS("/home/u/.cache/x", "r-");
    assert_string_equal(world_step(&world, "/home/u/.cache"), "overlay");
    world_free(&world);
}

static void test_root_that_lies_below_a_protected_name_is_usable(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/home/u/.codex/skills/f\n/home/u/.idea/\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"~/.codex/skills\",\"~/.idea\"]}}"));
    ACCESS("/home/u/.codex/skills/f", "rw");
    ACCESS("/home/u/.idea/x", "r-"); /* the root itself bears the name: unprotect must say so */
    world_free(&world);
}

static void test_git_pointers_lead_to_what_is_protected(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world,
                           "/home/u/p/.git := gitdir: store/x\n/home/u/p/store/x/hooks/\n/home/u/p/store/x/config\n"
                           "/home/u/p/store/x/HEAD\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\".\"]}}"));
    ACCESS("/home/u/p/store/x/hooks/post-checkout", "r-");
    ACCESS("/home/u/p/store/x/config", "r-");
    ACCESS("/home/u/p/store/x/commondir", "r-");
    ACCESS("/home/u/p/store/x/HEAD", "rw");
    assert_string_equal(world_step(&world, "/home/u/p/store/x/hooks"), "bind");
    assert_string_equal(world_step(&world, "/home/u/p/store"), "pin writable");
    world_free(&world);
}

static void test_worktree_may_write_its_repository_but_not_what_git_runs(void **state)
{
    static const char policy[] = "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"~\"],\"allowWrite\":[\".\"]}}";
    struct world world;
    (void)state;

    assert_true(world_make(&world,
                           "/home/u/p/.git := gitdir: /home/u/main/.git/worktrees/p\n/home/u/main/.git/config\n"
                           "/home/u/main/.git/worktrees/p/commondir := ../..\n/home/u/main/.git/hooks/\n"
                           "/home/u/main/.git/HEAD\n/home/u/main/.git/objects/\n/home/u/main/.git/refs/\n"
                           "/home/u/main/.git/worktrees/q/commondir := ../..\n"
                           "/home/u/main/.git/worktrees/p/gitdir := /home/u/p/.git\n/home/u/main/src/f\n",
                           policy));
    ACCESS("/home/u/main/.git/objects/ab/c", "rw");
    ACCESS("/home/u/main/.git/worktrees/p/HEAD", "rw");
    ACCESS("/home/u/main/.git/hooks/x", "r-");
    ACCESS("/home/u/main/.git/config", "r-");
    ACCESS("/home/u/main/.git/worktrees/p/gitdir", "r-");
    ACCESS("/home/u/main/src/f", "--");
    ACCESS("/home/u/main/.git/worktrees/q/commondir", "--");
    ACCESS("/home/u/main/.git/secret", "--");
    world_free(&world);

    /* A project that points into itself vouches for itself. */
    assert_true(
        world_make(&world,
                   "/home/u/p/.git := gitdir: x\n/home/u/p/x/commondir := ../..\n/home/u/p/x/gitdir := ../.git\n"
                   "/home/u/f\n",
                   policy));
    ACCESS("/home/u/f", "--");
    world_free(&world);

    /* So does one whose repository another writable root holds. */
    assert_true(world_make(&world,
                           "/home/u/p/.git := gitdir: /home/u/q/.git/worktrees/p\n/home/u/q/.git/objects/\n"
                           "/home/u/q/.git/worktrees/p/commondir := ../..\n/home/u/f\n"
                           "/home/u/q/.git/worktrees/p/gitdir := /home/u/p/.git\n",
                           "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"~\"],\"allowWrite\":[\".\","
                           "\"~/q/.git/worktrees\"]}}"));
    ACCESS("/home/u/q/.git/objects", "--");
    world_free(&world);

    /* A pointer the repository does not return was written by somebody else. */
    assert_true(world_make(&world,
                           "/home/u/p/.git := gitdir: /home/u/other/.git/worktrees/q\n"
                           "/home/u/other/.git/worktrees/q/commondir := ../..\n"
                           "/home/u/other/.git/worktrees/q/gitdir := /home/u/q/.git\n",
                           policy));
    ACCESS("/home/u/other/.git/objects/ab/c", "--");
    world_free(&world);
}

static void test_private_places_are_writable_and_not_the_hosts(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/tmp/w/f\n", "{\"extends\":[],\"filesystem\":{\"allowRead\":[\"/tmp/w\"]}}"));
    ACCESS("/tmp/x", "rw");
    ACCESS("/tmp/w/f", "r-");
    assert_string_equal(world_step(&world, "/tmp"), "private writable");
    assert_string_equal(world_step(&world, "/tmp/w"), "bind");
    world_free(&world);
    assert_true(world_make(&world, "/tmp/w/f\n", "{\"extends\":[],\"filesystem\":{\"tmp\":\"host\"}}"));
    ACCESS("/tmp/w/f", "r-");
    assert_string_equal(world_step(&world, "/tmp"), "");
    world_free(&world);
}

static void test_devices_and_kernel_interfaces(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/dev/sda\n/proc/sys/kernel/core_pattern\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/\"]}}"));
    ACCESS("/dev/sda", "--");
    ACCESS("/dev/null", "rw");
    ACCESS("/dev/shm/x", "rw");
    ACCESS("/proc/sys/kernel/core_pattern", "r-");
    ACCESS("/proc/kcore", "--");
    ACCESS("/proc/self/oom_score_adj", "rw");
    ACCESS("/etc/passwd", "rw");
    world_free(&world);
}

static void test_no_rule_reaches_into_own_places(void **state)
{
    static const char *const refused[] = {
        "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/proc/sys/kernel/core_pattern\"]}}",
        "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/proc/cpuinfo\"]}}",
        "{\"extends\":[],\"filesystem\":{\"allowRead\":[\"/dev/sda\"]}}",
        "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/dev/null\"]}}",
        "{\"extends\":[],\"filesystem\":{\"denyWrite\":[\"/home/u/link\"]}}",
    };
    struct world world;
    (void)state;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(world_make(&world,
                                "/dev/sda\n/proc/cpuinfo\n/proc/sys/kernel/core_pattern\n/dev/null\n"
                                "/home/u/link -> /proc/cpuinfo\n",
                                refused[i]));
        assert_true(world_has_problem(&world, "made anew for each run"));
        world_free(&world);
    }
    assert_true(world_make(&world, "/dev/null\n",
                           "{\"extends\":[],\"filesystem\":{\"allowWrite\":[\"/dev/null\",\"/dev/stdout\"]}}"));
    ACCESS("/dev/null", "rw");
    world_free(&world);
}

static struct decision connect_to(struct world *world, const char *text, uint16_t port)
{
    struct host host;
    struct error err;

    assert_true(host_parse(slice_of(text), &host, &err));
    return decide_connect(&world->policy, &host, port);
}

static void test_hosts(void **state)
{
    struct world world;
    struct host host;
    struct error err;
    (void)state;

    assert_true(
        world_make(&world, "",
                   "{\"extends\":[],\"network\":{\"allowedDomains\":[\"github.com\",\"*.nodes.org:443\"],"
                   "\"deniedDomains\":[\"evil.nodes.org\"],\"deniedDomainReasons\":{\"evil.nodes.org\":\"no\"}}}"));
    assert_true(connect_to(&world, "GitHub.com.", 22).allowed);
    assert_false(connect_to(&world, "evilgithub.com", 443).allowed);
    assert_false(connect_to(&world, "api.github.com", 443).allowed);
    assert_true(connect_to(&world, "registry.nodes.org", 443).allowed);
    assert_false(connect_to(&world, "registry.nodes.org", 80).allowed);
    assert_false(connect_to(&world, "nodes.org", 443).allowed);
    assert_false(connect_to(&world, "evil.nodes.org", 443).allowed);
    assert_true(slice_is(connect_to(&world, "evil.nodes.org", 443).reason, "no"));
    assert_string_equal(connect_to(&world, "evil.nodes.org", 443).origin.path, "network.deniedDomains[0]");
    assert_true(host_parse(SLICE("registry.nodes.org"), &host, &err));
    assert_true(decide_dns(&world.policy, &host).allowed);
    assert_true(host_parse(SLICE("example.com"), &host, &err));
    assert_false(decide_dns(&world.policy, &host).allowed);
    world_free(&world);

    /* An empty list reaches nothing (attack 75). */
    assert_true(world_make(&world, "", "{\"extends\":[],\"network\":{\"allowedDomains\":[]}}"));
    assert_false(connect_to(&world, "github.com", 443).allowed);
    world_free(&world);
}

static void test_sockets_and_variables(void **state)
{
    struct world world;
    (void)state;

    assert_true(world_make(&world, "/run/agent\n",
                           "{\"extends\":[],\"network\":{\"allowUnixSockets\":[\"/run/agent\"]},"
                           "\"environment\":{\"pass\":[\"*\",\"GITHUB_TOKEN\"],\"deny\":[\"*_TOKEN\",\"LD_*\"],"
                           "\"set\":{\"CI\":\"1\"}}}"));
    assert_true(decide_unix(&world.policy, SLICE("/run/agent")).allowed);
    assert_false(decide_unix(&world.policy, SLICE("/run/docker.sock")).allowed);
    assert_true(decide_env(&world.policy, SLICE("GITHUB_TOKEN")).allowed);
    assert_false(decide_env(&world.policy, SLICE("NPM_TOKEN")).allowed);
    assert_false(decide_env(&world.policy, SLICE("LD_PRELOAD")).allowed);
    assert_true(decide_env(&world.policy, SLICE("EDITOR")).allowed);
    assert_true(decide_env(&world.policy, SLICE("CI")).allowed);
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_allow_deny_allow),
        cmocka_unit_test(test_names_are_compared_by_component),
        cmocka_unit_test(test_deny_write_wins_over_a_deeper_allow_write),
        cmocka_unit_test(test_allow_read_of_the_same_path_lifts_deny_read),
        cmocka_unit_test(test_rule_that_says_none_is_not_lifted_at_its_own_depth),
        cmocka_unit_test(test_rule_with_more_conditions_wins_at_equal_depth),
        cmocka_unit_test(test_what_is_hidden_cannot_be_written),
        cmocka_unit_test(test_listed_reads_show_only_what_is_named),
        cmocka_unit_test(test_paths_are_judged_by_what_they_really_are),
        cmocka_unit_test(test_link_in_a_writable_root_chooses_nothing),
        cmocka_unit_test(test_protected_names_at_any_depth_and_in_any_case),
        cmocka_unit_test(test_unprotect_and_protect_change_the_names),
        cmocka_unit_test(test_existing_protected_names_are_held_however_they_are_spelt),
        cmocka_unit_test(test_rules_about_what_comes_later_are_not_believed),
        cmocka_unit_test(test_pattern_at_start_says_nothing_of_names_made_later),
        cmocka_unit_test(test_deny_write_covers_private_places_too),
        cmocka_unit_test(test_root_that_lies_below_a_protected_name_is_usable),
        cmocka_unit_test(test_git_pointers_lead_to_what_is_protected),
        cmocka_unit_test(test_worktree_may_write_its_repository_but_not_what_git_runs),
        cmocka_unit_test(test_private_places_are_writable_and_not_the_hosts),
        cmocka_unit_test(test_devices_and_kernel_interfaces),
        cmocka_unit_test(test_no_rule_reaches_into_own_places),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_sockets_and_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
