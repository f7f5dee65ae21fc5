/* What outlives a run by a moment. Private to this room. */
#ifndef CLOCHE_JAIL_LINGER_H
#define CLOCHE_JAIL_LINGER_H

/* In pid 1: its mount namespace is to end after it, and not with it. */
void linger_mounts(void);

#endif
