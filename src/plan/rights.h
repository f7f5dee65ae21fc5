/* Rights that more than one process of a run is given or denied: named once, so
 * that the locks of all of them are the same. */
#ifndef CLOCHE_PLAN_RIGHTS_H
#define CLOCHE_PLAN_RIGHTS_H

#include <linux/capability.h>
#include <linux/landlock.h>

/* What `rootCapabilities: files` leaves a root; all of them are among the first 32. */
enum {
    FILE_CAPABILITIES =
        1 << CAP_CHOWN | 1 << CAP_DAC_OVERRIDE | 1 << CAP_FOWNER | 1 << CAP_FSETID | 1 << CAP_SETUID | 1 << CAP_SETGID
};

/* All that ABI 2 of Landlock knows of changing files; what came later (truncation)
 * is added where it is wanted. */
#define CHANGE_RIGHTS                                                                                 \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |       \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |    \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

#endif
