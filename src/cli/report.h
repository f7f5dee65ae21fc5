/* What explain prints about a run as a whole. */
#ifndef CLOCHE_CLI_REPORT_H
#define CLOCHE_CLI_REPORT_H

#include "base/text.h"
#include "cli/options.h"

/* How a run begins that could not have namespaces; what is weaker follows. */
#define BACKEND_FELL_BACK \
    "no namespaces can be had here (cloche doctor tells why), so this run is held by Landlock alone: "

/* The whole plan for people: where, which policy, mounts, network, environment,
 * limits, filter, which lock holds each rule, what a run would refuse. */
void report_plan(const struct options *options, const struct session *session, struct text *out);

/* Members of a JSON object, without its braces; see explain.c for the keys. */
void report_head_json(const struct options *options, const struct session *session, struct text *out);
void report_plan_json(const struct session *session, struct text *out);

/* Everything a run with these options would refuse; `waived` ones included. */
struct objection {
    const char *what; /* a whole sentence without its full stop */
    struct origin origin;
    const char *token; /* NULL: cannot be waived */
    bool waived;
};

size_t report_objections(const struct options *options, const struct session *session, struct objection **objections);

#endif
