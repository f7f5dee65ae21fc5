/* When a run must have ended. Private to this room. */
#ifndef CLOCHE_JAIL_DEADLINE_H
#define CLOCHE_JAIL_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline {
    int64_t milliseconds; /* of the monotonic clock; 0: never */
};

/* So many seconds from now; 0 is never. */
struct deadline deadline_in(uint64_t seconds);

struct deadline deadline_after(int64_t milliseconds);

bool deadline_is_over(const struct deadline *deadline);

/* For poll: milliseconds to wait at most, or -1. */
int deadline_patience(const struct deadline *deadline);

/* ... if others let it wait for `patience`. */
int deadline_sooner(const struct deadline *deadline, int patience);

#endif
