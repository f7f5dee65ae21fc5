/* A conversation with a service manager, by D-Bus. Private to this room. */
#ifndef CLOCHE_HOST_MANAGER_H
#define CLOCHE_HOST_MANAGER_H

#include "base/dbus.h"
#include "base/error.h"

#include <stdint.h>

/* Where to find one. */
struct manager_address {
    const char *socket;
    bool bus; /* it is behind a bus, and not at the other end itself */
};

enum { MANAGER_ADDRESSES_MAX = 3 };

/* Those that are there and belong to this user, the straightest first. */
size_t manager_find(struct arena *arena, struct manager_address addresses[MANAGER_ADDRESSES_MAX]);

struct manager {
    int fd;
    bool bus;
    uint64_t deadline; /* of all that is said: milliseconds_now() */
    uint32_t serial;   /* of the newest call */
    size_t length;     /* of what was received and not read yet */
    size_t taken;      /* of these, what the newest message took */
    char bytes[DBUS_MESSAGE_MAX];
};

/* Connects, and says who we are. Close with fd_close(&manager->fd), whatever comes of it. */
bool manager_open(const struct manager_address *address, uint64_t deadline, struct manager *manager, struct error *err);

/* Calls a method of the manager's and waits for the answer; what else is said
 * meanwhile is passed over. False also if the answer is an error: then `*refused`. */
bool manager_call(struct manager *manager, const char *member, const char *signature, struct slice body, bool *refused,
                  struct error *err);

/* What the manager says unasked, waiting no longer than `milliseconds`. False, without
 * an error: nothing was said yet. What `message` points to is there until the next call. */
bool manager_hear(struct manager *manager, int milliseconds, struct dbus_message *message, bool *broken,
                  struct error *err);

#endif
