/* Host names and addresses. There is one canonical form, and it is the one that
 * is matched, logged and dialled: lower case, IDNA (libidn2) to ASCII, no
 * trailing dot, labels of letters, digits and hyphens (and underscores, which
 * real hosts use), counted lengths. What could be read two ways is refused with
 * an error that names the problem: NUL and control bytes, `user@`, percent
 * signs, zone ids, and the number forms of inet_aton (`0x7f.1`, `2130706433`,
 * `127.1`, leading zeros). */
#ifndef CLOCHE_POLICY_HOST_H
#define CLOCHE_POLICY_HOST_H

#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

enum { HOST_NAME_MAX_LENGTH = 253, HOST_LABEL_MAX_LENGTH = 63 };

struct address {
    bool v6;
    uint8_t bytes[16]; /* 4 used for IPv4. IPv4-mapped IPv6 is stored as IPv4 */
};

struct host {
    bool is_address;
    struct address address;
    char name[HOST_NAME_MAX_LENGTH + 1]; /* canonical text, of addresses too (no brackets) */
    size_t name_length;
};

/* A name or an address; IPv6 with or without brackets. No port. */
bool host_parse(struct slice text, struct host *host, struct error *err);

/* `host`, `host:port`, `[v6]:port`; a bare IPv6 address is accepted and has no
 * port. `*port` is 0 when none is given. */
bool host_port_parse(struct slice text, struct host *host, uint16_t *port, struct error *err);

/* This machine itself: localhost, 127/8, ::1. */
bool host_is_loopback(const struct host *host);

bool address_parse(struct slice text, struct address *address, struct error *err);
/* Fits every address: at most 45 characters and NUL. */
void address_print(const struct address *address, char out[46]);

enum host_pattern_kind {
    HOST_PATTERN_ANY,        /* *            every name and every address */
    HOST_PATTERN_NAME,       /* host         exactly this */
    HOST_PATTERN_SUBDOMAINS, /* *.host       strictly below host, label by label */
    HOST_PATTERN_ADDRESS,    /* an address literal */
    HOST_PATTERN_NETWORK     /* a CIDR */
};

struct host_pattern {
    enum host_pattern_kind kind;
    struct host host;      /* NAME, SUBDOMAINS (without "*."), ADDRESS, NETWORK (masked) */
    uint8_t prefix_length; /* NETWORK */
    uint16_t port;         /* 0: any */
};

/* cloche's own grammar: all of the above, each with an optional `:port`
 * (IPv6 with a port needs brackets). A wildcard anywhere but as `*` or a leading
 * `*.` is refused. */
bool host_pattern_parse(struct slice text, struct host_pattern *pattern, struct error *err);

/* port 0 asks "any port at all?". */
bool host_pattern_matches(const struct host_pattern *pattern, const struct host *host, uint16_t port);

/* Canonical text of a pattern, for messages and `explain`. */
void host_pattern_print(const struct host_pattern *pattern, char out[300]);

#endif
