/* Memory that lives as long as one run: everything a policy or a plan is made
 * of comes from an arena and is given back in one stroke. */
#ifndef CLOCHE_BASE_ARENA_H
#define CLOCHE_BASE_ARENA_H

#include "base/slice.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *newest;
    void *last; /* the newest allocation */
    bool shared;
};

/* Zeroed memory, aligned for any type. Never NULL: when memory is exhausted the
 * process says so and ends with status 125, before anything was started. */
void *arena_alloc(struct arena *arena, size_t size);

/* Array growth in bounds: returns storage for at least `need` items with the
 * first `have` items kept, and updates `*capacity`. What the others hold is
 * undefined. */
void *arena_grow(struct arena *arena, void *items, size_t have, size_t need, size_t *capacity, size_t item_size);

/* A copy with a NUL after it, so that `.ptr` is also a C string. */
struct slice arena_slice(struct arena *arena, struct slice text);
char *arena_string(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For an arena that is still empty: processes that are forked from now on see
 * what is allocated later, at the same addresses, as long as it fits into `size`
 * bytes and arena_is_shared() says so. They must not allocate from it. */
void arena_share(struct arena *arena, size_t size);
bool arena_is_shared(const struct arena *arena);

/* In a process that shares one: from now on it has a copy of its own, at the same
 * addresses, and what it does there is seen by nobody. False if it cannot be had. */
bool arena_part(const struct arena *arena);

void arena_free(struct arena *arena);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_CLEANUP __attribute__((cleanup(arena_free)))

#endif
