/* A connection that the kernel cannot divert leads to a listener of the network
 * process's all the same: the doorman, who connects the caller's socket, connects
 * it there, and what it says before the caller's first byte is where the caller
 * wanted to go. Nothing depends on its truth: the network process asks the
 * supervisor about whatever is said, and the namespace has no other way out. A
 * connection that comes about without us (MSG_FASTOPEN) finds nobody.
 *
 * What the caller can tell: getpeername() gives the listener's address. */
#include "doorman/announce.h"

#include "host/tproxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum { LOOPBACK_V4 = 127 };

static bool is_tcp(int socket)
{
    int type;
    int protocol;
    socklen_t type_size = sizeof type;
    socklen_t protocol_size = sizeof protocol;

    return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM &&
           getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_size) == 0 &&
           (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP);
}

/* The same that host/tproxy.h leaves alone. */
static bool stays_inside_v4(uint32_t address)
{
    return address >> 24 == LOOPBACK_V4 || address == INADDR_ANY || address == TPROXY_OWN_ADDRESS_V4;
}

static bool set_v4(struct tproxy_announcement *announcement, const void *bytes)
{
    uint32_t address;

    memcpy(&address, bytes, sizeof address);
    memcpy(announcement->address, bytes, sizeof address);
    return !stays_inside_v4(ntohl(address));
}

static bool set_v6(struct tproxy_announcement *announcement, const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address))
        return set_v4(announcement, address->s6_addr + 12);
    announcement->v6 = 1;
    memcpy(announcement->address, address, sizeof *address);
    return !IN6_IS_ADDR_LOOPBACK(address) && !IN6_IS_ADDR_UNSPECIFIED(address);
}

static void set_listener(bool v6_socket, bool v6, struct sockaddr_storage *address, socklen_t *length)
{
    struct sockaddr_in listener = {
        .sin_family = AF_INET, .sin_port = htons(TPROXY_PORT), .sin_addr.s_addr = htonl(TPROXY_ADDRESS_V4)};
    struct sockaddr_in6 listener_v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(TPROXY_PORT), .sin6_addr = tproxy_address_v6};

    if (!v6_socket) {
        memcpy(address, &listener, sizeof listener);
        *length = sizeof listener;
        return;
    }
    if (!v6) {
        listener_v6.sin6_addr = (struct in6_addr){{{[10] = 0xff, [11] = 0xff}}};
        memcpy(listener_v6.sin6_addr.s6_addr + 12, &listener.sin_addr, sizeof listener.sin_addr);
    }
    memcpy(address, &listener_v6, sizeof listener_v6);
    *length = sizeof listener_v6;
}

bool announce_wanted(const struct plan *plan, int socket, struct sockaddr_storage *address, socklen_t *length,
                     struct tproxy_announcement *announcement)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    bool leaves = false;

    *announcement = (struct tproxy_announcement){0};
    if (!plan->announced || !*plan->announced)
        return false;
    if (address->ss_family == AF_INET && *length >= sizeof *v4) {
        announcement->port = v4->sin_port;
        leaves = set_v4(announcement, &v4->sin_addr);
    } else if (address->ss_family == AF_INET6 && *length >= sizeof *v6) {
        announcement->port = v6->sin6_port;
        leaves = set_v6(announcement, &v6->sin6_addr);
    }
    /* Name servers have listeners of their own. */
    if (!leaves || announcement->port == htons(TPROXY_DNS_PORT) || !is_tcp(socket))
        return false;
    set_listener(address->ss_family == AF_INET6, announcement->v6 != 0, address, length);
    return true;
}

/* Established, and so that another connect() of the caller's does not count as the first. */
static int wait_for(int socket, const struct sockaddr_storage *address, socklen_t length)
{
    enum { ROUNDS = 2000 };
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < ROUNDS; i++) {
        if (connect(socket, (const struct sockaddr *)address, length) == 0)
            return 0;
        if (errno != EALREADY)
            return errno;
        nanosleep(&moment, NULL);
    }
    return ETIMEDOUT;
}

int announce(int socket, int connected, const struct sockaddr_storage *address, socklen_t length,
             const struct tproxy_announcement *announcement)
{
    struct iovec part = {(void *)(uintptr_t)announcement, sizeof *announcement};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (connected && connected != EINPROGRESS)
        return connected;
    int error = connected ? wait_for(socket, address, length) : 0;
    if (error)
        return error;
    /* A fresh connection has room for it. */
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof *announcement)
        return ECONNREFUSED;
    return connected;
}
