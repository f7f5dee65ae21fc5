/* An advisory lock on an object that all runs of one user have in common, nobody
 * else can open, and no command: a POSIX message queue that nothing is ever sent
 * to. Its mode keeps other users out; it belongs to the ipc namespace of the host,
 * and a run has one of its own. So runs find each other also from different mount
 * namespaces (services with a /tmp of their own, snaps).
 *
 * A file would be left behind in somebody's directory, the project's own
 * directory can be locked by the command itself (some do that) and by whoever may
 * read it, and what is in /proc/self/ns by everybody on the host.
 *
 * The last run takes the queue away: who uses it holds a second lock on it for as
 * long as it lives, shared, and who gets that one alone knows that nobody does. A
 * run that was killed leaves it to the next.
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

enum { NAMES_MAX = 8, OPENINGS_MAX = 100 };

struct queue_name {
    char text[64];
};

static struct queue_name name_queue(unsigned number)
{
    struct queue_name name;

    snprintf(name.text, sizeof name.text, number ? "/cloche-%u-%u" : "/cloche-%u", (unsigned)geteuid(), number);
    return name;
}

static bool is_ours(int queue, struct stat *status)
{
    return fstat(queue, status) == 0 && status->st_uid == geteuid() && !(status->st_mode & 077);
}

/* Says that the queue is used, or learns that it is not. It ends with the process. */
static bool note_use(int queue, short kind)
{
    struct flock whole = {.l_type = kind, .l_whence = SEEK_SET};

    return fcntl(queue, F_OFD_SETLK, &whole) == 0;
}

/* -1: it is somebody else's, or there are no queues. */
static int open_queue(unsigned number)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    const struct timespec pause = {.tv_nsec = 100000};

    for (int i = 0; i < OPENINGS_MAX; i++) {
        struct stat status;
        FD_CLEANUP int queue = mq_open(name_queue(number).text, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attributes);
        if (queue < 0 || !is_ours(queue, &status))
            return -1;
        /* Taken away between the two calls, it is nobody's common ground. */
        if (note_use(queue, F_RDLCK) && is_ours(queue, &status) && status.st_nlink > 0)
            return fd_take(&queue);
        nanosleep(&pause, NULL);
    }
    return -1;
}

int lock_find(void)
{
    int found = -1;

    for (unsigned number = 0; found < 0 && number < NAMES_MAX; number++)
        found = open_queue(number);
    return found >= 0 ? found : open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
}

void lock_clear_away(void)
{
    struct stat status;

    for (unsigned number = 0; number < NAMES_MAX; number++) {
        FD_CLEANUP int queue = mq_open(name_queue(number).text, O_RDWR | O_CLOEXEC);
        if (queue < 0 && errno == ENOENT)
            return;
        if (queue >= 0 && is_ours(queue, &status) && note_use(queue, F_WRLCK))
            mq_unlink(name_queue(number).text);
    }
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
