/* What this run has made: directories (inside them protected names may be made)
 * and sockets (they may be connected to). Kept by what they are, not by name.
 * Private to this room. */
#ifndef CLOCHE_DOORMAN_MADE_H
#define CLOCHE_DOORMAN_MADE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object of a file system. Inode numbers are used again; the time of birth tells one from the next. */
struct identity {
    uint64_t device;
    uint64_t inode;
    uint64_t born; /* nanoseconds; 0: the file system does not tell */
};

struct made {
    pthread_mutex_t mutex;
    struct identity *slots;
    size_t capacity;
    size_t count;
};

/* False if it cannot be told apart from a later object with its number. */
bool identity_of(int fd, struct identity *identity);

void made_add(struct made *made, const struct identity *identity);
/* It is gone: before Linux 6.13 another may be born with its number in the same tick. */
void made_forget(struct made *made, const struct identity *identity);
bool made_has(struct made *made, const struct identity *identity);

/* Is what this descriptor stands for among them? */
bool made_is(struct made *made, int fd);

/* Abstract names of sockets that this run has bound. */
struct abstract_names {
    pthread_mutex_t mutex;
    struct abstract_name *items;
    size_t count;
    size_t capacity;
};

void abstract_add(struct abstract_names *names, const char *bytes, size_t length);
bool abstract_has(struct abstract_names *names, const char *bytes, size_t length);

#endif
