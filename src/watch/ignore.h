/* ignoreViolations, with srt's matching. */
#ifndef CLOCHE_WATCH_IGNORE_H
#define CLOCHE_WATCH_IGNORE_H

#include "watch/event.h"

/* Is this refusal one that the policy wants nothing told of? `command` is what was
 * run, in the words of the command line. */
bool event_is_ignored(const struct policy *policy, struct slice command, const struct event *event);

/* A refusal as srt words it: "deny openat /etc/x", "deny network-outbound host:80 (reason)". */
void event_write_srt_line(struct text *out, const struct event *event);

#endif
