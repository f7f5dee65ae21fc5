/* What the parts of the race harness share. See race.c. */
#ifndef CLOCHE_TESTS_RACE_H
#define CLOCHE_TESTS_RACE_H

#include <stdbool.h>
#include <sys/types.h>

/* What a victim's call is made on, while somebody else exchanges it. The directory
 * that this run made is `ours`: it can be tidied up there by descriptor, which
 * nobody exchanges. */
struct aim {
    int directory;    /* the call's directory, AT_FDCWD for paths */
    const char *path; /* in memory that may change at any moment */
    int ours;
};

/* One call of the victim's. `name` is a protected name, which only `ours` may hold.
 * `try` returns the call's result, then undoes what it did in `ours`. */
struct race_call {
    const char *name, *file;
    bool is_there; /* the file is there before, in both directories */
    long (*try)(const struct aim *aim);
};

extern const struct race_call race_calls[];

/* Makes the socket that `connect` may reach, and serves it. */
void race_serve(int ours);

/* Runs `body` under a supervisor that does what no supervisor should: it reads the
 * path, looks where it leads, and lets the kernel read it again. `ours` is the one
 * directory where protected names may be. Returns the status of the body. */
int race_under_racy_supervisor(int ours, int (*body)(void *argument), void *argument);

/* See race_content.c. Returns the status of the program. */
int race_content(long milliseconds, bool racy);

#endif
