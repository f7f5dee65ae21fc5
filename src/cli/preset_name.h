/* A preset by the name somebody typed. */
#ifndef CLOCHE_CLI_PRESET_NAME_H
#define CLOCHE_CLI_PRESET_NAME_H

#include "policy/preset.h"

/* "dev" and "preset:dev" are the same. NULL, with a message that lists what there
 * is, when there is no such preset. */
const struct preset *preset_named(const char *name);

#endif
