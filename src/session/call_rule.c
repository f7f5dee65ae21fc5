/* A hint stands where the call then does what it is meant to do. Mounts, modules
 * and the clock take rights that no run has, whatever the filter says; sockets of
 * other families and the terminal's tricks are refused by their arguments, which a
 * policy does not speak of. There the reason alone is told. */
#include "session/call_rule.h"

#include "session/hint.h"

#include <errno.h>

/* Those that seccomp.allow gives to who asks for them by name. */
static const char *const allowable[] = {
    "keyctl",      "add_key", "request_key", "perf_event_open", "userfaultfd", "name_to_handle_at",
    "personality", "syslog",  "quotactl",    "setpriority",     "ioprio_set",
};

static bool is_allowable(struct slice call)
{
    for (size_t i = 0; i < sizeof allowable / sizeof *allowable; i++) {
        if (slice_is(call, allowable[i]))
            return true;
    }
    return false;
}

static bool makes_namespace(struct slice call)
{
    return slice_is(call, "unshare") || slice_is(call, "clone") || slice_is(call, "setns");
}

static const struct name_rule *find_denied(const struct policy *policy, struct slice call)
{
    const struct name_rules *denied = &policy->seccomp.deny;

    for (size_t i = 0; i < denied->count; i++) {
        if (slice_equal(denied->items[i].text, call))
            return &denied->items[i];
    }
    return NULL;
}

void call_find_rule(struct arena *arena, const struct session *session, struct event *event)
{
    const struct name_rule *denied = find_denied(&session->policy, event->op);
    const char *call = arena_slice(arena, event->op).ptr;
    struct hint hint = {0};
    bool is_socket = slice_is(event->op, "socket") || slice_is(event->op, "socketpair");

    if (!event->rule.file && denied)
        event->rule = denied->origin;
    if (!event->rule.file)
        event->rule = (struct origin){"built-in", "seccomp"};
    if (event->verdict != EVENT_DENIED || event->hint.len)
        return;
    if (denied)
        hint.policy = arena_printf(arena, "\"seccomp\": {\"deny\": [\"!%s\"]}", call);
    else if (is_allowable(event->op))
        hint.policy = arena_printf(arena, "\"seccomp\": {\"allow\": [\"%s\"]}", call);
    else if (makes_namespace(event->op))
        hint = (struct hint){.option = "--allow-degraded late-names", .policy = "\"allowNestedUserNamespaces\": true"};
    else if (is_socket && event->error == EACCES)
        hint.policy = "\"network\": {\"unixDatagram\": true}";
    event->hint = slice_of(hint_text(arena, session, &hint));
}
