/* The end of a mount namespace takes long: every mount in it goes, and twice the
 * kernel waits for all processors. It would be part of pid 1's end, which cloche
 * and whoever called it wait for, though no process is left that could notice.
 *
 * So a descriptor of the namespace is put into a message that lies in a socket
 * which is itself only in that message. When pid 1 is gone nobody can ever read
 * it; the kernel's collector of such sockets finds it, in a thread of its own
 * (from 6.10; before, pid 1's end is what it was), and the namespace ends there, a
 * moment later. If any of this is refused, nothing is lost but time. */
#include "jail/linger.h"

#include "base/fd.h"
#include "base/passing.h"

#include <fcntl.h>
#include <sys/socket.h>

void linger_mounts(void)
{
    int in_message[3];
    const char byte = 0;
    FD_CLEANUP int namespace = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    /* The two stay open until the end: that starts the collector. */
    if (namespace < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, in_message) < 0)
        return;
    in_message[2] = namespace;
    passing_send(in_message[0], &byte, sizeof byte, in_message, 3, MSG_DONTWAIT);
}
