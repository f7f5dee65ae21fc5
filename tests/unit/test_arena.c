/* Memory of a run: what is shared with a child that was forked before it was
 * allocated, and when it no longer is. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 256 * 1024 };

/* Does a child that was there first see what `fill` leaves at `*place`? */
static int ask_child(struct arena *arena, const char **place, void (*fill)(struct arena *arena, const char **place))
{
    int go[2];
    char byte;

    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        while (read(go[0], &byte, 1) > 0)
            ;
        _exit(*place && strcmp(*place, "said later") == 0 ? 1 : 0);
    }
    assert_true(child > 0);
    fill(arena, place);
    close(go[0]);
    close(go[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void say(struct arena *arena, const char **place)
{
    *place = arena_string(arena, "said later");
}

static void test_child_sees_what_is_allocated_after_its_birth(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};

    (void)state;
    arena_share(&arena, SIZE);
    assert_true(arena_is_shared(&arena));
    const char **place = arena_alloc(&arena, sizeof *place);
    assert_int_equal(ask_child(&arena, place, say), 1);
    assert_true(arena_is_shared(&arena));
}

static void test_child_does_not_see_a_private_arena(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};

    (void)state;
    const char **place = arena_alloc(&arena, sizeof *place);
    assert_false(arena_is_shared(&arena));
    assert_int_equal(ask_child(&arena, place, say), 0);
}

static void test_arena_that_outgrew_its_shared_memory_says_so_and_goes_on(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};

    (void)state;
    arena_share(&arena, SIZE);
    const char *early = arena_string(&arena, "early");
    char *large = arena_alloc(&arena, SIZE);
    large[SIZE - 1] = 'x';
    assert_false(arena_is_shared(&arena));
    assert_string_equal(arena_string(&arena, "late"), "late");
    assert_string_equal(early, "early");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_sees_what_is_allocated_after_its_birth),
        cmocka_unit_test(test_child_does_not_see_a_private_arena),
        cmocka_unit_test(test_arena_that_outgrew_its_shared_memory_says_so_and_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
