/* Programs that want a directory and all above it try to make each one, and nearly
 * all are there: unpacking npm packages, 13 of 14. What is there is not made,
 * before anything is said about whether it may be; so this says nothing that policy
 * could refuse, and an error grants nothing.
 *
 * The reader asks, who may not be made to wait: by RESOLVE_CACHED (Linux 5.12) the
 * kernel answers from memory or not at all. Where "self" of /proc could be meant, which
 * is somebody else for us, nothing is answered. */
#include "doorman/at_once.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
enum { RESOLVE_CACHED = 0x20 };
#endif

static bool is_there(const struct operand *operand)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS};
    int start = operand->base >= 0 ? operand->base : AT_FDCWD;
    FD_CLEANUP int object = (int)syscall(SYS_openat2, start, operand->path, &how, sizeof how);
    struct statfs status;

    return object >= 0 && fstatfs(object, &status) == 0 && status.f_type != PROC_SUPER_MAGIC;
}

int at_once(const struct request *request)
{
    /* Somebody else may not be able to see it. */
    if (request->kind != REQUEST_MKDIR || request->other_user)
        return 0;
    return is_there(&request->operands[0]) ? EEXIST : 0;
}
