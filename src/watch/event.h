/* One thing that happened in a run and is worth telling: what was refused, what
 * went over the network, what was met of a limit. */
#ifndef CLOCHE_WATCH_EVENT_H
#define CLOCHE_WATCH_EVENT_H

#include "base/text.h"
#include "policy/model.h"

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum event_kind {
    EVENT_FS_READ,
    EVENT_FS_WRITE,
    EVENT_NET_CONNECT,
    EVENT_NET_DNS,
    EVENT_UNIX_CONNECT,
    EVENT_SYSCALL,
    EVENT_LIMIT,
    EVENT_EXEC_LATER, /* something was made that the host may run one day */
    EVENT_RUN,
    EVENT_KINDS
};

enum event_verdict { EVENT_DENIED, EVENT_ALLOWED, EVENT_OBSERVED };

/* Texts are as they came: whoever writes them escapes them. Empty ones, a zero
 * pid, port or error, and an origin without a file are not known or not there. */
struct event {
    enum event_kind kind;
    enum event_verdict verdict;
    struct slice op;     /* the system call; connect, resolve; what a limit does */
    struct slice object; /* path, host:port, @abstract, system call, limit */
    int error;           /* errno as the command saw it */
    pid_t pid, parent;   /* as the host counts */
    uint16_t port;
    struct slice program, parent_program;
    struct slice protocol;
    struct slice reason; /* words of the policy or of whoever refused */
    struct origin rule;
    struct slice hint;  /* options of `cloche run`, as typed in a shell */
    bool hint_is_wider; /* it allows all of a directory; not written */
    uint64_t sent, received, milliseconds;
    struct slice apart; /* keeps events apart that are alike otherwise; not written */
};

/* What a line says beside the event. */
struct event_line {
    const char *run; /* 16 hexadecimal digits */
    struct timespec time;
    uint64_t count; /* how often it happened so far */
    bool folded;    /* told before, and now once more with the final count */
};

enum { EVENT_LINE_MAX = 64 * 1024 };

const char *event_kind_name(enum event_kind kind);
const char *event_verdict_name(enum event_verdict verdict);

/* One JSON object and no newline: valid UTF-8 and shorter than EVENT_LINE_MAX,
 * whatever bytes the texts hold. Names are escaped as for a terminal, then for JSON:
 * no reader, and no terminal that it prints to, is driven by one (attack 101). */
void event_write(struct text *out, const struct event *event, const struct event_line *line);

/* A run, for the lines around its events. */
struct event_run {
    const char *id;
    struct timespec start;
    struct slice command; /* as typed in a shell */
    struct slice project;
    const char *const *policies; /* what the policy was made of */
    size_t policy_count;
    pid_t pid; /* the supervisor's */
};

void event_write_start(struct text *out, const struct event_run *run);
void event_write_end(struct text *out, const struct event_run *run, int status, uint64_t denied);

/* "2026-11-15T08:30:00.123Z" */
void event_write_time(struct text *out, const struct timespec *time);

/* `"key":"value"` behind a comma, the value escaped and cut to `limit` of its bytes. */
void event_write_name(struct text *out, const char *key, struct slice value, size_t limit);

#endif
