/* A made-up file tree, and what it looks like after a plan was applied to it.
 * Written from what mount(2) and namespaces(7) say, not from the plan room's own
 * notions: this is the second opinion. */
#ifndef CLOCHE_TESTS_TREE_MODEL_H
#define CLOCHE_TESTS_TREE_MODEL_H

#include "plan/plan.h"

struct model_node {
    enum node kind;
    struct slice name;
    struct slice target; /* NODE_LINK; the content of a NODE_FILE */
    unsigned mode;       /* directories and files made by cloche; 0777 for the host's */
    bool synthetic;      /* made by cloche, not the host's */
    struct model_node *parent;
    struct model_node *first_child;
    struct model_node *next;
};

struct model_mount {
    struct model_mount *under; /* the mount it is attached in */
    struct model_node *at;     /* and where */
    struct model_node *root;
    bool writable;
    struct model_mount *next; /* newest first */
};

struct model {
    struct arena *arena;
    struct model_node *host_root;
    struct model_mount *mounts;
    struct model_mount *root_mount;
    struct tree tree; /* the host's side of it, for the policy and plan rooms */
};

void model_init(struct model *model, struct arena *arena);
/* Adds a node; parents are made as directories. NULL if something else is there. */
struct model_node *model_add(struct model *model, struct slice path, enum node kind, struct slice target);

/* Carries the mount steps of a plan out. False, with a reason, where the kernel
 * would refuse one. */
bool model_apply(struct model *model, const struct plan *plan, struct error *err);

enum outcome {
    OUTCOME_ABSENT,
    OUTCOME_REFUSED,
    OUTCOME_EMPTY, /* reads as an empty file that is not the host's */
    OUTCOME_HOST,  /* the host's own content */
    OUTCOME_OWN    /* a directory of cloche's making */
};

struct sight {
    enum outcome outcome;
    enum node kind;
    bool writable; /* an open for writing, or making a file in it, works */
};

/* What a process inside sees at `path`, links followed. */
struct sight model_look(const struct model *model, struct slice path);

#endif
