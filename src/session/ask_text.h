/* What somebody who is asked is told, and which words are answers. */
#ifndef CLOCHE_SESSION_ASK_TEXT_H
#define CLOCHE_SESSION_ASK_TEXT_H

#include "policy/decide.h"
#include "session/asking.h"

enum { ASK_SECONDS = 60 };

#define ASK_AGAIN "Please answer with one of the letters: "
#define ASK_TOO_LATE "\ncloche: no answer, so: no\n"
#define ASK_SPOILED                                                                                                 \
    "cloche: refused: something in the sandbox ran while you were asked, and may have written over the question.\n" \
    "cloche: nothing more is asked in this run\n"

struct ask_text {
    enum operation operation;
    struct slice object;    /* a path, "@name", or a host ... */
    uint16_t port;          /* ... and its port */
    struct slice directory; /* could be allowed as a whole; empty: there is none */
    struct slice program;
    int process;
    bool makes_link; /* which is allowed once, or with its directory */
};

/* At a terminal. `file` is where "always" would be written; NULL: it cannot be. */
const char *ask_text_question(struct arena *arena, const struct ask_text *about, const char *file);

/* False: it is none of the answers. */
bool ask_text_reply(const char *word, enum asking_reply *reply);
const char *ask_text_said(enum asking_reply reply);

/* To a program: one JSON object. */
const char *ask_text_line(struct arena *arena, const struct ask_text *about, uint32_t number);

/* As a policy names it. */
struct slice ask_text_entry(struct arena *arena, const struct ask_text *about);

#endif
