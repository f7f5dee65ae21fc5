/* The second lock: what the mounts hold, held once more by Landlock. */
#ifndef CLOCHE_JAIL_LANDLOCK_H
#define CLOCHE_JAIL_LANDLOCK_H

#include "base/error.h"
#include "jail/passed.h"
#include "plan/plan.h"

/* Holds for the calling process and all it will start. Needs no_new_privs. A
 * kernel without Landlock is no error: the first lock holds everything. Where
 * the plan has a doorman, whose hands are to be bound by the same rules, `*kept` is
 * the ruleset; else, and where there is none, -1. What is `passed` is in its place. */
bool landlock_apply(const struct plan *plan, const struct passed *passed, int *kept, struct error *err);

/* Can it (from ABI 6) keep signals from leaving the sandbox? */
bool landlock_keeps_signals_inside(const struct plan *plan);

#endif
