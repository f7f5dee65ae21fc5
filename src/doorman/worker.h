/* One performer thread. Private to this room. */
#ifndef CLOCHE_DOORMAN_WORKER_H
#define CLOCHE_DOORMAN_WORKER_H

#include "doorman/house.h"
#include "doorman/records.h"
#include "doorman/request.h"

/* What the supervisor is to be told of the call that is being performed (tell.h). */
struct noticed {
    bool any;
    uint32_t kind;
    uint32_t verdict;
    uint64_t number;
    const char *reason; /* NULL: policy's own words */
    int error;          /* 0: what the caller is answered */
    char words[RECORD_REASON_MAX];
    char path[PATH_MAX];
    size_t length;
    /* What was moved: told beside the rest. */
    bool moved;
    bool exchanged;
    uint64_t moved_number;
    char from[PATH_MAX], to[PATH_MAX];
    size_t from_length, to_length;
};

struct worker {
    struct house *house;
    int lock;     /* its own descriptor of the lock */
    bool alone;   /* the lock is, or was last, held alone */
    mode_t umask; /* its own at the moment, as of none before the first request */
    const struct request *request;
    struct noticed noticed;
};

/* Its working directory is /proc/self/fd: a descriptor's number is the name of
 * what it stands for, also where the kernel takes nothing but a path. */
struct number {
    char text[16];
};

struct number worker_number(int fd);

/* Between these two the calling thread may wait for long: another takes its
 * place. False if too many do already. */
bool worker_may_wait(struct worker *worker);
/* True if the wait was broken off, because the caller is gone or has a signal to
 * attend to. */
bool worker_has_waited(struct worker *worker);

#endif
