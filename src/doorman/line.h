/* A line of requests, and the performers who wait for one. Everything here is done
 * with the pool's mutex held, but for handing over and waiting. Private to this
 * room. */
#ifndef CLOCHE_DOORMAN_LINE_H
#define CLOCHE_DOORMAN_LINE_H

#include "base/placement.h"
#include "doorman/request.h"

#include <semaphore.h>

/* However many wait, there is room for what they may be waiting for. */
enum { REQUESTS_MAX = 384 };

struct performer {
    sem_t given; /* it has a request */
    struct request *request;
    pid_t thread;
    int processor; /* that it is kept on, or PLACEMENT_ANYWHERE */
    struct performer *below;
};

struct line {
    struct request *queue[REQUESTS_MAX];
    size_t first;
    size_t queued;
    struct performer *idle; /* the one that was idle last is on top */
    size_t idle_count;
    size_t starting;
    size_t threads;
    size_t waiting; /* for the world */
};

/* Who is to have it; NULL: it stands in the line. `here` is the processor of the one
 * who gives it, who is going to wait. */
struct performer *line_give(struct line *line, struct request *request, const struct placement *placement, int here);
void performer_hand(struct performer *performer, struct request *request);

/* The next in the line; NULL: there is none, and the performer is idle now, and has
 * to wait. */
struct request *line_take(struct line *line, struct performer *performer);
struct request *performer_wait(struct performer *performer);

#endif
