/* The copy of a plan that pid 1 works by: it says the same, and nothing in it leads
 * back to the memory the plan was made in (that memory is gone here, and the
 * sanitizers watch). */
#include "base/text.h"
#include "plan/plan.h"
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void show(struct text *out, const char *what, struct slice text)
{
    text_append_string(out, what);
    text_append(out, text);
    text_append_byte(out, '\n');
}

/* All that the jail reads. */
static const char *told(struct arena *arena, const struct plan *plan)
{
    struct text out = text_in(arena);

    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        text_appendf(&out, "%s %d %o ", step_kind_name(step->kind), step->writable, step->mode);
        show(&out, "at ", step->path);
        show(&out, "  content ", step->content);
        for (size_t j = 0; j < step->entry_count; j++) {
            text_appendf(&out, "  %d ", (int)step->entries[j].kind);
            show(&out, "entry ", step->entries[j].path);
            show(&out, "  target ", step->entries[j].target);
        }
        const struct step *found = map_get(&plan->by_path, step->path);
        assert_true(found >= plan->steps && found < plan->steps + plan->step_count);
        text_appendf(&out, "  found as %zu\n", (size_t)(found - plan->steps));
    }
    for (size_t i = 0; i < plan->awaited_count; i++)
        show(&out, "awaited ", plan->awaited[i].path);
    for (size_t i = 0; i < plan->landlock_count; i++)
        show(&out, plan->landlock[i].write ? "write " : "read ", plan->landlock[i].path);
    for (size_t i = 0; i < plan->environment_count; i++)
        show(&out, "variable ", slice_of(plan->environment[i]));
    assert_null(plan->environment[plan->environment_count]);
    for (size_t i = 0; i < plan->policy->seccomp.deny.count; i++)
        show(&out, plan->policy->seccomp.deny.items[i].origin.path, plan->policy->seccomp.deny.items[i].text);
    for (size_t i = 0; i < plan->policy->seccomp.allow.count; i++)
        show(&out, plan->policy->seccomp.allow.items[i].origin.path, plan->policy->seccomp.allow.items[i].text);
    text_appendf(&out, "%d %d %d %d %zu\n", plan->policy->network.allow_all_unix_sockets,
                 plan->policy->seccomp.block_unix_sockets, plan->filter_enabled, (int)plan->network,
                 plan->rlimit_count);
    show(&out, "starts in ", plan->working_directory);
    return out.ptr;
}

static void compare(const char *tree, const char *policy)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct arena shared ARENA_CLEANUP = {0};
    struct world world;

    assert_true(world_make(&world, tree, policy));
    assert_true(world.plan.step_count > 3);
    const char *before = told(&arena, &world.plan);
    const struct plan *copy = plan_copy(&shared, &world.plan);
    world_free(&world);
    assert_string_equal(told(&arena, copy), before);
}

static void test_copy_of_a_plan_says_the_same_when_the_plan_is_gone(void **state)
{
    (void)state;
    compare("/dev/\n/proc/\n/tmp/\n/var/tmp/\n/run/\n/home/u/p/.git/hooks/\n/home/u/p/.git/config\n/home/u/.npm/x\n"
            "/home/u/.ssh/id\n/etc/shadow\n/usr/bin/\n/opt/l -> /usr\n",
            "{\"extends\": [\"preset:dev\"], \"filesystem\": {\"denyRead\": [\"/etc/shadow\", \"/opt/l\"]},"
            " \"seccomp\": {\"deny\": [\"ptrace\"], \"allow\": [\"keyctl\"]},"
            " \"environment\": {\"set\": {\"NAME\": \"value\"}}}");
}

static void test_copy_of_a_plan_with_listed_reads_says_the_same(void **state)
{
    (void)state;
    compare("/dev/\n/proc/\n/tmp/\n/run/\n/home/u/p/\n/usr/bin/\n/lib -> usr/lib\n/usr/lib/\n/etc/passwd\n",
            "{\"extends\": [\"preset:strict\"], \"filesystem\": {\"devices\": [\"/dev/kvm\"]}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_of_a_plan_says_the_same_when_the_plan_is_gone),
        cmocka_unit_test(test_copy_of_a_plan_with_listed_reads_says_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
