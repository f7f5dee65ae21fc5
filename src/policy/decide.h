/* The one function that decides. explain, the mount plan, the doorman, the
 * proxy, learn and the events all ask here, so they can never disagree. */
#ifndef CLOCHE_POLICY_DECIDE_H
#define CLOCHE_POLICY_DECIDE_H

#include "policy/model.h"

enum operation { OPERATION_READ, OPERATION_WRITE, OPERATION_CONNECT, OPERATION_DNS, OPERATION_UNIX, OPERATION_ENV };

struct decision {
    bool allowed;
    /* A denied directory below which something is allowed: it can be listed and
     * entered, and shows just that. */
    bool passage;
    enum access access;     /* files: the access that the path gets */
    enum backing backing;   /* files: what stands behind it */
    struct origin origin;   /* the rule that decided */
    struct slice rule_text; /* the rule as written; empty for defaults */
    const char *why;        /* one clause: "hidden by denyRead", "no allowWrite covers it" */
    struct slice reason;    /* the policy's own words (deniedDomainReasons) */
};

/* `path` is normal and free of links (see decide_path). The policy is resolved. */
struct decision decide_real_path(const struct policy *policy, enum operation operation, struct slice path);

/* Reading and writing at once. */
void decide_access(const struct policy *policy, struct slice path, struct decision *reading, struct decision *writing);

/* Follows links first. `*real` is what was judged. */
bool decide_path(const struct policy *policy, const struct tree *tree, enum operation operation, struct slice path,
                 struct slice *real, struct decision *decision, struct error *err);

struct decision decide_connect(const struct policy *policy, const struct host *host, uint16_t port);
struct decision decide_dns(const struct policy *policy, const struct host *host);
struct decision decide_unix(const struct policy *policy, struct slice real_path);
struct decision decide_env(const struct policy *policy, struct slice name);

#endif
