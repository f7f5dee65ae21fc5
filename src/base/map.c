/* Open addressing with linear probing, at most three quarters full. The hash is keyed by
 * nothing: keys are a user's own policy, and a policy that collides on purpose
 * only slows its own author down. */
#include "base/map.h"

#define HASH_START 2166136261U

static inline uint32_t hash_byte(uint32_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 16777619U;
}

static inline uint32_t hash_end(uint32_t hash)
{
    return hash ^ hash >> 15;
}

static uint32_t hash_of(struct slice key)
{
    uint32_t hash = HASH_START;

    for (size_t i = 0; i < key.len; i++)
        hash = hash_byte(hash, key.ptr[i]);
    return hash_end(hash);
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

static void visit(const struct map *map, struct slice key, uint32_t hash, size_t depth,
                  void (*found)(void *argument, size_t depth, void *value), void *argument)
{
    const struct map_slot *slot = slot_for(map->slots, map->capacity, key, hash_end(hash));

    if (slot->value)
        found(argument, depth, slot->value);
}

void map_each_prefix(const struct map *map, struct slice path, void (*found)(void *argument, size_t depth, void *value),
                     void *argument)
{
    uint32_t hash = HASH_START;
    size_t depth = 0;

    if (!map->capacity)
        return;
    visit(map, (struct slice){path.ptr, 1}, hash_byte(hash, '/'), 0, found, argument);
    for (size_t i = 0; i < path.len && path.len > 1; i++) {
        hash = hash_byte(hash, path.ptr[i]);
        if (i + 1 == path.len || path.ptr[i + 1] == '/')
            visit(map, (struct slice){path.ptr, i + 1}, hash, ++depth, found, argument);
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
