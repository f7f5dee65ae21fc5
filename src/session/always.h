/* "Always": what was allowed is written into the policy that governs. */
#ifndef CLOCHE_SESSION_ALWAYS_H
#define CLOCHE_SESSION_ALWAYS_H

#include "session/prepare.h"

/* The file that would be changed, or made; NULL: there is none that may be, for the reason in `err`. */
const char *always_file(struct arena *arena, const struct session *session, struct error *err);

/* Does it lie at `path`, or below it? */
bool always_lies_below(struct arena *arena, const struct session *session, struct slice path);

#define ALWAYS_EXPOSED "the policy lies where the run may write"

/* Adds it, in one step, and says what has changed: `*change` is a few lines, safe to be shown. */
bool always_add(struct arena *arena, const struct session *session, enum operation operation, struct slice object,
                const char **change, struct error *err);

#endif
