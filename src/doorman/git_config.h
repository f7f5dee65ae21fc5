/* Git replaces its configuration: what by is judged. Private to this room. */
#ifndef CLOCHE_DOORMAN_GIT_CONFIG_H
#define CLOCHE_DOORMAN_GIT_CONFIG_H

#include "doorman/judge.h"
#include "doorman/worker.h"

/* For a rename that was refused, with the lock held alone. False if it is not git
 * that renames config.lock to config, or that is not refused for this name alone.
 * Otherwise a copy of what is in the lock's place gets there, if its content may
 * stand there, and the lock vanishes; `answer` says what came of it. */
bool git_config_replace(struct worker *worker, const struct place *place, struct entry_name *source,
                        const struct entry_name *target, struct answer *answer);

/* For a change that was refused: does `git init` find out whether the file system has
 * modes, by making its configuration executable for a moment? Nobody executes it; and
 * git would write down that there are no modes. */
bool git_config_is_probed(const struct worker *worker, int object, const struct entry_name *entry);

#endif
