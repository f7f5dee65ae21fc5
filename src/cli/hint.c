/* Finds the smallest change that would allow something, by trying: each
 * candidate (an option, lines of policy, or both) is added to the very request
 * that was explained, the policy is loaded again and the question put again.
 * What does not change the answer is never suggested. */
#include "cli/hint.h"

#include "base/path.h"
#include "base/text.h"

#include <string.h>

struct candidate {
    bool has_option;
    struct policy_option option;
    const char *option_name;
    const char *policy; /* members of a JSON object */
};

struct trial {
    struct arena *arena;
    const struct session_request *request;
    const struct session *session;
    const struct answer *denied;
};

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("/._-+:@%,", byte));
}

/* As a shell would need it. Bytes that must not reach a terminal are spelled
 * with $'...', so that what is pasted names the very same file. */
static const char *shell_word(struct arena *arena, const char *value)
{
    struct slice text = slice_of(value);
    struct text out = text_in(arena);
    bool plain = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        plain = plain && is_plain(text.ptr[i]);
    if (plain)
        return value;

    bool printable = strcmp(escaped(arena, text), value) == 0;
    text_append_string(&out, printable ? "'" : "$'");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (printable && byte == '\'')
            text_append_string(&out, "'\\''");
        else if (!printable && (byte < 0x20 || byte > 0x7e || byte == '\'' || byte == '\\'))
            text_appendf(&out, "\\x%02x", byte);
        else
            text_append_byte(&out, (char)byte);
    }
    text_append_string(&out, "'");
    return out.ptr;
}

static bool allows(const struct trial *trial, const struct candidate *candidate)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct session_request request = *trial->request;
    struct session changed;
    struct answer answer;
    struct error err;

    size_t source_count = trial->session->source_count;
    struct policy_source *sources = arena_alloc(&arena, (source_count + 1) * sizeof *sources);
    memcpy(sources, trial->session->sources, source_count * sizeof *sources);
    if (candidate->policy) {
        const char *text = arena_printf(&arena, "{\"extends\":[],%s}", candidate->policy);
        sources[source_count++] = (struct policy_source){.kind = SOURCE_TEXT, .name = "hint", .text = slice_of(text)};
    }
    request.sources = sources;
    request.source_count = source_count;

    struct policy_option *options = arena_alloc(&arena, (request.option_count + 1) * sizeof *options);
    if (request.option_count > 0)
        memcpy(options, request.options, request.option_count * sizeof *options);
    if (candidate->has_option)
        options[request.option_count++] = candidate->option;
    request.options = options;

    return session_read(&arena, &request, &changed, &err) && session_resolve(&changed) &&
           question_answer(&arena, &changed, &trial->denied->question, &answer, &err) && answer.decision.allowed;
}

static bool suggest(const struct trial *trial, const struct candidate *candidate, struct hint *hint)
{
    if (!allows(trial, candidate))
        return false;
    *hint = (struct hint){.policy = candidate->policy};
    if (candidate->has_option)
        hint->option = arena_printf(trial->arena, "%s %s", candidate->option_name,
                                    shell_word(trial->arena, candidate->option.value));
    return true;
}

/* `"section": {"key": ["prefixTEXT"]}` */
static const char *member(const struct trial *trial, const char *section, const char *key, const char *prefix,
                          struct slice value)
{
    struct text whole = text_in(trial->arena);
    struct text out = text_in(trial->arena);

    text_append_string(&whole, prefix);
    text_append(&whole, value);
    text_appendf(&out, "\"%s\": {\"%s\": [", section, key);
    text_append_json(&out, text_slice(&whole));
    text_append_string(&out, "]}");
    return out.ptr;
}

/* The option alone, the policy lines alone, both. */
static bool suggest_any(const struct trial *trial, struct candidate option, const char *const *policies, size_t count,
                        struct hint *hint)
{
    if (suggest(trial, &option, hint))
        return true;
    for (size_t i = 0; i < count; i++) {
        struct candidate lines = {.policy = policies[i]};
        struct candidate both = option;
        both.policy = policies[i];
        if (suggest(trial, &lines, hint) || suggest(trial, &both, hint))
            return true;
    }
    return false;
}

static struct candidate with_option(enum option_kind kind, const char *name, const char *value)
{
    return (struct candidate){.has_option = true, .option = {kind, value}, .option_name = name};
}

/* Grants that would give away more than anybody means to. */
static bool is_broad(const struct surroundings *around, struct slice path)
{
    return slice_is(path, "/etc") || path_covers(path, around->home);
}

/* Grants hold for what exists. For a path that does not, the directory it would
 * stand in can be opened, or the path made first. */
static bool suggest_for_absent(const struct trial *trial, enum option_kind kind, const char *name, struct hint *hint)
{
    struct arena *arena = trial->arena;
    struct slice path = trial->denied->real;
    struct tree_place place;
    struct error ignored;

    if (!tree_follow(trial->session->tree, arena, path, &place, &ignored) || place.node != NODE_ABSENT)
        return false;
    do {
        path = path_parent(path);
    } while (path.len > 1 && tree_follow(trial->session->tree, arena, path, &place, &ignored) &&
             place.node == NODE_ABSENT);

    const char *directory = arena_slice(arena, path).ptr;
    struct candidate candidate = with_option(kind, name, directory);
    if (!is_broad(&trial->session->around, path))
        return suggest(trial, &candidate, hint);
    if (!allows(trial, &candidate))
        return false;
    hint->before = "make it first";
    hint->option = arena_printf(arena, "%s %s", name, shell_word(arena, arena_slice(arena, trial->denied->real).ptr));
    return true;
}

bool hint_find(const struct session_request *request, const struct session *session, const struct answer *denied,
               struct hint *hint)
{
    struct arena *arena = session->arena;
    const struct trial trial = {arena, request, session, denied};
    struct slice rule = denied->decision.rule_text;
    const char *object = arena_slice(arena, denied->question.object).ptr;

    *hint = (struct hint){0};
    /* The kernel's own interfaces: nobody is led to open those. */
    if (denied->decision.backing == BACKING_FRESH)
        return false;
    switch (denied->question.operation) {
    case OPERATION_READ: {
        const char *policies[] = {member(&trial, "filesystem", "denyRead", "!", rule)};
        return suggest_any(&trial, with_option(OPTION_ALLOW_READ, "--allow-read", object), policies, 1, hint) ||
               suggest_for_absent(&trial, OPTION_ALLOW_READ, "--allow-read", hint);
    }
    case OPERATION_WRITE: {
        const char *policies[] = {member(&trial, "filesystem", "denyWrite", "!", rule),
                                  member(&trial, "filesystem", "unprotect", "", rule)};
        return suggest_any(&trial, with_option(OPTION_ALLOW_WRITE, "--allow-write", object), policies, 2, hint) ||
               suggest_for_absent(&trial, OPTION_ALLOW_WRITE, "--allow-write", hint);
    }
    case OPERATION_CONNECT:
    case OPERATION_DNS: {
        const char *policies[] = {member(&trial, "network", "deniedDomains", "!", rule),
                                  "\"network\": {\"mode\": \"filtered\"}"};
        return suggest_any(&trial, with_option(OPTION_ALLOW_DOMAIN, "--allow-domain", object), policies, 2, hint);
    }
    case OPERATION_UNIX:
        return suggest_any(&trial, with_option(OPTION_ALLOW_UNIX, "--allow-unix", object), NULL, 0, hint);
    case OPERATION_ENV:
        return suggest_any(&trial, with_option(OPTION_ENV, "--env", object), NULL, 0, hint);
    }
    return false;
}
