/* Timers of one kind all run equally long, so a list to whose end they are
 * appended is in order: starting and stopping cost nothing, and the next to
 * expire is the first of one of a few lists. */
#include "net/loop.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <sys/epoll.h>

enum { EVENTS_AT_ONCE = 256 };

static const uint64_t lengths[LOOP_TIMER_KINDS] = {
    [LOOP_DRAIN] = 2000, [LOOP_DIAL] = 5000, [LOOP_HANDSHAKE] = 30000, [LOOP_ANSWER] = 600000, /* S gives up before */
};

void link_init(struct link *list)
{
    list->next = list->previous = list;
}

void link_append(struct link *list, struct link *item)
{
    item->previous = list->previous;
    item->next = list;
    list->previous->next = item;
    list->previous = item;
}

void link_remove(struct link *item)
{
    if (!item->next)
        return;
    item->previous->next = item->next;
    item->next->previous = item->previous;
    item->next = item->previous = NULL;
}

struct link *link_take(struct link *list)
{
    struct link *first = list->next;

    if (first == list)
        return NULL;
    link_remove(first);
    return first;
}

bool loop_open(struct loop *loop)
{
    *loop = (struct loop){.epoll = epoll_create1(EPOLL_CLOEXEC), .now = milliseconds_now()};
    for (int kind = 0; kind < LOOP_TIMER_KINDS; kind++)
        link_init(&loop->timers[kind]);
    link_init(&loop->errands);
    return loop->epoll >= 0;
}

static bool control(struct loop *loop, int operation, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    return epoll_ctl(loop->epoll, operation, watch->fd, &event) == 0;
}

bool loop_watch(struct loop *loop, struct watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, watch, events);
}

bool loop_change(struct loop *loop, struct watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_MOD, watch, events);
}

void loop_close(struct watch *watch)
{
    fd_close(&watch->fd);
}

void loop_timer_start(struct loop *loop, struct timer *timer, enum loop_timer_kind kind)
{
    link_remove(&timer->link);
    timer->deadline = loop->now + lengths[kind];
    link_append(&loop->timers[kind], &timer->link);
}

void loop_timer_stop(struct timer *timer)
{
    link_remove(&timer->link);
}

void loop_soon(struct loop *loop, struct errand *errand)
{
    if (!errand->link.next)
        link_append(&loop->errands, &errand->link);
}

void loop_errand_stop(struct errand *errand)
{
    link_remove(&errand->link);
}

static int time_left(const struct loop *loop, int patience)
{
    if (!link_is_empty(&loop->errands))
        return 0;
    for (int kind = 0; kind < LOOP_TIMER_KINDS; kind++) {
        if (link_is_empty(&loop->timers[kind]))
            continue;
        const struct timer *first = (const struct timer *)loop->timers[kind].next;
        int left = first->deadline > loop->now ? (int)(first->deadline - loop->now) : 0;
        if (patience < 0 || left < patience)
            patience = left;
    }
    return patience;
}

static void run_timers(struct loop *loop)
{
    for (int kind = 0; kind < LOOP_TIMER_KINDS; kind++) {
        while (!link_is_empty(&loop->timers[kind])) {
            struct timer *first = (struct timer *)loop->timers[kind].next;
            if (first->deadline > loop->now)
                break;
            link_remove(&first->link);
            first->expired(first);
        }
    }
}

/* Those that are there now: one that comes again has its turn after the others.
 * Any of them may take others away. */
static void run_errands(struct loop *loop)
{
    struct link present;

    if (link_is_empty(&loop->errands))
        return;
    present = loop->errands;
    present.next->previous = present.previous->next = &present;
    link_init(&loop->errands);
    while (!link_is_empty(&present)) {
        struct errand *errand = (struct errand *)present.next;
        link_remove(&errand->link);
        errand->run(errand);
    }
}

bool loop_turn(struct loop *loop, int patience)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, time_left(loop, patience));

    if (count < 0 && errno != EINTR)
        return false;
    loop->now = milliseconds_now();
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch->fd >= 0)
            watch->ready(watch, events[i].events);
    }
    run_errands(loop);
    run_timers(loop);
    return true;
}
