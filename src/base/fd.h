/* File descriptors that close themselves, and whole files read with a bound. */
#ifndef CLOCHE_BASE_FD_H
#define CLOCHE_BASE_FD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#include <dirent.h>

void fd_close(int *fd); /* closes if >= 0 and sets -1; keeps errno */

/* Closes all but the standard ones and `kept`, whose numbers ascend. False with errno. */
bool fd_close_others(const int *kept, size_t count);

#define FD_CLEANUP __attribute__((cleanup(fd_close)))

/* Are both of one file, by whatever names and with whatever rights? */
bool fd_is_same_file(int a, int b);

/* Hands a descriptor on: the cleanup of `*fd` then does nothing. */
static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* Makes what is missing of `path`, for the user alone; nothing at or above `from`, which
 * covers it, is made. */
bool directory_make(struct arena *arena, struct slice from, struct slice path, struct error *err);

/* Reads at most `limit` bytes; more is an error that names the limit. `name` is
 * what messages call the file. */
bool fd_read_all(int fd, const char *name, size_t limit, struct arena *arena, struct slice *content, struct error *err);

/* As above by path. Sets `*absent` (if given) and returns false without a
 * message when there is no such file. FIFOs and devices are refused, so that a
 * policy path can never make the caller block. */
bool file_read(const char *path, size_t limit, struct arena *arena, struct slice *content, bool *absent,
               struct error *err);

/* The entries of an open directory, which is theirs now; NULL with errno, and nothing left open, where there are
 * none to be had. That it could not be opened (-1) is passed on. */
DIR *fd_list(int fd);

/* All of it, or false with errno. */
bool fd_write_all(int fd, struct slice content);

/* Does the user's terminal (TERM) understand more than letters? */
bool terminal_takes_sequences(void);
/* Is it such a terminal, and of somebody who wants colours (NO_COLOR)? */
bool fd_wants_colour(int fd);

#endif
