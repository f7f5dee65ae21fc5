/* What a rename of a directory would change for what lies below it. */
#ifndef CLOCHE_POLICY_RENAME_H
#define CLOCHE_POLICY_RENAME_H

#include "base/map.h"
#include "policy/model.h"

/* What the questions below are answered from. Only who is asked them needs it: it is not made with a policy. */
struct renames {
    const struct policy *policy;
    struct map marks; /* directories below which a rule that names a path speaks -> what it does there */
};

/* Of a policy that is resolved, in its arena. */
void rename_index(const struct policy *policy, struct renames *renames);

/* Both only read: several threads may ask at once. Directories are normal, free of links, and
 * themselves writable: that is asked of decide(). */

/* Does a rule that names a path take something away strictly below `directory`? A link made at
 * such a name would lead whoever follows the rule's path (the next run to its own policy) to
 * what lies behind the link. */
bool rename_names_below(const struct renames *renames, struct slice directory);

/* May something below `from` be judged otherwise at the same place below `to` (attacks 5, 112)?
 * Then the rename would carry it out of reach of a rule, or bring under a rule what
 * nobody could have made there. True as well when it cannot be told. Protected
 * names are another matter: see protect_rests. */
bool rename_escapes(const struct renames *renames, struct slice from, struct slice to);

#endif
