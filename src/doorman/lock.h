/* Who decides about a name and then acts must not find the directories renamed in
 * between: by another thread of the doorman, or by another run's (attack 108).
 * Private to this room. */
#ifndef CLOCHE_DOORMAN_LOCK_H
#define CLOCHE_DOORMAN_LOCK_H

#include <stdbool.h>

/* Before any namespace is entered. A descriptor, or -1. */
int lock_find(void);

/* By the supervisor, once a doorman of it has ended: leaves nothing behind if no
 * other run needs it. */
void lock_clear_away(void);

/* Each thread has a descriptor of its own for it, made from house->lock. */
int lock_open(int self, int lock);

/* Whoever renames or links directories takes it alone; everybody else shares it.
 * False if it cannot be had within a few seconds. */
bool lock_take(int lock, bool alone);
void lock_leave(int lock);

#endif
