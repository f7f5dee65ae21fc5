/* How much a run uses, read from its own /proc. Pid 1's side. */
#ifndef CLOCHE_JAIL_MEASURE_H
#define CLOCHE_JAIL_MEASURE_H

#include "base/error.h"
#include "plan/plan.h"

struct meter {
    int proc; /* the run's own /proc, or the host's: then with the numbers of its pid namespace */
    int self; /* pid 1's number in it */
    bool shows_others;
    size_t level; /* how many pid namespaces deeper than that /proc's the run is */
    int store;    /* the file system in memory that all private directories lie in */
    bool count_memory;
    bool count_files;
    uint64_t memory_limit;
};

struct usage {
    uint64_t memory; /* bytes; may be an upper bound while that is below the limit */
    uint64_t tasks;  /* processes and threads */
    uint64_t files;  /* open files of the process that has most */
};

bool meter_open(const struct plan *plan, struct meter *meter, struct error *err);
void measure(const struct meter *meter, struct usage *usage);

#endif
