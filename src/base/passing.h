/* Descriptors on their way from process to process, with a record of fixed size. */
#ifndef CLOCHE_BASE_PASSING_H
#define CLOCHE_BASE_PASSING_H

#include <stddef.h>
#include <sys/types.h>

enum { PASSING_MAX = 32 }; /* descriptors in one message */

/* As sendmsg; never with SIGPIPE. The descriptors stay open here. */
ssize_t passing_send(int socket, const void *record, size_t size, const int *fds, size_t count, int flags);

/* As recvmsg; those that came are closed on exec, and `*count` of them are in `fds`,
 * which has room for as many. When there were more, all are closed and the call
 * fails with EMSGSIZE. With MSG_PEEK the message stays where it is. */
ssize_t passing_receive(int socket, void *record, size_t size, int *fds, size_t *count, int flags);

#endif
