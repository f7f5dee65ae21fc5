/* Trying something out on this host, in a child that can be thrown away. */
#ifndef CLOCHE_HOST_PROBE_H
#define CLOCHE_HOST_PROBE_H

#include "base/slice.h"

enum { PROBE_LIMIT_MILLISECONDS = 3000 };

/* What the child found. It lives in memory shared with the parent, so that
 * whatever was noted before a sudden end is not lost. */
struct probe_report {
    int step;       /* the step it stopped at; each probe has its own list */
    int errnum;     /* why it stopped; 0: it came to its end */
    unsigned found; /* bits; each probe has its own */
    char note[256];

    /* Filled in by probe_run. */
    bool ended; /* the function returned */
    bool timed_out;
    int killed_by; /* signal, or 0 */
};

typedef void (*probe_function)(struct probe_report *report, const void *context);

/* Runs `function` in a child of its own process group, with its standard
 * streams on /dev/null, and kills the whole group after the limit. Nothing it
 * mounts or makes in namespaces outlives it. */
void probe_run(probe_function function, const void *context, struct probe_report *report);

/* True when the probe came to its end without an error. */
static inline bool probe_succeeded(const struct probe_report *report)
{
    return report->ended && report->errnum == 0;
}

/* For use inside a probe: a new user namespace (and the namespaces of `flags`)
 * in which the caller's ids are mapped to themselves and the mount tree, if
 * new, is private. Returns 0 or an errno. */
int probe_enter(int flags);

/* For use inside a probe: runs `function` in a child of the child and waits. */
void probe_nested(probe_function function, const void *context, struct probe_report *report);

#endif
