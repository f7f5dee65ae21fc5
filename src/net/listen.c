/* Takes the sockets that pid 1 made inside, and accepts who comes on them. While
 * there are as many tunnels as descriptors allow, nobody is accepted: clients
 * wait in the kernel's queue. */
#include "net/tunnel.h"

#include "base/passing.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS_AT_ONCE = 64, PORT_DNS = 53, OUTLETS_WANTED = 16, OUTLETS_LOW = 4 };

static void address_of(const struct sockaddr_storage *from, struct address *address, uint16_t *port)
{
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
        *port = ntohs(v6->sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            *address = (struct address){.v6 = false};
            memcpy(address->bytes, v6->sin6_addr.s6_addr + 12, 4);
            return;
        }
        *address = (struct address){.v6 = true};
        memcpy(address->bytes, &v6->sin6_addr, 16);
        return;
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    *port = ntohs(v4->sin_port);
    *address = (struct address){.v6 = false};
    memcpy(address->bytes, &v4->sin_addr, 4);
}

static void set_name(struct host *host, struct slice name)
{
    memcpy(host->name, name.ptr, name.len);
    host->name[name.len] = '\0';
    host->name_length = name.len;
}

static void set_address(struct host *host, const struct address *address)
{
    char text[46];

    address_print(address, text);
    host->is_address = true;
    host->address = *address;
    set_name(host, slice_of(text));
}

void tunnel_set_wanted(struct tunnel *tunnel, const struct address *address, uint16_t port)
{
    struct slice name;

    tunnel->port = port;
    tunnel->stage = STAGE_ASK;
    if (!names_find(tunnel->network->names, address, &name)) {
        set_address(&tunnel->host, address);
    } else if (name.len == 0) {
        set_address(&tunnel->host, address);
        tunnel_tell_refused(tunnel, NET_UNASSIGNED);
        tunnel_reset(tunnel);
        return;
    } else {
        set_name(&tunnel->host, name);
    }
    tunnel_ask(tunnel);
}

/* The address a transparent client wanted is that of our end. */
static void serve_transparent(struct network *network, int fd, uint16_t client_port, bool client_v6)
{
    struct sockaddr_storage wanted;
    socklen_t length = sizeof wanted;
    struct address address;
    uint16_t port;

    if (getsockname(fd, (struct sockaddr *)&wanted, &length) < 0) {
        close(fd);
        return;
    }
    address_of(&wanted, &address, &port);
    if (port == PORT_DNS) {
        dns_serve_tcp(network, fd);
        return;
    }
    struct tunnel *tunnel = tunnel_new(network, fd, NET_TRANSPARENT);
    if (!tunnel)
        return;
    tunnel->client_port = client_port;
    tunnel->client_v6 = client_v6;
    tunnel_set_wanted(tunnel, &address, port);
}

/* It says by itself what it wants, or the doorman does for it. */
static void serve_announced(struct network *network, int fd, uint16_t client_port, bool client_v6)
{
    struct tunnel *tunnel = tunnel_new(network, fd, NET_TRANSPARENT);

    if (!tunnel)
        return;
    tunnel->client_port = client_port;
    tunnel->client_v6 = client_v6;
}

static void serve_proxy(struct network *network, int fd, const struct listener *listener, uint16_t client_port)
{
    bool http = listener->role == NET_ROLE_HTTP;
    uint16_t external = http ? network->config->external_http : network->config->external_socks;
    struct tunnel *tunnel = tunnel_new(network, fd, external ? NET_HOST_PORT : (http ? NET_HTTP : NET_SOCKS));

    if (!tunnel)
        return;
    tunnel->client_port = client_port;
    if (!external)
        return; /* it speaks first */
    set_name(&tunnel->host, SLICE("localhost"));
    tunnel->port = external;
    tunnel_dial_host(tunnel);
}

static void serve_port(struct network *network, int fd, const struct listener *listener, uint16_t client_port)
{
    struct tunnel *tunnel = tunnel_new(network, fd, listener->published ? NET_PUBLISHED : NET_HOST_PORT);

    if (!tunnel)
        return;
    set_name(&tunnel->host, SLICE("localhost"));
    tunnel->port = listener->port;
    tunnel->client_port = client_port;
    tunnel_dial_host(tunnel);
}

static void serve(struct listener *listener, int fd, uint16_t client_port, bool client_v6)
{
    struct network *network = listener->network;

    switch (listener->role) {
    case NET_ROLE_TRANSPARENT:
        serve_transparent(network, fd, client_port, client_v6);
        return;
    case NET_ROLE_ANNOUNCED:
        serve_announced(network, fd, client_port, client_v6);
        return;
    case NET_ROLE_DNS_TCP:
        dns_serve_tcp(network, fd);
        return;
    case NET_ROLE_HTTP:
    case NET_ROLE_SOCKS:
        serve_proxy(network, fd, listener, client_port);
        return;
    default:
        serve_port(network, fd, listener, client_port);
    }
}

static void out_of_descriptors(struct timer *timer)
{
    struct network *network = (struct network *)((char *)timer - offsetof(struct network, pause));

    if (network->tunnel_count < network->tunnel_limit)
        listen_pause(network, false);
}

static void ready(struct watch *watch, uint32_t events)
{
    struct listener *listener = (struct listener *)watch;
    struct network *network = listener->network;

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE && !network->listeners_paused; i++) {
        struct sockaddr_storage client = {0};
        socklen_t length = sizeof client;
        struct address address;
        uint16_t port;
        int fd = accept4(watch->fd, (struct sockaddr *)&client, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
                return;
            listen_pause(network, true);
            network->pause.expired = out_of_descriptors;
            loop_timer_start(&network->loop, &network->pause, LOOP_DRAIN);
            return;
        }
        address_of(&client, &address, &port);
        serve(listener, fd, port, address.v6);
    }
}

void listen_pause(struct network *network, bool paused)
{
    if (network->listeners_paused == paused)
        return;
    network->listeners_paused = paused;
    for (size_t i = 0; i < network->listener_count; i++)
        loop_change(&network->loop, &network->listeners[i].watch, paused ? 0 : EPOLLIN);
}

static void add(struct network *network, enum net_role role, uint16_t port, int fd, bool published)
{
    if (network->listener_count == LISTENERS_MAX) {
        close(fd);
        return;
    }
    struct listener *listener = &network->listeners[network->listener_count];
    *listener = (struct listener){
        .watch = {.fd = fd, .ready = ready}, .network = network, .role = role, .port = port, .published = published};
    if (loop_watch(&network->loop, &listener->watch, network->listeners_paused ? 0 : EPOLLIN))
        network->listener_count++;
    else
        loop_close(&listener->watch);
}

void listen_publish(struct network *network)
{
    const struct net_config *config = network->config;

    for (size_t i = 0; i < config->published_count; i++)
        add(network, NET_ROLE_HOST_PORT, config->published[i].port, config->published[i].listener, true);
}

static void take(struct network *network, const struct net_socket *socket, int fd)
{
    size_t *outlets = &network->outlet_count[socket->v6 != 0];

    switch (socket->role) {
    case NET_ROLE_DATAGRAM_LOG:
    case NET_ROLE_DATAGRAM_COPIES:
        datagrams_watch(network, fd, socket->role == NET_ROLE_DATAGRAM_COPIES);
        return;
    case NET_ROLE_DNS_UDP:
        dns_serve_udp(network, fd);
        return;
    case NET_ROLE_OUTLET:
        if (*outlets < OUTLETS_MAX)
            network->outlets[socket->v6 != 0][(*outlets)++] = fd;
        else
            close(fd);
        return;
    case NET_ROLE_TRANSPARENT:
    case NET_ROLE_ANNOUNCED:
    case NET_ROLE_DNS_TCP:
    case NET_ROLE_HTTP:
    case NET_ROLE_SOCKS:
    case NET_ROLE_HOST_PORT:
        network->has_v6 = network->has_v6 || socket->v6;
        add(network, (enum net_role)socket->role, socket->port, fd, false);
        return;
    default:
        close(fd);
    }
}

static bool receive(struct network *network)
{
    struct net_handed handed;
    int fds[NET_HANDED_MAX];
    size_t count = NET_HANDED_MAX;
    ssize_t length = passing_receive(network->inside.fd, &handed, sizeof handed, fds, &count, MSG_DONTWAIT);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length != (ssize_t)sizeof handed) {
        loop_close(&network->inside); /* pid 1 has said all, or is gone: S knows */
        return false;
    }
    if (handed.count != count) {
        network->loop.stop = true;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        take(network, &handed.sockets[i], fds[i]);
    return true;
}

static void inside_ready(struct watch *watch, uint32_t events)
{
    struct network *network = (struct network *)((char *)watch - offsetof(struct network, inside));

    (void)events;
    while (network->inside.fd >= 0 && receive(network))
        ;
    network->outlets_asked = false;
}

bool listen_inside(struct network *network, int fd)
{
    network->inside = (struct watch){.fd = fd, .ready = inside_ready};
    return loop_watch(&network->loop, &network->inside, EPOLLIN | EPOLLET);
}

int listen_outlet(struct network *network, bool v6)
{
    const struct net_outlets_wanted wanted = {.count = OUTLETS_WANTED};
    size_t *count = &network->outlet_count[v6];
    int fd = *count ? network->outlets[v6][--*count] : -1;

    if (*count < OUTLETS_LOW && !network->outlets_asked && network->inside.fd >= 0)
        network->outlets_asked = send(network->inside.fd, &wanted, sizeof wanted, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    return fd;
}
