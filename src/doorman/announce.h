/* Where the kernel has no TPROXY: connections that leave the sandbox are led to
 * the network process, and it is told where to. Private to this room. */
#ifndef CLOCHE_DOORMAN_ANNOUNCE_H
#define CLOCHE_DOORMAN_ANNOUNCE_H

#include "host/tproxy.h"
#include "plan/plan.h"

#include <sys/socket.h>

/* Must a connection of this socket to `address` be announced? Then `address` is
 * where to connect it instead. */
bool announce_wanted(const struct plan *plan, int socket, struct sockaddr_storage *address, socklen_t *length,
                     struct tproxy_announcement *announcement);

/* After connect(), which ended with the errno `connected` (0, EINPROGRESS, or a
 * failure). The errno for the caller. */
int announce(int socket, int connected, const struct sockaddr_storage *address, socklen_t length,
             const struct tproxy_announcement *announcement);

#endif
