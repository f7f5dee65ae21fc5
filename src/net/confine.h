/* N shuts itself in. Private to this room. */
#ifndef CLOCHE_NET_CONFINE_H
#define CLOCHE_NET_CONFINE_H

#include "base/error.h"

#include <stddef.h>

/* What can be done before files are read for the last time: descriptors but the
 * `count` in `kept` (ascending) closed, no signals, no terminal, limits. */
bool confine_process(const int *kept, size_t count, struct error *err);

/* From here on: no files, no capabilities, no other process, and no system call
 * that is not needed to carry bytes. */
bool confine_finally(struct error *err);

#endif
