/* From a path to a directory and a last component, or to an object: as the kernel
 * would for the caller, on the doorman's own copy. Private to this room. */
#ifndef CLOCHE_DOORMAN_RESOLVE_H
#define CLOCHE_DOORMAN_RESOLVE_H

#include "doorman/house.h"
#include "doorman/name.h"
#include "doorman/request.h"

#include <limits.h>

/* Where a path leads. Every descriptor is O_PATH and the caller's to close. */
struct place {
    int object;              /* what is there; -1: nothing, or it was not asked for */
    int directory;           /* the directory that holds, or would hold, it; -1: see `object` */
    char last[NAME_MAX + 2]; /* the last component, with a slash behind it if one was written; "" if there is none */
    size_t last_length;      /* without the slash */
    bool by_hand;            /* the kernel could not be let to walk there */
};

enum resolve_for {
    RESOLVE_ENTRY,  /* the directory and the last component, whatever is there */
    RESOLVE_OBJECT, /* what is there, links followed */
    RESOLVE_LINK,   /* what is there, a link at the end itself */
    RESOLVE_CREATE  /* what is there, links followed, or where it would be */
};

/* An errno, or 0. `resolve` are flags of openat2. */
int resolve(const struct house *house, const struct request *request, const struct operand *operand,
            enum resolve_for purpose, uint64_t resolve_flags, struct place *place);

void place_close(struct place *place);

/* What the caller's path says, without a look at what is there. */
bool resolve_spelled(const struct house *house, const struct operand *operand, struct name *name);

/* By its exact name in the host's tree as it is, which no mask covers: only for what
 * somebody has allowed, or to see whether there is anything to be asked about. */
int resolve_whole(const struct house *house, struct slice path, uint64_t flags);

/* By its exact name, no link on the way nor at the end; relative to `directory`,
 * which an empty path names itself. A descriptor, or -1. */
int resolve_exactly(int directory, struct slice path, uint64_t flags);

/* What the kernel finds without waiting for any file system (from Linux 5.12), a link at
 * the end itself; a descriptor, or -1. Whose "self" of /proc was met is not known. */
int resolve_from_memory(const struct operand *operand);

/* The directory that the entry is, itself and no link; O_PATH, or -1. */
int place_open_directory(const struct place *place);

/* The last component without the slash. */
struct last_name {
    char text[NAME_MAX + 1];
};

struct last_name place_last(const struct place *place);

#endif
