/* Pid 1 is born before it is known which descriptors the user names, and closes all
 * it inherits. So they are sent to it in one message, with the plan.
 *
 * Their numbers are the caller's choice, and may be those of descriptors that we
 * need ourselves. So they stay out of the way until the process of the command has
 * nothing else left: there each is put in its place, and what happens to stand there
 * steps aside. */
#include "jail/passed.h"

#include "base/fd.h"
#include "base/passing.h"
#include "jail/control.h"
#include "jail/handed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert((int)JAIL_PASSED_MAX <= (int)PASSING_MAX, "one message has room for all of them");

enum { FIRST = STDERR_FILENO + 1 };

void passed_begin(struct passed *passed, const int *numbers, size_t count)
{
    passed->count = count;
    for (size_t i = 0; i < count; i++) {
        passed->numbers[i] = passed->fds[i] = numbers[i];
        passed->originals[i] = -1;
    }
}

void passed_send(const struct passed *passed, int socket)
{
    if (passed->count > 0)
        descriptors_send(socket, passed->fds, passed->count);
}

bool passed_receive(struct passed *passed, int socket, struct error *err)
{
    size_t count = passed->count;
    ssize_t received;
    char mark;

    if (count == 0)
        return true;
    do
        received = passing_receive(socket, &mark, sizeof mark, passed->fds, &count, 0);
    while (received < 0 && errno == EINTR && (count = passed->count) > 0);
    if (received != (ssize_t)sizeof mark || count != passed->count) {
        passed->count = 0;
        return error_set(err, "cannot take the descriptors of --pass-fd over: the limit of open files may be too low "
                              "(ulimit -n)");
    }
    for (size_t i = 0; i < count; i++) {
        int again;
        if (!handed_open_again(passed->fds[i], &again))
            continue;
        passed->originals[i] = passed->fds[i];
        passed->fds[i] = again;
    }
    return true;
}

/* A number at or above the limit cannot be taken; limits_apply sets it anew. */
static bool make_room(const struct passed *passed, struct error *err)
{
    struct rlimit limit;
    int greatest = 0;

    if (passed->count == 0)
        return true;
    for (size_t i = 0; i < passed->count; i++)
        greatest = passed->numbers[i] > greatest ? passed->numbers[i] : greatest;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return error_set_errno(err, errno, "cannot read the limit of open files");
    if ((rlim_t)greatest >= limit.rlim_max)
        return error_set(err, "--pass-fd %d is beyond the hard limit of open files, %llu: raise it (ulimit -Hn)",
                         greatest, (unsigned long long)limit.rlim_max);
    if ((rlim_t)greatest < limit.rlim_cur)
        return true;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 || error_set_errno(err, errno, "cannot raise the limit of open files");
}

/* To where nothing is; if it belongs to another one, that comes later and makes it step
 * aside once more. */
static bool step_aside(int *fd, int from)
{
    return *fd != from || (*fd = fcntl(from, F_DUPFD_CLOEXEC, FIRST)) >= 0;
}

static bool put(int fd, int number)
{
    return fd == number ? fcntl(fd, F_SETFD, 0) == 0 : dup2(fd, number) >= 0;
}

static void sort(int *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && numbers[j - 1] > numbers[j]; j--) {
            int greater = numbers[j - 1];
            numbers[j - 1] = numbers[j];
            numbers[j] = greater;
        }
    }
}

static bool place(const struct passed *passed, int *doorman)
{
    size_t count = passed->count;
    int fds[JAIL_PASSED_MAX];
    int kept[JAIL_PASSED_MAX + 1];

    memcpy(fds, passed->fds, sizeof fds); /* this process shares its memory with pid 1 */
    for (size_t i = 0; i < count; i++) {
        int number = passed->numbers[i];
        for (size_t other = i + 1; other < count; other++) {
            if (!step_aside(&fds[other], number))
                return false;
        }
        if (!step_aside(doorman, number) || !put(fds[i], number))
            return false;
        kept[i] = number;
    }
    if (*doorman >= 0)
        kept[count++] = *doorman;
    sort(kept, count);
    return fd_close_others(kept, count);
}

bool passed_place(const struct passed *passed, int *doorman, struct error *err)
{
    return make_room(passed, err) &&
           (place(passed, doorman) || error_set_errno(err, errno, "cannot put the command's descriptors in order"));
}

void passed_let_go(struct passed *passed)
{
    for (size_t i = 0; i < passed->count; i++) {
        if (passed->originals[i] < 0)
            fd_close(&passed->fds[i]);
    }
}

void passed_give_back(const struct passed *passed)
{
    for (size_t i = 0; i < passed->count; i++) {
        if (passed->originals[i] >= 0)
            handed_give_back_one(passed->fds[i], passed->originals[i]);
    }
}
