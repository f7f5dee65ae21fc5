/* Pid 1 of a new set of namespaces. */
#ifndef CLOCHE_JAIL_SPAWN_H
#define CLOCHE_JAIL_SPAWN_H

#include "base/error.h"

#include <sys/types.h>

/* As fork: 0 in the child, which is pid 1 in user and pid namespaces of its own.
 * It starts in the cgroup whose directory `cgroup` is (-1: in the caller's).
 * Leaves errno as the kernel set it. */
bool spawn_namespaces(int cgroup, pid_t *child, struct error *err);

/* In the child: the mount, ipc, uts and cgroup namespaces. They take their time,
 * which need not be the parent's. */
bool spawn_other_namespaces(struct error *err);

/* False, with the reason by errno why a namespace could not be made. */
bool spawn_fail(struct error *err);

/* Until the child has ended, however: one that was killed, or has said that it ends. */
void spawn_wait(pid_t child);

/* Did the kernel, by this errno, refuse the namespaces as such? It may lack a
 * kind of them, or forbid them, or its limits do. */
bool spawn_is_forbidden(int errnum);

#endif
