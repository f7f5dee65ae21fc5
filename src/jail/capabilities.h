#ifndef CLOCHE_JAIL_CAPABILITIES_H
#define CLOCHE_JAIL_CAPABILITIES_H

#include "base/error.h"

/* The calling process, and all it will start, has no capability (or, with
 * `keep_files`, those about files and their owners) and can gain none. */
bool capabilities_drop(bool keep_files, struct error *err);

#endif
