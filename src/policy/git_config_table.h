/* The keys of git's configuration that are known to run nothing, and the values
 * they may have. Private to the judgement of it. */
#ifndef CLOCHE_POLICY_GIT_CONFIG_TABLE_H
#define CLOCHE_POLICY_GIT_CONFIG_TABLE_H

#include "policy/git_config.h"

struct git_config_key {
    const char *section;
    const char *key;
    bool (*has_name)(struct slice name); /* of the subsection; NULL: it stands in none */
    bool (*accepts)(struct slice value);
    const char *grammar;   /* what `accepts` wants, for people */
    const char *why_stays; /* a clause: why it must not be taken away; NULL: it may */
    bool leads_somewhere;  /* told when it changes for a name that was there before */
    bool names_remote;     /* its value must be "." or a remote of this file that has a URL */
};

/* The row that the entry belongs to; NULL: it is not in the table. */
const struct git_config_key *git_config_find_key(const struct git_config_entry *entry);

/* Values (git_config_values.c). */
bool git_value_is_text(struct slice value);
bool git_value_is_boolean(struct slice value);
bool git_value_is_format_version(struct slice value);
bool git_value_is_reflog_choice(struct slice value);
bool git_value_is_rebase_choice(struct slice value);
bool git_value_is_forward_choice(struct slice value);
bool git_value_is_push_choice(struct slice value);
bool git_value_is_remote(struct slice value);
bool git_value_is_branch(struct slice value);
bool git_value_is_refspec(struct slice value);
bool git_value_is_url(struct slice value);

/* Names of branches, remotes and submodules, as subsections. */
bool git_name_is_plain(struct slice name);
bool git_name_is_word(struct slice name);

#endif
