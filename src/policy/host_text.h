/* What the files that read hosts, addresses and host patterns share. Private to
 * them; everyone else includes policy/host.h. */
#ifndef CLOCHE_POLICY_HOST_TEXT_H
#define CLOCHE_POLICY_HOST_TEXT_H

#include "policy/host.h"

/* Fills in `"TEXT" REASON`, with TEXT escaped and cut to a readable length. */
bool host_refuse(struct error *err, struct slice text, const char *reason, ...) __attribute__((format(printf, 3, 4)));

/* Refuses what has no place in any host or pattern: bytes that end a string or
 * a line for somebody, and the other parts of a URL. */
bool host_check_bytes(struct slice text, struct error *err);

/* 1 to 65535, digits only. `text` is the whole that messages quote. */
bool host_parse_port(struct slice text, struct slice digits, uint16_t *port, struct error *err);

/* Takes `host`, `host:port`, `[host]:port` or a bare IPv6 text apart, so far as
 * brackets and colons tell. */
bool host_split_port(struct slice text, struct slice *host, uint16_t *port, struct error *err);

/* A name (no address): canonical, or refused. `text` is quoted by messages. */
bool host_parse_name(struct slice text, struct slice name, struct host *host, struct error *err);

/* A name or an address without brackets. `text` is all that was written. */
bool host_parse_inner(struct slice text, struct slice inner, struct host *host, struct error *err);

void host_from_address(const struct address *address, struct host *host);

/* As address_parse, but an IPv4-mapped IPv6 address stays IPv6. */
bool address_parse_unfolded(struct slice text, struct slice digits, struct address *address, struct error *err);
void address_fold(struct address *address);
bool address_is_mapped(const struct address *address);

/* Would some program read this name as an IPv4 address? True when its last label
 * is a number, decimal or hexadecimal, as the URL standard has it. */
bool address_is_number_like(struct slice name);
/* Says why such a name is refused. */
bool address_refuse_number(struct slice text, struct slice name, struct error *err);

#endif
