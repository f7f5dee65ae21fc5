/* From what the command line asked for to a plan that can be carried out or
 * explained. run and explain both come through here, so that explain answers
 * for exactly that run. */
#ifndef CLOCHE_SESSION_PREPARE_H
#define CLOCHE_SESSION_PREPARE_H

#include "plan/plan.h"
#include "policy/load.h"

struct peer;
struct session;
struct watch;

struct session_request {
    enum personality personality;
    bool extended;                       /* srt: cloche's own keys count too (the Node package) */
    const char *project;                 /* -C; NULL: not given */
    const struct policy_source *sources; /* --settings and --preset, in order; none: look for the policy */
    size_t source_count;
    const struct policy_option *options;
    size_t option_count;
    char *const *environment; /* cloche's own */
    char *const *command;     /* argv, NULL at the end; NULL: none */
    bool starts;              /* it is going to be started: whoever has to be asked for that is asked */
    enum backend backend;
    bool shares_proc;  /* a fresh /proc is refused here */
    unsigned accepted; /* by --allow-degraded: bits of host/degraded.h */
    int control_fd;    /* --control-fd; 0: none */
    int lifeline_fd;   /* --lifeline-fd; 0: none */
    int session_fd;    /* --session-fd, which leads to `peer`; 0: none */
    const int *passed; /* --pass-fd: descriptors that the command is to have, under these numbers */
    size_t passed_count;
    const char *session_tmp;       /* --session-tmp: where the /tmp of the session is held; NULL: there is none */
    int events_fd;                 /* of --events; 0: none */
    const char *events_file;       /* its absolute path; NULL: it has none */
    const char *working_directory; /* where the command starts; NULL: see session_plan */
    bool asks;                     /* --ask: `peer`, or whoever is at the terminal, may allow what is refused */
    struct peer *peer;             /* who embeds us; NULL: nobody. Its lines are the control descriptor\'s */

    /* Learning: gets all that a run has told, when it has ended, instead of a summary; NULL: nobody
     * learns. */
    void (*learn)(void *argument, const struct session *session, const struct watch *watch, int status);
    void *argument;
};

struct session {
    struct arena *arena;
    const struct session_request *request; /* what it was made for */
    struct surroundings around;
    const struct policy_source *sources; /* what the policy was made of, found or given */
    size_t source_count;
    const char *passed_over; /* a project policy that is not trusted; NULL: none */
    const char *above;       /* a project policy in a directory above, not used; NULL */
    struct problems problems;
    struct policy policy;
    struct facts facts;
    const struct tree *tree;
    struct plan plan;
    int lifeline_fd; /* the run ends when nobody is at its other end; 0: none */
};

/* The three stages. None says anything by itself: the reasons for a failure are
 * in session->problems, or in `err` (whose text is empty otherwise). */

/* Finds, reads and merges the policy. */
bool session_read(struct arena *arena, const struct session_request *request, struct session *session,
                  struct error *err);
/* Follows its links on `tree`: decide() can be asked from here on. */
bool session_resolve(struct session *session, const struct tree *tree);
/* Makes the plan. */
bool session_plan(struct session *session, struct error *err);

/* All three. */
bool session_prepare(struct arena *arena, const struct session_request *request, struct session *session,
                     struct error *err);

/* Says on stderr what session_prepare met: a policy passed over, warnings,
 * problems, the error. */
void session_say(const struct session *session, const struct error *err);

/* A file's path, or "preset:NAME". */
const char *source_name(struct arena *arena, const struct policy_source *source);

/* "FILE: JSON.PATH", fit for a terminal. */
const char *origin_text(struct arena *arena, const struct origin *origin);

/* One problem in one line: "FILE: JSON.PATH: text". */
const char *problem_line(struct arena *arena, const struct problem *problem);

#endif
