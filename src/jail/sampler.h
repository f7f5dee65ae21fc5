/* Looks from time to time at what the run uses, for limits that nothing else
 * holds, or that nothing else tells us were hit. Pid 1's side. */
#ifndef CLOCHE_JAIL_SAMPLER_H
#define CLOCHE_JAIL_SAMPLER_H

#include "jail/company.h"
#include "jail/measure.h"

struct sampler {
    const struct plan *plan;
    bool needed;
    struct meter meter;
    int64_t due; /* monotonic milliseconds */

    /* What was seen. */
    uint64_t processes_seen; /* the most at once */
    bool files_reached;
    uint64_t memory_exceeded; /* bytes it had; 0: it did not */
};

bool sampler_open(const struct plan *plan, struct sampler *sampler, struct error *err);

/* How long poll may wait, in milliseconds, if others let it wait for `patience`;
 * -1: for ever. */
int sampler_patience(const struct sampler *sampler, int patience);

/* Takes a sample if it is time. False when the run must be killed: it uses more
 * memory than it may. */
bool sampler_look(struct sampler *sampler);

/* One last sample when the command has ended and what it left behind still
 * lives; `wait_status` is the command's. Then one line per limit that was hit, for
 * people: calls `say`. */
void sampler_conclude(struct sampler *sampler, int wait_status,
                      void (*say)(void *argument, enum jail_limit limit, const char *line), void *argument);

/* "64M": as people write sizes in a policy. At least 32 bytes. */
void size_text(uint64_t bytes, char *text, size_t size);

#endif
