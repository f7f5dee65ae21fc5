/* The log file: lines of many runs, rotated by size. */
#ifndef CLOCHE_WATCH_LOG_H
#define CLOCHE_WATCH_LOG_H

#include "base/error.h"
#include "policy/model.h"
#include "watch/log_chain.h"

#include <sys/types.h>

enum { EVENT_LOG_BYTES = 4 * 1024 * 1024, EVENT_LOG_OLD = 5 };

struct event_log {
    const char *path; /* NULL: there is none */
    const struct surroundings *around;
    bool chain;
    int fd; /* -1: not open yet */
    int lock;
    bool lock_is_stuck; /* somebody keeps it: it is not waited for any more */
    struct log_chain_value last;
    off_t chained_to; /* how far `last` is known to reach */
    size_t lost;      /* lines that could not be written */
    struct error why; /* of the first that was lost */
};

/* The path that a policy's log has. */
const char *event_log_path(struct arena *arena, const struct policy *policy);

/* Touches nothing: the file is opened for the first line. */
void event_log_open(struct event_log *log, const char *path, const struct policy *policy);

/* Appends a line (without its newline) in one write, so that lines of several runs
 * do not mix; where that is full, the file becomes PATH.1, and so on to
 * PATH.5. */
void event_log_append(struct event_log *log, struct slice line);

void event_log_close(struct event_log *log);

#endif
