/* The network process, N: everything a sandboxed command sends out, or asks the
 * DNS, passes through it. It runs in the host's network namespace and has
 * nothing else: no files, no other process, a short list of system calls. All
 * bytes that an outsider has chosen are parsed in it and nowhere else. S decides
 * (net/judge.h); N asks. */
#ifndef CLOCHE_NET_NET_H
#define CLOCHE_NET_NET_H

#include "base/arena.h"
#include "base/error.h"
#include "policy/host.h"

#include <sys/types.h>

enum { NET_TOKEN_LENGTH = 32, NET_PUBLISHED_MAX = 64, NET_AUTHORIZATION_MAX = 512 };

/* A proxy above us. `port` 0: there is none. */
struct net_parent {
    struct host host;
    uint16_t port;
    char authorization[NET_AUTHORIZATION_MAX]; /* base64 of user:password, for Basic; empty: none */
};

struct net_published {
    int listener; /* on the host's loopback, does not block */
    uint16_t port;
};

/* What N knows of the policy. Plain data. */
struct net_config {
    char token[NET_TOKEN_LENGTH + 1]; /* the proxies' password; empty: none is asked for */
    bool tell_ends;                   /* S wants to know of connections that were allowed when they are over */
    bool answers_take_long;           /* S may ask a person */
    bool require_host_match;
    bool refuse_opaque_tunnels;
    uint16_t external_http; /* a proxy of the user's on the host's loopback, instead of ours; 0: none */
    uint16_t external_socks;
    struct net_parent parent_http;  /* for plain requests */
    struct net_parent parent_https; /* for tunnels */
    struct net_published published[NET_PUBLISHED_MAX];
    size_t published_count;
};

struct net_process {
    pid_t pid;
    int link; /* to N, SOCK_SEQPACKET: net/judge.h serves it. Its end is N's end, and the other way round */
};

/* Starts N. `inside` is N's end of the pair over which pid 1 hands its sockets
 * over; the caller closes his copy of it. All other descriptors are closed in N,
 * but those of `config`. `shared` is memory that N must not share: what S decides
 * by is in it. */
bool net_start(const struct net_config *config, int inside, struct arena *shared, struct net_process *process,
               struct error *err);

#endif
