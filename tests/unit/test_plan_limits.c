/* What holds limits of a whole run, on hosts of every kind. */
#include "world.h"

#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const tree = "/home/u/p/f\n";

#define MEMORY "\"memory\":\"1G\""
#define PROCESSES "\"processes\":50"
#define LIMITED(what) "{\"extends\":[],\"limits\":{" what "}}"

/* Each bit of `kind` is a fact about the host. */
static struct facts host(unsigned kind)
{
    return (struct facts){
        .kernel_major = 6,
        .kernel_minor = 1,
        .landlock_abi = 3,
        .listener = true,
        .is_root = (kind & 1) != 0,
        .limits =
            {
                .memory_cgroup = (kind & 2) ? "/sys/fs/cgroup/ours" : NULL,
                .processes_cgroup = (kind & 4) ? "/sys/fs/cgroup/ours" : NULL,
                .pid_max = (kind & 8) != 0,
                .manager = (kind & 16) ? "/run/manager" : NULL,
            },
    };
}

enum { HOSTS = 32 };

static void plan_on(struct world *world, const struct facts *facts, const char *policy)
{
    assert_true(world_make_on(world, tree, policy, facts));
}

static void test_manager_is_wanted_exactly_where_the_plan_needs_it(void **state)
{
    static const char *const policies[] = {LIMITED(""), LIMITED(MEMORY), LIMITED(PROCESSES),
                                           LIMITED(MEMORY "," PROCESSES)};
    (void)state;

    for (unsigned kind = 0; kind < HOSTS; kind++) {
        for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
            struct facts facts = host(kind);
            struct world world;
            plan_on(&world, &facts, policies[i]);
            bool planned = world.plan.memory.way == LIMIT_BY_SCOPE || world.plan.processes.way == LIMIT_BY_SCOPE;
            assert_int_equal(plan_wants_scope(&world.policy, &facts), planned);
            assert_true(!planned || facts.limits.manager);
            world_free(&world);
        }
    }
}

static void test_memory_is_held_by_a_cgroup_or_else_by_one_that_is_asked_for(void **state)
{
    (void)state;

    for (unsigned kind = 0; kind < HOSTS; kind++) {
        struct facts facts = host(kind);
        struct world world;
        plan_on(&world, &facts, LIMITED(MEMORY));
        assert_int_equal(world.plan.memory.way, facts.limits.memory_cgroup ? LIMIT_BY_CGROUP
                                                : facts.limits.manager     ? LIMIT_BY_SCOPE
                                                                           : LIMIT_BY_SAMPLES);
        world_free(&world);
    }
}

static void test_one_run_has_one_cgroup(void **state)
{
    (void)state;

    for (unsigned kind = 0; kind < HOSTS; kind++) {
        struct facts facts = host(kind);
        struct world world;
        plan_on(&world, &facts, LIMITED(MEMORY "," PROCESSES));
        if (world.plan.memory.way == LIMIT_BY_SCOPE)
            assert_int_equal(world.plan.processes.way, LIMIT_BY_SCOPE);
        if (world.plan.memory.way == LIMIT_BY_CGROUP && world.plan.processes.way == LIMIT_BY_CGROUP)
            assert_string_equal(world.plan.memory.cgroup, world.plan.processes.cgroup);
        world_free(&world);
    }
}

static void test_processes_alone_are_asked_about_only_where_nothing_else_holds_them(void **state)
{
    (void)state;

    for (unsigned kind = 0; kind < HOSTS; kind++) {
        struct facts facts = host(kind);
        struct world world;
        plan_on(&world, &facts, LIMITED(PROCESSES));
        bool held = facts.limits.processes_cgroup || facts.limits.pid_max || !facts.is_root;
        assert_int_equal(world.plan.processes.way == LIMIT_BY_SCOPE, !held && facts.limits.manager);
        assert_int_equal(world.plan.refusal_count > 0, !held && !facts.limits.manager);
        world_free(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manager_is_wanted_exactly_where_the_plan_needs_it),
        cmocka_unit_test(test_memory_is_held_by_a_cgroup_or_else_by_one_that_is_asked_for),
        cmocka_unit_test(test_one_run_has_one_cgroup),
        cmocka_unit_test(test_processes_alone_are_asked_about_only_where_nothing_else_holds_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
