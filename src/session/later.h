/* What a run has made that may run outside of it one day: names that would be
 * protected in older directories, programs in directories of $PATH, scripts that a
 * package runs when it is installed. */
#ifndef CLOCHE_SESSION_LATER_H
#define CLOCHE_SESSION_LATER_H

#include "base/map.h"
#include "watch/event.h"

enum { LATER_MAX = 512 };

/* The doorman tells of names as they are made; what became of them is looked at when
 * the run is over. */
struct later {
    struct arena arena;
    struct map known;
    struct event items[LATER_MAX];
    size_t count;
};

void later_note(struct later *later, const struct event *event);

/* Calls `tell` for each that is there and would run or be obeyed, with the reason. */
void later_look(struct later *later, void (*tell)(void *argument, const struct event *event), void *argument);

void later_close(struct later *later);

#endif
