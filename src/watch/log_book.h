/* What a log says, by run: which command it was and, where wanted, its events,
 * with repeats folded into one. */
#ifndef CLOCHE_WATCH_LOG_BOOK_H
#define CLOCHE_WATCH_LOG_BOOK_H

#include "base/map.h"
#include "watch/log_entry.h"

enum { LOG_BOOK_EVENTS_MAX = 200000, LOG_BOOK_RUNS_MAX = 100000 };

struct log_run {
    struct slice id;
    struct slice command; /* empty: its beginning is not in the log */
    struct slice project;
    struct slice policy;
    struct slice version;
    int64_t started; /* or the time of its first line */
    int64_t latest;  /* the time of its last line */
    bool ended;
    int64_t status;        /* -1: not said */
    uint64_t milliseconds; /* of all of it, once it has ended */
    struct log_entry *events;
    size_t event_count;
    size_t event_capacity;
    struct map seen; /* for folding */
};

struct log_book {
    struct arena *arena;
    struct map by_id;
    struct log_run **runs; /* in the order of their first lines */
    size_t run_count;
    size_t run_capacity;
    size_t event_count;
    size_t left_out; /* events and runs past the bounds */
};

static inline struct log_book log_book_in(struct arena *arena)
{
    return (struct log_book){.arena = arena, .by_id = map_in(arena)};
}

/* The run of this line; takes down what the line says about it. NULL past the
 * bounds. */
struct log_run *log_book_run(struct log_book *book, const struct log_entry *entry);

/* Keeps an event of the run; a folded line corrects the one that it repeats. */
void log_book_keep(struct log_book *book, struct log_run *run, const struct log_entry *entry);

#endif
