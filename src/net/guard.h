/* The resolved-address check: an allowed name must not lead to this machine, its
 * link or the cloud's metadata service (attack 79), in whatever way the address
 * is spelled (80). An address that the policy allows by itself (a literal or a
 * CIDR in allowedDomains) is not judged here. */
#ifndef CLOCHE_NET_GUARD_H
#define CLOCHE_NET_GUARD_H

#include "policy/model.h"

#include <time.h>

struct guard {
    const struct host_rules *allowed;         /* allowedDomains: who names an address there means it */
    const struct host_rules *denied;          /* deniedDomains: its addresses are refused as results too */
    const struct host_rules *denied_resolved; /* deniedResolvedAddresses */
    struct address *own;                      /* this host's addresses */
    size_t own_count;
    time_t own_read; /* when; monotonic */
};

/* Reads this host's addresses, if that was not done a moment ago: they change
 * with the networks it is in. False leaves those that are known. */
bool guard_refresh(struct guard *guard, struct error *err);
void guard_close(struct guard *guard);

/* NULL: it may be dialled. Else what it is, in srt's words: "a loopback address". */
const char *guard_refuses(const struct guard *guard, const struct address *address, uint16_t port);

/* The same for an address of `localhost`, or a name below it, that the policy allows by
 * name: who does so means this machine, and nothing else. */
const char *guard_refuses_own(const struct guard *guard, const struct address *address, uint16_t port);

/* Is it such a name? "*" says nothing about this machine. */
bool guard_names_own(const struct guard *guard, const struct host *host, uint16_t port);

/* The IPv4 address that an IPv6 one carries: mapped, compatible, 6to4, NAT64,
 * Teredo, ISATAP. */
bool guard_embedded(const struct address *address, struct address *inner);

#endif
