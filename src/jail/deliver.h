/* Signals for the command, as pid 1 hands them over. Private to this room. */
#ifndef CLOCHE_JAIL_DELIVER_H
#define CLOCHE_JAIL_DELIVER_H

#include "jail/control.h"

#include <signal.h>
#include <sys/types.h>

struct addressee {
    pid_t command;
    pid_t supervisors_group; /* cloche's process group, as pid 1 sees it */
};

/* Carries out what the supervisor orders. Every signal must be blocked. */
void deliver(const struct addressee *to, const struct order *order);

/* What came before there was a command to come to, and the stop it was spared
 * until it was executed (0: none). */
void deliver_early(const struct addressee *to, const sigset_t *early, int stop);

/* In the child of vfork: stopped before it is executed, it would keep pid 1 waiting, who
 * is to report the stop. execve takes the handlers away; what they spared it (0: nothing)
 * pid 1 sends again. */
void deliver_spare_stops(void);
int deliver_spared_stop(void);

/* Takes a pending stop signal out of the caller's queue; 0: there is none. */
int deliver_take_stop(void);

#endif
