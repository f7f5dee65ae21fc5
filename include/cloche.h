/* libcloche: commands under glass, from a program.
 *
 * The library is the client side of the cloche binary: it starts it, and says in
 * C what the command line says in words. It has no state of its own outside the
 * handles below, handles no signals, never ends the program, and forks nothing
 * but what posix_spawn starts.
 *
 *     cloche_policy *policy = cloche_policy_new(&error);
 *     cloche_policy_add_preset(policy, "dev", &error);
 *     cloche_session *session = cloche_session_new(policy, NULL, &error);
 *     struct cloche_spawn spawn = {.size = sizeof spawn, .argv = argv, .output = 1, .diagnostics = 2};
 *     cloche_process *process = cloche_spawn(session, &spawn, &error);
 *     cloche_wait(process, -1, &status, &error);
 *
 * Handles may be used by any thread, each by one at a time; different sessions by
 * different threads at once. Every function that can fail takes where to put the
 * reason, which may be NULL; what it gives is freed with cloche_error_free.
 *
 * A run ends with its process handle, and with the program: nothing is left of it
 * however the program ends. */
#ifndef CLOCHE_H
#define CLOCHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLOCHE_API __attribute__((visibility("default")))

/* Grows when something is added; programs built against a smaller one keep
 * working. The records below say their own size for the same reason. */
#define CLOCHE_ABI 3

/* Of the library that is linked, whatever the header said. */
CLOCHE_API unsigned cloche_abi(void);
CLOCHE_API const char *cloche_version(void);

/* ---- errors ---- */

enum cloche_code {
    CLOCHE_ERROR_ARGUMENT = 1, /* what was passed cannot be meant */
    CLOCHE_ERROR_MEMORY,
    CLOCHE_ERROR_SYSTEM,  /* a system call failed: see cloche_error_number */
    CLOCHE_ERROR_BINARY,  /* the cloche binary is missing or cannot be run */
    CLOCHE_ERROR_VERSION, /* it is of another version than the library */
    CLOCHE_ERROR_POLICY,  /* the policy is not valid: each problem is a line of the text */
    CLOCHE_ERROR_REFUSED  /* it is, but this system cannot keep it: each reason is a line */
};

typedef struct cloche_error cloche_error;

CLOCHE_API enum cloche_code cloche_error_code(const cloche_error *error);
CLOCHE_API int cloche_error_number(const cloche_error *error); /* an errno; 0: none */
CLOCHE_API const char *cloche_error_text(const cloche_error *error);
CLOCHE_API void cloche_error_free(cloche_error *error); /* NULL is good */

/* ---- policies ---- */

/* What a policy is made of, merged in the order in which it is added. Nothing is
 * read before a session is made of it. */
typedef struct cloche_policy cloche_policy;

CLOCHE_API cloche_policy *cloche_policy_new(cloche_error **error);
CLOCHE_API bool cloche_policy_add_file(cloche_policy *policy, const char *path, cloche_error **error);
CLOCHE_API bool cloche_policy_add_preset(cloche_policy *policy, const char *name, cloche_error **error);
/* A JSON object, comments allowed; at most CLOCHE_JSON_MAX bytes. */
#define CLOCHE_JSON_MAX 100000
CLOCHE_API bool cloche_policy_add_json(cloche_policy *policy, const char *text, cloche_error **error);
CLOCHE_API void cloche_policy_free(cloche_policy *policy);

/* ---- sessions ---- */

/* Commands that share a policy, a project and a /tmp, which lives as long as the session
 * and is nobody else's. A policy whose filesystem.tmp is "private" gives each command its
 * own, as does a system without namespaces. */
typedef struct cloche_session cloche_session;
typedef struct cloche_process cloche_process;

struct cloche_options {
    size_t size;         /* sizeof (struct cloche_options) */
    const char *binary;  /* NULL: "cloche", looked for on PATH */
    const char *project; /* NULL: the current directory of each command */
    /* More options of `cloche run`, each value a word of its own, then NULL. "-q" keeps what
     * cloche says at the end of what was denied out of the diagnostics of commands. */
    const char *const *arguments;
};

/* Starts the binary three times, to ask for its version, whether the policy can be
 * kept here, and for a /tmp. `policy` is copied; NULL: what `cloche run` would find. */
CLOCHE_API cloche_session *cloche_session_new(const cloche_policy *policy, const struct cloche_options *options,
                                              cloche_error **error);

/* Kills and forgets the processes that were not freed. */
CLOCHE_API void cloche_session_free(cloche_session *session);

/* For commands started from now on another policy; for those that run, its lists
 * of hosts, where their network is filtered. If it fails nothing has changed. */
CLOCHE_API bool cloche_session_update(cloche_session *session, const cloche_policy *policy, cloche_error **error);

/* Asks as `cloche explain` does: "write:/etc/x", "net:nodes.org:443", "/path".
 * `*answer` is a JSON text to be freed with cloche_free, unless `answer` is NULL. */
CLOCHE_API bool cloche_explain(cloche_session *session, const char *question, bool *allowed, char **answer,
                               cloche_error **error);

/* ---- commands ---- */

struct cloche_spawn {
    size_t size;                    /* sizeof (struct cloche_spawn) */
    const char *const *argv;        /* then NULL */
    const char *const *environment; /* then NULL; NULL: the program's own. Policy still decides what is passed on */
    const char *directory;          /* where it starts; NULL: the current directory */
    int input;                      /* descriptors; a negative one: /dev/null */
    int output;
    int diagnostics;
    /* More of them, under the numbers that they have here, then -1; NULL: none. What `cloche run --pass-fd` would
     * not take, the run refuses. Since ABI 3. */
    const int *descriptors;
};

#define CLOCHE_DESCRIPTORS_MAX 32

CLOCHE_API cloche_process *cloche_spawn(cloche_session *session, const struct cloche_spawn *spawn,
                                        cloche_error **error);

struct cloche_status {
    size_t size;  /* sizeof (struct cloche_status) */
    int code;     /* the command's own; 128+n if it died of signal n */
    bool refused; /* the command was never started; why is among its diagnostics */
};

/* 1: it has ended; 0: not within so many milliseconds (negative: however long it
 * takes); -1: see `error`. */
CLOCHE_API int cloche_wait(cloche_process *process, int milliseconds, struct cloche_status *status,
                           cloche_error **error);

/* The signal reaches the command as if it had been sent to it. */
CLOCHE_API bool cloche_signal(cloche_process *process, int signal, cloche_error **error);

/* Ends the run at once, with everything in it. */
CLOCHE_API bool cloche_kill(cloche_process *process, cloche_error **error);

/* The binary's; the command's own is not for the outside. */
CLOCHE_API pid_t cloche_process_pid(const cloche_process *process);

/* Kills what has not ended. */
CLOCHE_API void cloche_process_free(cloche_process *process);

/* ---- events ---- */

struct cloche_event {
    size_t size;
    const char *json; /* the whole line, as `cloche run --events` writes it */
    const char *kind; /* "fs.write", "net.connect", ...; what is not told is NULL */
    const char *operation;
    const char *object;
    const char *verdict; /* "denied", "allowed", "observed" */
    const char *error;   /* "EACCES" */
    const char *program;
    const char *rule_file;
    const char *rule_path;
    const char *hint;
    const char *reason;
    pid_t pid;
    uint64_t count;
};

/* Called by cloche_dispatch and cloche_wait, in the thread that calls them. The
 * event is gone when it returns. It must not free the session or the process. */
typedef void cloche_event_callback(void *argument, cloche_process *process, const struct cloche_event *event);
CLOCHE_API void cloche_session_on_event(cloche_session *session, cloche_event_callback *callback, void *argument);

/* A host that no list of a filtered network names. The connection waits, five minutes
 * at most, until cloche_answer says yes or no: in the callback or later. Where "--ask" is among
 * the session's arguments, also files and unix sockets of the host that nothing in the policy
 * allows: the call that wants one waits likewise. */
struct cloche_question {
    size_t size;
    uint32_t number;  /* of the process's */
    const char *host; /* NULL: it is about something else */
    uint16_t port;
    const char *kind;    /* "host", "read", "write", "unix" */
    const char *path;    /* of the file or socket, or "@name"; NULL: it is about a host */
    const char *program; /* that wants it; NULL: not told */
    pid_t pid;           /* 0: not told */
};

typedef void cloche_ask_callback(void *argument, cloche_process *process, const struct cloche_question *question);

/* For commands started from then on. Without one, what no list names is refused. */
CLOCHE_API void cloche_session_on_ask(cloche_session *session, cloche_ask_callback *callback, void *argument);

/* A yes is for one connection, or one call. `reason` is what the client and the log are told
 * of a no; NULL: nothing. */
CLOCHE_API bool cloche_answer(cloche_process *process, uint32_t number, bool allow, const char *reason,
                              cloche_error **error);

/* The same for the rest of the run: of a directory that may be written, with all below it. */
CLOCHE_API bool cloche_answer_for_run(cloche_process *process, uint32_t number, bool allow, const char *reason,
                                      cloche_error **error);

/* A yes for the rest of the run, and for all commands of the session that are started from
 * then on: they have it as if the policy said so. A path with a wildcard in its name is allowed for the
 * run only. Since ABI 2, as the one before. */
CLOCHE_API bool cloche_allow_for_session(cloche_process *process, uint32_t number, cloche_error **error);

/* A descriptor that can be read when there is something to dispatch: events, or
 * questions, or the end of a process. Only for poll and its kin. */
CLOCHE_API int cloche_session_fd(const cloche_session *session);

/* Never waits. Says how many events and questions there were; -1: see `error`. */
CLOCHE_API int cloche_dispatch(cloche_session *session, cloche_error **error);

/* ---- for models ---- */

/* What a command wrote to its diagnostics, with what it was denied so far behind it
 * in a block that a model understands, as `cloche annotate` makes it. To be freed
 * with cloche_free. */
CLOCHE_API char *cloche_annotate(const cloche_process *process, const char *diagnostics, cloche_error **error);

/* ---- for programs that start commands themselves ---- */

/* The command line that does what cloche_spawn would; without events, and without
 * an end when this program ends. An array that ends with NULL, freed in one piece
 * with cloche_free. */
CLOCHE_API char **cloche_wrap(const cloche_session *session, const char *const *argv, cloche_error **error);

/* The same for a text that a shell is to run, as a text for a shell. */
CLOCHE_API char *cloche_wrap_shell(const cloche_session *session, const char *text, cloche_error **error);

CLOCHE_API void cloche_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
