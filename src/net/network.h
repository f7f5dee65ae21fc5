/* N's own state. Private to this room. */
#ifndef CLOCHE_NET_NETWORK_H
#define CLOCHE_NET_NETWORK_H

#include "net/http.h"
#include "net/loop.h"
#include "net/names.h"
#include "net/net.h"
#include "net/records.h"
#include "net/resolve.h"
#include "net/socks.h"

enum { SCRATCH_SIZE = 65536, LISTENERS_MAX = 600, OUTLETS_MAX = 64 };

struct network;

/* A socket on which clients come. */
struct listener {
    struct watch watch;
    struct network *network;
    enum net_role role;
    uint16_t port;
    bool published; /* on the host's side, for a server inside */
};

/* A question that was or will be put to S. `answered` gets NULL when it never
 * will be. */
struct ask {
    struct link link; /* waiting to be sent */
    uint32_t id;
    struct net_question question;
    /* `fd`: the socket that came with the verdict, or -1; the callee's to close. */
    void (*answered)(void *argument, const struct net_verdict *verdict, int fd);
    void *argument;
};

enum { ASKS_MAX = 4096, ASKS_AT_ONCE = 128, TELLS_MAX = 4096 };

struct asks {
    struct watch watch; /* the link to S */
    struct network *network;
    struct ask *slots[ASKS_MAX];
    uint16_t generations[ASKS_MAX];
    uint32_t next_slot;
    unsigned outstanding; /* sent and not answered */
    unsigned tells;       /* that wait to be sent; more than TELLS_MAX are lost */
    struct link waiting;
};

/* A pair of pipes for splice, in use or in the pool. */
struct pipe_pair {
    int ends[2];
};

enum { PIPES_MAX = 16 };

struct network {
    struct loop loop;
    const struct net_config *config;
    struct names *names;
    struct resolver *resolver;
    struct asks asks;
    struct watch inside; /* to pid 1 */
    struct listener listeners[LISTENERS_MAX];
    size_t listener_count;
    bool listeners_paused;
    bool has_v6;                 /* inside */
    struct timer pause;          /* when descriptors ran out */
    int outlets[2][OUTLETS_MAX]; /* by family: IPv4, IPv6 */
    size_t outlet_count[2];
    bool outlets_asked;
    size_t tunnel_count;
    size_t tunnel_limit;
    struct link tunnels;   /* that are not over */
    struct link graveyard; /* tunnels that are over: freed when no event of this turn can name them */
    struct pipe_pair pipes[PIPES_MAX];
    size_t pipe_count; /* free ones in `pipes` */
    size_t pipes_made;
    struct dns_server *dns;
    struct watch datagrams; /* what is told of them */
    unsigned datagrams_told;
    char scratch[SCRATCH_SIZE];
};

/* ask.c */
bool asks_open(struct network *network, int link);
/* NULL: too many are under way. The question is to be filled in before ask_send. */
struct ask *ask_new(struct network *network, enum net_question_kind kind,
                    void (*answered)(void *argument, const struct net_verdict *verdict, int fd), void *argument);
void ask_send(struct network *network, struct ask *ask);
/* Nobody waits for the answer any more. */
void ask_forget(struct network *network, struct ask *ask);
void ask_set_host(struct net_question *question, const struct host *host, uint16_t port);
/* S has no more to say: tells it what was to be told, and waits until that is
 * taken. */
void asks_end(struct network *network);
/* Without an answer. */
void ask_tell(struct network *network, const struct net_question *question);

/* listen.c */
void listen_publish(struct network *network);
bool listen_inside(struct network *network, int fd);
/* A socket of the sandbox's network, or -1. */
int listen_outlet(struct network *network, bool v6);
void listen_pause(struct network *network, bool paused);

/* datagrams.c: a netlink socket, or one that gets copies */
void datagrams_watch(struct network *network, int fd, bool copies);

/* serve_dns.c */
bool dns_serve_open(struct network *network);
void dns_serve_udp(struct network *network, int fd);
void dns_serve_tcp(struct network *network, int fd);

#endif
