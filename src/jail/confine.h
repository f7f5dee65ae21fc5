/* The Landlock-only backend's part in the jail, for hosts that give no usable
 * namespaces. Private to this room. */
#ifndef CLOCHE_JAIL_CONFINE_H
#define CLOCHE_JAIL_CONFINE_H

#include "base/error.h"
#include "plan/plan.h"

#include <sys/types.h>

/* In init, whose parent is `supervisor`: from here on it can send signals only to
 * what it starts, so that "everybody" means the run. `*scoped` is false where the
 * kernel cannot do that. */
bool confine_signals(pid_t supervisor, bool *scoped, struct error *err);

/* In the command's process, before execve; needs no_new_privs. */
bool confine_files(const struct plan *plan, struct error *err);

/* What Landlock has no rights for: sockets, and what reaches other processes of
 * the same user by number. Loaded whatever the policy says of its own filter. */
bool confine_calls(const struct plan *plan, struct error *err);

#endif
