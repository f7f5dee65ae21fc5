/* The doorman: performs, on its own copy of the arguments, the operations that
 * neither mounts nor Landlock can judge: those on names that do not exist yet, and
 * on single sockets. */
#ifndef CLOCHE_DOORMAN_DOORMAN_H
#define CLOCHE_DOORMAN_DOORMAN_H

#include "plan/plan.h"

#include <stdatomic.h>
#include <sys/types.h>

/* The whole life of the doorman's process. `argument` is the plan (const struct
 * plan *); over `socket` come the listener of the command's filter and its
 * Landlock ruleset; over `records` goes what the supervisor is told (records.h; -1:
 * nothing is); `init` is pid 1 of the run, whose namespaces are entered; `taken`
 * counts the calls that were taken up, for the supervisor to see. */
void doorman_main(void *argument, int socket, int records, pid_t init, atomic_uint *taken);

/* In the supervisor, once that process has ended. */
void doorman_clear_away(void);

#endif
