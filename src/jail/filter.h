/* The system-call filter. Compiled when cloche is built (tools/compile-filter.c),
 * loaded here. */
#ifndef CLOCHE_JAIL_FILTER_H
#define CLOCHE_JAIL_FILTER_H

#include "base/error.h"
#include "plan/plan.h"

/* Holds for the calling process and all it will start. Needs no_new_privs.
 * Where the plan has a doorman, `*listener` is the descriptor that the calls for
 * it arrive at; else -1. */
bool filter_apply(const struct plan *plan, int *listener, struct error *err);

#endif
