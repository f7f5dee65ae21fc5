/* Which lines of a log are wanted. */
#ifndef CLOCHE_WATCH_LOG_FILTER_H
#define CLOCHE_WATCH_LOG_FILTER_H

#include "base/error.h"
#include "watch/log_book.h"

enum log_verdicts {
    LOG_WORTH_SEEING, /* denials, and what would run later on the host */
    LOG_DENIED,
    LOG_ALL,
};

enum { LOG_KINDS_MAX = 16 };

struct log_filter {
    enum log_verdicts verdicts;
    int64_t since;
    int64_t until; /* INT64_MAX: no end */
    struct slice kinds[LOG_KINDS_MAX];
    size_t kind_count;    /* 0: all of them */
    struct slice project; /* this directory and those below it, as a log spells it; empty: any */
    struct slice command; /* part of the run's command line; empty: any */
    struct slice run;     /* how the run's id begins; empty: any */
};

/* "fs.write,net": kinds, or what kinds begin with before their dot. */
bool log_filter_kinds(struct log_filter *filter, struct slice list, struct error *err);

/* Is it from a run that is wanted, at a time that is? */
bool log_filter_run(const struct log_filter *filter, const struct log_run *run, const struct log_entry *entry);

/* That, and of a kind and with a verdict that is. */
bool log_filter_entry(const struct log_filter *filter, const struct log_run *run, const struct log_entry *entry);

#endif
