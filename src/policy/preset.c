/* Finds a preset by name. The table itself is generated at build time from
 * share/presets, so that the files people read are the ones that hold. */
#include "policy/preset.h"

const struct preset *preset_find(struct slice name)
{
    for (size_t i = 0; i < preset_count; i++)
        if (slice_is(name, presets[i].name))
            return &presets[i];
    return NULL;
}
