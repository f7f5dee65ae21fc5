/* A process that works for a run beside it: started when a system call of the
 * command first waits for it, ended with the run. When it ends earlier, the run
 * ends, and so it does when it takes no more calls up. What it does is not this room's
 * matter: session says. */
#ifndef CLOCHE_JAIL_ATTENDANT_H
#define CLOCHE_JAIL_ATTENDANT_H

#include "base/error.h"
#include "jail/deadline.h"

#include <stdatomic.h>
#include <sys/types.h>

struct attendant {
    const char *name; /* for messages: "the doorman" */
    /* Runs in the attendant's own process and never returns. `socket` leads to the
     * inside: the command, before its execve, sends descriptors over it, the listener of its
     * filter first. It has these two descriptors, the standard ones of the supervisor and no
     * others, signals are blocked, and it dies with the supervisor. It counts in `taken` the
     * calls that it takes up. */
    void (*main)(void *argument, int socket, int kept, pid_t init, atomic_uint *taken);
    void *argument;
    int kept;            /* one of the supervisor's that it keeps as well; -1: none */
    bool at_once;        /* the command waits for it before its execve */
    bool asked_early;    /* any call of the command's process may have to wait for it, before its execve, too */
    void (*ended)(void); /* once it has been there and is no more; NULL: nothing is left to be done */
};

/* One that has been started, or is to be. */
struct attending {
    const struct attendant *attendant; /* NULL: there is none */
    int socket;                        /* to the inside, until it has it */
    int listener;                      /* readable when a call waits for it; -1: not known, or of no more use */
    pid_t pid;
    int pidfd;          /* readable when it has ended */
    atomic_uint *taken; /* how many calls it has taken up; memory of both */
    unsigned taken_before;
    unsigned idle_looks;  /* how often calls waited, and none was taken up since the look before */
    struct deadline next; /* look, when calls waited at the last */
    bool deserted;        /* nobody is left who could ask: the run is about to end */
};

/* Once pid 1 exists. */
bool attending_begin(struct attending *attending, pid_t init, struct error *err);

/* Once the command is there, and its filter with it. Not before, unless it may be asked early: whoever sends the
 * listener would have to wait until the supervisor has heard of it, if they share a processor. */
void attending_look(struct attending *attending);

/* The descriptor whose news are to be heard (POLLIN); -1: none. */
int attending_watched(const struct attending *attending);

/* Where it can be seen that calls wait for it (POLLIN); -1: nowhere, or it was looked at a moment ago. */
int attending_calls(const struct attending *attending);

/* How long poll may wait for the next look, if others let it wait for `patience`; -1: for ever. */
int attending_patience(const struct attending *attending, int patience);

/* `events` is what poll said of the above. False: calls wait, and for a long time none was taken up. */
bool attending_answers(struct attending *attending, short events);

/* ATTENDING_ENDED: the process has ended. ATTENDING_FAILED: it could not be started, for
 * the reason in `err`. */
enum attending_news { ATTENDING_GOES_ON, ATTENDING_ENDED, ATTENDING_FAILED };
enum attending_news attending_hear(struct attending *attending, short events, pid_t init, struct error *err);

/* Kills it; it ends while others do. */
void attending_kill(const struct attending *attending);

/* Kills and reaps it; closes what is open. */
void attending_end(struct attending *attending);

/* In pid 1 or the command: sends descriptors (at most four; negative ones are left out). */
bool attending_send(int socket, const int *descriptors, size_t count, struct error *err);

#endif
