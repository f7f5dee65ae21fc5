/* Processes that work for a run beside it, in no namespace of its: started when
 * pid 1 exists, ended with the run. When one ends earlier, the run ends. What
 * they do is not this room's matter: session says. */
#ifndef CLOCHE_JAIL_ATTENDANT_H
#define CLOCHE_JAIL_ATTENDANT_H

#include "base/error.h"

#include <sys/types.h>

struct attendant {
    const char *name; /* for messages: "the doorman" */
    /* Runs in the attendant's own process and never returns. `socket` leads to the
     * inside: pid 1, or the command before its execve, sends descriptors over it. All other
     * descriptors are closed, signals are blocked, and it dies with the supervisor. */
    void (*main)(void *argument, int socket, pid_t init);
    void *argument;
};

/* One that has been started, or is to be. */
struct attending {
    const struct attendant *attendant; /* NULL: there is none */
    int socket;                        /* to the inside, until it has it */
    pid_t pid;
    int pidfd; /* readable when it has ended; -1: there is none */
};

/* The process, once pid 1 exists. */
bool attending_start(struct attending *attending, pid_t init, struct error *err);

/* Kills it; it ends while others do. */
void attending_kill(const struct attending *attending);

/* Kills and reaps it; closes what is open. */
void attending_end(struct attending *attending);

/* In pid 1 or the command: sends descriptors (at most four; negative ones are left out). */
bool attending_send(int socket, const int *descriptors, size_t count, struct error *err);

#endif
