/* Finds a preset by the name somebody typed, and helps when it is not quite right. */
#include "cli/preset_name.h"

#include "base/log.h"
#include "base/text.h"
#include "policy/problems.h"

const struct preset *preset_named(const char *name)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice text = slice_of(name);
    static const struct slice prefix = {"preset:", 7};

    if (slice_starts(text, prefix))
        text = slice_from(text, prefix.len);
    const struct preset *found = preset_find(text);
    if (found)
        return found;

    const char **names = arena_alloc(&arena, (preset_count + 1) * sizeof *names);
    struct text list = text_in(&arena);
    for (size_t i = 0; i < preset_count; i++) {
        names[i] = presets[i].name;
        text_appendf(&list, "%s%s", i ? ", " : "", presets[i].name);
    }
    const char *near = did_you_mean(text, names);
    if (near)
        log_error("there is no preset \"%s\"; did you mean \"%s\"?", escaped(&arena, text), near);
    else
        log_error("there is no preset \"%s\"; there are: %s", escaped(&arena, text), list.ptr);
    return NULL;
}
