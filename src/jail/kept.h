/* Pid 1's own descriptors. Private to this room. */
#ifndef CLOCHE_JAIL_KEPT_H
#define CLOCHE_JAIL_KEPT_H

#include "jail/init.h"

/* All but the standard ones, both ends of the doorman's socket (NULL: there is none), and the
 * control socket, which was made after it, with `kept` upon it. */
bool kept_close_others(const int *doorman, int control, size_t kept, struct error *err);

/* Takes what is kept from where something else that is kept is to stand. */
bool kept_clear_way(struct init *init, struct error *err);

/* Then: what the command is passed, behind `*kept` others. */
bool kept_passed(struct init *init, size_t *kept, struct error *err);

/* All of it: the network's socket, what masks are made from, the host's tree, and what the command is passed. */
bool kept_gather(struct init *init, size_t *kept, struct error *err);

#endif
