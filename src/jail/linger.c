/* The end of a mount namespace takes long: every mount in it goes, and twice the
 * kernel waits for all processors. So does that of a filter, whose translation has to be
 * unmapped. They would be part of pid 1's end, or of cloche's, which whoever called it waits
 * for, though no process is left that could notice.
 *
 * So a descriptor of the namespace is put into a message that lies in a socket
 * which is itself only in that message; and with it the socket in which the filter's listener
 * lies, where nobody has taken it out. When pid 1 is gone nobody can ever read
 * it; the kernel's collector of such sockets finds it, in a thread of its own
 * (from 6.10; before, the end is what it was), and all of that ends there, a
 * moment later. If any of this is refused, nothing is lost but time.
 *
 * An inotify instance with watches is the slowest of all to close: the kernel waits until
 * nobody can be looking at one (up to 18 ms, measured), so it goes the same way. */
#include "jail/linger.h"

#include "base/fd.h"
#include "base/passing.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

int linger(int outside)
{
    enum { SOCKETS = 2, NAMESPACE = SOCKETS, OUTSIDE, ALL };
    int in_message[ALL];
    const char byte = 0;
    FD_CLEANUP int doorman = outside;
    FD_CLEANUP int namespace = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    /* The two stay open until the end: that starts the collector. */
    if (namespace < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, in_message) < 0)
        return -1;
    in_message[NAMESPACE] = namespace;
    in_message[OUTSIDE] = doorman;
    passing_send(in_message[0], &byte, sizeof byte, in_message, doorman < 0 ? OUTSIDE : ALL, MSG_DONTWAIT);
    return in_message[0];
}

/* Such instances end one after the other, and until then count as the user's, who has 128. So they do not
 * linger where many runs are about: of what a user has lying in sockets the kernel takes no more than the
 * sender may have files open. */
void linger_too(int socket, int fd)
{
    enum { LYING_MAX = 64 }; /* each run has five */
    const char byte = 0;
    struct rlimit before;

    if (getrlimit(RLIMIT_NOFILE, &before) < 0)
        return;
    const struct rlimit few = {before.rlim_cur < LYING_MAX ? before.rlim_cur : LYING_MAX, before.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &few) < 0)
        return;
    passing_send(socket, &byte, sizeof byte, &fd, 1, MSG_DONTWAIT);
    setrlimit(RLIMIT_NOFILE, &before);
}
