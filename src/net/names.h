/* The table of names and the synthetic addresses that stand for them inside. A
 * name keeps its address for the whole run. IPv4 from 198.18.0.0/15 (RFC 2544:
 * for tests, never routed), IPv6 the same number below a unique local prefix. */
#ifndef CLOCHE_NET_NAMES_H
#define CLOCHE_NET_NAMES_H

#include "base/slice.h"
#include "policy/host.h"

enum { NAMES_MAX = 32768 };

struct names;

struct names *names_new(void); /* NULL: no memory */
void names_free(struct names *names);

/* The number of a name, given to it if it has none; false: the table is full. */
bool names_number(struct names *names, struct slice name, uint32_t *number);
void names_address(uint32_t number, bool v6, struct address *address);

/* True if the address is of the synthetic kind; then `*name` is its name, or
 * empty if it was given to none. */
bool names_find(const struct names *names, const struct address *address, struct slice *name);

#endif
