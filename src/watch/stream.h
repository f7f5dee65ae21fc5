/* --events: lines for somebody who reads along, into a file or a descriptor. */
#ifndef CLOCHE_WATCH_STREAM_H
#define CLOCHE_WATCH_STREAM_H

#include "base/error.h"
#include "base/slice.h"

struct event_stream {
    int fd;      /* -1: none, or nobody reads any more */
    size_t lost; /* lines that could not be written whole */
    int error;   /* why */
};

/* Waits for a reader that is slow, but not for one that is stuck: after a moment
 * without progress nothing more is written. */
void event_stream_write(struct event_stream *stream, struct slice line);

#endif
