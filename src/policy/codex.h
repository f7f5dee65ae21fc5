/* Shared by the files that read Codex's policies; of others, only the loader,
 * policy_resolve and the personality include it. */
#ifndef CLOCHE_POLICY_CODEX_H
#define CLOCHE_POLICY_CODEX_H

#include "base/json.h"
#include "policy/model.h"
#include "policy/problems.h"

struct loader;
struct place;
struct policy_source;

/* One document in any of Codex's forms onto the policy; `source` says which may
 * come. Problems are collected in the loader. */
void codex_apply(struct loader *loader, const struct policy_source *source, const json_t *root);

/* What `codex-linux-sandbox` says when proxy mode finds no proxy, or NULL: is
 * there a variable that names a proxy on this host's loopback? */
const char *codex_proxies_missing(char *const *environment);

/* ---- parts of it ---- */

/* Refuses members that `names` (NULL at the end) does not list: what Codex would
 * overlook could be a restriction. */
bool codex_members(struct loader *loader, const struct place *place, const json_t *object, const char *const *names);
/* A member that must be one of `words`; its position. */
bool codex_word(struct loader *loader, const struct place *place, const json_t *value, const char *const *words,
                size_t *position);
/* An absolute path, made normal. */
bool codex_path(struct loader *loader, const struct place *place, const json_t *value, struct slice *path);

/* true or false, where there is one. */
bool codex_flag(struct loader *loader, const struct place *above, const json_t *object, const char *name, bool absent);

/* No file system rules at all: all of the host's. */
void codex_open_files(struct loader *loader);
/* The one bit Codex has for the network. */
void codex_network(struct loader *loader, const struct place *place, bool enabled);

/* codex_entries.c: {path, access} entries, each against all others. */
enum codex_access { CODEX_READ, CODEX_WRITE, CODEX_DENY }; /* at one path, the later word wins */

struct codex_entry {
    struct slice path; /* absolute and normal */
    enum codex_access access;
    struct origin origin;
};

struct codex_entries {
    struct codex_entry *items;
    size_t count;
    size_t capacity;
    bool minimal; /* the platform's own files as well */
};

void codex_entry_add(struct loader *loader, struct codex_entries *entries, struct codex_entry entry);
void codex_entries_read(struct loader *loader, const struct place *place, const json_t *array,
                        struct codex_entries *entries);
/* The same for a plain array of paths, where there is one. */
void codex_paths_read(struct loader *loader, const struct place *above, const json_t *object, const char *name,
                      enum codex_access access, struct codex_entries *entries);
/* Makes rules of them. */
void codex_entries_apply(struct loader *loader, const struct codex_entries *entries);

/* codex_pattern.c: one that is to be hidden. */
void codex_pattern(struct loader *loader, const struct place *above, const json_t *value, enum codex_access access,
                   struct codex_entries *entries);

/* codex_sandbox_policy.c: {"type": "workspace-write", ...}. */
extern const char *const codex_sandbox_policy_types[];
void codex_sandbox_policy(struct loader *loader, size_t type, const json_t *root);

/* codex_managed.c: --managed-network. */
void codex_managed_network(struct loader *loader, const json_t *root);

/* ---- what needs a tree: codex_resolve.c ---- */

/* What the patterns that are to be hidden match now: rules of their own. */
void codex_expand(struct policy *policy, const struct tree *tree, struct problems *problems);
/* .git, .agents, .codex and .aws at the top of each writable root, and what a .git
 * file points to. A link in any of them, or on the way to what is to be hidden, in
 * a directory that may be written is a problem. */
void codex_protect(struct policy *policy, const struct tree *tree, struct problems *problems);

#endif
