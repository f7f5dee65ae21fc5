/* srt promises its commands TMPDIR=/tmp/claude and never makes it. We do, and
 * the last run that used it takes it away again: every run holds a shared lock on
 * the directory and asks for the exclusive one at its end. The sticky bit, which
 * means nothing on a directory only its owner can enter, marks the ones we made;
 * so a directory that a killed run left behind goes with the next run.
 *
 * /tmp belongs to everybody. What others put in this place is left alone. */
#include "session/scratch.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MADE_BY_US = 01700, MODE_BITS = 07777 };

/* Another run may take the directory away between our opening and locking it. */
static bool is_still_there(const char *path, int fd, struct stat *held)
{
    struct stat named;

    return fstat(fd, held) == 0 && lstat(path, &named) == 0 && held->st_ino == named.st_ino &&
           held->st_dev == named.st_dev;
}

/* Inside, root is an ordinary user: what counts is the owner, not access(). */
static bool is_usable(const struct stat *status)
{
    return status->st_uid == geteuid() || (status->st_mode & S_IRWXO) == S_IRWXO;
}

bool scratch_open(const char *path, struct scratch *scratch)
{
    enum { TRIES = 8 };
    struct stat status;

    *scratch = (struct scratch){.path = path, .fd = -1};
    for (int i = 0; i < TRIES; i++) {
        if (mkdir(path, MADE_BY_US) < 0 && errno != EEXIST)
            return false;
        int fd FD_CLEANUP = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
            return false;
        if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || !is_still_there(path, fd, &status))
            continue;
        scratch->fd = fd_take(&fd);
        return is_usable(&status);
    }
    return false;
}

void scratch_close(struct scratch *scratch)
{
    struct stat status;

    if (scratch->fd >= 0 && flock(scratch->fd, LOCK_EX | LOCK_NB) == 0 &&
        is_still_there(scratch->path, scratch->fd, &status) && (status.st_mode & MODE_BITS) == MADE_BY_US &&
        status.st_uid == geteuid())
        rmdir(scratch->path);
    fd_close(&scratch->fd);
}
