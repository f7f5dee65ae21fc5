/* What is behind the handles of cloche.h. Private to this room, which knows the
 * house only from outside: it starts the binary, and uses none of its memory (an
 * arena ends the process when there is no more; a library must not). */
#ifndef CLOCHE_LIB_HANDLES_H
#define CLOCHE_LIB_HANDLES_H

#include "cloche.h"

/* Keeps the first reason; false, so that it can be returned. */
bool fail(cloche_error **error, enum cloche_code code, int number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool fail_memory(cloche_error **error);

/* Words of a command line, each from malloc, always NULL behind the last. */
struct words {
    char **items;
    size_t count;
};

bool words_add(struct words *words, const char *word, cloche_error **error);
bool words_add_all(struct words *words, const char *const *more, cloche_error **error); /* NULL: none */
void words_free(struct words *words);

/* A policy is the options that name its parts. */
struct cloche_policy {
    struct words options;
};

struct cloche_session {
    char *binary; /* absolute, or a name for PATH */
    char *project;
    struct words arguments;
    struct words policy;
    struct words grants; /* options that came of answers */
    bool filtered;       /* so that lists of hosts can be replaced */
    bool asks;           /* "--ask" is among the arguments: not only about hosts */
    int tmp;             /* holds the /tmp that its commands share; -1: each has its own */
    bool tmp_wanted;     /* the policy says so; else it is only the habit of sessions */
    int epoll;
    struct cloche_process *processes;
    cloche_event_callback *on_event;
    void *event_argument;
    cloche_ask_callback *on_ask;
    void *ask_argument;
};

/* A descriptor that lines come from. */
struct lines {
    int fd; /* -1: there is none, or it is at its end */
    char *text;
    size_t length;
    size_t capacity;
};

/* Reads what is there, and calls `take` with each line, which ends with a NUL. How many of them it counted;
 * negative: see `error`. */
int lines_read(struct lines *lines, bool (*take)(struct cloche_process *process, const char *line, size_t length),
               struct cloche_process *process, cloche_error **error);
void lines_close(struct lines *lines);

/* What a question was about, as an option that would have allowed it. */
struct asked {
    uint32_t number;
    const char *option; /* NULL: there was none */
    char *value;        /* from malloc; NULL: it can be said by no option */
};

enum { ASKED_MAX = 64 }; /* the binary has no more open at once */

struct cloche_process {
    cloche_session *session;
    struct cloche_process *next;
    pid_t pid;
    int pidfd;
    int lifeline; /* the run ends when this is closed */
    struct lines events;
    struct lines talk;             /* with its supervisor, where its network is filtered */
    struct asked asked[ASKED_MAX]; /* the last ones */
    size_t asked_count;            /* ever */
    bool started;                  /* it said so */
    char *denials;                 /* the lines of what was denied, as many as there is room for */
    size_t denials_length;
    bool ended;
    struct cloche_status status;
};

/* The options before the command: what `run` and `explain` are to be called with. */
bool session_words(const cloche_session *session, const char *verb, const struct words *policy, struct words *words,
                   cloche_error **error);

/* Makes the /tmp of a session whose policy is `policy`, where that has one. `word` is what the policy says of it;
 * NULL: nothing. Leaves one that there is alone. */
bool session_hold_tmp(cloche_session *session, const struct words *policy, const char *word, cloche_error **error);

/* How a program is started: descriptors for 0 to 2 (negative: /dev/null), and
 * others that it gets under the same number. */
struct launch {
    const char *file;
    char *const *argv;
    char *const *environment;
    const char *directory;
    int standard[3];
    int kept[4 + CLOCHE_DESCRIPTORS_MAX];
    size_t kept_count;
};

/* The process, or -1. */
pid_t launch(const struct launch *launch, cloche_error **error);

/* Runs the binary to its end. What it writes is put into two texts from malloc;
 * more than a bound is an error. `input` and `kept` are descriptors; -1: none. The
 * exit status, or -1. */
int launch_and_listen(char *const *argv, int input, int kept, char **output, char **diagnostics, cloche_error **error);

/* A descriptor like `fd`, but never 0 to 2: those are replaced in what is started. */
int beyond_standard(int fd);

/* Reads what is there, and tells the callbacks. How many of them were called; negative: see `error`. */
int process_hear(cloche_process *process, cloche_error **error);

/* One line to its supervisor. */
bool talk_send(cloche_process *process, const char *line, cloche_error **error);
void talk_forget(cloche_process *process);
bool talk_note(cloche_process *process, const char *line, size_t length);

/* Notes that it has ended, if it has. False: see `error`. */
bool process_look(cloche_process *process, cloche_error **error);

#endif
