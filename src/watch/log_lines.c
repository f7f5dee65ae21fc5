#include "watch/log_lines.h"

/* Finishes the line that is in the buffer; false if it is not to be seen. */
static bool finish(struct log_lines *lines, struct slice *line)
{
    bool whole = !lines->overlong;

    *line = (struct slice){lines->bytes, lines->length};
    lines->length = 0;
    lines->overlong = false;
    lines->number++;
    lines->skipped += !whole;
    return whole && line->len > 0;
}

bool log_lines_next(struct log_lines *lines, struct slice *bytes, struct slice *line)
{
    while (bytes->len) {
        size_t end = slice_find(*bytes, '\n');
        bool ended = end < bytes->len;

        if (end > LOG_LINE_MAX - lines->length)
            lines->overlong = true;
        if (!lines->overlong) {
            memcpy(lines->bytes + lines->length, bytes->ptr, end);
            lines->length += end;
        }
        *bytes = slice_from(*bytes, end + ended);
        if (ended && finish(lines, line))
            return true;
    }
    return false;
}

void log_lines_end(struct log_lines *lines)
{
    if (lines->length || lines->overlong) {
        lines->skipped++;
        lines->number++;
    }
    lines->length = 0;
    lines->overlong = false;
}
