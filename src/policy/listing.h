/* The names in a directory of the host, so that hundreds of rules about it
 * cost one look. */
#ifndef CLOCHE_POLICY_LISTING_H
#define CLOCHE_POLICY_LISTING_H

#include "base/arena.h"
#include "base/slice.h"
#include "policy/tree.h"

struct listing;

/* NULL where a name that is not listed might be there all the same: then each has
 * to be looked up. */
struct listing *listing_read(struct arena *arena, const char *path);

/* What is in the directory under this name. NODE_UNKNOWN: something that has to be
 * looked at (a link, or the file system does not say). */
enum node listing_find(const struct listing *listing, struct slice name);

/* Each name but "." and "..", in the order in which readdir gives them. */
void listing_each(const struct listing *listing, void (*found)(void *argument, struct slice name), void *argument);

#endif
