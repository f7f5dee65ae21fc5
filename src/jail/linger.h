/* What outlives a run by a moment. Private to this room. */
#ifndef CLOCHE_JAIL_LINGER_H
#define CLOCHE_JAIL_LINGER_H

/* In pid 1: its mount namespace is to end after the run, and not with it; and so is what
 * lies in the supervisor's end of the doorman's socket (-1: there is none), which is closed.
 * Returns the socket through which more can be put beside them; -1: nothing outlives the run. */
int linger(int outside);

/* What `fd` stands for is closed after the run, too, where nobody else has it by then. It stays open. */
void linger_too(int socket, int fd);

#endif
