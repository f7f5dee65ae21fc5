/* --pass-fd: descriptors that the command is to have. What they are is looked at
 * when the run is known (jail/handed_check.c). */
#ifndef CLOCHE_SESSION_PASSED_H
#define CLOCHE_SESSION_PASSED_H

#include "session/prepare.h"

/* To be asked before anything is opened. */
bool passed_are_open(const struct session_request *request, struct error *err);

/* Is none of them what cloche itself talks by? */
bool passed_are_apart(const struct session_request *request, struct error *err);

#endif
