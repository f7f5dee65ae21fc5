/* Names to addresses, by c-ares and /etc/hosts, with a small cache: what was
 * resolved for the DNS inside is what the connection that follows is judged by
 * and dialled to. Files are read when it is opened, before N shuts itself in. */
#ifndef CLOCHE_NET_RESOLVE_H
#define CLOCHE_NET_RESOLVE_H

#include "base/error.h"
#include "net/loop.h"
#include "net/records.h"

struct resolver;
struct resolve_request;

enum resolve_result {
    RESOLVED,
    RESOLVE_NO_SUCH_NAME, /* or it has no address */
    RESOLVE_FAILED        /* nobody answers, or not well */
};

struct resolution {
    enum resolve_result result;
    struct address addresses[NET_ADDRESSES_MAX];
    size_t count;
};

struct resolver *resolver_open(struct loop *loop, struct error *err);

/* What is known without asking. */
bool resolver_knows(struct resolver *resolver, struct slice name, struct resolution *resolution);

/* Calls `done` later, unless the request is forgotten before. NULL: too many
 * are under way. */
struct resolve_request *resolver_ask(struct resolver *resolver, struct slice name,
                                     void (*done)(void *argument, const struct resolution *resolution), void *argument);

/* Any other record type: `done` gets the whole answer, empty on failure. */
struct resolve_request *resolver_ask_raw(struct resolver *resolver, struct slice name, uint16_t type,
                                         void (*done)(void *argument, struct slice answer), void *argument);
void resolver_forget(struct resolve_request *request);

/* For loop_turn: how long c-ares can wait; and its time to look. */
int resolver_patience(struct resolver *resolver);
void resolver_work(struct resolver *resolver);

#endif
