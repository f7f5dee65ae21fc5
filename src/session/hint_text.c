/* A line of policy helps nobody who does not know where it goes: typed as the only
 * policy it would take the place of the one in force, and with it open what that
 * hides. So it is told with the file it belongs in, or as options that name what
 * governs too. */
#include "session/hint.h"

#include "base/text.h"

#include <string.h>

/* Options that a person typed stay where they are; a preset may be named twice. */
static void append_sources(const struct session *session, struct text *out)
{
    for (size_t i = 0; i < session->source_count; i++) {
        const struct policy_source *source = &session->sources[i];
        if (source->kind == SOURCE_PRESET)
            text_appendf(out, "-p %s ", shell_word(out->arena, source->name));
        else if (source->kind == SOURCE_FILE)
            text_appendf(out, "-s %s ", shell_word(out->arena, source->name));
    }
}

const char *hint_text(struct arena *arena, const struct session *session, const struct hint *hint)
{
    const struct policy_source *last = &session->sources[session->source_count - 1]; /* there is one always */
    const char *option = hint->option ? hint->option : "";
    struct text out = text_in(arena);

    if (!hint->policy)
        return option;
    const char *lines = arena_printf(arena, "{%s}", hint->policy);
    if (session->around.personality != PERSONALITY_CLOCHE) {
        text_appendf(&out, "%s%sin the policy: %s", option, *option ? " and " : "", escaped(arena, slice_of(lines)));
    } else if (last->kind == SOURCE_FILE) {
        text_appendf(&out, "%s%sin %s: %s", option, *option ? " and " : "", escaped(arena, slice_of(last->name)),
                     escaped(arena, slice_of(lines)));
    } else {
        text_appendf(&out, "%s%s", option, *option ? " " : "");
        append_sources(session, &out);
        text_appendf(&out, "-s %s", shell_word(arena, lines));
    }
    return out.ptr;
}

const char *hint_none_text(struct arena *arena, const struct answer *answer, const struct hint *hint)
{
    const struct origin *origin = &answer->decision.origin;

    if (hint->beside.len)
        return arena_printf(arena, "a temporary file beside %s; a directory has to be writable for it",
                            escaped(arena, hint->beside));
    if (answer->by_backend)
        return "no rule allows it without namespaces; see cloche doctor";
    if (answer->question.operation == OPERATION_UNIX)
        return "no single socket can be allowed here: see cloche explain";
    if (answer->question.operation == OPERATION_CONNECT && host_is_loopback(&answer->question.host) &&
        answer->question.port == 0)
        return "to allow one port of it: --host-port PORT";
    if (!origin->file || strcmp(origin->file, "built-in") == 0)
        return "nothing allows it: cloche's own rule";
    if (strcmp(origin->file, "command line") == 0)
        return arena_printf(arena, "to allow: leave out %s", escaped(arena, slice_of(origin->path)));
    return arena_printf(arena, "no option allows it: change %s", origin_text(arena, origin));
}
