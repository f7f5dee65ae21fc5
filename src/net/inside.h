/* The sandbox's end of the network, made by pid 1 in its own network namespace
 * while it has the capabilities for it: loopback up, every address of the world
 * local to it, a TPROXY rule that brings each TCP connection to one listener,
 * and the sockets that N serves from outside. No process of ours stays inside. */
#ifndef CLOCHE_NET_INSIDE_H
#define CLOCHE_NET_INSIDE_H

#include "base/error.h"
#include "net/records.h"

enum { NET_HTTP_PORT = 3128, NET_SOCKS_PORT = 1080 };

struct net_inside {
    int socket; /* pid 1's end of the pair whose other end N has */
    const uint16_t *host_ports;
    size_t host_port_count;
    bool outlets;    /* publishPorts: servers inside are connected to */
    bool *announced; /* becomes true where the kernel diverts no connections; NULL: then there is no network */
};

/* Makes all of it and hands the sockets to N; keeps none. Before them comes the
 * alarm. */
bool net_inside_set_up(const struct net_inside *inside, struct error *err);

/* S's side: the alarm, an epoll descriptor that can be read as soon as anybody
 * inside wants something of N. N can be started then and finds the sockets where
 * they are. -1: pid 1 has said something else, or is gone. */
int net_alarm_receive(int socket);

/* When `socket` is readable: makes the outlets that N asks for. False when N is
 * gone. */
bool net_inside_serve(const struct net_inside *inside);

/* Used by the above: sends sockets with what they are for. Closes nothing. */
bool net_hand_over(int socket, const struct net_handed *handed, const int *fds, struct error *err);

#endif
