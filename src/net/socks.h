/* SOCKS5 (RFC 1928, with user name and password of RFC 1929), the server's side.
 * Pure. Only CONNECT. Names are length-counted and must be canonical host names
 * (attack 76). */
#ifndef CLOCHE_NET_SOCKS_H
#define CLOCHE_NET_SOCKS_H

#include "base/slice.h"
#include "net/records.h"
#include "net/ssh.h"
#include "policy/host.h"

enum {
    SOCKS_MESSAGE_MAX = 515, /* the longest: user name and password, 3 + 255 + 1 + 255 */
    SOCKS_ANSWER_MAX = 10,
    SOCKS_REPLY_MAX = SOCKS_ANSWER_MAX + SSH_REFUSAL_MAX
};

enum socks_result {
    SOCKS_MORE,    /* more bytes are needed */
    SOCKS_REPLY,   /* send `reply`, then go on */
    SOCKS_REQUEST, /* `host` and `port` are asked for: decide, dial, then socks_answer */
    SOCKS_CLOSE    /* send `reply` (it may be empty) and close. `host` is set if it was asked for */
};

struct socks {
    const char *token; /* empty: none is asked for */
    unsigned state;    /* private */
    struct host host;
    uint16_t port;
    enum net_refusal refusal; /* SOCKS_CLOSE: NET_BAD_REQUEST or NET_NO_TOKEN */
    uint8_t reply[SOCKS_REPLY_MAX];
    size_t reply_length;
};

void socks_begin(struct socks *socks, const char *token);
/* Takes one message off the front of `input`. */
enum socks_result socks_take(struct socks *socks, struct slice input, size_t *taken);
/* NET_NOT_REFUSED: success; not allowed, in whatever way: 2; unreachable: 4; opaque or busy: 1. */
size_t socks_answer(enum net_refusal refusal, uint8_t out[SOCKS_ANSWER_MAX]);

#endif
