/* Masks that tell: what the kernel asks of the file system that hidden paths are
 * made of, and what it is answered. Pure: bytes in, bytes out.
 *
 * The root of that file system is a directory with one entry for each wire, named
 * by its number, and only pid 1 ever sees it. Everything asked of a wire is
 * refused but what it looks like. */
#ifndef CLOCHE_WATCH_TRIPWIRE_H
#define CLOCHE_WATCH_TRIPWIRE_H

#include "base/slice.h"

#include <stdint.h>
#include <sys/types.h>

/* What is read from the kernel at once, and the longest answer: a list of some hundred
 * masks, because each one more is waited for. */
enum { TRIPWIRE_REQUEST_MAX = 8192, TRIPWIRE_ANSWER_MAX = 65536 };

enum wire { WIRE_NONE, WIRE_FILE, WIRE_DIRECTORY };

struct tripwires {
    size_t count; /* of numbers; not each has a wire */
    enum wire (*at)(const void *argument, size_t number);
    const void *argument;
    uid_t user; /* whom they belong to */
    gid_t group;
    uint64_t time; /* when they were made, in seconds since 1970 */
};

/* Somebody was refused. */
struct tripped {
    bool by_first;     /* nobody: pid 1 was told of wires, and put them up */
    bool by_somebody;  /* else nothing of this holds */
    bool if_executing; /* the kernel asks in the same words for who wants to execute it, and is refused */
    size_t number;     /* of the wire */
    const char *op;    /* what was asked for: lookup, open, access, readlink, execve */
    struct slice name; /* below the wire, in the request's bytes; empty: the wire itself */
    pid_t thread;      /* as whoever mounted it counts */
};

/* Answers one request of `size` bytes. Returns the length of the answer; 0: none is
 * wanted, or the request is none. `answer` holds TRIPWIRE_ANSWER_MAX bytes and is
 * aligned for 64-bit numbers. */
size_t tripwire_answer(const struct tripwires *wires, const void *request, size_t size, void *answer,
                       struct tripped *tripped);

#endif
