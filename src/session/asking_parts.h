/* The two halves of asking: the questions that wait (asking.c), and the person who is shown them (asking_person.c). */
#ifndef CLOCHE_SESSION_ASKING_PARTS_H
#define CLOCHE_SESSION_ASKING_PARTS_H

#include "session/ask_text.h"
#include "session/asking.h"

struct ask_text asking_describe(const struct asking_open *open);

/* Whoever asked has the answer then, and the question is not open any more. */
void asking_settle(struct asking *asking, struct asking_open *open, enum asking_reply reply, struct slice why);
/* One of the network's; without an answer policy alone decides. */
void asking_settle_network(struct asking *asking, struct asking_open *open, const struct net_answer *answer);

/* Unless one is shown already. */
void asking_show_next(struct asking *asking);
/* The one that is shown, and those that want the same. */
void asking_settle_shown(struct asking *asking, enum asking_reply reply, const char *why);
/* What the prompt calls: the word that was typed, or "" where there is nobody to answer. */
void asking_answered(void *argument, const char *word);

#endif
