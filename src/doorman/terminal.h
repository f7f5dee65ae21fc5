/* /dev/tty: the caller's, not the doorman's. Private to this room. */
#ifndef CLOCHE_DOORMAN_TERMINAL_H
#define CLOCHE_DOORMAN_TERMINAL_H

#include "doorman/house.h"

#include <sys/types.h>

enum { TERMINAL_MAJOR = 5, TERMINAL_MINOR_OF_CALLER = 0 };

/* The controlling terminal of the caller, opened; -1 with errno ENXIO if it has none. */
int terminal_of_caller(const struct house *house, pid_t caller, int flags);

#endif
