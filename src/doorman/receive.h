/* Takes calls from the listener. Private to this room. */
#ifndef CLOCHE_DOORMAN_RECEIVE_H
#define CLOCHE_DOORMAN_RECEIVE_H

#include "doorman/house.h"

#include <linux/seccomp.h>

/* Callers are to wake us on their own processor: they wait, and we take turns. */
void receive_begin(const struct house *house);

/* Waits for the next one, and counts it in `taken`. False: there cannot be another. */
bool receive_call(const struct house *house, atomic_uint *taken, struct seccomp_notif *call);

#endif
