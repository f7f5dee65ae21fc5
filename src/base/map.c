/* Open addressing with linear probing, at most half full. The hash is keyed by
 * nothing: keys are a user's own policy, and a policy that collides on purpose
 * only slows its own author down. */
#include "base/map.h"

static uint32_t hash_of(struct slice key)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < key.len; i++)
        hash = (hash ^ (unsigned char)key.ptr[i]) * 16777619U;
    return hash ^ hash >> 15;
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

void **map_at(struct map *map, struct slice key)
{
    if (map->count * 2 >= map->capacity) {
        size_t capacity = map->capacity ? map->capacity * 2 : 128;
        struct map_slot *slots = arena_alloc(map->arena, capacity * sizeof *slots);
        for (size_t i = 0; i < map->capacity; i++) {
            if (map->slots[i].key.len)
                *slot_for(slots, capacity, map->slots[i].key, map->slots[i].hash) = map->slots[i];
        }
        map->slots = slots;
        map->capacity = capacity;
    }

    uint32_t hash = hash_of(key);
    struct map_slot *slot = slot_for(map->slots, map->capacity, key, hash);
    if (!slot->key.len) {
        *slot = (struct map_slot){.key = key, .hash = hash};
        map->count++;
    }
    return &slot->value;
}
