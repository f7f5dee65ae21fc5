/* Protected names: files and directories that make the host run something
 * later. Matched at any depth of any writable root, ASCII case ignored. */
#ifndef CLOCHE_POLICY_PROTECT_H
#define CLOCHE_POLICY_PROTECT_H

#include "policy/model.h"

/* The built-in names, NULL at the end: "/"-separated components, each a name
 * pattern, a trailing slash for directories. */
extern const char *const protected_names[];

struct protected_match {
    struct slice name; /* as in the table or in the policy */
    struct origin origin;
    /* If this very run made this directory (an ancestor of the path that was asked
     * about, in its bytes), the name does not count. */
    struct slice holder;
};

/* Does no name count? Where files are not restricted at all, and under the name of
 * Codex's helper, which protects names of its own. */
bool protect_is_off(const struct policy *policy);

/* Does `path` lie at or below a protected name that ends at or after component
 * `from` (counted from 0)? */
bool protect_matches(const struct policy *policy, struct slice path, size_t from, struct protected_match *match);

/* Is this what git calls a configuration, by the last component of `path` or name? */
bool protect_is_git_config(struct slice path);

/* protect_matches() without the built-in names of git's configuration. */
bool protect_matches_but_git_config(const struct policy *policy, struct slice path, size_t from);

/* For a name that is to appear or to vanish: gives what is left of each protected
 * name that goes on behind the end of `path`. "/p/.git" gives "hooks/", "config",
 * "info/attributes", and the worktrees' own, and so on; a
 * double star that may go on is given with and without it. The same rest may come
 * more than once. The slices live as long as the policy. */
void protect_rests(const struct policy *policy, struct slice path, void (*found)(void *argument, struct slice rest),
                   void *argument);

/* Is there any such rest? A link with such a name would make a whole tree appear
 * under protected names at once. */
bool protect_is_prefix(const struct policy *policy, struct slice path);

/* Is `path` called .git, in whatever case? As a file it says whose configuration
 * git obeys. */
bool protect_is_git_pointer(struct slice path);

/* Does git keep names of its user's making below a directory that is called so: branches? */
bool protect_is_git_data(struct slice component);

/* Calls `found` for each protected path directly below `root` that needs no
 * wildcard to be spelled. */
void protect_candidates(const struct policy *policy, struct slice root, struct arena *arena,
                        void (*found)(void *argument, struct slice path), void *argument);

/* Calls `found` for each protected path at the top of `root` that exists now:
 * one look per name, one readdir of each directory in which a pattern (or, in the
 * project, another case) may match; never a walk. */
void protect_present(const struct policy *policy, const struct tree *tree, struct slice root,
                     void (*found)(void *argument, struct slice path), void *argument);

/* One component of a protected name against one of a path; false for what is
 * longer than any name can be. ASCII case is ignored because the tree may be on a
 * file system that does (attack 111). Table and user names are compared the same way. */
bool protect_component_matches(struct slice pattern, struct slice component);

/* Is this name taken from the protected ones by the policy? */
bool protect_is_lifted(const struct policy *policy, struct slice name);

#endif
