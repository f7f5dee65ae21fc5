/* What a word names: a file that begins with "{" is written "./{". */
#include "policy/source.h"

struct policy_source policy_source_named(const char *name)
{
    static const struct slice codex = {"codex:", 6};
    static const struct slice preset = {"preset:", 7};
    struct slice text = slice_of(name);

    if (slice_starts(text, preset))
        return (struct policy_source){.kind = SOURCE_PRESET, .name = name + preset.len};
    if (slice_starts(text, codex))
        return (struct policy_source){.kind = SOURCE_FILE, .name = name + codex.len, .format = FORMAT_CODEX};
    if (text.len > 0 && text.ptr[0] == '{')
        return (struct policy_source){.kind = SOURCE_TEXT, .name = "command line", .text = text};
    return (struct policy_source){.kind = SOURCE_FILE, .name = name};
}
