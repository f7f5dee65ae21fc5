/* Puts a copy of NAME.lock in the place of NAME. Private to this room. */
#ifndef CLOCHE_DOORMAN_REPLACE_H
#define CLOCHE_DOORMAN_REPLACE_H

#include "base/arena.h"
#include "doorman/house.h"

#include <sys/stat.h>

struct file_copy {
    struct slice content;
    struct stat status;
    bool exists;
    bool keeps_time; /* what is put in place is as old as this */
};

/* Is `lock` the path with ".lock" behind it? */
bool replace_is_lock_of(struct slice lock, struct slice path);

/* An errno, or 0. Nothing but a file is read, at most one byte more than `most`, and
 * nothing is waited for. */
int replace_copy(struct arena *arena, int directory, const char *name, size_t most, struct file_copy *copy);

/* Puts `from`, which was copied from the lock in `directory`, there as the file `path`,
 * with mode and owner of the old one if there is one. The lock vanishes. An errno, or 0. */
int replace_put(struct house *house, int directory, struct slice path, const struct file_copy *from,
                const struct file_copy *old);

#endif
