/* What policy refuses without naming it, and somebody can be asked about: the program
 * that embeds us, or a person at the terminal. Questions come from the network process and from
 * the doorman, and wait here for their answer. */
#ifndef CLOCHE_SESSION_ASKING_H
#define CLOCHE_SESSION_ASKING_H

#include "doorman/records.h"
#include "net/judge.h"
#include "session/peer.h"
#include "session/prompt.h"

/* The network process has at most 128 under way (ASKS_AT_ONCE): enough are left for
 * those that need no answer. A person is asked so many things in a minute, and then nothing
 * any more. */
enum { ASKING_OPEN_MAX = 64, ASKING_GRANTS_MAX = 64, ASKING_HOSTS_MAX = 256, ASKING_RATE = 20, ASKING_WATCHES = 2 };

enum asking_reply { ASKING_NO, ASKING_ONCE, ASKING_RUN, ASKING_DIRECTORY, ASKING_ALWAYS, ASKING_NEVER };

struct asking_open {
    bool used;
    bool asked; /* else: waits for the greeting only */
    uint32_t number;
    uint64_t until;                /* milliseconds of the monotonic clock; 0: not shown yet */
    struct doorman_record *record; /* the doorman's, from malloc; NULL: it is the network's */
    struct net_question question;
};

/* A yes counts for one connection, which asks again once it knows its addresses. */
struct asking_grant {
    struct net_question question; /* its name, port and client */
};

/* Answered for the rest of the run. */
struct asking_host {
    char name[HOST_NAME_MAX_LENGTH + 1];
    uint8_t name_length;
    uint16_t port;
    bool allowed;
};

struct asking {
    const struct session *session;
    struct peer *peer;     /* NULL: nobody embeds us */
    bool everything;       /* --ask: not only about hosts */
    struct prompt *prompt; /* NULL: nobody is asked at a terminal */
    bool late;             /* the embedder has not greeted in time: the policy as it was given holds */
    uint32_t last_number;
    int timer; /* ticks while something is open; -1: not made yet */
    /* None of these while there is nobody to be asked: clearing them is work. */
    struct asking_open *open;
    struct asking_grant *grants;
    struct asking_host *hosts; /* of ASKING_HOSTS_MAX */
    size_t open_max;
    size_t grants_max;
    size_t next_grant;
    size_t host_count;
    struct asking_open *shown;      /* at the terminal; NULL: none */
    uint64_t shown_at[ASKING_RATE]; /* when the last ones were, in turn */
    size_t shown_count;
    int mistakes;           /* words that are no answer to the one that is shown */
    bool too_many;          /* have been asked, or one was spoiled: nothing is any more */
    bool policy_is_exposed; /* by an answer: nothing is written to it any more */
    struct jail_watch *watches;
    int doorman; /* where it waits for its answers; -1: there is none */
    /* The network's question is judged again: with the answer, or NULL: by policy alone. */
    void (*resume)(void *argument, const struct net_question *question, const struct net_answer *answer);
    void *argument; /* NULL: there is no network to be asked about */
};

/* `watches` are ASKING_WATCHES of the supervisor's. False: --ask was given, and there is nobody to be asked. */
bool asking_begin(const struct session *session, struct jail_watch *watches, struct prompt *prompt,
                  struct asking *asking, struct error *err);
void asking_close(struct asking *asking);

/* The judge's hooks. */
enum net_appeal asking_appeal(struct asking *asking, const struct net_question *question);
bool asking_postpone(struct asking *asking, const struct net_question *question);

/* A record of the doorman's that asks: it is answered in any case. */
void asking_hear_doorman(struct asking *asking, const struct doorman_record *record);

/* A line of the embedder's. True if it was one about questions. */
bool asking_hear(struct asking *asking, struct slice line);

/* The embedder is gone. */
void asking_end(struct asking *asking);

#endif
