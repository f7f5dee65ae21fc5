/* The rules of srt's settings that span several keys. */
#ifndef CLOCHE_POLICY_SRT_RULES_H
#define CLOCHE_POLICY_SRT_RULES_H

#include "policy/problems.h"

#include <jansson.h>

/* `root` has the right types throughout; single values in it may still be ones
 * that were complained about. */
void srt_check_rules(const json_t *root, const char *file, struct problems *problems);

/* Refused by srt when it starts, not when it reads the file, so it is only
 * asked of a file without problems. */
#define SRT_EXCLUSIVE "network.tlsTerminate and network.mitmProxy are mutually exclusive"

/* Text of a policy as srt shows it, but fit for a terminal: control characters
 * escaped, backslashes as they are. */
const char *srt_shown(struct arena *arena, struct slice text);

#endif
