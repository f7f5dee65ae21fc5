/* Why something was refused, and what would allow it. */
#ifndef CLOCHE_SESSION_EVENT_RULE_H
#define CLOCHE_SESSION_EVENT_RULE_H

#include "session/prepare.h"
#include "watch/event.h"

/* Fills in rule, reason and hint of a refusal where the event has none, from what
 * explain would say; the texts are in `arena`. `with_hint`: a hint costs a moment,
 * because it is tried. */
void event_find_rule(struct arena *arena, const struct session *session, bool with_hint, struct event *event);

#endif
