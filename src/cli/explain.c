/* cloche explain: may it? which rule, from where, held by which lock?
 *
 * With --json one object, whose keys stay as they are:
 *   version           1
 *   project           the project directory
 *   workingDirectory  where the command would start
 *   backend           namespaces or landlock
 *   weaker            what is weaker for that, or null
 *   policy            [name]: the files and presets it was made of
 *   passedOver        a project policy that is not trusted, or null
 *   warnings          [{file, path, text}]
 *   refusals          [{what, file, path, token, waived}]: why a run would be
 *                     refused; token: what --allow-degraded would take, or null
 * with questions:
 *   allowed           true if all of it is
 *   answers           [{question, operation, object, real, verdict, held, access,
 *                       backing, passage, why, reason, rule: {file, path, text},
 *                       locks: [name], note, hint: {before, option, policy} or null}]
 *                     held: false where the policy refuses it and no lock does yet
 * without:
 *   steps             [{kind, path, writable, judged, mode, entries, rule: {file, path}}];
 *                     with landlock: [{kind, path, access, writable, rule: {file, path}}]
 *   network           {mode, allowed: [{text, file, path}], denied: [...]}
 *   environment       {inside: [name], heldBack: [name]}
 *   descriptors       [number]: those the command is given beyond the standard ones
 *   limits            {name: number}
 *   limitsHeldBy      {memory, processes}: cgroup, scope (a cgroup that the service manager
 *                     is asked for), pid_max, rlimit, samples, or nothing: there is no
 *                     such limit, or it is in refusals
 *   filter            true if system calls are filtered
 *   capabilities      none, or files: what root's command keeps
 *   doorman           null, or {files, sockets, datagrams: what is asked of it, reads: it performs
 *                     every open, reasons: [{text, file, path}], roots: [{path, byPattern}]}
 *   rules             [{text, file, path, locks: [name], note}]
 * Bytes that are not UTF-8 are spelled \udcXX. */
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/report.h"
#include "host/examine.h"
#include "plan/bwrap.h"
#include "session/hint.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct explained {
    const char *question;
    struct answer answer;
    bool has_hint;
    struct hint hint;
};

struct explanation {
    struct explained *items;
    size_t count;
    bool all_allowed;
};

/* Not "nothing covers it": something does, and was left out. */
static void blame(struct arena *arena, const struct path_rule *rule, struct decision *decision)
{
    decision->why =
        arena_printf(arena, "%s \"%s\" does not exist and is left out",
                     rule->list == LIST_ALLOW_WRITE ? "allowWrite" : "allowRead", escaped(arena, rule->text));
    decision->rule_text = (struct slice){"", 0};
    decision->origin = rule->origin;
}

static bool is_held(const struct answer *answer)
{
    return answer->decision.allowed || answer->locks != 0;
}

/* "denied" is for what a run does refuse. */
static const char *verdict_word(const struct answer *answer)
{
    if (answer->decision.allowed)
        return "allowed";
    return is_held(answer) ? "denied" : "unheld";
}

static bool answer_all(const struct options *options, const struct session *session, struct explanation *explanation,
                       struct error *err)
{
    struct arena *arena = session->arena;

    *explanation = (struct explanation){
        .items = arena_alloc(arena, options->question_count * QUESTIONS_PER_WORD_MAX * sizeof(struct explained)),
        .all_allowed = true,
    };
    for (size_t i = 0; i < options->question_count; i++) {
        struct question questions[QUESTIONS_PER_WORD_MAX];
        size_t count = question_parse(session, options->questions[i], questions, err);
        if (count == 0)
            return false;
        for (size_t n = 0; n < count; n++) {
            struct explained *item = &explanation->items[explanation->count++];
            item->question = options->questions[i];
            if (!question_answer(arena, session, &questions[n], &item->answer, err))
                return error_wrap(err, "%s", escaped(arena, slice_of(item->question)));
            if (item->answer.decision.allowed)
                continue;
            explanation->all_allowed = false;
            item->has_hint = hint_find(arena, session, &item->answer, false, &item->hint);
            if (item->hint.left_out)
                blame(arena, item->hint.left_out, &item->answer.decision);
        }
    }
    return true;
}

static bool is_path_question(const struct answer *answer)
{
    return answer->question.operation != OPERATION_ENV && answer->question.operation != OPERATION_CONNECT;
}

static const char *object_text(struct arena *arena, const struct answer *answer)
{
    const char *object = escaped(arena, answer->question.object);

    if (slice_equal(answer->real, answer->question.object))
        return object;
    return arena_printf(arena, "%s -> %s", object, escaped(arena, answer->real));
}

static void append_hint(const struct session *session, const struct explained *item, struct text *out)
{
    if (!item->has_hint) {
        text_appendf(out, "; %s", hint_none_text(session->arena, &item->answer, &item->hint));
        return;
    }
    if (item->hint.left_out) {
        text_appendf(out, "; to allow: %s", item->hint.before);
        return;
    }
    if (item->hint.before)
        text_appendf(out, "; to allow: %s, then ", item->hint.before);
    else if (item->hint.policy && !item->hint.option)
        text_append_string(out, "; to allow all that this rule covers: ");
    else
        text_append_string(out, "; to allow: ");
    text_append_string(out, hint_text(session->arena, session, &item->hint));
}

static void append_locks(struct arena *arena, const struct answer *answer, struct text *out)
{
    if (answer->locks)
        text_appendf(out, "; held by %s", locks_text(arena, answer->locks));
    else if (!answer->note)
        text_append_string(out, "; not held by any lock");
    if (answer->note)
        text_appendf(out, "; %s", answer->note);
}

static void append_answer(const struct session *session, const struct explained *item, int width, struct text *out)
{
    struct arena *arena = session->arena;
    const struct decision *decision = &item->answer.decision;

    text_appendf(out, "%-7s  %-5s  %-*s  %s", verdict_word(&item->answer),
                 operation_name(item->answer.question.operation), width, object_text(arena, &item->answer),
                 decision->why ? decision->why : "");
    if (decision->rule_text.len > 0)
        text_appendf(out, " \"%s\"", escaped(arena, decision->rule_text));
    text_appendf(out, " (%s)", origin_text(arena, &decision->origin));
    if (decision->reason.len > 0)
        text_appendf(out, ": %s", escaped(arena, decision->reason));
    if (decision->passage)
        text_append_string(out, "; can be listed, and shows only what is allowed below it");
    append_locks(arena, &item->answer, out);
    if (!decision->allowed)
        append_hint(session, item, out);
    text_append_byte(out, '\n');
}

static void print_answers(const struct session *session, const struct explanation *explanation, struct text *out)
{
    enum { WIDTH_MAX = 48 };
    int width = 0;

    for (size_t i = 0; i < explanation->count; i++) {
        int length = (int)strlen(object_text(session->arena, &explanation->items[i].answer));
        if (length > width && length <= WIDTH_MAX)
            width = length;
    }
    for (size_t i = 0; i < explanation->count; i++)
        append_answer(session, &explanation->items[i], width, out);
}

static void append_string_or_null(struct text *out, const char *key, const char *value)
{
    text_appendf(out, "\"%s\":", key);
    if (value)
        text_append_json(out, slice_of(value));
    else
        text_append_string(out, "null");
}

static void append_answer_json(const struct explained *item, struct text *out)
{
    static const char *const accesses[] = {"none", "empty", "read", "write"};
    static const char *const backings[] = {"host", "private", "overlay", "fresh"};
    const struct decision *decision = &item->answer.decision;

    text_append_string(out, "{\"question\":");
    text_append_json(out, slice_of(item->question));
    text_appendf(out, ",\"operation\":\"%s\",\"object\":", operation_name(item->answer.question.operation));
    text_append_json(out, item->answer.question.object);
    text_append_string(out, ",\"real\":");
    text_append_json(out, item->answer.real);
    text_appendf(out, ",\"verdict\":\"%s\",\"held\":%s", decision->allowed ? "allowed" : "denied",
                 is_held(&item->answer) ? "true" : "false");
    if (is_path_question(&item->answer))
        text_appendf(out, ",\"access\":\"%s\",\"backing\":\"%s\",\"passage\":%s", accesses[decision->access],
                     backings[decision->backing], decision->passage ? "true" : "false");
    text_append_byte(out, ',');
    append_string_or_null(out, "why", decision->why);
    text_append_string(out, ",\"reason\":");
    text_append_json(out, decision->reason);
    text_append_string(out, ",\"rule\":{\"file\":");
    text_append_json(out, slice_of(decision->origin.file ? decision->origin.file : "built-in"));
    text_append_string(out, ",\"path\":");
    text_append_json(out, slice_of(decision->origin.path ? decision->origin.path : ""));
    text_append_string(out, ",\"text\":");
    text_append_json(out, decision->rule_text);
    text_append_byte(out, '}');
    text_append_string(out, ",\"locks\":");
    locks_json(item->answer.locks, out);
    text_append_byte(out, ',');
    append_string_or_null(out, "note", item->answer.note);
    text_append_string(out, ",\"hint\":");
    if (item->has_hint) {
        text_append_byte(out, '{');
        append_string_or_null(out, "before", item->hint.before);
        text_append_byte(out, ',');
        append_string_or_null(out, "option", item->hint.option);
        text_append_byte(out, ',');
        append_string_or_null(out, "policy", item->hint.policy);
        text_append_byte(out, '}');
    } else {
        text_append_string(out, "null");
    }
    text_append_byte(out, '}');
}

static void print_json(const struct options *options, const struct session *session,
                       const struct explanation *explanation, struct text *out)
{
    text_append_byte(out, '{');
    report_head_json(options, session, out);
    if (options->question_count == 0) {
        report_plan_json(session, out);
    } else {
        text_appendf(out, ",\"allowed\":%s,\"answers\":[", explanation->all_allowed ? "true" : "false");
        for (size_t i = 0; i < explanation->count; i++) {
            text_append_string(out, i ? "," : "");
            append_answer_json(&explanation->items[i], out);
        }
        text_append_byte(out, ']');
    }
    text_append_string(out, "}\n");
}

/* Answers say what the policy means; that no run would start under it is said
 * beside them. */
static void say_refused(const struct options *options, const struct session *session)
{
    struct objection *objections;
    size_t count = report_objections(options, session, &objections);

    for (size_t i = 0; i < count; i++)
        if (!objections[i].waived) {
            log_warning("a run with these options is refused: %s (%s)", objections[i].what,
                        origin_text(session->arena, &objections[i].origin));
        }
}

int command_explain(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct options options;
    struct session session;
    struct explanation explanation = {.all_allowed = true};
    struct error err;

    if (!options_parse(&arena, OPTIONS_FOR_EXPLAIN, argc, argv, &options, &err)) {
        log_error("%s", err.text);
        return STATUS_REFUSED;
    }
    if (options.help)
        return help_print("explain") ? STATUS_OK : STATUS_REFUSED;
    log_set_level(options.level);
    if (options.bwrap && (options.json || options.question_count)) {
        log_error("explain: --bwrap prints a command line: it goes with neither --json nor a question");
        return STATUS_REFUSED;
    }

    if (options.automatic && !examine_namespaces_usable())
        options.request.backend = BACKEND_LANDLOCK;
    options.request.shares_proc = options.request.backend == BACKEND_NAMESPACES && !examine_proc_usable();
    bool prepared = session_prepare(&arena, &options.request, &session, &err);
    session_say(&session, &err);
    if (!prepared)
        return STATUS_REFUSED;
    if (!answer_all(&options, &session, &explanation, &err)) {
        log_error("%s", err.text);
        return STATUS_REFUSED;
    }

    struct text out = text_in(&arena);
    if (options.bwrap) {
        plan_print_bwrap(&session.plan, environ, options.request.command, &out);
        say_refused(&options, &session);
    } else if (options.json) {
        print_json(&options, &session, &explanation, &out);
    } else if (options.question_count == 0) {
        report_plan(&options, &session, &out);
    } else {
        print_answers(&session, &explanation, &out);
        say_refused(&options, &session);
    }
    fwrite(out.ptr, 1, out.len, stdout);
    return explanation.all_allowed ? STATUS_OK : STATUS_NO;
}
