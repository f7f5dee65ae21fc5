/* The plan: what the jail will do, in order, as data. Made from the policy and
 * facts alone, so that it can be printed, tested and applied to a made-up tree.
 *
 * Every path in it is absolute, normal and free of links at the time of
 * planning; the jail opens each with RESOLVE_NO_SYMLINKS and refuses to start if
 * that no longer holds. */
#ifndef CLOCHE_PLAN_PLAN_H
#define CLOCHE_PLAN_PLAN_H

#include "base/map.h"
#include "base/text.h"
#include "host/facts.h"
#include "policy/decide.h"
#include "policy/model.h"
#include "policy/tree.h"

enum step_kind {
    STEP_ROOT,           /* first step: the host's root, made read-only in place, recursively */
    STEP_ROOT_EMPTY,     /* first step with readMode listed: a new read-only tmpfs holding `entries` */
    STEP_BIND,           /* the host's `path` (as it was before any step) at `path`, recursively */
    STEP_PIN,            /* `path` of the new tree bound on itself, recursively: it can no longer be renamed */
    STEP_HIDE_DIRECTORY, /* a read-only tmpfs of mode `mode` holding `entries` and nothing else */
    STEP_HIDE_FILE,      /* a regular file of mode 000, read-only: opening it gives EACCES */
    STEP_EMPTY_FILE,     /* an empty regular file of mode 444, read-only */
    STEP_COPY,           /* a regular file of the user's own that holds `content`, read-only */
    STEP_PRIVATE,        /* a tmpfs of mode `mode` holding `entries`, writable if `writable` */
    STEP_SESSION,        /* the session's, of mode 01777; `entries` are made in it where they are missing */
    STEP_OVERLAY,        /* copy-on-write over the host's `path`; the upper layer is a tmpfs of this run */
    STEP_DEVICES,        /* /dev: a tmpfs with the usual nodes, its own devpts and shm, and `entries` (device files) */
    STEP_PROC,           /* a fresh /proc with its dangerous parts read-only or hidden */
    STEP_PROC_OF_HOST /* the host's /proc, read-only, with its dangerous parts hidden: where a fresh one is refused */
};

enum entry_kind { ENTRY_DIRECTORY, ENTRY_FILE, ENTRY_LINK, ENTRY_DEVICE };

/* Something made inside a tmpfs of a step, so that later steps have a place to
 * attach to. Never on the host. Parents come before children. */
struct entry {
    enum entry_kind kind;
    struct slice path;   /* absolute, below the step's path */
    struct slice target; /* ENTRY_LINK */
};

struct step {
    enum step_kind kind;
    struct slice path;
    bool writable; /* STEP_ROOT, STEP_BIND, STEP_PIN, STEP_PRIVATE, STEP_OVERLAY */
    bool watched;  /* a mask that is worth telling who touches it, which costs a launch its time */
    bool judged;   /* hidden by policy, and shown for what a pattern lets be read in it: the doorman hides the rest */
    unsigned mode; /* directories made by cloche: 0000, 0555 (passage), 0755, 01777 */
    struct entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    struct slice content; /* STEP_COPY */
    struct origin origin; /* the rule that asked for it */
};

/* The locks of architecture: which one holds a rule. */
enum lock {
    LOCK_MOUNT = 1,
    LOCK_LANDLOCK = 2,
    LOCK_SECCOMP = 4,
    LOCK_NAMESPACE = 8,
    LOCK_ENVIRONMENT = 16,
    LOCK_DOORMAN = 32
};

struct hold {
    struct origin origin;
    struct slice rule_text;
    struct slice real; /* what a rule about files really names: one in the presets may be of two homes */
    unsigned locks;    /* 0: nothing to hold (absent, overruled); `note` says why */
    const char *note;
    bool idle; /* it speaks of nothing that exists here now */
};

/* Something the policy asks for that this build or this host cannot enforce. A
 * run with any of these is refused, unless --allow-degraded names `token`. */
struct refusal {
    struct origin origin;
    const char *what;  /* a whole sentence without its full stop */
    const char *token; /* NULL: cannot be waived */
};

struct landlock_rule {
    struct slice path;
    bool write; /* else read and execute only */
};

/* The Landlock-only backend. Its rules can only add, and speak of a path and all
 * below it; so what lies beside something withheld is granted entry by entry. */
enum grant_kind {
    GRANT_READ,  /* files read and executed, directories listed */
    GRANT_LIST,  /* directories listed */
    GRANT_WRITE, /* files changed, entries made, moved and removed */
    GRANT_DEVICE /* a device file read, written and controlled */
};

struct grant {
    enum grant_kind kind;
    struct slice path;
    bool entries; /* to each entry the directory has at start and no `withheld` names; not to the directory itself */
    struct origin origin;
};

/* Never granted as an entry of the directory it lies in. */
struct withheld {
    struct slice path;
    bool write; /* only writing is withheld */
};

struct rlimit_setting {
    int resource;
    uint64_t value;
    const char *name;
};

/* What holds a limit of the whole run. */
enum limit_way {
    LIMIT_BY_NOTHING, /* there is no limit, or it is in the refusals */
    LIMIT_BY_CGROUP,
    LIMIT_BY_SCOPE,   /* a cgroup that the service manager is to be asked for; nothing is carried out by this plan */
    LIMIT_BY_PID_MAX, /* of the run's own pid namespace */
    LIMIT_BY_RLIMIT,  /* RLIMIT_NPROC, which is counted per user namespace */
    LIMIT_BY_SAMPLES  /* measured from time to time; the run is killed when it is over */
};

struct run_limit {
    uint64_t value;
    enum limit_way way;
    const char *cgroup; /* LIMIT_BY_CGROUP: the directory to make one in */
};

/* The directory that cloche was called in, by what it is: names can be exchanged
 * by a neighbour before they are opened (attack 4). */
struct standing {
    bool known; /* false: the command starts elsewhere, at a place known by name alone */
    uint64_t device;
    uint64_t inode;
};

/* What only the doorman can hold: names that do not exist yet, and single
 * sockets. */
struct doorman_need {
    bool files;          /* whatever changes a file by its name is asked */
    bool sockets;        /* connecting and binding */
    bool datagrams;      /* sending, for unix datagrams are allowed */
    bool calls;          /* what is refused in any case, so that it is told of */
    bool reads;          /* opens for reading are looked at, and go on; unless ... */
    bool performs_reads; /* ... a rule about reading speaks of files to come: then it performs every open */
    bool asks;           /* what is refused can be allowed meanwhile: pid 1 hands over the host's tree as it is */
};

/* A rule that puts the doorman at the door. */
struct doorman_reason {
    struct origin origin;
    struct slice text; /* the rule as written, or a few words */
};

/* A directory of the host in which the doorman performs writes: none lies in
 * another one. */
struct doorman_root {
    struct slice path;
    bool by_pattern; /* its mount is read-only: only what a pattern in allowWrite matches is written */
};

/* Hidden by a rule, and not there as the run starts. */
struct awaited {
    struct slice path;
    const struct path_rule *rule; /* NULL in a copy */
};

struct plan {
    struct arena *arena;
    const struct policy *policy;

    enum backend backend;

    struct step *steps; /* with the Landlock-only backend: what each path is to be, but nothing is mounted */
    size_t step_count;
    struct map by_path; /* path of a step -> the step */

    struct awaited *awaited; /* hidden a moment after they come into being; in the order of their rules */
    size_t awaited_count;
    size_t awaited_capacity;

    struct grant *grants; /* the Landlock-only backend */
    size_t grant_count;
    size_t grant_capacity;
    struct withheld *withheld;
    size_t withheld_count;
    size_t withheld_capacity;
    char *private_directory; /* where TMPDIR leads; its last X's are replaced when it is made; NULL: none */
    bool keep_metadata;      /* modes, owners and attributes of files cannot be changed at all */
    const char *weaker;      /* one clause: how this run differs from one that has all it needs; NULL: it does not */

    struct landlock_rule *landlock;
    size_t landlock_count;
    size_t landlock_capacity;
    bool landlock_reads; /* read rights of files are handled too: readMode listed */
    bool use_landlock;   /* the kernel has it (ABI 2 or later) */

    char **environment; /* NAME=VALUE, NULL at the end */
    size_t environment_count;

    struct rlimit_setting rlimits[8];
    size_t rlimit_count;
    uint64_t wall_seconds;
    uint64_t file_size;  /* as among the rlimits; 0: none */
    uint64_t open_files; /* likewise */
    struct run_limit memory;
    struct run_limit processes; /* threads count; pid 1 of the run does not */

    enum network_mode network;
    uint16_t *host_ports; /* filtered: each once */
    size_t host_port_count;
    uint16_t *publish_ports;
    size_t publish_port_count;
    bool filter_enabled;
    bool nested_user_namespaces;
    bool keep_file_capabilities; /* root's command may do with files what root may */

    struct doorman_need doorman;
    /* The kernel diverts no connections, so the doorman has to announce them: told by pid 1, in memory that all share,
     * before the command is there. NULL: no doorman could. */
    const bool *announced;
    const char *no_doorman; /* a clause: why there can be none here; NULL: there can */
    struct doorman_reason *doorman_reasons;
    size_t doorman_reason_count;
    size_t doorman_reason_capacity;
    struct doorman_root *doorman_roots;
    size_t doorman_root_count;
    size_t doorman_root_capacity;

    struct slice working_directory;
    struct standing standing;

    struct hold *holds;
    size_t hold_count;
    size_t hold_capacity;

    struct refusal *refusals;
    size_t refusal_count;
    size_t refusal_capacity;
};

static inline bool plan_has_doorman(const struct plan *plan)
{
    return plan->doorman.files || plan->doorman.sockets;
}

bool plan_make(struct arena *arena, const struct policy *policy, const struct facts *facts, const struct tree *tree,
               struct slice working_directory, struct plan *plan, struct error *err);

/* What the jail reads of a plan for the backend of namespaces, in an arena of its
 * own; see there. */
const struct plan *plan_copy(struct arena *arena, const struct plan *plan);

/* One line per step, stable: the same policy on the same tree prints the same. */
void plan_print(const struct plan *plan, struct text *out);
void plan_print_json(const struct plan *plan, struct text *out);

/* Ports on which the sandbox's own proxies listen. */
enum { PLAN_HTTP_PORT = 3128, PLAN_SOCKS_PORT = 1080, PLAN_PUBLISH_MAX = 32 };

const char *step_kind_name(enum step_kind kind);

/* Does it hide what is there, whole? */
static inline bool step_is_mask(const struct step *step)
{
    return step->kind == STEP_HIDE_FILE ||
           (step->kind == STEP_HIDE_DIRECTORY && step->mode == 0 && step->entry_count == 0);
}

/* The innermost step that covers a path. */
const struct step *plan_step_around(const struct plan *plan, struct slice path);

/* What the steps alone give a path: the access of the innermost step that
 * covers it. Where decide() allows less than this, no lock holds the refusal
 * yet, and explain says so. */
enum access plan_access_at(const struct plan *plan, struct slice path);

/* The Landlock-only backend: do its rules give a path this? */
bool plan_grants(const struct plan *plan, const struct tree *tree, struct slice path, bool write);

/* Is the doorman asked before something is written there? */
bool plan_doorman_judges(const struct plan *plan, struct slice path);

/* Is it asked before anything is opened for reading, by whichever of the two ways? */
static inline bool plan_reads_come_by(const struct plan *plan)
{
    return plan->doorman.reads || plan->doorman.performs_reads;
}

/* Does the mount show it only for the doorman's sake, who hides what policy hides there? */
bool plan_is_judged(const struct plan *plan, struct slice path);

const char *backend_name(enum backend backend);

/* "cgroup", "pid_max", "rlimit", "samples" */
const char *limit_way_name(enum limit_way way);

/* Would a plan with these facts have a limit LIMIT_BY_SCOPE? Whoever starts something asks for it before
 * planning (host/scope.h). */
bool plan_wants_scope(const struct policy *policy, const struct facts *facts);

#endif
