/* Copies from the caller: its memory, its descriptors, its directories. Needs
 * CAP_SYS_PTRACE, which only the reader and the fetcher have. Private to this room. */
#ifndef CLOCHE_DOORMAN_COPY_H
#define CLOCHE_DOORMAN_COPY_H

#include "doorman/house.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* All of these return an errno, 0 if they succeeded. */
int copy_bytes(pid_t thread, uint64_t address, void *bytes, size_t size);

/* What is scattered over `parts`, which are the caller's addresses; `size` in all. */
int copy_parts(pid_t thread, const struct iovec *parts, size_t count, void *bytes, size_t size);

/* Text with its NUL; ENAMETOOLONG if that is not among the first `size` bytes. */
int copy_text(pid_t thread, uint64_t address, char *text, size_t size, size_t *length);

/* What the caller's `descriptor` (or AT_FDCWD) is. */
int copy_base(const struct house *house, pid_t thread, int descriptor, int *base);

/* Whose rights to files the caller has, if its root may change users. */
bool copy_user(const struct house *house, pid_t thread, uid_t *user, gid_t *group);

/* What the caller's new files are not to allow. */
mode_t copy_umask(const struct house *house, pid_t thread);

/* Has the caller's process no other thread? Needs no capability. */
bool copy_is_single(const struct house *house, pid_t thread);

/* Is there a signal for the caller that it neither blocks nor ignores? */
bool copy_has_signal(const struct house *house, pid_t thread);

/* The caller's own descriptor, shared with it. */
int copy_descriptor(const struct house *house, pid_t thread, int descriptor, int *copy);

/* Likewise in two steps, for who wants several: a pidfd of the caller, then each. */
int copy_caller(const struct house *house, pid_t thread, int *pidfd);
int copy_descriptor_of(int pidfd, int descriptor, int *copy);

/* The caller's memory, to write to. It stays that of this caller, also when
 * another has got its number. */
int copy_memory(const struct house *house, pid_t thread, int *memory);

#endif
