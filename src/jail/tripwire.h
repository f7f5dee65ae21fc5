/* Masks that tell when they are touched: one FUSE file system with a node for each
 * hidden path. Private to this room.
 *
 * Pid 1 opens the device and begins the file system, because both must be of its
 * user namespace. The supervisor makes it, because the kernel then counts processes
 * as the host does, and keeps the device. Where any of this cannot be had, hidden
 * paths are hidden as well as ever, and nobody is told. */
#ifndef CLOCHE_JAIL_TRIPWIRE_H
#define CLOCHE_JAIL_TRIPWIRE_H

#include "jail/company.h"
#include "jail/mounts.h"

/* In the supervisor. */
struct tripwire {
    struct jail_tripwire *hooks; /* NULL: there is none */
    int socket;                  /* to pid 1, until it has a file system or will have none */
    int device;
};

/* A pair for it; `*inside` is pid 1's end. Where there is none, it is -1. */
void tripwire_open(struct tripwire *tripwire, int *inside);
/* The descriptor whose news are to be heard (POLLIN); -1: none. */
int tripwire_watched(const struct tripwire *tripwire);
void tripwire_hear(struct tripwire *tripwire);
/* Whoever waits for an answer gets an error. Must come before a wait for the end of the run. */
void tripwire_close(struct tripwire *tripwire);

/* In pid 1: asks the supervisor to make the file system. */
void tripwire_offer(struct mounts *mounts);
/* Waits for it, and has the kernel told of its nodes; `tree` is -1 if there is none. */
void tripwire_take(struct mounts *mounts, const struct plan *plan);

#endif
