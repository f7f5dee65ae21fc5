/* Programs that want a directory and all above it try to make each one, and nearly
 * all are there: unpacking npm packages, 13 of 14. What is there is not made,
 * before anything is said about whether it may be; so this says nothing that policy
 * could refuse, and an error grants nothing.
 *
 * The reader asks, who may not be made to wait: not by a disk, and not by the server of
 * a file system (which is asked for statfs, but not for what is known already). Where
 * "self" of /proc could be meant, which is somebody else for us, nothing is answered. */
#include "doorman/at_once.h"

#include "base/fd.h"
#include "doorman/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void at_once_begin(struct house *house)
{
    struct stat status;

    if (stat("/proc", &status) == 0)
        house->proc_device = status.st_dev;
}

static bool is_there(const struct house *house, const struct operand *operand)
{
    FD_CLEANUP int object = resolve_from_memory(operand);
    struct statx status;

    return object >= 0 && statx(object, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) == 0 &&
           makedev(status.stx_dev_major, status.stx_dev_minor) != house->proc_device;
}

int at_once(const struct house *house, const struct request *request)
{
    /* Somebody else may not be able to see it. */
    if (request->kind != REQUEST_MKDIR || request->other_user || !house->proc_device)
        return 0;
    return is_there(house, &request->operands[0]) ? EEXIST : 0;
}
