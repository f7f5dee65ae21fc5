/* Who the command is: the user and group ids of the new user namespace. */
#ifndef CLOCHE_JAIL_IDENTITY_H
#define CLOCHE_JAIL_IDENTITY_H

#include "base/error.h"

#include <sys/types.h>

/* In the parent, who has the time for it while the child makes its other
 * namespaces. */
bool identity_map_child(pid_t child, struct error *err);

#endif
