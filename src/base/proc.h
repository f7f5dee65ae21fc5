/* The /proc that is mounted here. */
#ifndef CLOCHE_BASE_PROC_H
#define CLOCHE_BASE_PROC_H

#include <stdbool.h>

/* Does it speak of processes by the numbers that we know them by? In a pid namespace that was entered
 * without mounting one, or in a chroot with another's, the same number means another process. */
bool proc_is_own(void);

#endif
