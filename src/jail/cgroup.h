/* A cgroup for one run, where limits are held by one. Supervisor's side. */
#ifndef CLOCHE_JAIL_CGROUP_H
#define CLOCHE_JAIL_CGROUP_H

#include "base/error.h"
#include "plan/plan.h"

struct cgroup {
    char *path;
    int fd; /* -1: the plan needs none */
};

/* Makes it and sets its limits. */
bool cgroup_make(const struct plan *plan, struct cgroup *cgroup, struct error *err);

/* When the run has ended: which limits were hit. */
struct cgroup_hits {
    bool memory;
    bool processes;
};
struct cgroup_hits cgroup_hits(const struct cgroup *cgroup);

/* Every process of it must have been reaped. */
void cgroup_remove(struct cgroup *cgroup);

#endif
