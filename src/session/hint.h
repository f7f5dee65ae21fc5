/* What would have to change for something denied to be allowed. */
#ifndef CLOCHE_SESSION_HINT_H
#define CLOCHE_SESSION_HINT_H

#include "session/question.h"

/* Before a grant of something that is not there, and may be a file or a directory. */
#define HINT_MAKE_IT "make it"

struct hint {
    const char *before;               /* what has to be done first; NULL: nothing */
    const char *option;               /* as typed in a shell: --allow-read /x; NULL: none needed or none helps */
    const char *policy;               /* lines for the policy file; NULL: none */
    const struct path_rule *left_out; /* the entry that would allow it if its path existed; NULL: none */
    bool wider;                       /* it opens the directory in which something is to be made */
    struct slice beside;              /* no hint, because it is a temporary file of this one; empty: it is not */
};

/* Every hint was tried: the policy is loaded again with it and the same question
 * asked; of a path that does not exist, as if it did. False when nothing that
 * this version carries out would allow it. `may_widen`: where something is to be made, the
 * directory it is to stand in may be suggested. */
bool hint_find(struct arena *arena, const struct session *session, const struct answer *denied, bool may_widen,
               struct hint *hint);

/* As it can be followed: options to type, or the policy file that governs and what it
 * would have to say. */
const char *hint_text(struct arena *arena, const struct session *session, const struct hint *hint);

/* For a denial without a hint, as hint_find left it: why there is none. */
const char *hint_none_text(struct arena *arena, const struct answer *answer, const struct hint *hint);

#endif
