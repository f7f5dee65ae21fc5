/* A question on the terminal that cloche was started from: everything inside is
 * stopped while it is open, and the terminal is cloche's own. */
#ifndef CLOCHE_SESSION_PROMPT_H
#define CLOCHE_SESSION_PROMPT_H

#include "base/error.h"
#include "jail/company.h"

#include <stdint.h>
#include <termios.h>

enum { PROMPT_WORD_MAX = 16 };

enum prompt_state {
    PROMPT_IDLE,
    PROMPT_HOLDING, /* a question waits until everything stands still */
    PROMPT_HELD,    /* everything does, and nothing is asked */
    PROMPT_OPEN,
    PROMPT_CHECKING /* a word was typed: does everything stand still yet? */
};

struct prompt {
    int fd; /* the terminal; -1: there is none */
    enum prompt_state state;
    struct jail_hold hold;
    struct jail_watch *watch; /* the supervisor's, of what is typed */
    char *text;               /* the question */
    uint64_t opened;          /* when it was shown, in milliseconds */
    char typed[PROMPT_WORD_MAX];
    size_t length;
    size_t looks;      /* under way */
    bool spoiled;      /* something inside ran while a question was open: nobody is to be asked again */
    bool has_terminal; /* from the command, with what follows */
    struct termios before;
    int foreground;   /* the process group that had it */
    bool interrupted; /* by the interrupt key: the command is told when it goes on */
    bool said_background;
    /* A word was typed; empty: there was no answer to be had. prompt_put, prompt_again or prompt_release follows. */
    void (*answered)(void *argument, const char *word);
    void *argument;
};

/* Is there a terminal to ask on? */
bool prompt_open(struct prompt *prompt, struct jail_watch *watch, struct error *err);
void prompt_close(struct prompt *prompt);

/* Asks, soon: lines that are safe to be shown. Not while one is open. */
void prompt_put(struct prompt *prompt, const char *text);

/* Now and then while one is open: it is broken off if something inside runs. */
void prompt_look(struct prompt *prompt);

/* What was typed is none of the answers: these words, and it stays open. */
void prompt_again(struct prompt *prompt, const char *words);

/* A last word, where something is open. */
void prompt_say(struct prompt *prompt, const char *words);

/* Gives the terminal back, and lets everything go on. */
void prompt_release(struct prompt *prompt);

#endif
