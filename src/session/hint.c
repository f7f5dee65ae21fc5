/* Finds the smallest change that would allow something, by trying: each
 * candidate (an option, lines of policy, or both) is added to the very request
 * that was explained, the policy is loaded again and the question put again.
 * What does not change the answer is never suggested. */
#include "session/hint.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/temporary.h"

#include <string.h>

/* What is added to the request: an option, members of a policy object, or both. */
struct candidate {
    const char *option_name; /* NULL: no option */
    struct policy_option option;
    const char *policy; /* NULL: no policy */
};

/* How a denial is taken back in the policy, by where it was written. A denyRead
 * is not among them: a grant below it beats it, and taking it back would open
 * everything else that it hides. */
struct remedy {
    const char *origin; /* how the JSON path of the rule begins */
    const char *key;
    const char *mark; /* put before the rule's text */
};

static const struct remedy remedies[] = {
    {"filesystem.denyWrite", "denyWrite", "!"},
    {"filesystem.protect", "protect", "!"},
    {"protected names", "unprotect", ""},
};

struct trial {
    struct arena *arena;
    const struct session_request *request;
    const struct session *session;
    const struct answer *denied;
    const struct tree *tree; /* what the candidates are judged on */
    bool may_widen;
};

/* A tree on which one path exists that does not. */
struct pretence {
    const struct tree *host;
    struct slice path;
};

static bool asks_for_file(const struct trial *trial)
{
    enum operation operation = trial->denied->question.operation;
    return operation == OPERATION_READ || operation == OPERATION_WRITE;
}

/* The answer to the same question with it; false: there is none. */
static bool ask_with(const struct trial *trial, struct arena *arena, const struct candidate *candidate,
                     struct answer *answer)
{
    struct session_request request = *trial->request;
    struct session *changed = ARENA_NEW(arena, struct session);
    struct error err;

    size_t source_count = trial->session->source_count;
    struct policy_source *sources = arena_alloc(arena, (source_count + 1) * sizeof *sources);
    memcpy(sources, trial->session->sources, source_count * sizeof *sources);
    if (candidate->policy) {
        const char *text = arena_printf(arena, "{\"extends\": [], %s}", candidate->policy);
        sources[source_count++] = (struct policy_source){.kind = SOURCE_TEXT, .name = "hint", .text = slice_of(text)};
    }
    request.sources = sources;
    request.source_count = source_count;

    struct policy_option *options = arena_alloc(arena, (request.option_count + 1) * sizeof *options);
    if (request.option_count > 0)
        memcpy(options, request.options, request.option_count * sizeof *options);
    if (candidate->option_name)
        options[request.option_count++] = candidate->option;
    request.options = options;

    return session_read(arena, &request, changed, &err) && session_resolve(changed, trial->tree) &&
           question_answer(arena, changed, &trial->denied->question, answer, &err);
}

static bool allows(const struct trial *trial, const struct candidate *candidate)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct answer answer;

    return ask_with(trial, &arena, candidate, &answer) && answer.decision.allowed;
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

static struct candidate option_for(const struct trial *trial)
{
    struct slice value = trial->denied->real;
    const char *text = arena_slice(trial->arena, value).ptr;

    if (asks_for_file(trial) && path_covers(SLICE("/dev"), value))
        return (struct candidate){"--device", {OPTION_DEVICE, text}, NULL};
    switch (trial->denied->question.operation) {
    case OPERATION_READ:
        return (struct candidate){"--allow-read", {OPTION_ALLOW_READ, text}, NULL};
    case OPERATION_WRITE:
        return (struct candidate){"--allow-write", {OPTION_ALLOW_WRITE, text}, NULL};
    case OPERATION_ENV:
        return (struct candidate){"--env", {OPTION_ENV, text}, NULL};
    case OPERATION_UNIX:
        return (struct candidate){"--allow-unix", {OPTION_ALLOW_UNIX, text}, NULL};
    case OPERATION_CONNECT:
    case OPERATION_DNS:
        if (host_is_loopback(&trial->denied->question.host))
            return (struct candidate){
                "--host-port",
                {OPTION_HOST_PORT, arena_printf(trial->arena, "%u", (unsigned)trial->denied->question.port)},
                NULL};
        return (struct candidate){"--allow-domain", {OPTION_ALLOW_DOMAIN, text}, NULL};
    }
    return (struct candidate){0};
}

static const char *take_out(struct arena *arena, const char *before, const char *mark, struct slice entry,
                            const char *after)
{
    struct text value = text_in(arena);
    struct text out = text_in(arena);

    text_append_string(&value, mark);
    text_append(&value, entry);
    text_append_string(&out, before);
    text_append_json(&out, text_slice(&value));
    text_append_string(&out, after);
    return out.ptr;
}

/* The members of a policy that take the denial back; NULL where none do. */
static const char *lines_for(const struct trial *trial)
{
    const struct decision *decision = &trial->denied->decision;
    struct slice origin = slice_of(decision->origin.path ? decision->origin.path : "");

    if (decide_git_config(&trial->session->policy, trial->denied->real))
        return "\"filesystem\": {\"allowGitConfig\": true}";
    /* A rule with a condition wins over an allowRead of the same path. */
    if (slice_starts(origin, SLICE("rules[")) && slice_equal(decision->rule_text, trial->denied->real))
        return take_out(trial->arena, "\"rules\": [", "!", decision->rule_text, "]");
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        const struct remedy *remedy = &remedies[i];
        if (slice_starts(origin, slice_of(remedy->origin)))
            return take_out(trial->arena, arena_printf(trial->arena, "\"filesystem\": {\"%s\": [", remedy->key),
                            remedy->mark, decision->rule_text, "]}");
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

static enum node tree_look(const struct trial *trial, struct slice path)
{
    struct tree_place place;
    struct error ignored;

    return tree_follow(trial->tree, trial->arena, path, &place, &ignored) ? place.node : NODE_ABSENT;
}

static bool is_absent(const struct trial *trial)
{
    struct tree_place place;
    struct error ignored;

    return tree_follow(trial->tree, trial->arena, trial->denied->real, &place, &ignored) && place.node == NODE_ABSENT;
}

/* The deepest entry that grants the path and was left out, because there is
 * nothing at the place it names. */
static const struct path_rule *left_out_for(const struct trial *trial)
{
    const struct path_rules *rules = &trial->session->policy.paths;
    bool write = trial->denied->question.operation == OPERATION_WRITE;
    const struct path_rule *found = NULL;

    for (size_t i = 0; i < rules->count; i++) {
        const struct path_rule *rule = &rules->items[i];
        bool grants = rule->list == LIST_ALLOW_WRITE || (!write && rule->list == LIST_ALLOW_READ);
        if (grants && rule->dropped && rule->node == NODE_ABSENT && rule->real.len > 1 &&
            path_covers(rule->real, trial->denied->real) && (!found || rule->real.len > found->real.len))
            found = rule;
    }
    return found;
}

/* What is both hidden and protected: the second is seen when the first is lifted. */
static bool suggest_both(const struct trial *trial, struct candidate option, struct hint *hint)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct answer shown;
    struct trial second = *trial;

    if (!ask_with(trial, &arena, &option, &shown) || shown.decision.allowed)
        return false;
    second.denied = &shown;
    option.policy = lines_for(&second);
    return option.policy && suggest(trial, option, hint);
}

/* Grants hold for what exists when the run starts: what is not there has to be
 * made first. The directory it would stand in is never suggested: that would open
 * more than was asked for. */
static bool suggest_for_absent(const struct trial *trial, const char *lines, struct hint *hint)
{
    struct pretence pretence = {trial->tree, trial->denied->real};
    struct tree pretended = {.look = pretend_look, .list = pretend_list, .read = pretend_read, .context = &pretence};
    struct trial later = *trial;
    struct candidate option = option_for(trial);
    const struct path_rule *left_out = left_out_for(trial);

    later.tree = &pretended;
    if (left_out && suggest(&later, (struct candidate){0}, hint)) {
        const char *place = arena_slice(trial->arena, left_out->real).ptr;
        bool is_directory = left_out->real.len < trial->denied->real.len;
        hint->left_out = left_out;
        hint->before =
            is_directory ? arena_printf(trial->arena, "mkdir -p %s", shell_word(trial->arena, place)) : HINT_MAKE_IT;
        return true;
    }
    if (suggest(&later, option, hint)) {
        hint->before = HINT_MAKE_IT;
        return true;
    }
    option.policy = lines;
    if (!(lines && suggest(&later, option, hint)) && !suggest_both(&later, option_for(trial), hint))
        return false;
    hint->before = HINT_MAKE_IT;
    return true;
}

/* What is executed from there later would be what the command wrote (attack 35). */
static bool holds_programs(const struct session *session, struct slice directory)
{
    const struct path_rules *rules = &session->policy.paths;

    for (size_t i = 0; i < rules->count; i++) {
        const struct path_rule *rule = &rules->items[i];
        if (rule->list == LIST_ALLOW_READ && rule->derived && !rule->dropped && path_covers(directory, rule->real))
            return true;
    }
    return false;
}

/* To make something is to write to the directory it is to stand in. A home, the
 * root or what stands in it are not given away for one name, nor is what $PATH leads to. */
static bool suggest_directory(const struct trial *trial, struct hint *hint)
{
    struct slice directory = path_parent(trial->denied->real);
    struct answer wider = *trial->denied;
    struct trial above = *trial;

    while (directory.len > 1 && tree_look(trial, directory) == NODE_ABSENT)
        directory = path_parent(directory);
    if (path_depth(directory) < 2 || path_covers(directory, trial->session->around.home) ||
        holds_programs(trial->session, directory))
        return false;
    wider.real = directory;
    above.denied = &wider;
    hint->wider = suggest(&above, option_for(&above), hint);
    return hint->wider;
}

static bool suggest_for_file(const struct trial *trial, struct hint *hint)
{
    struct candidate option = option_for(trial);
    const char *lines = lines_for(trial);
    struct candidate both = option;

    both.policy = lines;
    /* A grant beats a denyRead above it; what else is denied by name stays denied
     * until that is taken back. */
    if (suggest(trial, option, hint))
        return true;
    if (lines && (suggest(trial, (struct candidate){.policy = lines}, hint) || suggest(trial, both, hint)))
        return true;
    if (suggest_both(trial, option, hint))
        return true;
    if (!is_absent(trial))
        return false;
    if (temporary_is(trial->tree, trial->arena, trial->denied->real, &hint->beside))
        return trial->may_widen && suggest_directory(trial, hint);
    return (trial->may_widen && suggest_directory(trial, hint)) || suggest_for_absent(trial, lines, hint);
}

bool hint_find(struct arena *arena, const struct session *session, const struct answer *denied, bool may_widen,
               struct hint *hint)
{
    const struct trial trial = {arena, session->request, session, denied, session->tree, may_widen};

    *hint = (struct hint){0};
    /* The kernel's own interfaces: nobody is led to open those. Nor does a rule
     * help where the backend cannot carry it out. */
    if (denied->decision.backing == BACKING_FRESH || denied->by_backend)
        return false;

    switch (denied->question.operation) {
    case OPERATION_READ:
    case OPERATION_WRITE:
        return suggest_for_file(&trial, hint);
    case OPERATION_ENV:
        return suggest(&trial, option_for(&trial), hint);
    case OPERATION_CONNECT:
    case OPERATION_DNS:
        return denied->decision.rule_text.len == 0 && suggest(&trial, option_for(&trial), hint);
    case OPERATION_UNIX:
        return session->plan.doorman.sockets && suggest(&trial, option_for(&trial), hint);
    }
    return false;
}
