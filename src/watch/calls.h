/* Names of system calls, by their number on this machine; made by
 * tools/list-calls.c when cloche is built. */
#ifndef CLOCHE_WATCH_CALLS_H
#define CLOCHE_WATCH_CALLS_H

#include <stddef.h>

extern const char *const call_names[]; /* NULL: there is none */
extern const size_t call_name_count;

static inline const char *call_name(long number)
{
    const char *name = number >= 0 && (size_t)number < call_name_count ? call_names[number] : NULL;

    return name ? name : "a system call";
}

#endif
