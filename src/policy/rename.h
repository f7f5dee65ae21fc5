/* What a rename of a directory would change for what lies below it. */
#ifndef CLOCHE_POLICY_RENAME_H
#define CLOCHE_POLICY_RENAME_H

#include "policy/model.h"

/* Builds the index that the questions below are answered from; called by
 * policy_resolve, when rules are resolved and indexed. */
void rename_index(struct policy *policy);

/* Both only read the policy: several threads may ask at once. Directories are
 * normal, free of links, and themselves writable: that is asked of decide(). */

/* Does a rule take something away strictly below `directory`? A directory that
 * carries such a thing cannot be renamed (attacks 5, 112). */
bool policy_narrows_below(const struct policy *policy, struct slice directory);

/* The same for rules that name a path, without patterns. A link made at such a name
 * would lead whoever follows the rule's path (the next run to its own policy) to
 * what lies behind the link. */
bool policy_names_below(const struct policy *policy, struct slice directory);

/* May something below `from` be judged otherwise at the same place below `to`?
 * Then the rename would carry it out of reach of a rule, or bring under a rule what
 * nobody could have made there. True as well when it cannot be told. Protected
 * names are another matter: see protect_rests. */
bool policy_rename_escapes(const struct policy *policy, struct slice from, struct slice to);

#endif
