/* What policy refuses, and somebody who is asked may allow. Private to this room. */
#ifndef CLOCHE_DOORMAN_APPEAL_H
#define CLOCHE_DOORMAN_APPEAL_H

#include "doorman/request.h"
#include "doorman/worker.h"

/* Has policy refused what was just performed, and can somebody be asked about it? */
bool appeal_is_open(const struct worker *worker, const struct answer *answer);

/* Performs it by a thread that no rules of the run bind: with what was granted, and with
 * what is granted to this very call when somebody is asked about it. */
struct answer appeal_perform(struct worker *worker, struct request *request);

#endif
