/* Paths as people write them: `~`, variables, relative to a base. */
#ifndef CLOCHE_POLICY_VARIABLES_H
#define CLOCHE_POLICY_VARIABLES_H

#include "base/error.h"
#include "policy/model.h"

/* The value of `name` in a NAME=VALUE list; false if it is not there. */
bool environment_find(char *const *environment, struct slice name, struct slice *value);

/* The directory that an XDG variable with a default below $HOME stands for. */
struct slice xdg_directory(struct arena *arena, const struct surroundings *around, const char *name);

/* Makes `text` absolute: a leading `~`, then (not in the srt personality)
 * $HOME, $PROJECT_DIR, $USER, $TMPDIR and $XDG_*, also as ${NAME}; `$$` is one
 * dollar. What is still relative is joined to `base`. With `escape`, wildcard
 * bytes that come from values or from the base are made ordinary ("[*]"): a
 * project called a*b must not turn the rules written for it into patterns. */
bool path_expand(struct arena *arena, const struct surroundings *around, struct slice base, struct slice text,
                 bool escape, struct slice *expanded, struct error *err);

/* A path entry: expanded, and a pattern only where it was written as one. */
bool path_pattern(struct arena *arena, const struct surroundings *around, struct slice text, bool literal,
                  struct pattern *pattern, struct error *err);

#endif
