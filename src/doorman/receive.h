/* Takes calls from the listener, and answers them. Private to this room. */
#ifndef CLOCHE_DOORMAN_RECEIVE_H
#define CLOCHE_DOORMAN_RECEIVE_H

#include "doorman/house.h"

#include <linux/seccomp.h>

/* Callers are to wake us on their own processor: they wait, and we take turns. */
void receive_begin(const struct house *house);

/* Waits for the next one, and counts it in `taken`. False: there cannot be another. */
bool receive_call(const struct house *house, atomic_uint *taken, struct seccomp_notif *call);

/* Does its caller still wait? Then it was the caller that was looked at by its number until now, and not a newcomer. */
bool receive_is_valid(const struct house *house, uint64_t id);

/* The caller may have been killed: then nobody wants it. */
void receive_answer(const struct house *house, struct seccomp_notif_resp response);

#endif
