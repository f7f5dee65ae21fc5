/* The command itself, from its birth to execve. */
#ifndef CLOCHE_JAIL_TARGET_H
#define CLOCHE_JAIL_TARGET_H

#include "base/error.h"
#include "base/placement.h"
#include "jail/passed.h"
#include "plan/plan.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

struct target {
    const struct plan *plan;
    char *const *argv;

    /* What cloche itself was started with, and the command should be too. */
    sigset_t signal_mask;
    struct sigaction child_action;
    mode_t umask;
    struct rlimit open_files;

    /* Its place among processes and terminals. */
    bool own_group;   /* not in cloche's process group */
    bool no_terminal; /* no controlling terminal */

    struct placement placement; /* which processors cloche may use; {0}: wherever the kernel wants */

    struct passed passed; /* its descriptors beyond the standard ones */
    int doorman;          /* the socket to it; -1: there is none */

    /* Waits until all of the sandbox is there; NULL: it is. */
    bool (*complete)(void *argument, struct error *err);
    void *argument;

    /* A stop signal that came too early, to be sent again; 0: none. */
    int spared_stop;

    /* Why it was not executed: 125, 126 or 127; 0 if it was. */
    int status;
    struct error error;
};

/* False if there is no process; `target->status` tells whether it got as far as
 * the command. */
bool target_start(struct target *target, pid_t *pid, struct error *err);

#endif
