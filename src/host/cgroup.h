/* The cgroup (version 2) around this process. Private to this room. */
#ifndef CLOCHE_HOST_CGROUP_H
#define CLOCHE_HOST_CGROUP_H

#include "base/arena.h"

/* Where the unified hierarchy is mounted: the usual place, or beside version 1. NULL: nowhere. */
const char *cgroup_mounted(void);

/* The path after "0::" in /proc/self/cgroup. */
bool cgroup_own(struct arena *arena, struct slice *path);

/* Is the controller named in "cgroup.controllers" (it has it) or "cgroup.subtree_control" (it hands it down)? */
bool cgroup_lists(struct arena *arena, const char *directory, const char *file, struct slice controller);

/* Is there this file in a cgroup's directory? */
bool cgroup_has(const char *directory, const char *name);

/* Moves this process into one. */
bool cgroup_enter(const char *directory);

#endif
