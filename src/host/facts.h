/* Facts about this host: what its kernel offers and what its configuration
 * forbids. */
#ifndef CLOCHE_HOST_FACTS_H
#define CLOCHE_HOST_FACTS_H

#include "base/slice.h"

/* What planning needs. Costs two system calls. */
struct facts {
    unsigned kernel_major;
    unsigned kernel_minor;
    int landlock_abi; /* 0: none */
    bool is_root;
};

void facts_gather(struct facts *facts);

/* Reads the two leading numbers of a kernel release such as "6.1.0-13-amd64".
 * Anything else leaves both at 0, which counts as too old. */
bool facts_parse_release(struct slice release, unsigned *major, unsigned *minor);

#endif
