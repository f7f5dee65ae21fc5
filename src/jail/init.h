/* Pid 1 of the sandbox. */
#ifndef CLOCHE_JAIL_INIT_H
#define CLOCHE_JAIL_INIT_H

#include "base/placement.h"
#include "jail/company.h"
#include "jail/handed.h"
#include "jail/hold.h"
#include "jail/outset.h"
#include "jail/session_tmp.h"
#include "jail/target.h"

struct beginning;

struct init {
    struct target target;
    int outside;                  /* the supervisor's end of the doorman's socket; -1: there is none */
    int lingering;                /* where what outlives the run is put (linger.h) */
    int control;                  /* the socket to the supervisor */
    struct handed handed;         /* its originals follow upon `control` */
    struct jail_network *network; /* NULL: the network is not filtered */
    int inside;                   /* the network's socket; follows upon `handed` */
    int scratch;  /* what masks are renewed from; follows upon `inside`; -1: there is nothing to renew */
    int whole;    /* the host's tree for the doorman, which follows upon that; -1: it needs none */
    int tripwire; /* the tripwire's socket, as the supervisor has it; -1: there is none */
    struct session_trees session; /* what it shares with others, as the supervisor has it */
    struct standstill hold;
    sigset_t early;              /* signals that were there before this process */
    struct beginning *beginning; /* what it has begun with; NULL: without namespaces */

    /* The Landlock-only backend. */
    pid_t supervisor;
    bool scoped; /* signals of ours reach nobody but the run */
    bool made_private_directory;
};

/* Sets the sandbox up, runs the command in it and reports. Never returns.
 *
 * As pid 1 it begins with what `outset` says, and looks at `init` when it is
 * ordered to start (ORDER_START): until then the supervisor may be writing it.
 * `doorman` is the supervisor's end of a socket and that for the command's process, which were
 * made before `control`. */
_Noreturn void init_in_namespaces(const struct outset *outset, const struct placement *placement, const int doorman[2],
                                  int control, const struct init *init);
_Noreturn void init_confined(struct init *init);

#endif
