/* The full examination of this host, for `cloche doctor`: everything a run may
 * need is tried out for real, and what fails is explained with its remedy. */
#ifndef CLOCHE_HOST_EXAMINE_H
#define CLOCHE_HOST_EXAMINE_H

#include "base/arena.h"
#include "host/facts.h"
#include "host/settings.h"

enum finding_status { FINDING_OK, FINDING_LIMITED, FINDING_MISSING };

/* How much depends on it. */
enum finding_weight {
    WEIGHT_REQUIRED,   /* no run without it */
    WEIGHT_NAMESPACES, /* no run with the backend "namespaces" without it */
    WEIGHT_DEFAULT,    /* the default policy is not held in full without it */
    WEIGHT_OPTIONAL    /* only policies that ask for it */
};

struct finding {
    const char *id; /* stable: part of the JSON output */
    const char *title;
    const char *needed_for;
    enum finding_weight weight;
    enum finding_status status;
    const char *detail; /* what was found; one line */
    const char *token;  /* the --allow-degraded token that does without it; NULL: none */
    const char *remedy; /* how to get it; may be several lines; NULL: nothing to do, or not known */
};

enum { FINDINGS_MAX = 24 };

/* What a run on this host could not hold, and the --allow-degraded token that
 * accepts it (NULL: there is none). */
struct shortfall {
    const char *token;
    const char *what;
    const char *why;
};

enum { SHORTFALLS_MAX = 16 };

enum verdict { VERDICT_FULL = 0, VERDICT_DEGRADED = 1, VERDICT_IMPOSSIBLE = 2 };

struct examination {
    struct facts facts;
    struct settings settings;

    struct finding findings[FINDINGS_MAX];
    size_t finding_count;

    const char *landlock_lacks[16]; /* rights newer than this kernel, by name */
    size_t landlock_lack_count;

    /* The conclusion. */
    const char *backend; /* what --backend auto takes: "namespaces", "landlock", or NULL when no run is possible */
    struct shortfall shortfalls[SHORTFALLS_MAX];
    size_t shortfall_count;
    enum verdict verdict;
};

void examine_host(struct arena *arena, struct examination *examination);

/* From the findings alone; examine_host ends with it. */
void examine_conclude(struct arena *arena, struct examination *examination);

/* Whether --backend auto would take namespaces; a matter of milliseconds. */
bool examine_namespaces_usable(void);

/* Whether a run in namespaces would have a /proc of its own; likewise. */
bool examine_proc_usable(void);

const char *finding_status_name(enum finding_status status);
const struct finding *examination_finding(const struct examination *examination, const char *id);

#endif
