#include "doorman/receive.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* When the last process that could ask has ended, the kernel says so at once, each
 * time; what is left of the run should have the processors to itself. */
static void rest_if_nobody_is_left(int listener)
{
    struct pollfd polled = {.fd = listener, .events = POLLIN};

    if (poll(&polled, 1, 0) == 1 && polled.revents & POLLHUP) {
        for (;;)
            poll(NULL, 0, -1); /* until the supervisor ends us */
    }
}

void receive_begin(const struct house *house)
{
    uint64_t synchronous = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;

    ioctl(house->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, synchronous); /* since Linux 6.6 */
}

bool receive_call(const struct house *house, atomic_uint *taken, struct seccomp_notif *call)
{
    for (;;) {
        *call = (struct seccomp_notif){0};
        if (ioctl(house->listener, SECCOMP_IOCTL_NOTIF_RECV, call) == 0) {
            atomic_fetch_add(taken, 1);
            return true;
        }
        if (errno == ENOENT)
            rest_if_nobody_is_left(house->listener);
        else if (errno != EINTR)
            return false;
    }
}

bool receive_is_valid(const struct house *house, uint64_t id)
{
    return ioctl(house->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void receive_answer(const struct house *house, struct seccomp_notif_resp response)
{
    ioctl(house->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}
