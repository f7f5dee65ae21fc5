/* An event as it stands in a log, read back. */
#ifndef CLOCHE_WATCH_LOG_ENTRY_H
#define CLOCHE_WATCH_LOG_ENTRY_H

#include "base/slice.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* All text is one line and fit for a terminal, whoever wrote the file. An absent
 * key is empty, zero or -1. */
struct log_entry {
    int64_t time; /* milliseconds since 1970 */
    struct slice run;
    struct slice kind;
    struct slice op;
    struct slice object;
    struct slice verdict;
    struct slice error; /* "EROFS" */
    int64_t pid;
    struct slice program;
    struct slice parent; /* its program */
    struct slice protocol;
    struct slice reason;
    struct slice rule_file;
    struct slice rule_path;
    struct slice hint;
    uint64_t count; /* at least 1 */
    uint64_t sent;
    uint64_t received;
    uint64_t milliseconds;
    bool folded; /* says again, with the count in all, what an earlier line said */

    /* Of a run's own lines. */
    struct slice project;
    struct slice policy; /* ", " between them */
    struct slice version;
    int64_t status; /* -1: not said */
};

/* False if `line` is not an event: no JSON object, no time, kind, run or verdict. */
bool log_entry_parse(struct arena *arena, struct slice line, struct log_entry *entry);

/* A line of a log as it stands, with its newline: spelled anew in ASCII only where
 * it holds what a terminal must not see. */
void log_line_append(struct text *out, struct slice line);

static inline bool log_entry_is_denied(const struct log_entry *entry)
{
    return slice_is(entry->verdict, "denied");
}

static inline bool log_entry_is_run(const struct log_entry *entry)
{
    return slice_is(entry->kind, "run");
}

#endif
