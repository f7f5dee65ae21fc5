/* Stops everything inside while somebody outside is asked, so that nothing can be
 * written over the question or answer it. In pid 1. Private to this room. */
#ifndef CLOCHE_JAIL_HOLD_H
#define CLOCHE_JAIL_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { HOLD_STOPPED_MAX = 1024 };

struct standstill {
    bool on;
    pid_t stopped[HOLD_STOPPED_MAX]; /* those that stood still before */
    size_t stopped_count;
};

/* Returns when everything stands still, or false if that is not so soon. `listed`: /proc is this namespace's own. */
bool hold_all(struct standstill *hold, bool listed);

/* Lets all go on but those that stood still before. */
void hold_release(struct standstill *hold);

#endif
