/* Words and bits of the weaker modes a user can accept by name. */
#include "host/degraded.h"

#include <string.h>

const char *const degraded_tokens[DEGRADED_COUNT + 1] = {
    [DEGRADED_LATE_NAMES] = "late-names",
    [DEGRADED_PROTECTED_NAMES] = "protected-names",
    [DEGRADED_METADATA] = "metadata",
    [DEGRADED_TRUNCATE] = "truncate",
};

unsigned degraded_bit(const char *token)
{
    for (unsigned i = 0; i < DEGRADED_COUNT; i++) {
        if (strcmp(degraded_tokens[i], token) == 0)
            return 1U << i;
    }
    return 0;
}
