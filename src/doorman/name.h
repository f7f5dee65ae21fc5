/* What a descriptor is called inside the sandbox. Private to this room. */
#ifndef CLOCHE_DOORMAN_NAME_H
#define CLOCHE_DOORMAN_NAME_H

#include "base/slice.h"
#include "doorman/house.h"

#include <limits.h>

/* What the kernel puts behind a name that is gone. */
#define NAME_DELETED " (deleted)"

struct name {
    /* NAME_NONE: a pipe, a memory file, something deleted. NAME_FOREIGN: an object of
     * a mount that is nowhere in the sandbox: its text is no name in here. */
    enum { NAME_KNOWN, NAME_NONE, NAME_FOREIGN, NAME_DOUBTFUL } kind;
    char text[PATH_MAX];
    size_t length;
    bool was_named; /* NAME_NONE: it was in the sandbox's tree, and is deleted; `text` says as what */
    bool is_lifted; /* judged to be writable only because this run made the directory */
};

static inline struct slice name_slice(const struct name *name)
{
    return (struct slice){name->text, name->length};
}

/* Finds out which mounts the sandbox's tree has: once, in its mount namespace.
 * None comes or goes while the command runs. */
bool name_note_mounts(struct house *house);

/* NAME_DOUBTFUL: it has had a name that is gone, and has others that cannot be
 * found out; or its name is too long. Nothing about it can be judged. */
void name_of(const struct house *house, int fd, struct name *name);

/* Behind the name of a directory, one more component. False if it gets too long. */
bool name_append(struct name *name, struct slice component);

#endif
