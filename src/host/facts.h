/* Facts about this host: what its kernel offers and what its configuration
 * forbids. */
#ifndef CLOCHE_HOST_FACTS_H
#define CLOCHE_HOST_FACTS_H

#include "base/arena.h"
#include "base/error.h"

/* What planning needs. Costs two system calls. */
struct facts {
    unsigned kernel_major;
    unsigned kernel_minor;
    int landlock_abi; /* 0: none */
    bool is_root;
};

void facts_gather(struct facts *facts);

#endif
