/* A directory for temporary files that a run is promised, made on the host for
 * as long as runs need it. */
#ifndef CLOCHE_SESSION_SCRATCH_H
#define CLOCHE_SESSION_SCRATCH_H

#include <stdbool.h>

struct scratch {
    const char *path;
    int fd;    /* holds a shared lock; -1: there is none */
    bool made; /* by this run, which therefore tidies up */
};

/* Makes `path` if nothing is there. Whatever goes wrong, the run goes on without. */
void scratch_open(const char *path, struct scratch *scratch);

/* Takes away what scratch_open made, unless it holds something or another run
 * uses it. */
void scratch_close(struct scratch *scratch);

#endif
