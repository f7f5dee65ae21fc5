/* Protected names: files and directories that make the host run something
 * later. Matched at any depth of any writable root, ASCII case ignored. */
#ifndef CLOCHE_POLICY_PROTECT_H
#define CLOCHE_POLICY_PROTECT_H

#include "policy/model.h"

/* The built-in names, NULL at the end: "/"-separated components, each a name
 * pattern, a trailing slash for directories. */
extern const char *const protected_names[];

/* Does `path` lie at or below a protected name that ends at or after component
 * `from` (counted from 0)? `*name` is the name that matched, `*origin` where it
 * comes from, `*depth` the number of components up to its end. */
bool protect_matches(const struct policy *policy, struct slice path, size_t from, const char **name,
                     struct origin *origin, size_t *depth);

/* Calls `found` for each protected path directly below `root` that needs no
 * wildcard to be spelled. */
void protect_candidates(const struct policy *policy, struct slice root, struct arena *arena,
                        void (*found)(void *argument, struct slice path), void *argument);

/* Calls `found` for each protected path at the top of `root` that exists now:
 * one look per name, one readdir of each directory in which a pattern (or, in the
 * project, another case) may match; never a walk. */
void protect_present(const struct policy *policy, const struct tree *tree, struct slice root,
                     void (*found)(void *argument, struct slice path), void *argument);

/* Is this name taken from the protected ones by the policy? */
bool protect_is_lifted(const struct policy *policy, struct slice name);

#endif
