/* The presets: commented policy files from share/presets, compiled in. */
#ifndef CLOCHE_POLICY_PRESET_H
#define CLOCHE_POLICY_PRESET_H

#include "base/slice.h"

struct preset {
    const char *name;
    const char *summary; /* the first comment line of the file */
    struct slice text;   /* as people read it */
    const char *tokens;  /* the same for json_from_tokens */
};

extern const struct preset presets[];
extern const size_t preset_count;

const struct preset *preset_find(struct slice name);

#endif
