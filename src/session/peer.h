/* The program that embeds cloche and wants to be told and asked while a command
 * of its runs: it listens at an abstract unix socket whose name it gave us, or gave us
 * one end of a pair. One JSON object a line, both ways.
 *
 *   we say:   {"hello":TEXT,...}, then events as --events has them, and
 *             {"ask":NUMBER,"host":"...","port":443}, with --ask also
 *             {"ask":NUMBER,"write":PATH,"program":PATH,"pid":NUMBER}, or "read", or "unix"; at the end {"end":true}
 *   it says:  {"ready":true,"asks":BOOL}, {"answer":NUMBER,"allow":BOOL,"for":"run","reason":"..."}
 *             ("for":"directory": with all of the directory it is in; without "for": this once), and whole policies, of
 * which the lists of hosts take effect */
#ifndef CLOCHE_SESSION_PEER_H
#define CLOCHE_SESSION_PEER_H

#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

enum { PEER_PENDING_MAX = 128 * 1024 };

struct peer {
    int fd;      /* -1: there is none */
    bool broken; /* it has ended */
    bool greeted;
    bool asks;     /* it has somebody to ask */
    bool told;     /* something that it should have read before it hears of our end */
    char *pending; /* a line that did not fit into the socket, from where it broke off */
    size_t pending_length;
};

/* A socket that leads to it already, by `option`. */
bool peer_adopt(int fd, const char *option, struct peer *peer, struct error *err);

/* `session` is NAME:TEXT. False where it cannot be: the embedder has ended, or is
 * another user's; a run goes on without it. */
bool peer_open(const char *session, struct peer *peer);

static inline bool peer_is_there(const struct peer *peer)
{
    return peer->fd >= 0 && !peer->broken;
}

/* One line, without its newline. Never waits: false if it was lost. */
bool peer_say(struct peer *peer, struct slice line);

/* The same, of something that it should know when it hears of our end. */
void peer_tell(struct peer *peer, struct slice line);

/* Gives it a moment to read what it was told, and ends the connection. */
void peer_close(struct peer *peer);

#endif
