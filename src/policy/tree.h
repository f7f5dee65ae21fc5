/* What the policy room may know of a file tree: what stands at a path, and what
 * a link says. The host's tree in production, a made-up one in tests; decisions
 * and plans are computed from this and nothing else. */
#ifndef CLOCHE_POLICY_TREE_H
#define CLOCHE_POLICY_TREE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

enum node {
    NODE_ABSENT,
    NODE_FILE, /* anything that is neither directory nor link: sockets, devices too */
    NODE_DIRECTORY,
    NODE_LINK,
    NODE_UNKNOWN /* the directory above it cannot be searched */
};

struct tree {
    /* What is at `path` (its last component not followed; the ones before are
     * known to be directories). For a link, `*target` is its text. */
    enum node (*look)(void *context, struct slice path, struct arena *arena, struct slice *target);
    /* Has this path, which has no "." or ".." in it, been seen to be a directory
     * reached without links? May be NULL: then nothing is known. */
    bool (*is_known_directory)(void *context, struct slice path);
    /* Calls `found` for each name in a directory, in any order. Only ever asked
     * for the project's top, $HOME, ssh's own directory, and where a pattern of Codex's leads. False if it cannot be
     * read. */
    bool (*list)(void *context, struct slice path, void (*found)(void *argument, struct slice name), void *argument);
    /* The content of a small regular file; false if it is not one or larger
     * than `limit`. Only ever asked for git's pointer files and ssh's configuration. */
    bool (*read)(void *context, struct slice path, size_t limit, struct arena *arena, struct slice *content);
    /* Does it belong to root, and can nobody else write it? May be NULL: then nothing does. */
    bool (*is_roots_alone)(void *context, struct slice path);
    void *context;
};

/* The host's own tree. Looks are remembered, so that a thousand rules under one
 * directory cost one look at it. Where many names in a directory are asked for,
 * its list of names answers for those that are not there (one read, bounded). */
struct tree *tree_of_host(struct arena *arena);

enum { TREE_LINKS_MAX = 40 };

struct tree_link {
    struct slice at; /* where the link stands: a path without links */
    struct slice target;
};

struct tree_place {
    struct slice path;       /* without links, as far as anything exists */
    enum node node;          /* NODE_LINK never; NODE_UNKNOWN: see `blocked` */
    struct slice blocked;    /* deepest directory that could be seen but not searched */
    struct tree_link *links; /* links that were passed, in order */
    size_t link_count;
};

/* Follows `path` (absolute; "." and ".." allowed) as the kernel would. False
 * with a reason only when links run in a circle. */
bool tree_follow(const struct tree *tree, struct arena *arena, struct slice path, struct tree_place *place,
                 struct error *err);

#endif
