/* What outlives a run by a moment. Private to this room. */
#ifndef CLOCHE_JAIL_LINGER_H
#define CLOCHE_JAIL_LINGER_H

/* In pid 1: its mount namespace is to end after the run, and not with it; and so is what
 * lies in the supervisor's end of the doorman's socket (-1: there is none), which is closed. */
void linger(int outside);

#endif
