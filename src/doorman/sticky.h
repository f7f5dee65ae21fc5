/* What the kernel does for the unwary in directories that everybody may write to
 * (fs.protected_symlinks, fs.protected_regular, fs.protected_fifos), where the
 * doorman opens or follows something in its place. Private to this room. */
#ifndef CLOCHE_DOORMAN_STICKY_H
#define CLOCHE_DOORMAN_STICKY_H

#include "doorman/house.h"
#include "doorman/request.h"

#include <sys/stat.h>

/* What is set on this host. */
void sticky_note(struct house *house);

/* May the link at the end of a path, which lies in `directory`, be followed? An errno, or 0. */
int sticky_judge_link(const struct house *house, const struct request *request, int directory, const struct stat *link);

/* May what is there be opened by a call that would have made it? An errno, or 0. */
int sticky_judge_open(const struct house *house, const struct request *request, int directory,
                      const struct stat *object);

#endif
