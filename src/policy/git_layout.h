/* Where a repository keeps what git runs, when that is not under `.git`. */
#ifndef CLOCHE_POLICY_GIT_LAYOUT_H
#define CLOCHE_POLICY_GIT_LAYOUT_H

#include "policy/model.h"

/* If `.git` in `root` is a file (`gitdir: X`, as in worktrees and submodules) or
 * a link, finds the git directory it leads to and the common directory behind
 * that, and calls `found` with each path there that must not be written: hooks,
 * config and the files that point git elsewhere (attacks 29, 106). */
void git_layout_protected(const struct tree *tree, struct arena *arena, struct slice root,
                          void (*found)(void *argument, struct slice path), void *argument);

/* What the file `dot_git` (`gitdir: X`) names, links followed, whether it is there
 * or not; false if it names nothing. */
bool git_layout_pointer(const struct tree *tree, struct arena *arena, struct slice dot_git, struct tree_place *place);

/* The directory that a git directory shares with other worktrees; false: none. */
bool git_layout_common(const struct tree *tree, struct arena *arena, struct slice directory, struct slice *common);

/* Calls `found` with each path below a git directory that git runs or obeys. */
void git_layout_dangerous(struct arena *arena, struct slice directory, void (*found)(void *argument, struct slice path),
                          void *argument);

/* If `project` is a linked worktree: the directory its repository keeps for it,
 * and the one it keeps the shared part in. Believed only when the repository
 * itself, outside the project, points back at this worktree. The caller must see
 * to it that nothing inside could have written that. */
bool git_layout_worktree(const struct tree *tree, struct arena *arena, struct slice project, struct slice *common,
                         struct slice *directory);

/* For a directory that is a git directory by what is in it (HEAD, objects, refs),
 * whatever it is called: a bare repository, one made with --separate-git-dir, what
 * git keeps for a worktree. Is `inside`, a path below it ("hooks/pre-commit"),
 * something that git runs or obeys (attacks 29, 31, 106)? ASCII case ignored. */
bool git_layout_is_dangerous(const struct policy *policy, struct slice inside);

#endif
