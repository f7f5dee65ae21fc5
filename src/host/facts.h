/* Facts about this host: what its kernel offers and what its configuration
 * forbids. */
#ifndef CLOCHE_HOST_FACTS_H
#define CLOCHE_HOST_FACTS_H

#include "base/arena.h"
#include "base/slice.h"

/* What can hold the limits of a whole run. */
struct limit_facts {
    /* Directories of cgroups below which one with the controller can be made; NULL: there is none. */
    const char *memory_cgroup;
    const char *processes_cgroup;
    const char
        *manager; /* the socket of a service manager that can be asked for one; NULL: not needed, or there is none */
    bool pid_max; /* kernel.pid_max is each pid namespace's own, and can be set */
};

/* What can be written to the file system of the project. */
enum disk { DISK_USABLE, DISK_READ_ONLY, DISK_FULL };

/* What planning needs. Costs four system calls; inside a filter of somebody else's
 * also a child that tries whether another one may have a listener. */
struct facts {
    unsigned kernel_major;
    unsigned kernel_minor;
    int landlock_abi; /* 0: none */
    bool is_root;
    bool listener;       /* a filter may have one, as the doorman needs it (Linux 5.19) */
    bool listener_taken; /* it is there, but a sandbox around this process has it */
    enum disk disk;
    struct limit_facts limits;
};

/* Leaves `disk` and `limits` as if nothing were known. */
void facts_gather(struct facts *facts);

/* Of the disk that the project is on. */
void facts_gather_disk(struct facts *facts, const char *project);

/* For policies that limit memory or processes. */
void facts_gather_limits(struct arena *arena, struct facts *facts);

/* Reads the two leading numbers of a kernel release such as "6.1.0-13-amd64".
 * Anything else leaves both at 0, which counts as too old. */
bool facts_parse_release(struct slice release, unsigned *major, unsigned *minor);

#endif
