/* An advisory lock on an object that all runs of one user have in common, nobody
 * else can open, and no command: a POSIX message queue that nothing is ever sent
 * to. Its mode keeps other users out; it belongs to the ipc namespace of the host,
 * and a run has one of its own. So runs find each other also from different mount
 * namespaces (services with a /tmp of their own, snaps).
 *
 * A file would be left behind in somebody's directory, the project's own
 * directory can be locked by the command itself (some do that) and by whoever may
 * read it, and what is in /proc/self/ns by everybody on the host. The queue stays
 * until the host is shut down: a few hundred bytes of the kernel's.
 *
 * Another user may have taken the name; then the next one is ours. Where no queue
 * can be had, it is the host's mount namespace: all runs in it share that, and
 * somebody who holds it makes operations fail after a while, and lets none through. */
#include "doorman/lock.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Others hold it for microseconds; so the first looks follow closely. */
enum { QUICK_ATTEMPTS = 40, ATTEMPTS = 5000 };

enum { NAMES_MAX = 8 };

static int open_queue(unsigned number)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    struct stat status;
    char name[64];

    snprintf(name, sizeof name, number ? "/cloche-%u-%u" : "/cloche-%u", (unsigned)geteuid(), number);
    FD_CLEANUP int queue = mq_open(name, O_RDONLY | O_CREAT | O_CLOEXEC, 0600, &attributes);
    if (queue < 0 || fstat(queue, &status) < 0 || status.st_uid != geteuid() || status.st_mode & 077)
        return -1;
    return fd_take(&queue);
}

int lock_find(void)
{
    int found = -1;

    for (unsigned number = 0; found < 0 && number < NAMES_MAX; number++)
        found = open_queue(number);
    return found >= 0 ? found : open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
}

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
