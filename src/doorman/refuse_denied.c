/* seccomp.deny of the policy. jail/filter.c sends these calls here where refusals
 * are told of, and refuses them itself elsewhere. */
#include "doorman/refuse.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

static const struct refusal_of_call by_policy = {EPERM, false, "seccomp.deny names it"};

bool refuse_note_denied(struct house *house)
{
    const struct name_rules *names = &house->policy->seccomp.deny;
    char name[64];

    house->denied = calloc(names->count + 1, sizeof *house->denied);
    if (!house->denied)
        return false;
    for (size_t i = 0; i < names->count; i++) {
        struct slice text = names->items[i].text;
        if (text.len >= sizeof name)
            return false; /* the filter was not loaded then */
        memcpy(name, text.ptr, text.len);
        name[text.len] = '\0';
        house->denied[house->denied_count++] = seccomp_syscall_resolve_name(name);
    }
    return true;
}

const struct refusal_of_call *refuse_find_denied(const struct house *house, int number)
{
    for (size_t i = 0; i < house->denied_count; i++) {
        if (house->denied[i] == number)
            return &by_policy;
    }
    return NULL;
}
