/* What would have to change for something denied to be allowed. */
#ifndef CLOCHE_CLI_HINT_H
#define CLOCHE_CLI_HINT_H

#include "cli/question.h"

struct hint {
    const char *before; /* what has to be done first; NULL: nothing */
    const char *option; /* as typed in a shell: --allow-read /x; NULL: none needed or none helps */
    const char *policy; /* lines for the policy file; NULL: none */
};

/* Every hint was tried: the policy is loaded again with it and the same question
 * asked. (Only a grant for a path that does not exist yet cannot be.) False when nothing that cloche knows would allow
 * it. */
bool hint_find(const struct session_request *request, const struct session *session, const struct answer *denied,
               struct hint *hint);

#endif
