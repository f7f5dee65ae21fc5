/* The reason of a refusal as a protocol may carry it: one line, printable, cut.
 * Its words are the policy's, but names in it may come from anywhere. Pure. */
#ifndef CLOCHE_NET_REASON_H
#define CLOCHE_NET_REASON_H

#include "net/wire.h"

/* Runs of control characters become one space, what is not UTF-8 a question
 * mark; with `ascii` every character beyond it does. Writes at most `limit` bytes
 * and never a part of a character. */
void reason_put(struct wire_writer *out, struct slice reason, bool ascii, size_t limit);

#endif
