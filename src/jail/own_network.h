/* The sandbox's own network namespace, made beside other work. Private to this room. */
#ifndef CLOCHE_JAIL_OWN_NETWORK_H
#define CLOCHE_JAIL_OWN_NETWORK_H

#include "base/error.h"

#include <pthread.h>

struct own_network {
    bool begun;
    pthread_t thread;
    int space; /* the namespace; -1: `error` tells why not */
    bool forbidden;
    struct error error;
};

/* `own` must stay where it is until own_network_enter. */
bool own_network_begin(struct own_network *own, struct error *err);

/* Waits until it is made. Nothing, if it was not begun. */
bool own_network_enter(struct own_network *own, struct error *err);

/* Was that not to be had because this system gives no such namespaces? */
bool own_network_is_forbidden(const struct own_network *own);

#endif
