/* The token that tells the sandbox's own clients from everybody else at the
 * proxies (attack 91). Pure. */
#ifndef CLOCHE_NET_AUTHORIZATION_H
#define CLOCHE_NET_AUTHORIZATION_H

#include "base/slice.h"

/* Takes the same time wherever a wrong one is wrong. */
bool authorization_same(struct slice given, struct slice token);

#endif
