/* The closed list of what --allow-degraded can accept. Everything that names
 * such a token (options, plans, doctor) takes it from here. */
#ifndef CLOCHE_HOST_DEGRADED_H
#define CLOCHE_HOST_DEGRADED_H

#include "base/slice.h"

enum degraded {
    DEGRADED_LATE_NAMES,      /* names that do not exist when the run starts are not held */
    DEGRADED_PROTECTED_NAMES, /* Landlock alone: protected names are not held, so that entries can be made beside them
                               */
    DEGRADED_METADATA,        /* Landlock alone, as root: modes and attributes of all root's files can be changed */
    DEGRADED_TRUNCATE,        /* Landlock alone, ABI 2: emptying files is not held */
    DEGRADED_COUNT
};

/* The words, in that order, NULL at the end. */
extern const char *const degraded_tokens[DEGRADED_COUNT + 1];

/* The bit of a token in a set of accepted ones; 0: no such token. */
unsigned degraded_bit(const char *token);

#endif
