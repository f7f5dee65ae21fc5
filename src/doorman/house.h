/* What all threads of the doorman share. Private to this room. */
#ifndef CLOCHE_DOORMAN_HOUSE_H
#define CLOCHE_DOORMAN_HOUSE_H

#include "doorman/made.h"
#include "plan/plan.h"
#include "policy/rename.h"

#include <stdatomic.h>
#include <sys/types.h>

struct pool;
struct errand;
struct grants;

/* A writable root as the doorman alone sees it: cloned without the mounts in it,
 * so that a rename between two of them is none between mounts. */
struct own_root {
    struct slice path;
    int mount;
    uint64_t id; /* the kernel's, of this mount */
};

enum { OWN_ROOTS_MAX = 64, HANDED_MAX = 3, SEARCH_MAX = 64 };

/* What the user gave the run as a standard descriptor. */
struct handed_in {
    bool known;
    uint64_t device;
    uint64_t inode;
};

struct house {
    const struct plan *plan;
    const struct policy *policy;
    struct renames renames;
    int listener;
    int ruleset; /* of the run's Landlock rules; -1: none */
    int records; /* what the supervisor is told goes here (records.h); -1: nothing */
    int proc;    /* the host's /proc */
    int self;    /* /proc/self/fd there: every descriptor of ours, by its number */
    int lock;    /* what all runs of this user share and no command can open (lock.c) */
    struct own_root roots[OWN_ROOTS_MAX];
    size_t root_count;
    struct handed_in handed[HANDED_MAX];
    struct slice search[SEARCH_MAX]; /* directories of $PATH */
    size_t search_count;
    struct made made;
    struct abstract_names abstract;
    bool is_root;              /* the run was started by root */
    dev_t proc_device;         /* of the /proc inside; 0: unknown */
    mode_t umask;              /* of the command when it started */
    atomic_bool umask_varies;  /* some process has called umask since */
    atomic_uint_fast64_t told; /* how often something was noticed that is to be told of */
    unsigned protected_links;  /* fs.protected_symlinks, fs.protected_regular, fs.protected_fifos of this host */
    unsigned protected_files;
    unsigned protected_fifos;
    unsigned mount_id; /* which of its two numbers is a mount's: STATX_MNT_ID, or the one that never comes again */
    uint64_t *mounts;  /* those of the mounts in the sandbox's tree, sorted */
    size_t mount_count;
    int *denied; /* numbers of the calls that the policy itself denies */
    size_t denied_count;
    struct pool *pool;
    struct errand *errand; /* of the fetcher */
    struct grants *grants; /* NULL: nobody is asked */
    int whole;             /* the host's tree as it is, where somebody is; -1: there is none */
};

#endif
