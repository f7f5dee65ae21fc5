/* The filters that tools/compile-filter.c makes when cloche is built. */
#ifndef CLOCHE_JAIL_FILTERS_H
#define CLOCHE_JAIL_FILTERS_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* The number of a filter: which liberties it has. */
enum {
    FILTER_NESTED = 1,          /* namespaces and mounts may be made */
    FILTER_NO_UNIX = 2,         /* no unix sockets but pairs */
    FILTER_UNIX_DATAGRAM = 4,   /* unix datagrams too */
    FILTER_ROOT = 8,            /* not a liberty: root must not make set-group-id files either */
    FILTER_FILES_ASKED = 16,    /* what changes files by name is asked of the doorman ... */
    FILTER_SOCKETS_ASKED = 32,  /* ... what connects and binds sockets likewise; with unix datagrams, what sends, too */
    FILTER_WATCHED = 64,        /* what is refused in any case the doorman refuses, so that it is told of */
    FILTER_READS_WATCHED = 128, /* opens for reading come before the doorman, who lets them go on */
    FILTER_COUNT = 256
};

struct compiled_filter {
    const struct sock_filter *program;
    size_t length;
    size_t head_length; /* after so many instructions the architecture is checked and the call's number loaded */
};

extern const struct compiled_filter compiled_filters[FILTER_COUNT];

/* The only one whose calls they let through, as the kernel's audit numbers it. */
extern const uint32_t compiled_architecture;

#endif
