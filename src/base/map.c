/* Open addressing with linear probing, at most three quarters full. The hash is keyed by
 * nothing: keys are a user's own policy, and a policy that collides on purpose
 * only slows its own author down. */
#include "base/map.h"

#include <string.h>

/* Eight bytes at a time: paths are long, and a multiplication for each byte would
 * take longer than all the rest of a look. */
enum { WORD = sizeof(uint64_t) };

static inline uint64_t hash_word(uint64_t hash, const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, WORD);
    return ((hash << 5 | hash >> 59) ^ word) * 0x9e3779b97f4a7c15U;
}

/* `hash` is that of all whole words of the key; this adds the bytes behind them. */
static inline uint32_t hash_end(uint64_t hash, struct slice key)
{
    char last[WORD] = {0};
    size_t whole = key.len / WORD * WORD;

    for (size_t i = whole; i < key.len; i++)
        last[i - whole] = key.ptr[i];
    return (uint32_t)(hash_word(hash ^ key.len, last) >> 32);
}

static uint32_t hash_of(struct slice key)
{
    uint64_t hash = 0;

    for (size_t i = 0; i + WORD <= key.len; i += WORD)
        hash = hash_word(hash, key.ptr + i);
    return hash_end(hash, key);
}

static struct map_slot *slot_for(struct map_slot *slots, size_t capacity, struct slice key, uint32_t hash)
{
    size_t at = hash & (capacity - 1);

    while (slots[at].key.len && (slots[at].hash != hash || !slice_equal(slots[at].key, key)))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

void *map_get(const struct map *map, struct slice key)
{
    if (!map->capacity || !key.len)
        return NULL;
    return slot_for(map->slots, map->capacity, key, hash_of(key))->value;
}

static void visit(const struct map *map, struct slice key, uint64_t hash, size_t depth,
                  void (*found)(void *argument, size_t depth, void *value), void *argument)
{
    const struct map_slot *slot = slot_for(map->slots, map->capacity, key, hash_end(hash, key));

    if (slot->value)
        found(argument, depth, slot->value);
}

void map_each_prefix(const struct map *map, struct slice path, void (*found)(void *argument, size_t depth, void *value),
                     void *argument)
{
    uint64_t hash = 0;
    size_t hashed = 0;
    size_t depth = 0;

    if (!map->capacity)
        return;
    visit(map, (struct slice){path.ptr, 1}, hash, 0, found, argument);
    for (size_t start = 1, end; start < path.len; start = end + 1) {
        end = start + slice_find(slice_from(path, start), '/');
        for (; hashed + WORD <= end; hashed += WORD)
            hash = hash_word(hash, path.ptr + hashed);
        visit(map, (struct slice){path.ptr, end}, hash, ++depth, found, argument);
    }
}

static void resize(struct map *map, size_t capacity)
{
    struct map_slot *slots = arena_alloc(map->arena, capacity * sizeof *slots);

    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].key.len)
            *slot_for(slots, capacity, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    }
    map->slots = slots;
    map->capacity = capacity;
}

void map_reserve(struct map *map, size_t count)
{
    size_t capacity = map->capacity ? map->capacity : 16;

    while (capacity / 4 * 3 <= count)
        capacity *= 2;
    if (capacity > map->capacity)
        resize(map, capacity);
}

void **map_at(struct map *map, struct slice key)
{
    map_reserve(map, map->count + 1);

    uint32_t hash = hash_of(key);
    struct map_slot *slot = slot_for(map->slots, map->capacity, key, hash);
    if (!slot->key.len) {
        *slot = (struct map_slot){.key = key, .hash = hash};
        map->count++;
    }
    return &slot->value;
}
