/* Performs requests: decides, and acts, on nothing but the doorman's own copies.
 * Private to this room. */
#ifndef CLOCHE_DOORMAN_PERFORM_H
#define CLOCHE_DOORMAN_PERFORM_H

#include "doorman/resolve.h"
#include "doorman/worker.h"

struct answer perform(struct worker *worker, struct request *request);

/* One file for each family. */
struct answer perform_open(struct worker *worker, struct request *request);
/* With watch "all" every open for reading comes by. Its flags were in a register, so it
 * is still one for reading when the kernel does it: nothing is enforced here. */
struct answer perform_look(struct worker *worker, struct request *request);
struct answer perform_make(struct worker *worker, struct request *request);
struct answer perform_unlink(struct worker *worker, struct request *request);
struct answer perform_link(struct worker *worker, struct request *request);
struct answer perform_rename(struct worker *worker, struct request *request);
struct answer perform_change(struct worker *worker, struct request *request);
struct answer perform_bind(struct worker *worker, struct request *request);
struct answer perform_connect(struct worker *worker, struct request *request);
struct answer perform_send(struct worker *worker, struct request *request);

#endif
