/* Who works for a run beside it. This room starts nobody by itself and knows nothing
 * of what they do: session says, and is called at the right moments. */
#ifndef CLOCHE_JAIL_COMPANY_H
#define CLOCHE_JAIL_COMPANY_H

#include "base/error.h"

#include <sys/types.h>

/* A descriptor that the supervisor watches while it waits for the run to end. */
struct jail_watch {
    int fd;     /* -1: none, or not any more */
    bool vital; /* nothing is read from it: the run ends when nobody is at its other end any more */
    /* Called when there is something to be read. Must not wait. */
    void (*ready)(void *argument, struct jail_watch *watch);
    void *argument;
};

enum { JAIL_WATCHES_MAX = 16 };

enum { JAIL_PASSED_MAX = 32 }; /* descriptors beyond the standard ones that a command can be given */

/* Limits that a run can meet. */
enum jail_limit { JAIL_MEMORY, JAIL_PROCESSES, JAIL_OPEN_FILES, JAIL_FILE_SIZE, JAIL_TIME };

/* Whoever wants to know what happens to a run. */
struct jail_listener {
    /* One was hit; that is said on stderr in any case. */
    void (*limit)(void *argument, enum jail_limit limit, const char *words);
    /* What a step of the plan hides was replaced, and is hidden again; from its number of steps on: what the plan
     * awaited has come into being, and is hidden. Not `hidden`: a directory above it is a link now, which nobody
     * follows. */
    void (*renewed)(void *argument, size_t number, bool hidden);
    void *argument;
};

/* The filtered network. */
struct jail_network {
    void *argument;

    /* In the supervisor. */
    void (*begun)(void *argument, pid_t init); /* pid 1 exists, and has what it needs */

    /* Pid 1's end of a pair, which the supervisor sends to it and closes. */
    int inside;

    /* In pid 1, with its capabilities over its network namespace; `socket` is that
     * end. This record and what it leads to must be in memory that both share
     * (jail_shared). */
    bool (*set_up_inside)(void *argument, int socket, struct error *err);
    bool (*serve_inside)(void *argument, int socket); /* when it can be read; false: nobody is there any more */
};

/* While somebody is asked: everything inside is stopped. jail_run fills `control` in. */
struct jail_hold {
    int control; /* to pid 1; -1: there is no run */
    /* Everything stands still now; or could not be made to. */
    void (*held)(void *argument, bool still);
    /* Nothing has run since; or something has. */
    void (*looked)(void *argument, bool still);
    /* A signal came that is for the command: whoever sent it does not want to wait for an answer. */
    void (*disturbed)(void *argument);
    /* The run is over: the terminal is taken back from the command next. */
    void (*ended)(void *argument);
    void *argument;
};

/* All return at once; `held` and `looked` are called later. */
void jail_hold_all(const struct jail_hold *hold);
void jail_look_at_all(const struct jail_hold *hold);
void jail_release_all(const struct jail_hold *hold);

/* Masks that tell when they are touched. A mask is the node with the number of its
 * step in the plan. */
struct jail_tripwire {
    void *argument;
    /* In the supervisor: answers what the kernel asks on the FUSE device. Must not wait.
     * False: nobody will ask any more. */
    bool (*answer)(void *argument, int device);
};

#endif
