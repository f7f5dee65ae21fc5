/* srt promises its commands TMPDIR=/tmp/claude and never makes it. We do, and
 * take it away again when it is empty and no other run holds it: every run holds
 * a shared lock on the directory, the one that made it asks for the exclusive
 * one at its end.
 *
 * /tmp belongs to everybody. A link or a directory of somebody else's in this
 * place is left alone: the run then has no writable TMPDIR, as under srt. */
#include "session/scratch.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another run may take the directory away between our opening and locking it. */
static bool is_still_there(const char *path, int fd)
{
    struct stat held;
    struct stat named;

    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

void scratch_open(const char *path, struct scratch *scratch)
{
    enum { TRIES = 8 };

    *scratch = (struct scratch){.path = path, .fd = -1};
    for (int i = 0; i < TRIES; i++) {
        scratch->made = mkdir(path, 0700) == 0;
        int fd FD_CLEANUP = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
            return;
        if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || !is_still_there(path, fd))
            continue;
        scratch->fd = fd_take(&fd);
        return;
    }
    scratch->made = false;
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->fd >= 0 && scratch->made && flock(scratch->fd, LOCK_EX | LOCK_NB) == 0 &&
        is_still_there(scratch->path, scratch->fd))
        rmdir(scratch->path);
    fd_close(&scratch->fd);
}
