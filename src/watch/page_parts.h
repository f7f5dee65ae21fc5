/* The parts of the page; see page.c. */
#ifndef CLOCHE_WATCH_PAGE_PARTS_H
#define CLOCHE_WATCH_PAGE_PARTS_H

#include "watch/log_book.h"

/* More than anybody reads; the rest is counted. */
enum { PAGE_ROWS_MAX = 1000 };

/* Made from page.css. */
extern const struct slice page_style;

/* The one way by which text that is not ours gets into the page. */
void page_append(struct text *out, struct slice text);

/* Which part of the page an event belongs to. */
bool page_is_connection(const struct log_entry *entry);
bool page_is_file_written(const struct log_entry *entry);
bool page_is_for_later(const struct log_entry *entry);

void page_timeline(const struct log_run *run, struct text *out);
void page_denials(const struct log_run *run, struct text *out);
void page_hosts(const struct log_run *run, struct text *out);
void page_later(const struct log_run *run, struct text *out);
void page_files(const struct log_run *run, struct text *out);

/* How many different ones; what it needs comes from the arena. */
size_t page_files_written(const struct log_run *run, struct arena *arena);

#endif
