/* What the supervisor is told of a call: noticed while it is performed, sent when
 * the lock has been left and before the caller is answered. Private to this room. */
#ifndef CLOCHE_DOORMAN_TELL_H
#define CLOCHE_DOORMAN_TELL_H

#include "doorman/judge.h"
#include "doorman/worker.h"

/* Policy has refused to have an entry made in, or removed from, `directory`, or
 * something to be moved there: `error` is what the caller gets. Not noticed if
 * that is another failure, or the call would fail without a sandbox, too. */
void tell_entry(struct worker *worker, int directory, const struct entry_name *entry, int error);

/* Likewise, of something that is there and was to be changed. */
void tell_object(struct worker *worker, int object, const struct entry_name *entry, int error);

/* Likewise: a directory was not moved out of `directory`, because a rule speaks of something in it by its name. */
void tell_carrying(struct worker *worker, int directory, const struct entry_name *entry, int error);

/* A path led nowhere: if it is policy that hides what it leads through, that is a refusal. */
void tell_unresolved(struct worker *worker, const struct operand *operand, int error);

/* Git's configuration or index was refused, or led an existing name elsewhere: `words` names the keys, or the name. */
void tell_git(struct worker *worker, const struct name *name, enum doorman_record_verdict verdict, const char *words);

/* A socket by its path, or "@name". */
void tell_connect(struct worker *worker, struct slice name);

/* Somebody wanted to leave a run without a network. */
void tell_network(struct worker *worker, const struct sockaddr_storage *address, socklen_t length, int error);

/* A name has been made: told if it would be protected, were the directory not
 * this run's, or if everything is watched. */
void tell_made(struct worker *worker, const struct name *name);

/* A directory has another name, and so has all that was told of below it. */
void tell_moved(struct worker *worker, const struct name *from, const struct name *to, bool exchanged);

/* Something was changed, or removed: told if everything is watched. */
void tell_written(struct worker *worker, const struct name *name);

/* Policy has refused to have it read. */
void tell_read(struct worker *worker, int object, const struct name *name);

/* Something is to be opened for reading: `object` is what is there, or -1, and why it was not found. Told if
 * policy hides it. */
void tell_reading(struct worker *worker, const struct operand *operand, int object, int error);

/* A call that is refused whatever it is about. */
void tell_call(struct worker *worker, const char *reason, bool is_probe);

/* Sends what was noticed, if anything; waits for room. */
void tell_send(struct worker *worker, const struct answer *answer);

#endif
