/* Files that programs put beside another while they change it. */
#ifndef CLOCHE_POLICY_TEMPORARY_H
#define CLOCHE_POLICY_TEMPORARY_H

#include "base/arena.h"
#include "policy/tree.h"

/* "X.lock" and "X.tmp" of git and others, ".X.swp" of editors: gone when the program is done, so that
 * nothing can be granted for it by name. `*beside` is X. Not Cargo.lock and its
 * like, which are files in their own right. */
bool temporary_is(const struct tree *tree, struct arena *arena, struct slice path, struct slice *beside);

#endif
