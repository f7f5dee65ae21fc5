/* The time that passes, whatever the date is set to. */
#ifndef CLOCHE_BASE_CLOCK_H
#define CLOCHE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t milliseconds_on(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline uint64_t milliseconds_now(void)
{
    return milliseconds_on(CLOCK_MONOTONIC);
}

#endif
