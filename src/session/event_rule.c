/* The same question is put as by `cloche explain`, to the same functions: what an
 * event says and what explain answers are the same words. */
#include "session/event_rule.h"

#include "base/path.h"
#include "base/text.h"
#include "doorman/records.h"
#include "net/guard.h"
#include "policy/resolve.h"
#include "session/call_rule.h"
#include "session/hint.h"

#include <string.h>

static bool is_host(struct slice object, struct question *question)
{
    struct error ignored;

    return host_port_parse(object, &question->host, &question->port, &ignored);
}

/* False: it is nothing that explain is asked about. */
static bool question_of(const struct event *event, struct question *question)
{
    bool is_path = event->object.len > 0 && event->object.ptr[0] == '/';

    *question = (struct question){.object = event->object};
    switch (event->kind) {
    case EVENT_FS_READ:
        question->operation = OPERATION_READ;
        return is_path;
    case EVENT_FS_WRITE:
        question->operation = OPERATION_WRITE;
        return is_path;
    case EVENT_UNIX_CONNECT:
        question->operation = OPERATION_UNIX;
        return is_path || (event->object.len > 0 && event->object.ptr[0] == '@');
    case EVENT_NET_CONNECT:
        question->operation = OPERATION_CONNECT;
        return is_host(event->object, question);
    case EVENT_NET_DNS:
        question->operation = OPERATION_DNS;
        return is_host(event->object, question);
    case EVENT_SYSCALL:
    case EVENT_LIMIT:
    case EVENT_EXEC_LATER:
    case EVENT_RUN:
    case EVENT_KINDS:
        break;
    }
    return false;
}

static void add_reason(struct arena *arena, struct event *event, const char *more)
{
    struct text out = text_in(arena);

    text_append(&out, event->reason);
    text_appendf(&out, "%s%s", out.len ? "; " : "", more);
    event->reason = text_slice(&out);
}

/* A name that comes or goes is a change of the directory it stands in: to allow its file
 * alone would be of no use. */
static bool is_of_directory(struct slice call)
{
    static const char *const calls[] = {"unlink",   "unlinkat",  "rmdir", "rename",
                                        "renameat", "renameat2", "link",  "linkat"};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (slice_is(call, calls[i]))
            return true;
    }
    return false;
}

/* What has to be there is made as the command would have made it. */
static const char *first_command(struct arena *arena, const struct session *session, const struct answer *answer,
                                 const struct hint *hint, const struct event *event)
{
    struct slice place = hint->left_out ? hint->left_out->real : answer->real;
    const char *path = shell_word(arena, arena_slice(arena, place).ptr);
    const char *directory = shell_word(arena, arena_slice(arena, path_parent(place)).ptr);
    struct slice ignored;

    if (strcmp(hint->before, HINT_MAKE_IT) != 0)
        return hint->before;
    if (slice_starts(event->op, SLICE("mkdir")))
        return arena_printf(arena, "mkdir -p %s", path);
    if (session->tree->look(session->tree->context, path_parent(place), arena, &ignored) == NODE_ABSENT)
        return arena_printf(arena, "mkdir -p %s && touch %s", directory, path);
    return arena_printf(arena, "touch %s", path);
}

/* What no name may lead to is no address that anybody should be led to allow: the
 * metadata service of a cloud gives away credentials. NULL: it is another. */
static const char *better_not_reached(const struct question *question)
{
    static const struct host_rules none;
    const struct guard guard = {.allowed = &none, .denied = &none, .denied_resolved = &none};
    bool is_address = question->operation == OPERATION_CONNECT && question->host.is_address;

    return is_address && !host_is_loopback(&question->host)
               ? guard_refuses(&guard, &question->host.address, question->port)
               : NULL;
}

static void find_hint(struct arena *arena, const struct session *session, const struct answer *answer,
                      struct event *event)
{
    struct question question = answer->question;
    const char *what = better_not_reached(&question);
    struct answer above;
    struct error ignored;
    struct hint hint;

    if (what) {
        add_reason(arena, event, arena_printf(arena, "nobody should be led there: it is %s", what));
        return;
    }
    /* The worktree's own .git, which is held whatever policy says, would be the next. */
    if (is_of_directory(event->op) && slice_starts(answer->decision.rule_text, SLICE(".git/worktrees/"))) {
        add_reason(arena, event, "worktrees of earlier runs are removed, moved and pruned outside of a run");
        return;
    }
    /* Not where a rule speaks of the name itself. */
    question.object = path_parent(answer->real);
    if (event->kind == EVENT_FS_WRITE && is_of_directory(event->op) && answer->decision.rule_text.len == 0 &&
        question_answer(arena, session, &question, &above, &ignored) && !above.decision.allowed)
        answer = &above;

    if (!hint_find(arena, session, answer, event->kind == EVENT_FS_WRITE, &hint)) {
        add_reason(arena, event, hint_none_text(arena, answer, &hint));
        return;
    }
    event->hint = slice_of(hint_text(arena, session, &hint));
    event->hint_is_wider = hint.wider;
    if (hint.before) {
        const char *command = first_command(arena, session, answer, &hint, event);
        add_reason(arena, event, arena_printf(arena, "it has to be there first: %s", command));
    }
}

/* With the rule's own text where it stands in a preset, by a number that says nothing. */
static struct slice reason_of(struct arena *arena, const struct decision *decision)
{
    bool is_numbered = decision->origin.file && slice_starts(slice_of(decision->origin.file), SLICE("preset:")) &&
                       decision->rule_text.len > 0;

    if (decision->reason.len || !decision->why)
        return decision->reason;
    return is_numbered ? slice_of(arena_printf(arena, "%s %s", decision->why, escaped(arena, decision->rule_text)))
                       : slice_of(decision->why);
}

/* The first that takes something away below a directory. */
static struct origin rule_below(const struct session *session, struct slice directory)
{
    const struct path_rules *rules = &session->policy.paths;

    for (size_t i = 0; i < rules->count; i++) {
        const struct path_rule *rule = &rules->items[i];
        if (!rule->dropped && !rule_is_grant(rule) && rule->list != LIST_BUILT_IN && path_covers(directory, rule->real))
            return rule->origin;
    }
    return (struct origin){0};
}

void event_find_rule(struct arena *arena, const struct session *session, bool with_hint, struct event *event)
{
    struct question question;
    struct answer answer;
    struct error ignored;

    if (event->kind == EVENT_SYSCALL)
        call_find_rule(arena, session, event);
    /* No rule allows it, and none that is about connections forbids it. */
    if (slice_is(event->protocol, "udp"))
        return;
    if (!question_of(event, &question) || !question_answer(arena, session, &question, &answer, &ignored))
        return;
    /* What the doorman knows beyond decide(): git's directories, what would be moved. */
    if (answer.decision.allowed && event->kind == EVENT_FS_WRITE && event->verdict == EVENT_DENIED &&
        event->reason.len && !event->rule.file)
        event->rule = slice_is(event->reason, RECORD_CARRIES) ? rule_below(session, answer.real)
                                                              : (struct origin){"built-in", "protected names"};
    if (answer.decision.allowed != (event->verdict != EVENT_DENIED))
        return;
    if (!event->rule.file)
        event->rule = answer.decision.origin;
    if (event->verdict != EVENT_DENIED)
        return;
    if (event->reason.len == 0)
        event->reason = reason_of(arena, &answer.decision);
    if (event->hint.len == 0 && with_hint)
        find_hint(arena, session, &answer, event);
}
