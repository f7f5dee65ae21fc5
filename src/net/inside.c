/* The sockets that stand inside and are served from outside: made here with the
 * capabilities pid 1 has over its network namespace, and sent to N. A socket
 * belongs to the namespace it was made in, whoever holds it; so no relay is
 * needed inside.
 *
 * Where there is IPv6, one socket serves both families (IPv4 as ::ffff:a.b.c.d),
 * except the transparent ones. All ports are taken before the command exists, and
 * those below 1024 it could not take anyway. */
#include "net/inside.h"

#include "base/fd.h"
#include "base/passing.h"
#include "host/tproxy.h"
#include "net/netns.h"
#include "net/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sockets that are made and not sent yet. */
struct outgoing {
    int socket; /* where to */
    int alarm;  /* watches them as well; -1: none does */
    struct net_handed handed;
    int fds[NET_HANDED_MAX];
};

bool net_hand_over(int socket, const struct net_handed *handed, const int *fds, struct error *err)
{
    if (passing_send(socket, handed, sizeof *handed, fds, handed->count, MSG_DONTWAIT) != (ssize_t)sizeof *handed)
        return error_set_errno(err, errno, "cannot hand the sandbox's sockets to the network process");
    return true;
}

static void close_all(struct outgoing *outgoing)
{
    for (size_t i = 0; i < outgoing->handed.count; i++)
        fd_close(&outgoing->fds[i]);
    outgoing->handed.count = 0;
}

static bool flush(struct outgoing *outgoing, bool last, struct error *err)
{
    outgoing->handed.last = last;
    bool sent = net_hand_over(outgoing->socket, &outgoing->handed, outgoing->fds, err);
    close_all(outgoing);
    return sent;
}

static bool turn_on(int fd, int level, int option)
{
    const int on = 1;

    return setsockopt(fd, level, option, &on, sizeof on) == 0;
}

/* Answers come from the address that was asked, which is nobody's. */
static bool tell_destinations(int fd, bool v6)
{
    return v6 ? turn_on(fd, SOL_IPV6, IPV6_RECVPKTINFO) && turn_on(fd, SOL_IPV6, IPV6_FREEBIND)
              : turn_on(fd, SOL_IP, IP_PKTINFO);
}

static bool bind_to(int fd, const struct net_socket *socket)
{
    bool transparent = socket->role == NET_ROLE_TRANSPARENT;
    bool intercepts = transparent || socket->role == NET_ROLE_ANNOUNCED;

    if (socket->v6) {
        struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                       .sin6_port = htons(socket->port),
                                       .sin6_addr = intercepts ? tproxy_address_v6 : in6addr_any};
        return (!intercepts || turn_on(fd, SOL_IPV6, transparent ? IPV6_TRANSPARENT : IPV6_FREEBIND)) &&
               bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    }
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(socket->port),
                                  .sin_addr.s_addr = htonl(intercepts ? TPROXY_ADDRESS_V4 : INADDR_ANY)};
    return (!transparent || turn_on(fd, SOL_IP, IP_TRANSPARENT)) &&
           bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

/* Inherited by the connections that are accepted. Nothing gets lost or crowded between here and N, so no
 * algorithm has to find out what the wire takes, and none has to pace (as BBR would). */
static void suit_loopback(int fd)
{
    static const char simplest[] = "reno";

    (void)turn_on(fd, IPPROTO_TCP, TCP_NODELAY);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, simplest, sizeof simplest - 1);
}

static bool set_up(int fd, const struct net_socket *socket)
{
    enum { BACKLOG = 4096 };

    if (socket->role == NET_ROLE_OUTLET)
        return true;
    if (socket->role == NET_ROLE_DNS_UDP)
        return tell_destinations(fd, socket->v6) && bind_to(fd, socket);
    suit_loopback(fd);
    return bind_to(fd, socket) && listen(fd, BACKLOG) == 0;
}

static bool make(struct outgoing *outgoing, enum net_role role, uint16_t port, bool v6, struct error *err)
{
    struct net_socket wanted = {.role = (uint16_t)role, .port = port, .v6 = v6};
    int type = role == NET_ROLE_DNS_UDP ? SOCK_DGRAM : SOCK_STREAM;

    if (outgoing->handed.count == NET_HANDED_MAX && !flush(outgoing, false, err))
        return false;
    FD_CLEANUP int fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !set_up(fd, &wanted))
        return error_set_errno(err, errno, "cannot make a socket for port %u inside the sandbox", (unsigned)port);
    struct epoll_event event = {.events = EPOLLIN};
    if (outgoing->alarm >= 0 && role != NET_ROLE_OUTLET && epoll_ctl(outgoing->alarm, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_set_errno(err, errno, "cannot watch a socket inside the sandbox");
    outgoing->handed.sockets[outgoing->handed.count] = wanted;
    outgoing->fds[outgoing->handed.count++] = fd_take(&fd);
    return true;
}

static bool make_host_ports(struct outgoing *outgoing, const struct net_inside *inside, bool v6, struct error *err)
{
    for (size_t i = 0; i < inside->host_port_count; i++) {
        if (!make(outgoing, NET_ROLE_HOST_PORT, inside->host_ports[i], v6, err))
            return false;
    }
    return true;
}

/* A server inside may listen on 127.0.0.1 or on ::1. */
static bool make_outlets(struct outgoing *outgoing, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        bool v6 = i % 2 == 1;
        if (!make(outgoing, NET_ROLE_OUTLET, 0, v6, err) && !(v6 && errno == EAFNOSUPPORT))
            return false;
    }
    return true;
}

static bool hand_alarm(int socket, int alarm, struct error *err)
{
    const struct net_handed handed = {.count = 1, .sockets = {{.role = NET_ROLE_ALARM}}};

    if (alarm < 0)
        return error_set_errno(err, errno, "cannot watch the sockets inside the sandbox");
    return net_hand_over(socket, &handed, &alarm, err);
}

int net_alarm_receive(int socket)
{
    struct net_handed handed;
    int alarm = -1;
    size_t count = 1;

    if (passing_receive(socket, &handed, sizeof handed, &alarm, &count, MSG_DONTWAIT) == (ssize_t)sizeof handed &&
        handed.count == 1 && handed.sockets[0].role == NET_ROLE_ALARM)
        return alarm;
    fd_close(&alarm);
    return -1;
}

/* Without it less is told, and nothing more is allowed. */
static bool make_datagram_log(struct outgoing *outgoing, bool logs, struct error *err)
{
    FD_CLEANUP int fd = logs ? tproxy_hear_log() : packets_hear();
    const enum net_role role = logs ? NET_ROLE_DATAGRAM_LOG : NET_ROLE_DATAGRAM_COPIES;
    struct epoll_event event = {.events = EPOLLIN};

    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || epoll_ctl(outgoing->alarm, EPOLL_CTL_ADD, fd, &event) < 0)
        return true;
    if (outgoing->handed.count == NET_HANDED_MAX && !flush(outgoing, false, err))
        return false;
    outgoing->handed.sockets[outgoing->handed.count] = (struct net_socket){.role = (uint16_t)role};
    outgoing->fds[outgoing->handed.count++] = fd_take(&fd);
    return true;
}

static enum net_role interception(const struct net_inside *inside)
{
    return inside->announced && *inside->announced ? NET_ROLE_ANNOUNCED : NET_ROLE_TRANSPARENT;
}

bool net_inside_set_up(const struct net_inside *inside, struct error *err)
{
    enum { OUTLETS_AT_FIRST = 8 };
    FD_CLEANUP int alarm = epoll_create1(EPOLL_CLOEXEC);
    struct outgoing outgoing = {.socket = inside->socket, .alarm = alarm};
    bool v6;
    bool logs;

    bool done =
        hand_alarm(inside->socket, alarm, err) && netns_prepare(&v6, inside->announced, &logs, err) &&
        make(&outgoing, interception(inside), TPROXY_PORT, false, err) &&
        (!v6 || make(&outgoing, interception(inside), TPROXY_PORT, true, err)) &&
        make_datagram_log(&outgoing, logs, err) && make(&outgoing, NET_ROLE_DNS_UDP, TPROXY_DNS_PORT, v6, err) &&
        make(&outgoing, NET_ROLE_DNS_TCP, TPROXY_DNS_PORT, v6, err) &&
        make(&outgoing, NET_ROLE_HTTP, NET_HTTP_PORT, v6, err) &&
        make(&outgoing, NET_ROLE_SOCKS, NET_SOCKS_PORT, v6, err) && make_host_ports(&outgoing, inside, v6, err) &&
        (!inside->outlets || make_outlets(&outgoing, OUTLETS_AT_FIRST, err)) && flush(&outgoing, true, err);
    close_all(&outgoing);
    return done;
}

bool net_inside_serve(const struct net_inside *inside)
{
    struct outgoing outgoing = {.socket = inside->socket, .alarm = -1};
    struct net_outlets_wanted wanted;
    struct error ignored;

    ssize_t received = recv(inside->socket, &wanted, sizeof wanted, MSG_DONTWAIT);
    if (received < 0)
        return errno == EAGAIN || errno == EINTR;
    if (received != (ssize_t)sizeof wanted || wanted.count > NET_HANDED_MAX)
        return false;
    /* Should there be none to be had, who waits for one waits for his time-out. */
    if (make_outlets(&outgoing, wanted.count, &ignored))
        flush(&outgoing, true, &ignored);
    close_all(&outgoing);
    return true;
}
