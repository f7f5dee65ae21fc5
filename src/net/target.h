/* Hosts as a protocol spells them. Only bytes that can stand in an ASCII name or
 * an address reach the parser of policy/host.h: nothing the sandbox sends is ever
 * given to IDNA, and a NUL or a newline is refused before it is looked at
 * (attacks 76, 77). Pure. */
#ifndef CLOCHE_NET_TARGET_H
#define CLOCHE_NET_TARGET_H

#include "net/wire.h"
#include "policy/host.h"

/* A name or an address without a port. */
bool target_host(struct slice text, struct host *host);

/* With an optional port; `*port` is 0 when there is none. */
bool target_host_port(struct slice text, struct host *host, uint16_t *port);

/* As it stands in a Host header: IPv6 in brackets, the port only when it is not
 * `default_port`. */
void target_put(struct wire_writer *out, const struct host *host, uint16_t port, uint16_t default_port);

#endif
