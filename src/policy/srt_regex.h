/* Would JavaScript compile this regular expression (no flags), and how many
 * groups does it capture? Nothing here ever matches one. */
#ifndef CLOCHE_POLICY_SRT_REGEX_H
#define CLOCHE_POLICY_SRT_REGEX_H

#include "base/arena.h"
#include "base/slice.h"

/* NULL when it compiles, else the engine's words ("Unterminated group"). */
const char *srt_regex_check(struct arena *arena, struct slice pattern, size_t *groups);

#endif
