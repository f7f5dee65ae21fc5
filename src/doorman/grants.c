/* A short list, bounded: a person does not answer more than that. Every look takes
 * the mutex, and happens only for calls that policy has refused. */
#include "doorman/grants.h"

#include "base/path.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GRANTS_MAX = 512, TURNS_MAX = 512 };

enum grant_term { TERM_CALL, TERM_RUN, TERM_NEVER };

struct granted {
    enum operation operation;
    enum grant_term term;
    pthread_t performer; /* TERM_CALL */
    struct slice object; /* from malloc */
};

struct grants {
    pthread_mutex_t mutex;
    pthread_mutex_t turn;
    struct granted items[GRANTS_MAX];
    size_t count;
    pthread_t performers[TURNS_MAX]; /* who have taken up an appeal */
    size_t performer_count;
};

bool grants_make(struct house *house)
{
    house->grants = calloc(1, sizeof *house->grants);
    return house->grants && pthread_mutex_init(&house->grants->mutex, NULL) == 0 &&
           pthread_mutex_init(&house->grants->turn, NULL) == 0;
}

void grants_begin(struct house *house)
{
    struct grants *grants = house->grants;

    pthread_mutex_lock(&grants->mutex);
    if (grants->performer_count < TURNS_MAX)
        grants->performers[grants->performer_count++] = pthread_self();
    pthread_mutex_unlock(&grants->mutex);
}

static bool is_mine(const struct granted *item)
{
    return item->term == TERM_CALL && pthread_equal(item->performer, pthread_self());
}

void grants_end(struct house *house)
{
    struct grants *grants = house->grants;
    size_t kept = 0;

    pthread_mutex_lock(&grants->mutex);
    for (size_t i = 0; i < grants->performer_count; i++) {
        if (pthread_equal(grants->performers[i], pthread_self()))
            grants->performers[i] = grants->performers[--grants->performer_count];
    }
    for (size_t i = 0; i < grants->count; i++) {
        if (is_mine(&grants->items[i]))
            free((char *)(uintptr_t)grants->items[i].object.ptr);
        else
            grants->items[kept++] = grants->items[i];
    }
    grants->count = kept;
    pthread_mutex_unlock(&grants->mutex);
}

static bool add(struct grants *grants, enum operation operation, struct slice object, enum grant_term term)
{
    char *copy = malloc(object.len + 1);
    bool room;

    if (!copy)
        return false;
    memcpy(copy, object.ptr, object.len);
    pthread_mutex_lock(&grants->mutex);
    room = grants->count < GRANTS_MAX;
    if (room)
        grants->items[grants->count++] =
            (struct granted){operation, term, pthread_self(), (struct slice){copy, object.len}};
    pthread_mutex_unlock(&grants->mutex);
    if (!room)
        free(copy);
    return room;
}

bool grants_add(struct house *house, enum operation operation, struct slice object, bool whole_run)
{
    return add(house->grants, operation, object, whole_run ? TERM_RUN : TERM_CALL);
}

void grants_refuse(struct house *house, enum operation operation, struct slice object)
{
    add(house->grants, operation, object, TERM_NEVER);
}

/* Slashes mean nothing in an abstract name, nor is anything below a socket. */
static bool speaks_of(const struct granted *item, enum operation operation, struct slice object)
{
    if (item->operation == OPERATION_UNIX || operation == OPERATION_UNIX)
        return item->operation == operation && slice_equal(item->object, object);
    return (item->operation == operation || item->operation == OPERATION_WRITE) && path_covers(item->object, object);
}

static bool has_taken_up(const struct grants *grants)
{
    for (size_t i = 0; i < grants->performer_count; i++) {
        if (pthread_equal(grants->performers[i], pthread_self()))
            return true;
    }
    return false;
}

bool grants_cover(const struct house *house, enum operation operation, struct slice object)
{
    struct grants *grants = house->grants;
    bool found = false;

    if (!grants)
        return false;
    pthread_mutex_lock(&grants->mutex);
    for (size_t i = 0; !found && i < grants->count && has_taken_up(grants); i++) {
        const struct granted *item = &grants->items[i];
        found = (item->term == TERM_RUN || is_mine(item)) && speaks_of(item, operation, object);
    }
    pthread_mutex_unlock(&grants->mutex);
    return found && decide_may_be_granted(house->policy, operation, object);
}

bool grants_cover_any(const struct house *house, struct slice object)
{
    return grants_cover(house, OPERATION_READ, object) || grants_cover(house, OPERATION_UNIX, object);
}

bool grants_lead_by(const struct house *house, struct slice path, bool below)
{
    struct grants *grants = house->grants;
    bool found = false;

    if (!grants)
        return false;
    pthread_mutex_lock(&grants->mutex);
    for (size_t i = 0; !found && i < grants->count; i++) {
        const struct granted *item = &grants->items[i];
        found =
            item->term == TERM_RUN && path_covers(path, item->object) && !(below && slice_equal(path, item->object));
    }
    pthread_mutex_unlock(&grants->mutex);
    return found;
}

bool grants_is_refused(const struct house *house, enum operation operation, struct slice object)
{
    struct grants *grants = house->grants;
    bool found = false;

    pthread_mutex_lock(&grants->mutex);
    for (size_t i = 0; !found && i < grants->count; i++) {
        const struct granted *item = &grants->items[i];
        found = item->term == TERM_NEVER && item->operation == operation && slice_equal(item->object, object);
    }
    pthread_mutex_unlock(&grants->mutex);
    return found;
}

void grants_take_turn(struct house *house)
{
    pthread_mutex_lock(&house->grants->turn);
}

void grants_leave_turn(struct house *house)
{
    pthread_mutex_unlock(&house->grants->turn);
}
