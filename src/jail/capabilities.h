#ifndef CLOCHE_JAIL_CAPABILITIES_H
#define CLOCHE_JAIL_CAPABILITIES_H

#include "base/error.h"

/* The calling process, and all it will start, has no capability and can gain
 * none. */
bool capabilities_drop(struct error *err);

#endif
