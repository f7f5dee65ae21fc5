/* What of a plan pid 1 has to know before all else. It can be guessed, and begin,
 * while the policy is still being read. Private to this room. */
#ifndef CLOCHE_JAIL_OUTSET_H
#define CLOCHE_JAIL_OUTSET_H

#include "plan/plan.h"

#include <unistd.h>

struct outset {
    bool shares_proc; /* the host's /proc instead of a fresh one */
    bool keep_file_capabilities;
    uint64_t memory; /* what the run's tmpfs may take; 0: the kernel's own limit */
};

static inline struct outset outset_of(const struct plan *plan)
{
    return (struct outset){
        .shares_proc = plan->policy->around.shares_proc,
        .keep_file_capabilities = plan->keep_file_capabilities,
        .memory = plan->memory.value,
    };
}

static inline struct outset outset_guess(void)
{
    return (struct outset){0};
}

/* The same sandbox to begin with? */
static inline bool outset_equal(const struct outset *a, const struct outset *b)
{
    return a->shares_proc == b->shares_proc && a->keep_file_capabilities == b->keep_file_capabilities &&
           a->memory == b->memory;
}

#endif
