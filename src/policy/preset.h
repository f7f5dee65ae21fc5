/* The presets: commented policy files from share/presets, compiled in. */
#ifndef CLOCHE_POLICY_PRESET_H
#define CLOCHE_POLICY_PRESET_H

#include "base/slice.h"

/* One entry of a list. */
struct preset_entry {
    struct slice text;
    bool plain;         /* an absolute path, or one behind "~/", that needs nothing else put in or taken out */
    const char *place;  /* where it stands, in the words that place_text would find */
    const char *tokens; /* of an object, for json_from_tokens, instead of the text */
    const char *access; /* of an entry of "rules", whose text is an absolute path and plain: what it gives ... */
    const char *user;   /* ... to whom, a pattern */
};

/* The long lists need no parsing, no copy and no words made up for their places:
 * every run loads two presets, and these are nearly all there is in them. */
struct preset_list {
    const char *section; /* "": it is in none. NULL ends them */
    const char *name;
    const struct preset_entry *entries;
    size_t count;
};

struct preset {
    const char *name;
    const char *summary; /* the first comment line of the file */
    struct slice text;   /* as people read it */
    const struct preset_list *lists;
    const char *tokens; /* all that is not in the lists, for json_from_tokens */
};

extern const struct preset presets[];
extern const size_t preset_count;

const struct preset *preset_find(struct slice name);

#endif
