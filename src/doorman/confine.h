/* What the doorman's own process and threads may do. Private to this room. */
#ifndef CLOCHE_DOORMAN_CONFINE_H
#define CLOCHE_DOORMAN_CONFINE_H

#include "doorman/house.h"

/* The process before it enters the sandbox: not even root's has a capability. */
bool confine_foyer(void);

/* The whole process, in the sandbox's namespaces: of all capabilities over them,
 * those that the reader and the fetcher need, and what performers may keep. */
bool confine_doorman(const struct house *house);

/* The calling thread, which starts performers, has no more than they may keep. */
bool confine_starter(const struct house *house);

/* The calling thread: no capability but those the command has, and, for files,
 * the run's Landlock rules. */
bool confine_performer(const struct house *house, bool files);

#endif
