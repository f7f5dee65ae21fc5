/* What the network process N, the supervisor S and pid 1 inside say to each
 * other: records of fixed size over SOCK_SEQPACKET pairs, so that S, which
 * decides, parses nothing that N has read from outside. A record of another
 * size, kind or version is an error of the sender's and ends the connection. */
#ifndef CLOCHE_NET_RECORDS_H
#define CLOCHE_NET_RECORDS_H

#include "policy/host.h"

#include <stdint.h>

enum { NET_ADDRESSES_MAX = 8, NET_REASON_MAX = 200 };

/* How a connection asked to be let out. */
enum net_protocol {
    NET_TRANSPARENT, /* an ordinary connect() inside */
    NET_HTTP,        /* a request to the HTTP proxy with a whole URL */
    NET_HTTP_CONNECT,
    NET_SOCKS,
    NET_DNS,
    NET_HOST_PORT, /* to a port of the host's loopback (hostPorts) */
    NET_PUBLISHED, /* from the host's loopback to a server inside (publishPorts) */
    NET_DATAGRAM   /* UDP, which is not carried */
};

/* N to S. */
enum net_question_kind {
    NET_ASK_CONNECT,   /* may it go to host:port? With addresses: and to which of them? */
    NET_ASK_ADDRESSES, /* the host may be reached, and was resolved: to which of these addresses? */
    NET_ASK_DNS,       /* may the name be resolved? */
    NET_ASK_SNI,       /* TLS to an address: may it be for this name? */
    NET_TELL_CLOSED,   /* a connection that was allowed is over. No verdict follows */
    NET_TELL_REFUSED   /* N refused it by itself (`refusal`). No verdict follows */
};

/* Why N refuses by itself, or S does. */
enum net_refusal {
    NET_NOT_REFUSED,
    NET_NOT_ALLOWED,   /* no allowedDomains entry names it, or a deniedDomains entry does */
    NET_BAD_ADDRESS,   /* all of the addresses it resolves to are forbidden ones */
    NET_NAME_MISMATCH, /* the TLS name or Host header is not the one the connection is for */
    NET_OPAQUE,        /* refuseOpaqueTunnels */
    NET_UNASSIGNED,    /* a synthetic address that belongs to no name */
    NET_BAD_REQUEST,   /* not the protocol, or a form of it that could be read two ways */
    NET_NO_TOKEN,      /* the proxy's user name and password are not those of this run */
    NET_UNREACHABLE,   /* nobody answers there, or it does not resolve */
    NET_BUSY           /* too many connections, or out of descriptors */
};

struct net_question {
    uint32_t kind; /* enum net_question_kind */
    uint32_t id;   /* of N's choosing; the verdict has the same */
    uint32_t protocol;
    uint32_t refusal;
    uint16_t port;
    uint16_t client_port; /* inside; 0: unknown */
    uint8_t client_v6;
    uint8_t address_count;
    uint8_t name_length;
    char name[HOST_NAME_MAX_LENGTH + 1]; /* canonical, as host_parse gives it; not trusted to be */
    struct address addresses[NET_ADDRESSES_MAX];
    uint64_t sent; /* NET_TELL_CLOSED: bytes out, bytes in, and how long */
    uint64_t received;
    uint64_t milliseconds;
};

/* The way out, chosen by S. */
enum net_route {
    NET_DIRECT,
    NET_PARENT, /* through the parent proxy: N does not resolve the name */
    NET_MITM    /* through the HTTP proxy at the socket that came with the verdict */
};

/* S to N. */
struct net_verdict {
    uint32_t id;
    uint32_t refusal; /* NET_NOT_REFUSED: allowed */
    uint32_t route;
    uint32_t usable;       /* a bit for each address of the question */
    uint8_t reason_length; /* why, in one clause, for the client: "host is not on the allow list" */
    char reason[NET_REASON_MAX];
};

/* Pid 1 to N (but the alarm: to S), with the sockets it made in the sandbox's network namespace
 * (SCM_RIGHTS), one for each entry and in the same order. All of them do not
 * block. */
enum net_role {
    NET_ROLE_TRANSPARENT = 1, /* listens; accepted sockets have the address they were meant for as their own */
    NET_ROLE_ANNOUNCED, /* listens; connections begin with a struct tproxy_announcement of where they were meant for */
    NET_ROLE_DNS_UDP,   /* bound to port 53 of every address, with IP_PKTINFO or IPV6_RECVPKTINFO */
    NET_ROLE_DNS_TCP,   /* listens on port 53 */
    NET_ROLE_DATAGRAM_LOG,    /* the kernel tells of datagrams on it (host/tproxy.h) */
    NET_ROLE_DATAGRAM_COPIES, /* the same, where it has them only as they are (packets.h) */
    NET_ROLE_HTTP,            /* listens on localhost: the HTTP proxy */
    NET_ROLE_SOCKS,           /* likewise, SOCKS5 */
    NET_ROLE_HOST_PORT,       /* listens on localhost at `port` for the host's */
    NET_ROLE_OUTLET,          /* not connected: for one connection to a server inside */
    NET_ROLE_ALARM            /* for S, before all others: an epoll descriptor that watches them */
};

struct net_socket {
    uint16_t role;
    uint16_t port;
    uint8_t v6;
};

enum { NET_HANDED_MAX = 32 };

struct net_handed {
    uint16_t count;
    uint16_t last; /* no more follow (but outlets that were asked for) */
    struct net_socket sockets[NET_HANDED_MAX];
};

/* N to pid 1: this many more outlets. */
struct net_outlets_wanted {
    uint32_t count; /* at most NET_HANDED_MAX; half of them IPv4 */
};

#endif
