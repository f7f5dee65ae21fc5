/* Connecting to the first of the judged addresses that answers, and, where the
 * way leads through a proxy above, asking that for the rest of it. */
#include "net/tunnel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void fill(const struct address *address, uint16_t port, struct sockaddr_storage *out, socklen_t *length)
{
    *out = (struct sockaddr_storage){0};
    if (address->v6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        memcpy(&v6->sin6_addr, address->bytes, 16);
        *length = sizeof *v6;
    } else {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, address->bytes, 4);
        *length = sizeof *v4;
    }
}

/* Through a proxy, and not a plain request that it takes as it is? */
static bool needs_connect(const struct tunnel *tunnel)
{
    return tunnel->route != NET_DIRECT && tunnel->protocol != NET_HTTP;
}

static void open_tunnel(struct tunnel *tunnel)
{
    loop_timer_stop(&tunnel->timer);
    tunnel->stage = STAGE_OPEN;
    request_connected(tunnel);
    if (!tunnel->over)
        relay_begin(tunnel);
}

static void connected(struct tunnel *tunnel)
{
    const char *authorization = tunnel->route == NET_PARENT ? tunnel_parent(tunnel)->authorization : "";
    char request[HTTP_REPLY_MAX];

    tunnel->server.writable = true;
    if (!needs_connect(tunnel)) {
        open_tunnel(tunnel);
        return;
    }
    size_t length = http_connect_write(&tunnel->host, tunnel->port, authorization, request, sizeof request);
    tunnel->stage = STAGE_PARENT;
    loop_timer_start(&tunnel->network->loop, &tunnel->timer, LOOP_HANDSHAKE);
    if (!length || !side_say(&tunnel->server, request, length))
        tunnel_refuse(tunnel, NET_UNREACHABLE, 0, SLICE("the proxy above does not listen"));
}

static bool watch_server(struct tunnel *tunnel, int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    tunnel->server.watch.fd = fd;
    return loop_watch(&tunnel->network->loop, &tunnel->server.watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

/* An unconnected socket: of the host's network, or one that pid 1 made inside. */
static int new_socket(struct tunnel *tunnel, bool v6)
{
    struct network *network = tunnel->network;

    if (tunnel->protocol != NET_PUBLISHED)
        return socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return listen_outlet(network, v6);
}

static uint16_t port_of(const struct tunnel *tunnel)
{
    if (tunnel->route == NET_PARENT)
        return tunnel_parent(tunnel)->port;
    return tunnel->port;
}

static void nobody_there(struct tunnel *tunnel)
{
    if (tunnel->protocol != NET_PUBLISHED && tunnel->protocol != NET_HOST_PORT)
        tunnel_tell_refused(tunnel, NET_UNREACHABLE);
    tunnel->allowed = false; /* that was told */
    tunnel_refuse(tunnel, NET_UNREACHABLE, 0, SLICE("nobody answers there"));
}

static void dial_next(struct tunnel *tunnel)
{
    struct network *network = tunnel->network;

    while (tunnel->address_next < tunnel->address_count) {
        size_t number = tunnel->address_next++;
        struct sockaddr_storage address;
        socklen_t length;

        if (!(tunnel->usable & 1U << number))
            continue;
        int fd = new_socket(tunnel, tunnel->addresses[number].v6);
        if (fd < 0)
            continue;
        fill(&tunnel->addresses[number], port_of(tunnel), &address, &length);
        if (connect(fd, (struct sockaddr *)&address, length) < 0 && errno != EINPROGRESS) {
            close(fd);
            continue;
        }
        if (!watch_server(tunnel, fd)) {
            loop_close(&tunnel->server.watch);
            continue;
        }
        bool last = tunnel->address_next == tunnel->address_count;
        loop_timer_start(&network->loop, &tunnel->timer, last ? LOOP_HANDSHAKE : LOOP_DIAL);
        return;
    }
    nobody_there(tunnel);
}

void dial_begin(struct tunnel *tunnel)
{
    tunnel->stage = STAGE_DIAL;
    tunnel->address_next = 0;
    if (tunnel->route != NET_MITM) {
        dial_next(tunnel);
        return;
    }
    int fd = tunnel->unix_socket;
    tunnel->unix_socket = -1;
    if (fd < 0 || !watch_server(tunnel, fd))
        nobody_there(tunnel);
    else
        connected(tunnel);
}

void tunnel_dial_host(struct tunnel *tunnel)
{
    static const uint8_t loopback_v4[4] = {127, 0, 0, 1};

    tunnel->addresses[0] = (struct address){.v6 = false};
    memcpy(tunnel->addresses[0].bytes, loopback_v4, 4);
    tunnel->addresses[1] = (struct address){.v6 = true, .bytes = {[15] = 1}};
    tunnel->address_count = 2;
    tunnel->usable = 3;
    tunnel->allowed = true;
    dial_begin(tunnel);
}

/* What the proxy above says to our CONNECT. */
static void hear_parent(struct tunnel *tunnel)
{
    char *scratch = tunnel->network->scratch;
    ssize_t length = recv(tunnel->server.watch.fd, scratch, HTTP_HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
    size_t head_length;
    int status;

    if (length < 0 && errno == EAGAIN)
        return;
    enum http_result result = HTTP_BAD;
    if (length > 0)
        result = http_response_parse((struct slice){scratch, (size_t)length}, &status, &head_length);
    if (result == HTTP_MORE)
        return;
    if (result == HTTP_BAD || status / 100 != 2 ||
        recv(tunnel->server.watch.fd, scratch, head_length, MSG_DONTWAIT) != (ssize_t)head_length) {
        tunnel_tell_refused(tunnel, NET_UNREACHABLE);
        tunnel_refuse(tunnel, NET_UNREACHABLE, 0, SLICE("the proxy above refuses"));
        return;
    }
    tunnel->server.readable = true; /* more may have come with it */
    open_tunnel(tunnel);
}

void dial_ready(struct tunnel *tunnel, uint32_t events)
{
    if (tunnel->stage == STAGE_PARENT) {
        hear_parent(tunnel);
        return;
    }
    if (tunnel->stage != STAGE_DIAL)
        return;
    if (events && !(events & (EPOLLERR | EPOLLHUP))) {
        tunnel->server.readable = (events & (EPOLLIN | EPOLLRDHUP)) != 0;
        tunnel->server.ending = (events & EPOLLRDHUP) != 0;
        if (events & EPOLLOUT)
            connected(tunnel);
        return;
    }
    loop_close(&tunnel->server.watch);
    tunnel->server.readable = tunnel->server.ending = false;
    dial_next(tunnel);
}
