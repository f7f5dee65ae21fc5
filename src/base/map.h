/* A map from text to a pointer, in an arena. Keys are not copied. */
#ifndef CLOCHE_BASE_MAP_H
#define CLOCHE_BASE_MAP_H

#include "base/arena.h"

#include <stdint.h>

struct map_slot {
    struct slice key; /* a zero length marks a free slot: the empty key cannot be stored */
    uint32_t hash;
    void *value;
};

struct map {
    struct arena *arena;
    struct map_slot *slots;
    size_t capacity; /* a power of two */
    size_t count;
};

static inline struct map map_in(struct arena *arena)
{
    return (struct map){.arena = arena};
}

/* Makes room for `count` keys at once. */
void map_reserve(struct map *map, size_t count);

/* NULL when the key is not there. */
void *map_get(const struct map *map, struct slice key);

/* For keys that are paths: calls `found` for "/", for each ancestor of `path` and
 * for `path` itself, where it is a key, with its number of components. One pass
 * over the text. */
void map_each_prefix(const struct map *map, struct slice path, void (*found)(void *argument, size_t depth, void *value),
                     void *argument);

/* The place for the key's value, NULL in it when the key is new. Valid until
 * the next map_at. The key's bytes must live as long as the map. */
void **map_at(struct map *map, struct slice key);

#endif
