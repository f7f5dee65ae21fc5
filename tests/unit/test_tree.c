/* The host's tree: what is remembered of it is what there was, and nothing is taken
 * for absent because something else is. */
#include "policy/tree.h"

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum node look_at(const struct tree *tree, struct scratch *scratch, const char *path)
{
    struct slice target;

    return tree->look(tree->context, slice_of(path), &scratch->arena, &target);
}

static enum node look(const struct tree *tree, struct scratch *scratch, const char *below_root)
{
    return look_at(tree, scratch, scratch_path(scratch, below_root));
}

/* One of many names that are not there. */
static enum node look_in_vain(const struct tree *tree, struct scratch *scratch, const char *directory, int number)
{
    return look_at(tree, scratch, arena_printf(&scratch->arena, "%s/no-such-name-%d", directory, number));
}

enum { MANY = 300 };

static void test_a_name_that_is_not_there_hides_no_other(void **state)
{
    static const char *const absent[] = {
        "home/a", "home/ab", "home/a-name-that-is-longer-than-what-is-remembered-of-one", "home/gap/below/it"};
    struct scratch *scratch = *state;
    const struct tree *tree = tree_of_host(&scratch->arena);

    scratch_write(scratch, "home/abc", "");
    scratch_write(scratch, "home/b/a", "");
    scratch_write(scratch, "home/a-name-that-is-longer-than-what-is-remembered-of-one-is", "");
    for (int again = 0; again < 3; again++) {
        for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
            assert_int_equal(look(tree, scratch, absent[i]), NODE_ABSENT);
            assert_int_equal(look(tree, scratch, "home/abc"), NODE_FILE);
            assert_int_equal(look(tree, scratch, "home/b"), NODE_DIRECTORY);
            assert_int_equal(look(tree, scratch, "home/b/a"), NODE_FILE);
            assert_int_equal(look(tree, scratch, "home/a-name-that-is-longer-than-what-is-remembered-of-one-is"),
                             NODE_FILE);
        }
    }
}

/* After many names that are not there its list is read, if it can be believed: the
 * same answers then. */
static void test_many_looks_change_no_answer(void **state)
{
    struct scratch *scratch = *state;
    const struct tree *tree = tree_of_host(&scratch->arena);

    for (int i = 0; i < MANY; i++) {
        assert_int_equal(look_in_vain(tree, scratch, "/usr", i), NODE_ABSENT);
        assert_int_equal(look_at(tree, scratch, "/usr/bin"), NODE_DIRECTORY);
        assert_int_equal(look_at(tree, scratch, "/usr/bin/env"), NODE_FILE);
    }
}

/* No list has an entry for the directory itself. */
static void test_the_root_is_a_directory_whatever_was_looked_at_in_it(void **state)
{
    struct scratch *scratch = *state;
    const struct tree *tree = tree_of_host(&scratch->arena);

    for (int i = 0; i < MANY; i++) {
        assert_int_equal(look_in_vain(tree, scratch, "", i), NODE_ABSENT);
        assert_int_equal(look_at(tree, scratch, "/"), NODE_DIRECTORY);
    }
}

struct names {
    bool seen_bin;
    bool seen_odd;
    size_t count;
};

static void note(void *argument, struct slice name)
{
    struct names *names = argument;

    names->seen_bin = names->seen_bin || slice_is(name, "bin");
    names->seen_odd = names->seen_odd || slice_is(name, ".") || slice_is(name, "..") || name.len == 0;
    names->count++;
}

/* A list that was read for looks serves for listing, too. */
static void test_a_directory_has_the_same_entries_before_and_after_many_looks(void **state)
{
    struct scratch *scratch = *state;
    const struct tree *tree = tree_of_host(&scratch->arena);
    struct names before = {0};
    struct names after = {0};

    assert_true(tree->list(tree->context, SLICE("/usr"), note, &before));
    for (int i = 0; i < MANY; i++)
        assert_int_equal(look_in_vain(tree, scratch, "/usr", i), NODE_ABSENT);
    assert_true(tree->list(tree->context, SLICE("/usr"), note, &after));
    assert_true(before.seen_bin && after.seen_bin);
    assert_false(before.seen_odd || after.seen_odd);
    assert_int_equal(before.count, after.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_name_that_is_not_there_hides_no_other, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_many_looks_change_no_answer, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_the_root_is_a_directory_whatever_was_looked_at_in_it, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_a_directory_has_the_same_entries_before_and_after_many_looks, scratch_make,
                                        scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
