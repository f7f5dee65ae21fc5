/* Lines out of the bytes of a log, as they come: one that is too long, or cut off,
 * is passed over and counted. */
#ifndef CLOCHE_WATCH_LOG_LINES_H
#define CLOCHE_WATCH_LOG_LINES_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/* Writers keep below this (one write() each, so that lines never mix). */
enum { LOG_LINE_MAX = 64 * 1024 };

struct log_lines {
    size_t length;
    bool overlong; /* the line that is being read is passed over */
    size_t number; /* of the line that was returned last, from 1; passed over ones count */
    size_t skipped;
    char bytes[LOG_LINE_MAX];
};

/* Takes from `*bytes` up to the end of the next line; false when it needs more.
 * `*line` has no newline and lives until the next call. */
bool log_lines_next(struct log_lines *lines, struct slice *bytes, struct slice *line);

/* The file has ended: a line without its end was cut off. */
void log_lines_end(struct log_lines *lines);

#endif
