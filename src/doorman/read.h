/* From a notification to a request: copies all the arguments. Private to this room. */
#ifndef CLOCHE_DOORMAN_READ_H
#define CLOCHE_DOORMAN_READ_H

#include "doorman/house.h"
#include "doorman/request.h"

#include <linux/seccomp.h>

/* An errno for the caller, or 0: the request is complete. */
int read_request(const struct house *house, const struct seccomp_notif *call, struct request *request);

/* The part of it that knows the calls on sockets. */
int read_socket_request(const struct house *house, const struct seccomp_notif *call, struct request *request);

#endif
