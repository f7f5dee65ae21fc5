/* Stops everything inside while somebody outside is asked, so that nothing can be
 * written over the question or answer it. In pid 1. Private to this room. */
#ifndef CLOCHE_JAIL_HOLD_H
#define CLOCHE_JAIL_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { HOLD_STOPPED_MAX = 1024 };

/* One thread, as it was when everything stood still. */
struct held_task {
    pid_t thread;
    unsigned long long started;  /* numbers are given again */
    unsigned long long switches; /* how often it has left a processor */
};

struct standstill {
    bool on;
    pid_t stopped[HOLD_STOPPED_MAX]; /* those that stood still before */
    size_t stopped_count;
    struct held_task *tasks; /* from malloc */
    size_t task_count;
    size_t task_capacity;
};

/* Returns when everything stands still, or false if that is not so soon. `listed`: /proc is this namespace's own. */
bool hold_all(struct standstill *hold, bool listed);

/* Has nothing inside run since then? */
bool hold_lasts(const struct standstill *hold);

/* Lets all go on but those that stood still before. */
void hold_release(struct standstill *hold);

#endif
