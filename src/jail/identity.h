/* Who the command is: the user and group ids of the new user namespace. */
#ifndef CLOCHE_JAIL_IDENTITY_H
#define CLOCHE_JAIL_IDENTITY_H

#include "base/error.h"

#include <sys/types.h>

/* True for root, whose maps the parent writes: identity_map_child. Everybody
 * else writes a map of one line for himself: identity_map_self. Ids are those
 * from before the namespace: without a map they read as nobody's in there. */
bool identity_is_mapped_by_parent(uid_t user);
bool identity_map_self(uid_t user, gid_t group, struct error *err);
bool identity_map_child(pid_t child, struct error *err);

#endif
