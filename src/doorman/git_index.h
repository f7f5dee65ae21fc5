/* Git replaces its index: what by is judged. Private to this room. */
#ifndef CLOCHE_DOORMAN_GIT_INDEX_H
#define CLOCHE_DOORMAN_GIT_INDEX_H

#include "doorman/judge.h"
#include "doorman/worker.h"

/* For a rename that was refused, with the lock held alone. False if it is not git
 * that renames index.lock to index, or that is not refused for this name alone.
 * Otherwise a copy of what is in the lock's place gets there, if all names in it are such
 * as git takes, and the lock vanishes; `answer` says what came of it. */
bool git_index_replace(struct worker *worker, const struct place *place, struct entry_name *source,
                       struct entry_name *target, struct answer *answer);

#endif
