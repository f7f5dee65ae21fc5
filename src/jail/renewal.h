/* Masks that the host took away, put on again. Private to this room; pid 1's side.
 *
 * This is not a lock: what takes a mask's place is in sight until pid 1 has heard of
 * it. SECURITY.md says which rules are held without that moment. */
#ifndef CLOCHE_JAIL_RENEWAL_H
#define CLOCHE_JAIL_RENEWAL_H

#include "base/map.h"
#include "jail/deadline.h"
#include "plan/plan.h"

struct renewal {
    const struct plan *plan;
    int scratch; /* -1: nothing is to be renewed */
    int changes; /* inotify; -1: not yet, or there is none to be had */
    bool blind;  /* not all that is to be watched is: there is no inotify instance, or there are too few watches */
    bool told_blind;
    struct deadline due;
    struct map led_away; /* places that were told of, because a directory above them is a link */
    struct arena arena;  /* what the maps below are in */
    struct map watches;  /* their numbers, as bytes */
    struct map watched;  /* directories that hold masks, and are watched with all above them */
    struct map names; /* what appears under one of them is looked at; -> whether it may be a directory above a mask */
    void (*renewed)(void *argument, size_t number, bool hidden); /* as jail_listener has it */
    bool (*tell_blind)(void *argument);                          /* false: it could not be told now */
    void *argument;
};

/* Is there a mask in the plan that can be lost, or that is to come? */
bool renewal_is_needed(const struct plan *plan);

/* `scratch` is what masks are made from; -1: nothing is to be renewed. */
void renewal_open(struct renewal *renewal, const struct plan *plan, int scratch);

/* How long poll may wait, in milliseconds, if others let it wait for `patience`; -1: for ever. */
int renewal_patience(const struct renewal *renewal, int patience);

enum renewal_news {
    RENEWAL_GOES_ON,
    RENEWAL_FAILED /* something that was hidden is in sight and cannot be hidden: `err` says what */
};

/* Begins when it is time to, and looks at what has changed since. */
enum renewal_news renewal_look(struct renewal *renewal, struct error *err);

#endif
