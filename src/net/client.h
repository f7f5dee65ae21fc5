/* Which process inside holds the other end of a connection, for people to read:
 * it may have passed the socket on, or be gone by now. */
#ifndef CLOCHE_NET_CLIENT_H
#define CLOCHE_NET_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLIENT_PROGRAM_MAX = 256 };

struct net_client {
    pid_t pid;                        /* as seen by the supervisor */
    char program[CLIENT_PROGRAM_MAX]; /* the path it was started from; not fit for a terminal */
    pid_t parent;
    char parent_program[CLIENT_PROGRAM_MAX];
};

/* `init` is pid 1 of the sandbox as the supervisor sees it, `port` the client's own. Takes a
 * moment that grows with the number of processes in the sandbox: not for every connection. */
bool net_client_find(pid_t init, bool udp, uint16_t port, struct net_client *client);

#endif
