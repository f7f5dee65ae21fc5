/* SOCKS5 (RFC 1928, with user name and password of RFC 1929), the server's side.
 * Pure. Only CONNECT. Names are length-counted and must be canonical host names
 * (attack 76). */
#ifndef CLOCHE_NET_SOCKS_H
#define CLOCHE_NET_SOCKS_H

#include "base/slice.h"
#include "net/records.h"
#include "policy/host.h"

enum { SOCKS_MESSAGE_MAX = 515, SOCKS_REPLY_MAX = 10 };

enum socks_result {
    SOCKS_MORE,    /* more bytes are needed */
    SOCKS_REPLY,   /* send `reply`, then go on */
    SOCKS_REQUEST, /* `host` and `port` are asked for: decide, dial, then socks_answer */
    SOCKS_CLOSE    /* send `reply` (it may be empty) and close */
};

struct socks {
    const char *token; /* empty: none is asked for */
    unsigned state;
    struct host host;
    uint16_t port;
    enum net_refusal refusal; /* SOCKS_CLOSE: NET_BAD_REQUEST or NET_NO_TOKEN */
    uint8_t reply[SOCKS_REPLY_MAX];
    size_t reply_length;
};

void socks_begin(struct socks *socks, const char *token);
/* Takes one message off the front of `input`. */
enum socks_result socks_take(struct socks *socks, struct slice input, size_t *taken);
/* NET_NOT_REFUSED: success; not allowed: 2; unreachable: 4; busy: 1. */
size_t socks_answer(enum net_refusal refusal, uint8_t out[SOCKS_REPLY_MAX]);

#endif
