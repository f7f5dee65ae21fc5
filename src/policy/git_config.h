/* Git's configuration of a repository, judged by what it means: a command may
 * change it in ways that make the host's git run nothing, and obey nobody else. */
#ifndef CLOCHE_POLICY_GIT_CONFIG_H
#define CLOCHE_POLICY_GIT_CONFIG_H

#include "base/arena.h"
#include "base/error.h"

enum {
    GIT_CONFIG_SIZE_MAX = 256 * 1024,
    GIT_CONFIG_ENTRIES_MAX = 8192,
    GIT_CONFIG_LINE_MAX = 16384,
    GIT_CONFIG_FINDINGS_MAX = 16
};

/* One line of it. */
struct git_config_entry {
    struct slice section;    /* in lower case */
    struct slice subsection; /* as written; empty: none */
    struct slice key;        /* in lower case */
    struct slice name;       /* all three with dots between them, as git prints them */
    struct slice value;      /* quotes and escapes read */
    bool has_value;          /* false: there is not even an equals sign, which git takes for true */
};

struct git_config {
    struct git_config_entry *entries; /* in the order of the file */
    size_t count;
    size_t capacity;
};

/* Reads a strict subset of git's syntax; whatever is read is read by git in the
 * same way. False for anything else: continued lines, dotted and escaped
 * subsections, carriage returns and other control characters, too much of anything. */
bool git_config_read(struct arena *arena, struct slice content, struct git_config *config, struct error *err);

/* A key that is spoken of, and what is said of it: a clause. */
struct git_config_finding {
    struct slice name; /* as git prints it, not escaped; empty: the file as a whole */
    const char *words;
};

struct git_config_findings {
    struct git_config_finding items[GIT_CONFIG_FINDINGS_MAX];
    size_t count;
    size_t unsaid; /* how many more there were */
};

struct git_config_verdict {
    struct git_config_findings refused; /* none: it may be put in place */
    struct git_config_findings told;    /* allowed, and worth telling: where an existing name leads to is changed */
};

/* May `next` take the place of `now`? Every key that is new or has another value must
 * be in the table (git_config_table.c) and have a value of its kind; what is not in
 * the table stays as it is, in the same order. */
void git_config_judge(struct arena *arena, struct slice now, struct slice next, struct git_config_verdict *verdict);

#endif
