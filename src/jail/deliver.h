/* Signals for the command, as pid 1 hands them over. Private to this room. */
#ifndef CLOCHE_JAIL_DELIVER_H
#define CLOCHE_JAIL_DELIVER_H

#include "jail/control.h"

#include <sys/types.h>

struct addressee {
    pid_t command;
    pid_t supervisors_group; /* cloche's process group, as pid 1 sees it */
};

/* Carries out what the supervisor orders. Every signal must be blocked. */
void deliver(const struct addressee *to, const struct order *order);

#endif
