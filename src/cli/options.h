/* The options that run and explain share, so that explain answers for exactly
 * that run. */
#ifndef CLOCHE_CLI_OPTIONS_H
#define CLOCHE_CLI_OPTIONS_H

#include "base/log.h"
#include "jail/company.h"
#include "plan/plan.h"
#include "session/prepare.h"

struct options {
    struct session_request request;
    struct policy_source *sources;
    size_t source_capacity;
    struct policy_option *additions;
    size_t addition_capacity;

    int passed[JAIL_PASSED_MAX]; /* --pass-fd */

    const char *shell_text; /* -c */
    int session_socket;     /* session: --fd; 0: none */
    bool automatic;         /* --backend auto: namespaces, or what else there is */
    bool json;              /* explain only */
    bool bwrap;             /* likewise */
    const char *events;     /* --events; NULL: none */
    const char *output;     /* learn only: -o; NULL: none */
    bool help;
    enum log_level level;

    char **questions; /* explain only */
    size_t question_count;
    size_t question_capacity;
};

enum options_user { OPTIONS_FOR_RUN, OPTIONS_FOR_EXPLAIN, OPTIONS_FOR_LEARN, OPTIONS_FOR_SESSION };

/* Reads argv[1...]. For run and learn, options end at the first word that is not one and
 * the rest is the command; for explain such words are questions, options may
 * come between them, and the command stands behind "--". `request.command` is
 * NULL when there is none. */
bool options_parse(struct arena *arena, enum options_user user, int argc, char **argv, struct options *options,
                   struct error *err);

/* The number of a descriptor behind the standard ones. */
bool options_descriptor(const char *text, int *fd);

/* Was this refusal waived by --allow-degraded? */
bool options_waive(const struct options *options, const struct refusal *refusal);

#endif
