/* Finds the smallest change that would allow something, by trying: each
 * candidate (an option, lines of policy, or both) is added to the very request
 * that was explained, the policy is loaded again and the question put again.
 * What does not change the answer is never suggested. */
#include "cli/hint.h"

#include "base/path.h"
#include "base/text.h"

#include <string.h>

/* What is added to the request: an option, members of a policy object, or both. */
struct candidate {
    const char *option_name; /* NULL: no option */
    struct policy_option option;
    const char *policy; /* NULL: no policy */
};

/* How a denial is taken back in the policy, by where it was written. */
struct remedy {
    const char *origin; /* how the JSON path of the rule begins */
    const char *section;
    const char *key;
    const char *mark; /* put before the rule's text */
};

static const struct remedy remedies[] = {
    {"filesystem.denyRead", "filesystem", "denyRead", "!"},
    {"filesystem.denyWrite", "filesystem", "denyWrite", "!"},
    {"filesystem.protect", "filesystem", "protect", "!"},
    {"protected names", "filesystem", "unprotect", ""},
    {"network.deniedDomains", "network", "deniedDomains", "!"},
    {"network.mode", "network", "mode", NULL},
};

struct trial {
    struct arena *arena;
    const struct session_request *request;
    const struct session *session;
    const struct answer *denied;
    const struct tree *tree; /* what the candidates are judged on */
};

/* A tree on which one path exists that does not. */
struct pretence {
    const struct tree *host;
    struct slice path;
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

static bool asks_for_file(const struct trial *trial)
{
    enum operation operation = trial->denied->question.operation;
    return operation == OPERATION_READ || operation == OPERATION_WRITE;
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
        const char *text = arena_printf(&arena, "{\"extends\": [], %s}", candidate->policy);
        sources[source_count++] = (struct policy_source){.kind = SOURCE_TEXT, .name = "hint", .text = slice_of(text)};
    }
    request.sources = sources;
    request.source_count = source_count;

    struct policy_option *options = arena_alloc(&arena, (request.option_count + 1) * sizeof *options);
    if (request.option_count > 0)
        memcpy(options, request.options, request.option_count * sizeof *options);
    if (candidate->option_name)
        options[request.option_count++] = candidate->option;
    request.options = options;

    return session_read(&arena, &request, &changed, &err) && session_resolve(&changed, trial->tree) &&
           question_answer(&arena, &changed, &trial->denied->question, &answer, &err) && answer.decision.allowed;
}

static bool suggest(const struct trial *trial, struct candidate candidate, struct hint *hint)
{
    if (!allows(trial, &candidate))
        return false;
    *hint = (struct hint){.policy = candidate.policy};
    if (candidate.option_name)
        hint->option = arena_printf(trial->arena, "%s %s", candidate.option_name,
                                    shell_word(trial->arena, candidate.option.value));
    return true;
}

static struct candidate option_for(const struct trial *trial, struct slice value)
{
    enum operation operation = trial->denied->question.operation;
    const char *text = arena_slice(trial->arena, value).ptr;

    if (asks_for_file(trial) && path_covers(SLICE("/dev"), value))
        return (struct candidate){"--device", {OPTION_DEVICE, text}, NULL};
    switch (operation) {
    case OPERATION_READ:
        return (struct candidate){"--allow-read", {OPTION_ALLOW_READ, text}, NULL};
    case OPERATION_WRITE:
        return (struct candidate){"--allow-write", {OPTION_ALLOW_WRITE, text}, NULL};
    case OPERATION_CONNECT:
    case OPERATION_DNS:
        return (struct candidate){"--allow-domain", {OPTION_ALLOW_DOMAIN, text}, NULL};
    case OPERATION_UNIX:
        return (struct candidate){"--allow-unix", {OPTION_ALLOW_UNIX, text}, NULL};
    case OPERATION_ENV:
        break;
    }
    return (struct candidate){"--env", {OPTION_ENV, text}, NULL};
}

/* The members of a policy that take the denial back; NULL where none do. */
static const char *lines_for(const struct trial *trial)
{
    const struct decision *decision = &trial->denied->decision;
    struct slice origin = slice_of(decision->origin.path ? decision->origin.path : "");

    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        const struct remedy *remedy = &remedies[i];
        struct text value = text_in(trial->arena);
        struct text out = text_in(trial->arena);

        if (!slice_starts(origin, slice_of(remedy->origin)))
            continue;
        if (!remedy->mark && trial->session->policy.network.mode == NETWORK_UNSET)
            return NULL;
        if (!remedy->mark)
            return "\"network\": {\"mode\": \"filtered\"}";
        text_append_string(&value, remedy->mark);
        text_append(&value, decision->rule_text);
        text_appendf(&out, "\"%s\": {\"%s\": [", remedy->section, remedy->key);
        text_append_json(&out, text_slice(&value));
        text_append_string(&out, "]}");
        return out.ptr;
    }
    return NULL;
}

static enum node pretend_look(void *context, struct slice path, struct arena *arena, struct slice *target)
{
    const struct pretence *pretence = context;
    enum node node = pretence->host->look(pretence->host->context, path, arena, target);

    if (node != NODE_ABSENT || !path_covers(path, pretence->path))
        return node;
    return slice_equal(path, pretence->path) ? NODE_FILE : NODE_DIRECTORY;
}

static bool pretend_list(void *context, struct slice path, void (*found)(void *argument, struct slice name),
                         void *argument)
{
    const struct pretence *pretence = context;
    return pretence->host->list(pretence->host->context, path, found, argument);
}

static bool pretend_read(void *context, struct slice path, size_t limit, struct arena *arena, struct slice *content)
{
    const struct pretence *pretence = context;
    return pretence->host->read(pretence->host->context, path, limit, arena, content);
}

/* Grants that would give away more than anybody means to. */
static bool is_broad(const struct surroundings *around, struct slice path)
{
    return slice_is(path, "/etc") || path_covers(path, around->home);
}

static struct slice nearest_directory(const struct trial *trial, struct slice path)
{
    struct tree_place place;
    struct error ignored;

    do {
        path = path_parent(path);
    } while (path.len > 1 && tree_follow(trial->tree, trial->arena, path, &place, &ignored) &&
             place.node == NODE_ABSENT);
    return path;
}

/* Grants hold for what exists. For a path that does not, the directory it would
 * stand in can be opened, or the path made first. */
static bool suggest_for_absent(const struct trial *trial, struct hint *hint)
{
    struct slice path = trial->denied->real;
    struct slice directory = nearest_directory(trial, path);
    struct pretence pretence = {trial->tree, path};
    struct tree pretended = {pretend_look, pretend_list, pretend_read, &pretence};
    struct trial later = *trial;

    if (!is_broad(&trial->session->around, directory) && suggest(trial, option_for(trial, directory), hint))
        return true;
    later.tree = &pretended;
    if (!suggest(&later, option_for(trial, path), hint))
        return false;
    hint->before = "make it first";
    return true;
}

static bool is_absent(const struct trial *trial)
{
    struct tree_place place;
    struct error ignored;

    return tree_follow(trial->tree, trial->arena, trial->denied->real, &place, &ignored) && place.node == NODE_ABSENT;
}

bool hint_find(const struct session_request *request, const struct session *session, const struct answer *denied,
               struct hint *hint)
{
    const struct trial trial = {session->arena, request, session, denied, session->tree};

    *hint = (struct hint){0};
    /* The kernel's own interfaces: nobody is led to open those. */
    if (denied->decision.backing == BACKING_FRESH)
        return false;

    struct candidate option = option_for(&trial, denied->real);
    const char *lines = lines_for(&trial);
    if (lines) {
        struct candidate both = option;
        both.policy = lines;
        /* A grant beats a denyRead on the same path; what else is denied by name
         * stays denied until that is taken back. */
        if (denied->question.operation == OPERATION_READ && suggest(&trial, option, hint))
            return true;
        if (suggest(&trial, (struct candidate){.policy = lines}, hint) || suggest(&trial, both, hint))
            return true;
    } else if (suggest(&trial, option, hint)) {
        return true;
    }
    return asks_for_file(&trial) && is_absent(&trial) && suggest_for_absent(&trial, hint);
}
