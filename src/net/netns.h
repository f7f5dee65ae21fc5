/* A fresh network namespace, made ready for interception. Private to this room;
 * runs in pid 1, with its capabilities. */
#ifndef CLOCHE_NET_NETNS_H
#define CLOCHE_NET_NETNS_H

#include "base/error.h"

/* The loopback is up, every address is local, and connections to all but the
 * loopback meet the transparent listeners. `*v6` is false where this system has
 * no IPv6: connections over it then fail at once. Where the kernel cannot bring
 * them there, `*announced` becomes true: somebody else must. NULL: nobody can.
 * `*logs`: the kernel can be heard about datagrams. */
bool netns_prepare(bool *v6, bool *announced, bool *logs, struct error *err);

#endif
