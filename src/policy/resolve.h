/* Rules say names; this turns them into what the names really are. */
#ifndef CLOCHE_POLICY_RESOLVE_H
#define CLOCHE_POLICY_RESOLVE_H

#include "policy/model.h"
#include "policy/problems.h"

/* Adds the built-in rules, follows the links of every rule, widens or drops what
 * cannot be honoured, and builds the index decide() works from. Problems that
 * must stop a run (a required path that is absent, a link inside a writable root
 * that would choose what is allowed) are added to `problems`. */
void policy_resolve(struct policy *policy, const struct tree *tree, struct problems *problems);

/* Shows something at its path, if only an empty file. */
bool rule_is_visible(const struct path_rule *rule);
/* Gives the command something of the host's. */
bool rule_is_grant(const struct path_rule *rule);
bool rule_grants_writing(const struct path_rule *rule);

/* A pattern over the entries of the project's top directory or of $HOME: the
 * only kind that is ever expanded, by one readdir of that directory. */
bool pattern_is_at_top(const struct policy *policy, const struct path_rule *rule);

#endif
