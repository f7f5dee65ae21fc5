/* --control-fd: the lists of hosts, replaced while the command runs. Each line is
 * a policy, of which only these take effect. */
#ifndef CLOCHE_SESSION_RELOAD_H
#define CLOCHE_SESSION_RELOAD_H

#include "session/prepare.h"

enum { RELOAD_LINE_MAX = 1024 * 1024 };

struct reload {
    const struct session *session;
    /* Lines that are no policies: true if it was one. NULL: there are none. */
    bool (*heard)(void *argument, struct slice line);
    void *argument;
    int fd; /* -1: none, or at its end */
    char *line;
    size_t length;
    size_t capacity;
    bool too_long; /* the rest of this line is passed over */

    /* The policy in force: the session's own, or the last good line's with all that
     * belongs to it in the arena beside it. */
    const struct policy *policy;
    struct policy replacement;
    struct arena arena;
};

/* Is `fd` one that can be read from? 0 is good: there is none. */
bool reload_open(const struct session *session, int fd, struct reload *reload, struct error *err);

/* Reads what is there without waiting. Afterwards `policy` may be another. */
void reload_read(struct reload *reload);

void reload_close(struct reload *reload);

#endif
