/* A log for people: a head line for each run, a row for each event, and below it
 * what would allow it. */
#ifndef CLOCHE_WATCH_LOG_TABLE_H
#define CLOCHE_WATCH_LOG_TABLE_H

#include "watch/log_book.h"

struct log_table {
    size_t width; /* of the terminal; 0: nothing is cut */
    bool colours;
    struct slice home; /* shown as ~ where a path begins with it; may be empty */
};

void log_table_run(const struct log_table *table, const struct log_run *run, struct text *out);
void log_table_event(const struct log_table *table, const struct log_entry *entry, struct text *out);

/* "1.2 kB", "12 s": for the page, too. */
void log_table_bytes(uint64_t bytes, struct text *out);
void log_table_span(uint64_t milliseconds, struct text *out);

#endif
