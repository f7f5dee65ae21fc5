/* SCM_RIGHTS, which is easily got wrong: room for the header, its alignment, what
 * comes although it was not expected, and what is lost when there is no room. */
#include "base/passing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

union control {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(PASSING_MAX * sizeof(int))];
};

/* A user may have only so many descriptors on their way between processes. Where others have them,
 * as many runs at once do, they arrive within a moment. */
static ssize_t send_soon(int socket, const struct msghdr *message, int flags)
{
    enum { TRIES_MAX = 200 };
    const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};

    for (int tries = 1;; tries++) {
        ssize_t sent = sendmsg(socket, message, flags);
        if (sent >= 0 || errno != ETOOMANYREFS || tries == TRIES_MAX)
            return sent;
        nanosleep(&moment, NULL);
    }
}

ssize_t passing_send(int socket, const void *record, size_t size, const int *fds, size_t count, int flags)
{
    union control control = {0};
    struct iovec part = {(void *)(uintptr_t)record, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (count > PASSING_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    }
    return send_soon(socket, &message, MSG_NOSIGNAL | flags);
}

/* How many of the descriptors in a message fit; the others are closed. */
static size_t take(struct msghdr *message, int *fds, size_t room, bool *too_many)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    size_t kept = 0;

    *too_many = (message->msg_flags & MSG_CTRUNC) != 0;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
        if (kept < room) {
            fds[kept++] = fd;
        } else {
            *too_many = true;
            close(fd);
        }
    }
    return kept;
}

ssize_t passing_receive(int socket, void *record, size_t size, int *fds, size_t *count, int flags)
{
    union control control;
    struct iovec part = {record, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    size_t room = *count;
    bool too_many;

    *count = 0;
    ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    if (received < 0)
        return -1;
    *count = take(&message, fds, room, &too_many);
    if (!too_many)
        return received;
    while (*count > 0)
        close(fds[--*count]);
    errno = EMSGSIZE;
    return -1;
}
