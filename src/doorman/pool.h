/* Threads that perform, and the bounded line of requests before them. Private to
 * this room. */
#ifndef CLOCHE_DOORMAN_POOL_H
#define CLOCHE_DOORMAN_POOL_H

#include "doorman/house.h"
#include "doorman/request.h"

/* Those who act on files stand under the run's Landlock rules. Those
 * who connect do not: the rules say nothing of sockets with a path, and their
 * scope would keep the doorman from the run's own abstract ones. Nor do those who
 * perform what somebody is asked about: the rules know nothing of it (appeal.c). */
enum pool_kind { POOL_FILES, POOL_SOCKETS, POOL_APPEALS, POOL_KINDS };

bool pool_make(struct house *house);

/* Once the process is confined. */
bool pool_start_threads(struct house *house);

/* A free request; waits until there is one. */
struct request *pool_take(struct house *house);

/* Gives it to a performer, who answers it and frees it. */
void pool_submit(struct house *house, struct request *request);

/* Frees one that was answered otherwise. */
void pool_give_back(struct house *house, struct request *request);

/* Tells the kernel, where nothing is to be performed. */
void pool_answer_error(const struct house *house, const struct request *request, int error);

#endif
