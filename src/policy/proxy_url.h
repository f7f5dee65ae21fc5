/* The URL of a parent proxy, as in network.parentProxy and HTTP_PROXY. */
#ifndef CLOCHE_POLICY_PROXY_URL_H
#define CLOCHE_POLICY_PROXY_URL_H

#include "policy/host.h"

enum { PROXY_AUTHORIZATION_MAX = 512 };

struct proxy_url {
    struct host host;
    uint16_t port;
    char authorization[PROXY_AUTHORIZATION_MAX]; /* base64 of user:password, empty if there is none */
};

/* http://[user[:password]@]host[:port][/...]; "http://" may be left out, as curl has
 * it. NULL, or what is wrong. */
const char *proxy_url_parse(struct slice text, struct proxy_url *url);

#endif
