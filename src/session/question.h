/* The questions explain answers: read:PATH, net:HOST:PORT and their like. */
#ifndef CLOCHE_SESSION_QUESTION_H
#define CLOCHE_SESSION_QUESTION_H

#include "session/prepare.h"

struct question {
    enum operation operation;
    struct slice object; /* as asked, without the prefix; paths absolute */
    struct host host;    /* OPERATION_CONNECT */
    uint16_t port;
};

struct answer {
    struct question question;
    struct slice real; /* what was judged: a path free of links, a host in canonical form */
    struct decision decision;
    unsigned locks;   /* enum lock bits */
    const char *note; /* NULL, or why no lock holds it, or what else is to be known */
    bool by_backend;  /* denied although the policy allows it: this backend cannot carry it out */
};

enum { QUESTIONS_PER_WORD_MAX = 2 };

/* One word of the command line: a bare path asks for reading and writing.
 * Returns how many questions it holds, 0 with an error if it makes no sense. */
size_t question_parse(const struct session *session, const char *word,
                      struct question questions[QUESTIONS_PER_WORD_MAX], struct error *err);

/* Needs a loaded policy; locks are filled in only where the session has a plan. */
bool question_answer(struct arena *arena, const struct session *session, const struct question *question,
                     struct answer *answer, struct error *err);

const char *operation_name(enum operation operation);

/* "mount + landlock"; empty for 0. */
const char *locks_text(struct arena *arena, unsigned locks);
/* ["mount","landlock"] */
void locks_json(unsigned locks, struct text *out);

#endif
