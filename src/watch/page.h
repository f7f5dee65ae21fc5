/* A run as one page for a browser: when what happened, which hosts, which files,
 * what was denied and what would allow it. */
#ifndef CLOCHE_WATCH_PAGE_H
#define CLOCHE_WATCH_PAGE_H

#include "watch/log_book.h"

/* The page is complete in itself: nothing is loaded from anywhere, and nothing in it
 * is a program. */
void page_write(const struct log_run *run, struct text *out);

#endif
