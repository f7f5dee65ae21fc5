/* Adds an entry to a list of a policy file, and leaves every other byte as it is:
 * comments, order and indentation are somebody's work. */
#ifndef CLOCHE_POLICY_EDIT_H
#define CLOCHE_POLICY_EDIT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* `text` with `value` behind the last entry of the list `key` in the object `section`,
 * either of which is made if it is not there. `name` is what messages call the text. What comes
 * of it was read again, and says what the old one does, with this. */
bool edit_add(struct arena *arena, struct slice text, const char *name, const char *section, const char *key,
              struct slice value, struct slice *edited, struct error *err);

/* The lines in which two texts differ, the old ones with "- " before them, the new ones with "+ ";
 * escaped for a terminal. */
const char *edit_difference(struct arena *arena, struct slice before, struct slice after);

#endif
