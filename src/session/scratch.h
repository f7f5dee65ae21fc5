/* A directory for temporary files that a run is promised, made on the host for
 * as long as runs need it. */
#ifndef CLOCHE_SESSION_SCRATCH_H
#define CLOCHE_SESSION_SCRATCH_H

#include <stdbool.h>

struct scratch {
    const char *path;
    int fd; /* holds a shared lock; -1: there is none */
};

/* Makes `path` if nothing is there. False if this user cannot use what is: it is
 * somebody else's, a link, or no directory. */
bool scratch_open(const char *path, struct scratch *scratch);

/* Takes the directory away if a run made it, it is empty and no other run uses
 * it. */
void scratch_close(struct scratch *scratch);

#endif
