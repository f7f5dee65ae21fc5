/* The doorman's own clones of the writable roots: without the mounts that pin and
 * mask things in them, and writable where only a pattern grants. Nobody else can
 * reach them. Private to this room. */
#ifndef CLOCHE_DOORMAN_OWN_VIEW_H
#define CLOCHE_DOORMAN_OWN_VIEW_H

#include "doorman/house.h"

/* In the sandbox's mount namespace, with CAP_SYS_ADMIN. */
void own_view_make(struct house *house);

/* Both give the same object as the clone shows it (O_PATH), or -1 with errno
 * kept. `path` is what the entry in `directory`, or `object`, is called. */
int own_view_directory(const struct house *house, int directory, struct slice path);
int own_view_object(const struct house *house, int object, struct slice path);

#endif
