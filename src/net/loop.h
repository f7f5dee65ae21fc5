/* N's event loop: descriptors by epoll (edge-triggered: whoever is told reads
 * until there is no more), timers of a few fixed lengths, and things that want
 * to go on at once. libuv would do the same with an allocation per handle. */
#ifndef CLOCHE_NET_LOOP_H
#define CLOCHE_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

struct watch {
    int fd; /* -1: none. Events that were fetched before it became so are dropped */
    void (*ready)(struct watch *watch, uint32_t events);
};

enum loop_timer_kind {
    LOOP_DRAIN,     /* for what a refused client still sends */
    LOOP_DIAL,      /* one address, while there are others */
    LOOP_HANDSHAKE, /* all of what stands before the first byte is carried */
    LOOP_ANSWER,    /* of a person who is asked */
    LOOP_TIMER_KINDS
};

struct link {
    struct link *next; /* NULL: in no list */
    struct link *previous;
};

struct timer {
    struct link link; /* first: a timer is found by it */
    uint64_t deadline;
    void (*expired)(struct timer *timer);
};

/* Something that wants to be called again before the loop waits. */
struct errand {
    struct link link; /* first */
    void (*run)(struct errand *errand);
};

struct loop {
    int epoll;
    uint64_t now; /* milliseconds, monotonic; of this turn */
    struct link timers[LOOP_TIMER_KINDS];
    struct link errands;
    bool stop;
};

bool loop_open(struct loop *loop);

/* `events` as epoll_ctl has them; EPOLLET is the caller's choice. */
bool loop_watch(struct loop *loop, struct watch *watch, uint32_t events);
bool loop_change(struct loop *loop, struct watch *watch, uint32_t events);
/* Closes the descriptor. */
void loop_close(struct watch *watch);

void loop_timer_start(struct loop *loop, struct timer *timer, enum loop_timer_kind kind);
void loop_timer_stop(struct timer *timer);

void loop_soon(struct loop *loop, struct errand *errand);
void loop_errand_stop(struct errand *errand);

/* One turn. Waits no longer than `patience` milliseconds (-1: as long as it
 * takes). False on a failure that will not pass. */
bool loop_turn(struct loop *loop, int patience);

void link_init(struct link *list);
void link_append(struct link *list, struct link *item);
void link_remove(struct link *item);
/* The first of a list, taken off it; NULL when there is none. */
struct link *link_take(struct link *list);
static inline bool link_is_empty(const struct link *list)
{
    return list->next == list;
}

#endif
