/* One connection of a client, from its first byte to its last. Private to this
 * room.
 *
 *   request -> ask S -> resolve -> ask S which addresses -> dial [-> CONNECT at a
 *   proxy above] -> gate: what do the client's first bytes say? -> carry
 *
 * What a client sends stays in the kernel's buffers until it can be judged as a
 * whole (MSG_PEEK), so a slow or silent client costs no memory here. */
#ifndef CLOCHE_NET_TUNNEL_H
#define CLOCHE_NET_TUNNEL_H

#include "net/network.h"

enum stage {
    STAGE_REQUEST, /* the client says what it wants (HTTP, SOCKS) */
    STAGE_ASK,     /* S is asked */
    STAGE_RESOLVE,
    STAGE_DIAL,
    STAGE_PARENT, /* CONNECT was sent to a proxy above */
    STAGE_OPEN,
    STAGE_REFUSED /* the last words were said; the rest of what comes is thrown away */
};

/* One of the two sockets. */
struct side {
    struct watch watch; /* first */
    struct tunnel *tunnel;
    bool is_client;
    bool readable;  /* there may be something to read */
    bool writable;  /* it may take something */
    bool at_end;    /* has sent all it will */
    bool was_shut;  /* we have told it that nothing more comes */
    bool ending;    /* its end was announced: it is read until that comes */
    bool hung_up;   /* error, or both directions are over */
    uint8_t filled; /* how many reads in a row were full */
    /* What was read from the other side and not taken by this one yet. */
    char *pending;
    uint32_t pending_start;
    uint32_t pending_end;
    struct pipe_pair pipe; /* carries to this side; ends[0] < 0: none */
    uint32_t in_pipe;
    uint64_t taken; /* bytes that this side took */
};

enum gate {
    GATE_OPEN,
    GATE_LOOK,   /* the client's first bytes are to be looked at */
    GATE_ASKED,  /* S is asked whether the TLS name is allowed */
    GATE_LISTEN, /* a ClientHello went out, and nothing else may before the server's answer was looked at */
    GATE_AGAIN,  /* which was a HelloRetryRequest: the second ClientHello is to be looked at */
};

struct tunnel {
    struct link link;     /* first: among those that are not over, or in the graveyard */
    struct errand errand; /* to go on carrying */
    struct timer timer;
    struct network *network;
    struct side client;
    struct side server;
    enum stage stage;
    enum gate gate;
    uint32_t hello_length; /* of the first ClientHello while it waits for S; 0: it is the second that does */
    enum net_protocol protocol;
    struct ask *ask;
    struct resolve_request *resolving;
    bool over;
    bool allowed; /* S said yes: tell it the end */
    enum net_route route;
    struct host host;
    uint16_t port;
    uint16_t client_port;
    bool client_v6;
    struct address addresses[NET_ADDRESSES_MAX];
    size_t address_count;
    size_t address_next;
    uint32_t usable;
    int unix_socket; /* NET_MITM: connected, or -1 */
    uint64_t began;
    /* Only while they are needed. */
    struct socks *socks;
    struct exchange *exchange; /* a plain HTTP request */
};

/* tunnel.c: the way up to STAGE_OPEN */
struct tunnel *tunnel_new(struct network *network, int client, enum net_protocol protocol);
/* listen.c: what a client wanted that knows of no proxy */
void tunnel_set_wanted(struct tunnel *tunnel, const struct address *address, uint16_t port);
void tunnel_ask(struct tunnel *tunnel);       /* host and port are known */
void tunnel_dial_host(struct tunnel *tunnel); /* the loopback of the host, or inside */
void tunnel_refuse(struct tunnel *tunnel, enum net_refusal refusal, int status, struct slice reason);
/* The client is told, and then read dry for a while: closing a socket with bytes
 * unread would reset it, and our words with it. */
void tunnel_last_words(struct tunnel *tunnel, const void *bytes, size_t length);
void tunnel_reset(struct tunnel *tunnel); /* closes both sides, the client's hard */
void tunnel_close(struct tunnel *tunnel);
/* A plain request and its response are over, and the client may send another. */
void tunnel_again(struct tunnel *tunnel);
void tunnel_tell_refused(struct tunnel *tunnel, enum net_refusal refusal);
void tunnels_bury(struct network *network);
void tunnels_end(struct network *network);                           /* closes them all */
const struct net_parent *tunnel_parent(const struct tunnel *tunnel); /* the proxy above, for its kind */

/* dial.c */
void dial_begin(struct tunnel *tunnel); /* addresses are known */
void dial_ready(struct tunnel *tunnel, uint32_t events);

/* request.c: what clients of the proxies say */
void request_ready(struct tunnel *tunnel);
void request_connected(struct tunnel *tunnel); /* the server is there: tell the client */

/* relay.c */
void relay_begin(struct tunnel *tunnel);
/* Sends or keeps bytes of ours. */
bool relay_give(struct side *to, const char *bytes, size_t length);
void relay_continue(struct tunnel *tunnel);

/* gate.c: true if the client's bytes may be carried now */
bool gate_passes(struct tunnel *tunnel);
/* Looks at the server's answer to a ClientHello; true if it may be carried now. */
bool gate_listens(struct tunnel *tunnel);

/* Small writes of our own to a fresh socket, which has room for them. */
bool side_say(struct side *side, const void *bytes, size_t length);

#endif
