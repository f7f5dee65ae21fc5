/* --events FILE|fd:N */
#ifndef CLOCHE_SESSION_EVENTS_TARGET_H
#define CLOCHE_SESSION_EVENTS_TARGET_H

#include "session/prepare.h"

/* Opens it, and puts what is needed of it into the request. Before the policy is
 * read: what is made here has to be there when the run is planned, to be kept out of the
 * command's reach. */
bool events_target_open(struct arena *arena, const char *text, struct session_request *request, struct error *err);

#endif
