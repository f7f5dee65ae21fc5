/* Where a socket's address leads, and whether this run may go there. Private to
 * this room. */
#ifndef CLOCHE_DOORMAN_DESTINATION_H
#define CLOCHE_DOORMAN_DESTINATION_H

#include "doorman/resolve.h"
#include "doorman/worker.h"

/* An address that the kernel can be given: what it leads to is pinned. */
struct destination {
    struct sockaddr_storage address;
    socklen_t length;
    bool is_pinned;
    struct place place;
};

/* A unix address whose name is a path, or an abstract one. */
bool destination_is_path(const struct request *request);
bool destination_is_abstract(const struct sockaddr_storage *address, socklen_t length);

/* Fills `destination` from the request's address; an errno, or 0. To be closed in
 * any case. */
int destination_judge(struct worker *worker, const struct request *request, struct destination *destination);
void destination_close(struct destination *destination);

#endif
