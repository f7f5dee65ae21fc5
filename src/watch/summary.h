/* The few lines at the end of a run. */
#ifndef CLOCHE_WATCH_SUMMARY_H
#define CLOCHE_WATCH_SUMMARY_H

#include "watch/watch.h"

struct summary_style {
    const char *name; /* who speaks: "cloche" */
    bool colour;
    const char *note; /* what else is to be known where something was denied; NULL: nothing */
};

/* Nothing is appended where nothing was denied and nothing was made that may run
 * later. Limits are left out: they were said when they were hit. */
void summary_write(struct text *out, const struct watch *watch, const struct summary_style *style);

#endif
