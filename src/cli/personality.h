/* What the personalities share. */
#ifndef CLOCHE_CLI_PERSONALITY_H
#define CLOCHE_CLI_PERSONALITY_H

#include "session/prepare.h"

/* Says every reason not to start that this host or this build has. Are there any?
 * (A personality has no option to waive one.) */
bool personality_objects(const struct session *session);

#endif
