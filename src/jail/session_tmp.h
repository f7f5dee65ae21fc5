/* The /tmp that the commands of a session share. */
#ifndef CLOCHE_JAIL_SESSION_TMP_H
#define CLOCHE_JAIL_SESSION_TMP_H

#include "base/error.h"
#include "plan/plan.h"

#include <stddef.h>
#include <stdint.h>

enum { SESSION_TREES_MAX = 2 }; /* /tmp and /var/tmp */

/* What one run shows of it: a detached mount for each STEP_SESSION of its plan, in their order. */
struct session_trees {
    int trees[SESSION_TREES_MAX];
    size_t count;
};

/* Makes one, for at most `size` bytes (0: the kernel's own limit), and a descriptor that
 * keeps it. It is gone with the last descriptor and the last run that shows it. */
bool session_tmp_make(uint64_t size, int *descriptor, struct error *err);

/* `path` leads to such a descriptor: /proc/PID/fd/N. If it fails, `*differs` says whether
 * for no other reason than that this plan has other places below /tmp than the first had. */
bool session_tmp_enter(const char *path, const struct plan *plan, struct session_trees *trees, bool *differs,
                       struct error *err);
void session_tmp_leave(struct session_trees *trees);

/* In pid 1: the places of other mounts in it. */
bool session_tmp_fill(int tree, const struct step *step, struct error *err);

#endif
