/* Everything that is wrong with the policy files of one run, collected so that
 * all of it can be said at once. */
#ifndef CLOCHE_POLICY_PROBLEMS_H
#define CLOCHE_POLICY_PROBLEMS_H

#include "base/arena.h"
#include "base/slice.h"

struct problem {
    const char *file; /* path or name of the source, escaped */
    const char *path; /* JSON path: filesystem.allowRead[3]; "" for the whole file */
    const char *text; /* what was found, what is allowed, did you mean */
    bool warning;     /* said, but does not refuse */
};

struct problems {
    struct arena *arena;
    struct problem *items;
    size_t count;
    size_t capacity;
    size_t errors; /* those that are not warnings */
};

void problem_add(struct problems *problems, const char *file, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void warning_add(struct problems *problems, const char *file, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The nearest of `words` (NULL-terminated) by edit distance, case ignored, when
 * it is near enough to be meant; else NULL. */
const char *did_you_mean(struct slice found, const char *const *words);

#endif
