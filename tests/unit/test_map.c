/* Keys of every length around the words that are hashed at once, and paths found by
 * their beginnings. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LENGTHS = 70, EACH = 20 };

static struct slice key_of(struct arena *arena, size_t length, unsigned number)
{
    char *text = arena_alloc(arena, length);

    for (size_t i = 0; i < length; i++)
        text[i] = "/ab"[(number + i * number / 3) % 3];
    text[number % length] = (char)('c' + number);
    return (struct slice){text, length};
}

static void test_every_key_has_its_own_value(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct map map = map_in(&arena);
    struct slice *keys[LENGTHS * EACH];
    size_t count = 0;

    (void)state;
    for (size_t length = 1; length < LENGTHS; length++) {
        for (unsigned number = 0; number < EACH; number++) {
            struct slice *key = arena_alloc(&arena, sizeof *key);
            *key = key_of(&arena, length, number);
            void **place = map_at(&map, *key);
            if (!*place)
                keys[count++] = *place = key;
        }
    }
    assert_true(count > LENGTHS * EACH / 2);
    assert_int_equal(map.count, count);
    for (size_t i = 0; i < count; i++) {
        /* The same bytes at another address, and not at the same distance from a word's. */
        char copy[LENGTHS + 1];
        memcpy(copy + 1, keys[i]->ptr, keys[i]->len);
        assert_ptr_equal(map_get(&map, (struct slice){copy + 1, keys[i]->len}), keys[i]);
    }
    assert_null(map_get(&map, SLICE("none of them")));
    assert_null(map_get(&map, SLICE("")));
}

static char root[] = "/";
static char wrong[] = "wrong";

struct found {
    size_t depths[LENGTHS];
    const char *values[LENGTHS];
    size_t count;
};

static void note(void *argument, size_t depth, void *value)
{
    struct found *found = argument;

    found->depths[found->count] = depth;
    found->values[found->count++] = value;
}

/* Whatever lengths the components have, and so wherever the words end. */
static void test_each_beginning_of_a_path_that_is_a_key_is_found(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 300; seed++) {
        ARENA_CLEANUP struct arena arena = {0};
        struct map map = map_in(&arena);
        struct found found = {.count = 0};
        char path[300] = "";
        size_t ends[12];
        size_t depth = 1 + seed % 11;

        for (size_t i = 0; i < depth; i++) {
            char component[24];
            snprintf(component, sizeof component, "/%.*s", (int)(1 + (seed * 7 + i * 5) % 19), "abcdefghijklmnopqrst");
            strcat(path, component);
            ends[i] = strlen(path);
        }
        *map_at(&map, SLICE("/")) = root;
        *map_at(&map, SLICE("/elsewhere")) = wrong;
        for (size_t i = 0; i < depth; i += 2)
            *map_at(&map, arena_slice(&arena, (struct slice){path, ends[i]})) = path + ends[i];
        map_each_prefix(&map, slice_of(path), note, &found);

        assert_int_equal(found.count, 1 + (depth + 1) / 2);
        assert_string_equal(found.values[0], "/");
        assert_int_equal(found.depths[0], 0);
        for (size_t i = 0; i < depth; i += 2) {
            assert_ptr_equal(found.values[1 + i / 2], path + ends[i]);
            assert_int_equal(found.depths[1 + i / 2], i + 1);
        }
    }
}

static void test_the_root_alone(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct map map = map_in(&arena);
    struct found found = {.count = 0};

    (void)state;
    map_each_prefix(&map, SLICE("/"), note, &found); /* nothing was ever put there */
    assert_int_equal(found.count, 0);
    *map_at(&map, SLICE("/")) = root;
    map_each_prefix(&map, SLICE("/"), note, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.depths[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_has_its_own_value),
        cmocka_unit_test(test_each_beginning_of_a_path_that_is_a_key_is_found),
        cmocka_unit_test(test_the_root_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
