/* Calls that the filter sends to the doorman only to be refused, so that they are
 * told of: mounts, namespaces, keys and their like. Private to this room. */
#ifndef CLOCHE_DOORMAN_REFUSE_H
#define CLOCHE_DOORMAN_REFUSE_H

#include "doorman/house.h"

#include <linux/seccomp.h>
#include <stdbool.h>

struct refusal_of_call {
    int error;          /* as the filter gives it where nobody is told */
    bool is_probe;      /* programs try it to find out whether it is there, and do without */
    const char *reason; /* a clause */
};

/* The calls that the policy itself denies: noted once, and asked about before
 * anything else, for the doorman would perform some of them. */
bool refuse_note_denied(struct house *house);
const struct refusal_of_call *refuse_find_denied(const struct house *house, int number);

/* Of modes, which may be in memory where no filter sees them. */
extern const struct refusal_of_call refuse_set_id;

/* NULL: it is a call that the doorman performs. `blocks_unix`: no unix socket is
 * to be had at all; `is_root`: nor a file with the set-group-id bit. */
const struct refusal_of_call *refuse_find(const struct seccomp_data *call, bool blocks_unix, bool is_root);

#endif
