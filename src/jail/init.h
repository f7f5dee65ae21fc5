/* Pid 1 of the sandbox. */
#ifndef CLOCHE_JAIL_INIT_H
#define CLOCHE_JAIL_INIT_H

#include "jail/handed.h"
#include "jail/target.h"

struct init {
    struct target target;
    int control;          /* the socket to the supervisor */
    struct handed handed; /* its originals follow upon `control` */
    uid_t user;
    gid_t group;
    sigset_t early; /* signals that were there before this process */

    /* The Landlock-only backend. */
    pid_t supervisor;
    bool scoped; /* signals of ours reach nobody but the run */
    bool made_private_directory;
};

/* Sets the sandbox up, runs the command in it and reports. Never returns. */
_Noreturn void init_main(struct init *init);

#endif
