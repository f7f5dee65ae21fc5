/* What a run has made that may run outside of it one day: names that would be
 * protected in older directories, git directories whatever their names, programs in
 * directories of $PATH, scripts that a package runs when it is installed. */
#ifndef CLOCHE_SESSION_LATER_H
#define CLOCHE_SESSION_LATER_H

#include "base/arena.h"
#include "watch/event.h"

enum { LATER_MAX = 512, LATER_PENDING_MAX = 256 };

/* Something the doorman told: made, removed, or moved. */
struct later_step {
    uint64_t number;
    bool moved;
    bool exchanged;
    struct slice from;
    struct event event; /* of a move, only the object: the new name */
};

/* The doorman tells of names as they are made, moved and removed; what became of
 * them is looked at when the run is over. */
struct later {
    struct arena arena;
    size_t copied; /* bytes taken from the arena since it was new */
    struct event items[LATER_MAX];
    size_t count;
    struct later_step pending[LATER_PENDING_MAX]; /* by number */
    size_t pending_count;
    uint64_t last; /* the number of the last step taken */
    size_t unseen; /* names that were not kept, or whose place is not known */
};

/* `number` is the record's: things are done in that order, not in that of the calls here. */
void later_note(struct later *later, uint64_t number, const struct event *event);
void later_moved(struct later *later, uint64_t number, struct slice from, struct slice to, bool exchanged);

/* Takes the steps that are left; `items` is then what there is to look at. */
void later_settle(struct later *later);

/* Calls `tell` for each that is there and would run or be obeyed, with the reason; once, with the
 * object `project`, for those that nobody looked at. */
void later_look(struct later *later, struct slice project, void (*tell)(void *argument, const struct event *event),
                void *argument);

void later_close(struct later *later);

#endif
