/* The names in a directory of the host, so that hundreds of rules about things
 * that are not there cost one look at it. */
#ifndef CLOCHE_POLICY_LISTING_H
#define CLOCHE_POLICY_LISTING_H

#include "base/arena.h"
#include "base/slice.h"

struct listing;

/* NULL where a name that is not listed might be there all the same: then each has
 * to be looked up. */
struct listing *listing_read(struct arena *arena, const char *path);

/* False: nothing of this name is in the directory. */
bool listing_has(const struct listing *listing, struct slice name);

#endif
