/* What would allow a system call that is refused whatever it is about. */
#ifndef CLOCHE_SESSION_CALL_RULE_H
#define CLOCHE_SESSION_CALL_RULE_H

#include "session/prepare.h"
#include "watch/event.h"

/* Rule and hint of such an event; the texts are in `arena`. */
void call_find_rule(struct arena *arena, const struct session *session, struct event *event);

#endif
