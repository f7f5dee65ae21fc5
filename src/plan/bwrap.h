/* A plan as a command line of bubblewrap. */
#ifndef CLOCHE_PLAN_BWRAP_H
#define CLOCHE_PLAN_BWRAP_H

#include "plan/plan.h"

/* A shell script: comments that say what the command line cannot express, and the
 * command line. `outside` is the environment that it will be called in; `command` may
 * be NULL. */
void plan_print_bwrap(const struct plan *plan, char *const *outside, char *const *command, struct text *out);

#endif
