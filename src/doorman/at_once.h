/* Answers that need nobody to perform anything. Private to this room. */
#ifndef CLOCHE_DOORMAN_AT_ONCE_H
#define CLOCHE_DOORMAN_AT_ONCE_H

#include "doorman/house.h"
#include "doorman/request.h"

/* Once names mean what they mean to the command. */
void at_once_begin(struct house *house);

/* An errno that the caller gets whatever policy says; 0: it has to be performed. Never waits. */
int at_once(const struct house *house, const struct request *request);

#endif
