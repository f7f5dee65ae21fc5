/* What a run tells: keeps each distinct event once, counts the rest, and hands
 * lines to whoever writes them. */
#ifndef CLOCHE_WATCH_WATCH_H
#define CLOCHE_WATCH_WATCH_H

#include "base/map.h"
#include "watch/event.h"

/* A command can cause as many events as it likes: what is kept of them is bounded,
 * what goes beyond is counted. */
enum { WATCH_EVENTS_MAX = 2048, WATCH_BYTES_MAX = 4 * 1024 * 1024 };

/* An event with how often it happened. */
struct watched {
    struct event event; /* sent, received, milliseconds: of all together */
    struct timespec first;
    uint64_t count;
};

struct watch {
    struct arena arena;
    struct map known; /* key -> struct watched */
    struct watched **items;
    size_t count;
    size_t capacity;
    size_t bytes;
    uint64_t denied;              /* in all, repeats and those that are not kept included */
    uint64_t unkept[EVENT_KINDS]; /* events for which there was no room */
    char run[17];                 /* the run's number, once something was told */

    /* Gets each line, without a newline; NULL: nobody does. */
    void (*write)(void *argument, struct slice line);
    void *argument;
};

/* Costs nothing: most runs have nothing to tell. */
void watch_open(struct watch *watch);

/* The run's number: 16 hexadecimal digits. */
const char *watch_run(struct watch *watch);

/* Copies what it keeps. The first of its kind is written at once. */
void watch_note(struct watch *watch, const struct event *event);

/* Would it be kept, as the first of its kind? If not, it is only counted, and nobody need find out more of it. */
bool watch_wants(const struct watch *watch, const struct event *event);

/* At the end: what was told once and happened more often is told again, with its
 * count; and for each kind, how many events there was no room for. */
void watch_finish(struct watch *watch);

void watch_close(struct watch *watch);

#endif
