/* srt looks for the entry's text anywhere in its line about the refusal, and for
 * its key anywhere in the command. Here "~" at the start of an entry is the home
 * directory as well: lines hold whole paths. */
#include "watch/ignore.h"

#include "base/path.h"

#include <string.h>

void event_write_srt_line(struct text *out, const struct event *event)
{
    bool network = event->kind == EVENT_NET_CONNECT || event->kind == EVENT_NET_DNS;

    text_append_string(out, "deny ");
    if (network)
        text_append_string(out, "network-outbound");
    else
        text_append_escaped(out, event->op);
    text_append_byte(out, ' ');
    text_append_escaped(out, event->object);
    if (network && event->reason.len > 0) {
        text_append_string(out, " (");
        text_append_escaped(out, event->reason);
        text_append_byte(out, ')');
    }
}

static bool holds(struct slice text, struct slice part)
{
    return part.len == 0 || memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

static bool is_in_line(const struct policy *policy, struct slice line, struct slice part)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (holds(line, part))
        return true;
    if (!slice_is(part, "~") && !slice_starts(part, SLICE("~/")))
        return false;
    struct text expanded = text_in(&arena);
    text_append(&expanded, policy->around.home);
    text_append(&expanded, slice_from(part, 1));
    return holds(line, text_slice(&expanded));
}

bool event_is_ignored(const struct policy *policy, struct slice command, const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text line = text_in(&arena);

    if (policy->ignored_count == 0 || event->verdict != EVENT_DENIED)
        return false;
    event_write_srt_line(&line, event);
    for (size_t i = 0; i < policy->ignored_count; i++) {
        const struct ignore_rule *rule = &policy->ignored[i];
        if ((slice_is(rule->command, "*") || holds(command, rule->command)) &&
            is_in_line(policy, text_slice(&line), rule->text))
            return true;
    }
    return false;
}
