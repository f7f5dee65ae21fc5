/* A cgroup from the service manager (systemd), where none is delegated to who calls
 * cloche: an ordinary login is in a scope of root's. */
#ifndef CLOCHE_HOST_SCOPE_H
#define CLOCHE_HOST_SCOPE_H

#include "base/arena.h"
#include "base/error.h"

/* The socket of a manager that would listen to us: the user's own, for root the
 * system's. Nothing is asked yet. NULL: there is none, or cgroups of version 2
 * with memory and pids are not mounted. */
const char *scope_manager(struct arena *arena);

/* Asks for a scope of this process's own, and enters it. True: this process is in a
 * cgroup below that scope's, which is ours and hands the controllers memory and
 * pids down. False, after SCOPE_PATIENCE at the latest: it does not, and nothing
 * else is different. The manager removes the scope when it is empty. */
bool scope_enter(struct arena *arena, struct error *err);

enum { SCOPE_PATIENCE = 2000 }; /* milliseconds */

#endif
