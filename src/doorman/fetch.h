/* Looks up entries of /proc that only a tracer of their process may, for
 * performers, who may not. Private to this room. */
#ifndef CLOCHE_DOORMAN_FETCH_H
#define CLOCHE_DOORMAN_FETCH_H

#include "doorman/house.h"

#include <limits.h>
#include <sys/types.h>

/* For `caller`, `entry` of `directory` (O_PATH, in the sandbox's /proc), links that lead out of
 * /proc followed, as O_PATH. An errno, or 0. */
int fetch_entry(const struct house *house, pid_t caller, int directory, const char *entry, int *fd);

/* Opens for reading what stands in `directory`, of a task of the run, in /proc: its memory, say, or its variables. An
 * errno, or 0. */
int fetch_open(const struct house *house, pid_t caller, int directory, int object, int *fd);

/* What "self" (or, with `thread`, "thread-self") means to the caller. */
int fetch_self(const struct house *house, pid_t caller, bool thread, char *text, size_t size);

/* `terminal`: the minor number of its controlling one if that is a pseudo-terminal, else -1. */
struct session {
    pid_t id;
    int terminal;
};

/* The session of the caller. An errno, or 0; ENXIO if it has no terminal. */
int fetch_session(const struct house *house, pid_t caller, struct session *session);

/* Likewise, for who may look by himself: `proc` is the host's /proc. */
int fetch_read_session(int proc, pid_t caller, struct session *session);

/* Who a caller is, for the supervisor; what cannot be found out is 0 or empty. The
 * programs are what they really execute, as the sandbox names it. */
struct caller {
    pid_t process;
    pid_t parent;
    char program[PATH_MAX];
    size_t program_length;
    char parent_program[PATH_MAX];
    size_t parent_program_length;
};

void fetch_caller(const struct house *house, pid_t thread, struct caller *caller);

/* The thread that fetches; it is started with the capability. */
bool fetch_start(struct house *house);

#endif
