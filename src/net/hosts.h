/* The host's own table of names, /etc/hosts, as it was when the run began. */
#ifndef CLOCHE_NET_HOSTS_H
#define CLOCHE_NET_HOSTS_H

#include "base/arena.h"
#include "base/map.h"
#include "net/records.h"

struct hosts {
    struct arena arena;
    struct map by_name; /* canonical name -> struct hosts_entry */
};

struct hosts_entry {
    struct address addresses[NET_ADDRESSES_MAX];
    size_t count;
};

/* A file that is absent or unreadable is an empty one, as for every resolver. */
void hosts_read(struct hosts *hosts, const char *path);
const struct hosts_entry *hosts_find(const struct hosts *hosts, struct slice name);

#endif
