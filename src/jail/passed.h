/* Descriptors beyond the standard ones that the command is given, under the
 * numbers they had in the caller's hands. Private to this room. */
#ifndef CLOCHE_JAIL_PASSED_H
#define CLOCHE_JAIL_PASSED_H

#include "base/error.h"
#include "jail/company.h"

#include <stddef.h>

struct passed {
    size_t count;
    int numbers[JAIL_PASSED_MAX];   /* under which the command finds them */
    int fds[JAIL_PASSED_MAX];       /* where this process has them; -1: not any more */
    int originals[JAIL_PASSED_MAX]; /* of files whose place is to be given back at the end; -1: not one of these */
};

/* As they are in the supervisor. */
void passed_begin(struct passed *passed, const int *numbers, size_t count);

/* From the supervisor to pid 1, which closed them when it was born. */
void passed_send(const struct passed *passed, int socket);
/* In pid 1, while the tree is still the host's: see handed.h. */
bool passed_receive(struct passed *passed, int socket, struct error *err);

/* In the command's process, before its limits are set: each is put where it
 * belongs, and everything else is closed but the standard ones and, until execve, the doorman's
 * socket, which may have to move (-1: there is none). */
bool passed_place(const struct passed *passed, int *doorman, struct error *err);

/* In pid 1, once the command has them: whoever is at the other end of a pipe must
 * see its end. */
void passed_let_go(struct passed *passed);

/* In pid 1, at the end: as handed_give_back. */
void passed_give_back(const struct passed *passed);

#endif
