/* What is served before the doorman settles in. Private to this room. */
#ifndef CLOCHE_DOORMAN_FOYER_H
#define CLOCHE_DOORMAN_FOYER_H

#include "doorman/house.h"

#include <linux/seccomp.h>

/* Waits for the first call that wants more than is known here, and leaves it in `call`; needs the listener and the
 * host's /proc. False: there cannot be another. */
bool foyer_wait(const struct house *house, atomic_uint *taken, struct seccomp_notif *call);

#endif
