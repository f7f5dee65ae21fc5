/* Times of a log: as they stand there, and as people name them. */
#ifndef CLOCHE_WATCH_LOG_TIME_H
#define CLOCHE_WATCH_LOG_TIME_H

#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* "2026-11-15T08:30:00.123Z" (any number of decimals, or none) in milliseconds
 * since 1970; false if it is anything else. */
bool log_time_parse(struct slice text, int64_t *milliseconds);

/* A moment as people say it: 90s, 30m, 2h, 3d, 1w or a sum of them (1h30m) before
 * `now`; "2026-11-15", "2026-11-15 08:30", "2026-11-15T08:30:00" and "08:30" (today)
 * in local time; the form of the log itself. */
bool log_time_asked(struct slice text, int64_t now, int64_t *milliseconds, struct error *err);

enum { LOG_TIME_TEXT = 32 };

/* Local time: "08:30:00", "2026-11-15". */
void log_time_of_day(int64_t milliseconds, char text[LOG_TIME_TEXT]);
void log_time_date(int64_t milliseconds, char text[LOG_TIME_TEXT]);

#endif
