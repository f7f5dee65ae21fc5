/* A refusal that an SSH client shows to its user: a version line and one
 * SSH_MSG_DISCONNECT (RFC 4253). Pure. */
#ifndef CLOCHE_NET_SSH_H
#define CLOCHE_NET_SSH_H

#include "base/slice.h"

#include <stdint.h>

enum { SSH_REFUSAL_MAX = 512 };

size_t ssh_refusal(struct slice reason, uint8_t out[SSH_REFUSAL_MAX]);

#endif
