/* A hash table from names to their numbers and an array back. Names are never
 * taken out: an address that was given to one name must not lead to another
 * while anybody may still remember it. */
#include "net/names.h"

#include <stdlib.h>
#include <sys/random.h>

enum { SLOTS = NAMES_MAX * 2, FIRST = 1 };

static const uint8_t prefix_v4[2] = {198, 18};
static const uint8_t prefix_v6[12] = {0xfd, 0xc1, 0x0c, 0x4e, 0x6e, 0x65, 0x74};

struct names {
    uint32_t seed; /* a client that chooses names cannot choose where they collide */
    uint32_t count;
    uint32_t slots[SLOTS]; /* a number + 1; 0: free */
    struct slice names[NAMES_MAX];
};

struct names *names_new(void)
{
    struct names *names = calloc(1, sizeof *names);

    if (names && getrandom(&names->seed, sizeof names->seed, GRND_NONBLOCK) < 0)
        names->seed = (uint32_t)(uintptr_t)names;
    return names;
}

void names_free(struct names *names)
{
    for (uint32_t i = 0; names && i < names->count; i++)
        free((char *)(uintptr_t)names->names[i].ptr);
    free(names);
}

static uint32_t hash(const struct names *names, struct slice name)
{
    uint32_t value = names->seed;

    for (size_t i = 0; i < name.len; i++) {
        value = (value ^ (uint8_t)name.ptr[i]) * 0x01000193U;
        value ^= value >> 15;
    }
    return value;
}

bool names_number(struct names *names, struct slice name, uint32_t *number)
{
    uint32_t slot = hash(names, name) % SLOTS;

    for (; names->slots[slot]; slot = (slot + 1) % SLOTS) {
        *number = names->slots[slot] - 1;
        if (slice_equal(names->names[*number], name))
            return true;
    }
    if (names->count == NAMES_MAX)
        return false;
    char *copy = malloc(name.len + 1);
    if (!copy)
        return false;
    memcpy(copy, name.ptr, name.len);
    copy[name.len] = '\0';
    *number = names->count++;
    names->names[*number] = (struct slice){copy, name.len};
    names->slots[slot] = *number + 1;
    return true;
}

void names_address(uint32_t number, bool v6, struct address *address)
{
    uint32_t low = number + FIRST;

    *address = (struct address){.v6 = v6};
    if (v6) {
        memcpy(address->bytes, prefix_v6, sizeof prefix_v6);
        for (int i = 0; i < 4; i++)
            address->bytes[12 + i] = (uint8_t)(low >> (24 - 8 * i));
        return;
    }
    address->bytes[0] = prefix_v4[0];
    address->bytes[1] = (uint8_t)(prefix_v4[1] | low >> 16);
    address->bytes[2] = (uint8_t)(low >> 8);
    address->bytes[3] = (uint8_t)low;
}

static bool number_of(const struct address *address, uint32_t *low)
{
    const uint8_t *bytes = address->bytes;

    if (address->v6) {
        *low = (uint32_t)bytes[12] << 24 | (uint32_t)bytes[13] << 16 | (uint32_t)bytes[14] << 8 | bytes[15];
        return memcmp(bytes, prefix_v6, sizeof prefix_v6) == 0;
    }
    *low = (uint32_t)(bytes[1] & 1) << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return bytes[0] == prefix_v4[0] && (bytes[1] & 0xfe) == prefix_v4[1];
}

bool names_find(const struct names *names, const struct address *address, struct slice *name)
{
    uint32_t low;

    *name = (struct slice){"", 0};
    if (!number_of(address, &low))
        return false;
    if (low >= FIRST && low - FIRST < names->count)
        *name = names->names[low - FIRST];
    return true;
}
