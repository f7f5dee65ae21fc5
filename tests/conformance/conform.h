/* What the parts of the conformance program share. See conform.c. */
#ifndef CLOCHE_TESTS_CONFORM_H
#define CLOCHE_TESTS_CONFORM_H

#include <stdbool.h>
#include <sys/types.h>

/* One subject. `run` works in a directory of its own, in a process of its own. */
struct subject {
    const char *name;
    void (*run)(void);
};

extern const struct subject open_subjects[];
extern const struct subject name_subjects[];
extern const struct subject metadata_subjects[];
extern const struct subject descriptor_subjects[];
extern const struct subject process_subjects[];
extern const struct subject socket_subjects[];

/* "SUBJECT: WORDS: ok", or the number if it is above 0, or the error's name if it
 * is negative. Returns whether it was not negative. */
bool say(long result, const char *words, ...) __attribute__((format(printf, 2, 3)));

/* The same for a new descriptor: what kind of descriptor on what; closes it. */
bool say_opened(int fd, const char *words, ...) __attribute__((format(printf, 2, 3)));

/* What stands at `path`, the link itself if it is one: type, mode, links, size, and
 * the target or the beginning of the content. */
void look(const char *path);

/* What the tests are made of. All end the program if the tree cannot be made. */
void put_file(const char *path, const char *content);
void put_directory(const char *path);
void put_link(const char *target, const char *path);
void put_fifo(const char *path);

/* Removes whatever stands there, one level of content included. */
void clear(const char *path);

/* Ends with what went wrong in the program itself. */
void give_up(const char *what) __attribute__((noreturn));

/* Waits for a child and returns its exit status, or 1000 and the signal. */
int status_of(pid_t child);

/* Sleeps. */
void rest(long milliseconds);

#endif
