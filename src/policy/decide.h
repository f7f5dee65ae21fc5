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
    /* A refusal because of a protected name: the ancestor of the path that lifts it
     * if this very run made it. In the bytes of the path; empty otherwise. */
    struct slice unless_made;
};

/* `path` is normal and free of links (see decide_path). The policy is resolved.
 * This and all below but decide_path only read: several threads may ask at once. */
struct decision decide_real_path(const struct policy *policy, enum operation operation, struct slice path);

/* Writing, by one who knows what this run has made: with `made_here`, the
 * directory that `unless_made` names was made by this run, and protected names do
 * not count. Everything else does. */
struct decision decide_write_at(const struct policy *policy, struct slice path, bool made_here);

/* Is there no reason to refuse writing there, but that it is called as git calls its
 * configuration? Where it is refused and this is so, git may replace it by one
 * that runs nothing (git_config.h). */
bool decide_git_config(const struct policy *policy, struct slice path);

/* Reading and writing at once. */
void decide_access(const struct policy *policy, struct slice path, struct decision *reading, struct decision *writing);

/* Follows links first. `*real` is what was judged; it is in `arena`, or a part of `path`. */
bool decide_path(struct arena *arena, const struct policy *policy, const struct tree *tree, enum operation operation,
                 struct slice path, struct slice *real, struct decision *decision, struct error *err);

struct decision decide_connect(const struct policy *policy, const struct host *host, uint16_t port);
struct decision decide_dns(const struct policy *policy, const struct host *host);
/* A port of the host's loopback, as the filtered network brings it in. */
struct decision decide_host_port(const struct policy *policy, uint16_t port);
/* May somebody who is asked allow what is refused? Not what a rule refuses by its name, or could be protected, nor the
 * kernel's own interfaces; `object` is as for the decision (reading, writing, sockets). */
bool decide_may_be_granted(const struct policy *policy, enum operation operation, struct slice object);
/* The directory above a path, if somebody may be offered to have all of it written to instead; else empty. */
struct slice decide_grantable_directory(const struct policy *policy, struct slice path);
/* A socket by its path, or an abstract one of the host's as "@name". */
struct decision decide_unix(const struct policy *policy, struct slice real_path);
struct decision decide_env(const struct policy *policy, struct slice name);

#endif
