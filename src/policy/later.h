/* Names that no policy protects and that some program on the host takes its
 * orders from all the same, without being told to build or run the project. What is made
 * of them during a run is told of at its end. */
#ifndef CLOCHE_POLICY_LATER_H
#define CLOCHE_POLICY_LATER_H

#include "base/slice.h"

/* What obeys a file of this path, as words for people; NULL: nothing that is known. Pure, and quick to say NULL. */
const char *later_words(struct slice path);

/* A directory that may bring such files with it when it gets this name. */
bool later_is_prefix(struct slice path);

/* Files of a rebase or a cherry-pick that goes on: git reads in them what to run.
 * What they say has to be looked at. */
bool later_is_sequence(struct slice path);

/* Is it one of the ways to merge that git has by itself? Any other is a program of that name. */
bool later_is_own_strategy(struct slice name);

#endif
