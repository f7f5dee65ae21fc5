/* What is allowed: one policy, merged from all its sources. Filled by load.c,
 * completed by resolve.c, asked through decide.c. Plain data; everything in it
 * lives in one arena. */
#ifndef CLOCHE_POLICY_MODEL_H
#define CLOCHE_POLICY_MODEL_H

#include "base/arena.h"
#include "base/map.h"
#include "policy/host.h"
#include "policy/pattern.h"
#include "policy/tree.h"

#include <stdint.h>

/* Where a rule was written. */
struct origin {
    const char *file; /* a path, "preset:base", "command line", "built-in" */
    const char *path; /* JSON path or option: filesystem.denyRead[2], --allow-read */
};

/* In order of strictness. */
enum access {
    ACCESS_NONE,
    ACCESS_EMPTY, /* reads as an empty file (opencode's ro-bind-null) */
    ACCESS_READ,
    ACCESS_WRITE
};

/* Is it cloche's own, and nobody's policy? */
bool origin_is_built_in(const struct origin *origin);

enum path_list {
    LIST_DENY_READ,
    LIST_ALLOW_READ,
    LIST_DENY_WRITE,
    LIST_ALLOW_WRITE,
    LIST_RULES,   /* `rules` of the policy file; access says which */
    LIST_BUILT_IN /* cloche's own: private /tmp, /dev, /proc; nothing overrides them at their own depth */
};

/* Where the content of a writable built-in place comes from. */
enum backing {
    BACKING_HOST,
    BACKING_PRIVATE, /* a tmpfs of this run */
    BACKING_SESSION, /* a tmpfs of this run's session */
    BACKING_OVERLAY, /* copy-on-write over the host's, discarded */
    BACKING_FRESH    /* the kernel's own per-namespace file system: /proc */
};

struct path_rule {
    enum path_list list;
    enum access access; /* LIST_RULES and LIST_BUILT_IN; implied by the list for the others */
    enum backing backing;
    struct slice text; /* as written */
    struct pattern pattern;
    unsigned conditions; /* how many `when` conditions held */
    bool required;       /* absent: refuse to start */
    bool at_start;       /* pattern over one directory's entries as they are at start */
    bool derived;        /* from $PATH or a default: dropped, not refused, where it cannot be honoured */
    bool made_anew;      /* a directory that is made for the run, in one of its own: it need not be there */
    bool vital;          /* cloche's own policy and state: a run that could make it is not let through in silence */
    bool protects;       /* a protected name that exists, or what git finds through one */
    bool socket;         /* shown because network.allowUnixSockets names it */
    bool expanded;       /* pattern: what it matches at start has rules of its own, and no more can be made */
    bool no_links;       /* a link on the way there, where the command may write, is refused */
    struct origin origin;

    /* Filled by policy_resolve. */
    bool dropped; /* not in force; `dropped_because` says why */
    const char *dropped_because;
    struct slice real;       /* literal: what it really names; glob: its fixed part, really */
    enum node node;          /* what stands at `real` (literals) */
    struct tree_link *links; /* links passed on the way there */
    size_t link_count;
    bool widened; /* `real` is an ancestor, because the place cannot be inspected */
};

/* Rules that name the same path. */
struct rule_chain {
    const struct path_rule *rule;
    struct rule_chain *next;
};

struct path_rules {
    struct path_rule *items;
    size_t count;
    size_t capacity;
};

struct name_rule {
    struct slice text;
    struct origin origin;
    uint32_t letters; /* name_pattern_letters(text) */
};

struct name_rules {
    struct name_rule *items;
    size_t count;
    size_t capacity;
};

struct host_rule {
    struct slice text;
    struct host_pattern pattern;
    struct slice reason; /* deniedDomainReasons; empty if none */
    struct origin origin;
};

struct host_rules {
    struct host_rule *items;
    size_t count;
    size_t capacity;
};

struct env_setting {
    struct slice name;
    struct slice value;
    struct origin origin;
};

struct port_rule {
    uint16_t port;
    struct origin origin;
};

struct port_rules {
    struct port_rule *items;
    size_t count;
    size_t capacity;
};

/* What is not told: refusals whose words hold `text`, in commands that hold
 * `command` ("*": in all). */
struct ignore_rule {
    struct slice command;
    struct slice text;
};

/* A key that was understood and asks for something no lock holds yet. A run
 * refuses these by name; check and explain show them. */
struct unbuilt {
    struct origin origin;
    const char *feature; /* "TLS termination" */
};

enum network_mode { NETWORK_UNSET, NETWORK_NONE, NETWORK_FILTERED, NETWORK_HOST };
enum tmp_mode { TMP_UNSET, TMP_PRIVATE, TMP_SESSION, TMP_HOST };
enum caches_mode { CACHES_UNSET, CACHES_PRIVATE, CACHES_HOST, CACHES_NONE };
enum root_capabilities { ROOT_CAPABILITIES_UNSET, ROOT_CAPABILITIES_NONE, ROOT_CAPABILITIES_FILES };
enum read_mode { READ_UNSET, READ_ALL, READ_LISTED };
enum watch_mode { WATCH_UNSET, WATCH_WRITES, WATCH_ALL, WATCH_OFF };
enum personality { PERSONALITY_CLOCHE, PERSONALITY_SRT, PERSONALITY_CODEX };

/* What the first lock is made of. Without namespaces nothing can be private to a
 * run: /tmp, caches, /dev and /proc are the host's or not there. */
enum backend { BACKEND_NAMESPACES, BACKEND_LANDLOCK };

/* Where this run happens. All paths absolute and free of links. */
struct surroundings {
    enum personality personality;
    bool extended;           /* srt's personality, and cloche's own keys count: the Node package */
    const struct tree *tree; /* the host's, which remembers what was looked at for all this */
    struct slice project;
    struct slice home;
    struct slice passwd_home; /* what /etc/passwd says, where that is another directory; else empty */
    bool project_is_named;    /* by an option or a variable, not by where we stand */
    struct slice user;
    struct slice host_name;
    char *const *environment; /* NAME=VALUE, NULL at the end */
    char *const *command;     /* argv, NULL at the end; NULL when there is none */
    bool is_root;
    enum backend backend;
    bool shares_proc;           /* with namespaces: a fresh /proc is refused here, so the host's is shown */
    unsigned accepted;          /* bits of host/degraded.h: weaker modes the user accepts */
    const char *proxy_token;    /* what this run's proxies ask for; NULL: not known yet */
    bool network_is_controlled; /* by --control-fd: hosts may be added while it runs */
    bool has_session;           /* other commands share a /tmp with this one, unless policy says otherwise */
    bool asks;                  /* --ask: somebody can allow what is refused while it runs */
    bool is_learning;           /* the home is shown whole but for secrets, and what is written there is discarded */
};

struct policy {
    struct arena *arena;
    struct surroundings around;

    struct {
        enum read_mode read_mode;
        struct origin read_mode_origin;
        bool platform_defaults; /* with listed */
        bool disabled;
        bool allow_git_config;
        bool codex; /* written for Codex: the names it protects, nothing shown that is not listed */
        enum tmp_mode tmp;
        enum tmp_mode tmp_asked; /* as written; a run by itself is a session of one, whose /tmp is private */
        enum caches_mode caches;
        struct name_rules devices;   /* absolute paths below /dev */
        struct name_rules protect;   /* added protected names */
        struct name_rules unprotect; /* names taken from the built-in ones */
    } filesystem;

    struct path_rules paths; /* all lists and rules, in the order they were read */

    struct {
        enum network_mode mode; /* as written; policy_network_mode() gives the effective one */
        struct origin mode_origin;
        struct host_rules allowed;
        struct host_rules denied;
        struct name_rules unix_sockets; /* absolute paths, links followed by policy_resolve; "@name": abstract */
        bool allow_all_unix_sockets;
        struct origin all_unix_origin;
        bool unix_datagram;
        struct origin unix_datagram_origin;
        struct port_rules host_ports;
        struct port_rules publish_ports;
        struct host_rules denied_resolved; /* addresses and networks that an allowed name must not lead to */
        uint64_t http_proxy_port;          /* a proxy of the user's own on the host; 0: none */
        uint64_t socks_proxy_port;
        bool refuse_opaque_tunnels;
        bool require_host_match;
        bool keeps_proxy_variables; /* the user's own lead to host ports, and are left as they are */
        struct {
            struct slice http; /* URLs; empty: none */
            struct slice https;
            struct slice no_proxy; /* names, .suffixes, addresses and CIDRs, separated by commas */
            struct origin origin;
        } parent_proxy;
        struct {
            struct slice socket_path; /* empty: none */
            struct host_rules domains;
        } mitm_proxy;
    } network;

    struct {
        struct name_rules pass;     /* name patterns */
        struct name_rules deny;     /* name patterns; a name written out in `pass` beats them */
        struct name_rules withheld; /* names from `credentials` with mode deny: nothing beats them */
        struct env_setting *set;
        size_t set_count;
        size_t set_capacity;
    } environment;

    struct {
        bool enabled;
        bool block_unix_sockets;
        bool allow_nested_user_namespaces;
        struct name_rules allow; /* system call names */
        struct name_rules deny;
    } seccomp;

    struct {
        uint64_t memory; /* bytes; 0: none, here and below */
        struct origin memory_origin;
        uint64_t processes;
        struct origin processes_origin;
        uint64_t wall_seconds;
        struct origin wall_seconds_origin;
        uint64_t file_size;
        struct origin file_size_origin;
        uint64_t open_files;
        struct origin open_files_origin;
    } limits;

    struct {
        bool detection;        /* false: nothing is told; `watch` is off then */
        enum watch_mode watch; /* which file operations are told of */
        bool log;
        struct slice log_path; /* absolute; empty: in the state directory */
        struct origin log_path_origin;
        bool chain; /* each line of the log answers for the one before */
    } violation;

    struct ignore_rule *ignored; /* ignoreViolations */
    size_t ignored_count;
    size_t ignored_capacity;

    enum root_capabilities root_capabilities;
    struct origin root_capabilities_origin;

    bool unconfined; /* by the word of a Codex policy: no sandbox is wanted at all */

    /* Files this policy was made of: never writable inside. */
    struct name_rules sources;
    struct slice events_file; /* nor is what --events names; empty: none */

    struct unbuilt *unbuilt;
    size_t unbuilt_count;
    size_t unbuilt_capacity;

    /* Built by policy_resolve. */
    struct map *by_path;  /* what a literal rule really names -> struct rule_chain */
    struct map *passages; /* directories that lead to something readable */
    struct path_rule **patterns;
    size_t pattern_count;
};

struct path_rule *policy_add_path(struct policy *policy, struct path_rule rule);
void policy_add_name(struct policy *policy, struct name_rules *list, struct slice text, struct origin origin);
void policy_add_host(struct policy *policy, struct host_rules *list, struct host_rule rule);
void policy_add_port(struct policy *policy, struct port_rules *list, uint16_t port, struct origin origin);
void policy_add_unbuilt(struct policy *policy, struct origin origin, const char *feature);

/* Unset with nothing allowed is none; unset with any allowed domain or host
 * port or published port, or with hosts that may be added later, is filtered. */
enum network_mode policy_network_mode(const struct policy *policy);

#endif
