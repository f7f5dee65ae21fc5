/* Which way out a connection takes. */
#ifndef CLOCHE_NET_ROUTE_H
#define CLOCHE_NET_ROUTE_H

#include "net/net.h"
#include "policy/model.h"

bool route_is_mitm(const struct policy *policy, const struct host *host, uint16_t port);
/* A connected socket that does not block; -1: nobody is there. */
int route_mitm_connect(const struct policy *policy);

/* NO_PROXY's meaning: names and what is below them, addresses, CIDRs, `*`. This
 * machine itself is never reached through a proxy elsewhere. */
bool route_skips_parent(const struct policy *policy, const struct host *host, uint16_t port);

#endif
