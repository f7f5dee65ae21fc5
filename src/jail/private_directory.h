/* A run's own directory for temporary files on the host, where no private /tmp
 * can be mounted. Private to this room. */
#ifndef CLOCHE_JAIL_PRIVATE_DIRECTORY_H
#define CLOCHE_JAIL_PRIVATE_DIRECTORY_H

#include "base/error.h"

/* Replaces the X's at the end of `path` by letters nobody can guess. */
bool private_directory_name(char *path, struct error *err);

bool private_directory_make(const char *path, struct error *err);

/* With all that is in it. The processes that could change it must be gone. */
void private_directory_remove(const char *path);

#endif
