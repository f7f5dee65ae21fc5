/* Rules that every policy has, whatever its files say. */
#ifndef CLOCHE_POLICY_BUILT_IN_H
#define CLOCHE_POLICY_BUILT_IN_H

#include "policy/model.h"

/* Adds them. Explicit rules on the same path keep /tmp and the caches what they
 * are on the host; /proc and /dev are always the run's own. Called with the
 * `real` of the written rules known. */
void built_in_rules(struct policy *policy, const struct tree *tree);

/* Does it lie in /proc or /dev, which are made whole by their own code? */
bool built_in_place(struct slice path);

/* The read-only and the hidden parts of a fresh /proc, NULL at the end. */
extern const char *const proc_read_only[];
extern const char *const proc_hidden[];

/* The nodes of the minimal /dev, NULL at the end. */
extern const char *const device_nodes[];

/* Is it there only because the run is learned from? */
bool built_in_is_learned(const struct origin *origin);

#endif
