/* What the network refused during a run, each once, for the end of it. */
#ifndef CLOCHE_SESSION_REFUSED_HOSTS_H
#define CLOCHE_SESSION_REFUSED_HOSTS_H

#include "net/client.h"
#include "net/judge.h"

enum { REFUSED_HOSTS_MAX = 64 };

struct refused_host {
    char name[HOST_NAME_MAX_LENGTH + 1];
    uint16_t port; /* 0: it was asked for by name only */
    enum net_refusal refusal;
    char reason[NET_REASON_MAX];
    bool by_policy;           /* no entry names it: one could be added */
    struct net_client client; /* the first who tried; pid 0: not known */
    size_t count;
};

struct refused_hosts {
    pid_t init; /* pid 1 of the run */
    struct refused_host items[REFUSED_HOSTS_MAX];
    size_t count;
    size_t unlisted; /* how often something was refused that found no room here */
};

/* Notes what an event tells; with -v it is also said at once. */
void refused_hosts_note(struct refused_hosts *refused, struct arena *arena, const struct net_event *event);

void refused_hosts_say(const struct refused_hosts *refused);

#endif
