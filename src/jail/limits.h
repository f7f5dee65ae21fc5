#ifndef CLOCHE_JAIL_LIMITS_H
#define CLOCHE_JAIL_LIMITS_H

#include "base/error.h"
#include "plan/plan.h"

#include <sys/resource.h>

/* Lets this process open `need` files. `*before` is what to give back to the
 * command. */
bool limits_make_room(size_t need, struct rlimit *before, struct error *err);

/* In pid 1, before /proc/sys becomes read-only. */
bool limits_hold_processes(const struct plan *plan, struct error *err);

/* In the command's process, before it is executed. */
bool limits_apply(const struct plan *plan, const struct rlimit *open_files, struct error *err);

#endif
