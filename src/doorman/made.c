/* An open hash table that only grows, up to a bound: beyond it directories are
 * forgotten, which makes more names protected, never fewer. What is removed leaves
 * a slot that equals nothing. What the host removes is not noticed, but an
 * identity contains the time of birth, so that an object that gets the number later
 * is not taken for it. */
#include "doorman/made.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { FIRST_CAPACITY = 256, COUNT_MAX = 1 << 20 };

bool identity_of(int fd, struct identity *identity)
{
    struct statx status;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, &status) < 0 ||
        !(status.stx_mask & STATX_BTIME))
        return false;
    *identity = (struct identity){
        .device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor,
        .inode = status.stx_ino,
        .born = (uint64_t)status.stx_btime.tv_sec * 1000000000U + status.stx_btime.tv_nsec,
    };
    return identity->born != 0;
}

static bool same(const struct identity *a, const struct identity *b)
{
    return a->inode == b->inode && a->device == b->device && a->born == b->born;
}

/* The slot that holds it, or the free one where it belongs. */
static struct identity *find(struct identity *slots, size_t capacity, const struct identity *identity)
{
    size_t at = (size_t)((identity->inode ^ identity->born >> 7) * 0x9e3779b97f4a7c15U >> 20) & (capacity - 1);

    while (slots[at].born != 0 && !same(&slots[at], identity))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct made *made)
{
    size_t capacity = made->capacity ? 2 * made->capacity : FIRST_CAPACITY;
    struct identity *slots = calloc(capacity, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < made->capacity; i++) {
        if (made->slots[i].born != 0)
            *find(slots, capacity, &made->slots[i]) = made->slots[i];
    }
    free(made->slots);
    made->slots = slots;
    made->capacity = capacity;
    return true;
}

void made_add(struct made *made, const struct identity *identity)
{
    pthread_mutex_lock(&made->mutex);
    if (made->count < COUNT_MAX && (2 * made->count < made->capacity || grow(made))) {
        struct identity *slot = find(made->slots, made->capacity, identity);
        made->count += slot->born == 0;
        *slot = *identity;
    }
    pthread_mutex_unlock(&made->mutex);
}

void made_forget(struct made *made, const struct identity *identity)
{
    pthread_mutex_lock(&made->mutex);
    if (made->capacity) {
        struct identity *slot = find(made->slots, made->capacity, identity);
        if (slot->born != 0)
            *slot = (struct identity){.born = 1};
    }
    pthread_mutex_unlock(&made->mutex);
}

bool made_has(struct made *made, const struct identity *identity)
{
    pthread_mutex_lock(&made->mutex);
    bool has = made->capacity != 0 && find(made->slots, made->capacity, identity)->born != 0;
    pthread_mutex_unlock(&made->mutex);
    return has;
}

bool made_is(struct made *made, int fd)
{
    struct identity identity;

    return identity_of(fd, &identity) && made_has(made, &identity);
}

struct abstract_name {
    char bytes[sizeof((struct sockaddr_un *)0)->sun_path];
    size_t length;
};

enum { ABSTRACT_MAX = 4096 };

static bool is_called(const struct abstract_name *name, const char *bytes, size_t length)
{
    return name->length == length && memcmp(name->bytes, bytes, length) == 0;
}

static bool contains(const struct abstract_names *names, const char *bytes, size_t length)
{
    for (size_t i = 0; i < names->count; i++) {
        if (is_called(&names->items[i], bytes, length))
            return true;
    }
    return false;
}

bool abstract_has(struct abstract_names *names, const char *bytes, size_t length)
{
    pthread_mutex_lock(&names->mutex);
    bool has = contains(names, bytes, length);
    pthread_mutex_unlock(&names->mutex);
    return has;
}

void abstract_add(struct abstract_names *names, const char *bytes, size_t length)
{
    pthread_mutex_lock(&names->mutex);
    if (length <= sizeof names->items->bytes && names->count < ABSTRACT_MAX && !contains(names, bytes, length)) {
        if (names->count == names->capacity) {
            size_t capacity = names->capacity ? 2 * names->capacity : 16;
            struct abstract_name *items = reallocarray(names->items, capacity, sizeof *items);
            if (items) {
                names->items = items;
                names->capacity = capacity;
            }
        }
        if (names->count < names->capacity) {
            memcpy(names->items[names->count].bytes, bytes, length);
            names->items[names->count++].length = length;
        }
    }
    pthread_mutex_unlock(&names->mutex);
}
