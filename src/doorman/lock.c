/* An advisory lock on the object of the host's mount namespace: it is there on
 * every host, all runs have the same, nothing is left behind, and no command can
 * open it, for inside there is another. A command could lock the project's own
 * directory, and some do. Somebody else on the host could take this one: then
 * operations fail after a while, and none is let through. */
#include "doorman/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

/* Others hold it for microseconds; so the first looks follow closely. */
enum { QUICK_ATTEMPTS = 40, ATTEMPTS = 5000 };

int lock_open(int self, int lock)
{
    char number[16];

    snprintf(number, sizeof number, "%d", lock);
    return openat(self, number, O_RDONLY | O_CLOEXEC);
}

bool lock_take(int lock, bool alone)
{
    int operation = alone ? LOCK_EX : LOCK_SH;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (flock(lock, operation | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        const struct timespec pause = {.tv_nsec = i < QUICK_ATTEMPTS ? 20000 : 1000000};
        nanosleep(&pause, NULL);
    }
    return false;
}

void lock_leave(int lock)
{
    flock(lock, LOCK_UN);
}
