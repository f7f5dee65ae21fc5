/* Parses explain's questions and puts them to decide(). The locks come from the
 * plan's own account of what holds which rule; for what no rule says (the
 * defaults) from what every plan does. */
#include "session/question.h"

#include "base/path.h"
#include "policy/problems.h"

#include <string.h>

static const struct {
    const char *prefix; /* without the colon */
    enum operation operation;
} prefixes[] = {
    {"read", OPERATION_READ}, {"write", OPERATION_WRITE}, {"net", OPERATION_CONNECT},
    {"unix", OPERATION_UNIX}, {"env", OPERATION_ENV},
};

enum { PREFIX_COUNT = sizeof prefixes / sizeof *prefixes };

const char *operation_name(enum operation operation)
{
    for (size_t i = 0; i < PREFIX_COUNT; i++)
        if (prefixes[i].operation == operation)
            return prefixes[i].prefix;
    return "dns";
}

static bool climbs(struct slice path)
{
    struct slice component;

    while (path_next(&path, &component))
        if (slice_is(component, ".."))
            return true;
    return false;
}

/* The shell expands ~ at the start of a word only, not in read:~/x. A ".." is
 * left in: behind a link it leads elsewhere than its spelling says. */
static struct slice absolute_path(const struct session *session, struct slice path)
{
    bool home = path.len > 0 && path.ptr[0] == '~' && (path.len == 1 || path.ptr[1] == '/');
    struct slice base = home ? session->around.home : session->around.project;

    if (home)
        path = slice_from(path, path.len > 1 ? 2 : 1);
    if (!climbs(path))
        return path_normal(session->arena, base, path);
    return path.ptr[0] == '/' ? path : path_join(session->arena, base, path);
}

static bool exists(const struct session *session, struct slice path)
{
    struct tree_place place;
    struct error ignored;

    return tree_follow(session->tree, session->arena, path, &place, &ignored) && place.node != NODE_ABSENT;
}

static size_t refuse_word(const struct session *session, struct slice word, struct error *err)
{
    const char *names[PREFIX_COUNT + 1];
    size_t colon = slice_find(word, ':');
    const char *shown = escaped(session->arena, word);

    for (size_t i = 0; i < PREFIX_COUNT; i++)
        names[i] = prefixes[i].prefix;
    names[PREFIX_COUNT] = NULL;

    const char *near = colon < word.len ? did_you_mean((struct slice){word.ptr, colon}, names) : NULL;
    if (near)
        error_set(err, "\"%s\" is not a question; did you mean \"%s:%s\"?", shown, near,
                  escaped(session->arena, slice_from(word, colon + 1)));
    else if (colon == word.len && word.len > 0)
        error_set(err, "\"%s\" is not a question, and no file here; did you mean \"read:%s\"?", shown, shown);
    else
        error_set(err,
                  "\"%s\" is not a question; ask read:PATH, write:PATH, net:HOST[:PORT], unix:PATH, env:NAME or /PATH",
                  shown);
    return 0;
}

static size_t parse_object(const struct session *session, enum operation operation, struct slice object,
                           struct question *question, struct error *err)
{
    *question = (struct question){.operation = operation, .object = object};
    if (object.len == 0) {
        error_set(err, "\"%s:\" asks about nothing: what is to be judged?", operation_name(operation));
        return 0;
    }

    switch (operation) {
    case OPERATION_CONNECT:
        if (!host_port_parse(object, &question->host, &question->port, err)) {
            error_wrap(err, "net:%s", escaped(session->arena, object));
            return 0;
        }
        return 1;
    case OPERATION_ENV:
        if (slice_find(object, '=') < object.len) {
            error_set(err, "env:%s: a variable's name has no \"=\"", escaped(session->arena, object));
            return 0;
        }
        return 1;
    case OPERATION_UNIX:
        if (object.ptr[0] == '@') /* abstract: no file */
            return 1;
        break;
    default:
        break;
    }
    question->object = absolute_path(session, object);
    return 1;
}

size_t question_parse(const struct session *session, const char *word,
                      struct question questions[QUESTIONS_PER_WORD_MAX], struct error *err)
{
    struct slice whole = slice_of(word);
    size_t colon = slice_find(whole, ':');

    bool is_path = whole.len > 0 && (whole.ptr[0] == '/' || whole.ptr[0] == '~' || whole.ptr[0] == '.');

    if (!is_path && whole.len > 0 && colon == whole.len)
        is_path = slice_find(whole, '/') < whole.len || exists(session, absolute_path(session, whole));
    if (is_path)
        return parse_object(session, OPERATION_READ, whole, &questions[0], err) +
               parse_object(session, OPERATION_WRITE, whole, &questions[1], err);
    for (size_t i = 0; colon < whole.len && i < PREFIX_COUNT; i++)
        if (slice_is((struct slice){whole.ptr, colon}, prefixes[i].prefix))
            return parse_object(session, prefixes[i].operation, slice_from(whole, colon + 1), &questions[0], err);
    return refuse_word(session, whole, err);
}

static bool landlock_grants(const struct plan *plan, struct slice path, bool write)
{
    for (size_t i = 0; i < plan->landlock_count; i++)
        if ((plan->landlock[i].write || !write) && path_covers(plan->landlock[i].path, path))
            return true;
    return false;
}

/* A denial is held by the locks that would really stop it: a plan speaks of what
 * exists at start, a decision of every name. */
static unsigned locks_on_denied_path(const struct session *session, const struct answer *answer)
{
    const struct plan *plan = &session->plan;
    bool write = answer->question.operation == OPERATION_WRITE;

    if (plan->backend == BACKEND_LANDLOCK)
        return plan_grants(plan, session->tree, answer->real, write) ? 0 : LOCK_LANDLOCK;

    enum access access = plan_access_at(plan, answer->real);
    bool repeats = plan->use_landlock && (write || plan->landlock_reads);
    unsigned locks = 0;

    if (write ? access != ACCESS_WRITE : access == ACCESS_NONE)
        locks |= LOCK_MOUNT;
    if (repeats && !landlock_grants(plan, answer->real, write))
        locks |= LOCK_LANDLOCK;
    if (write ? plan_doorman_judges(plan, answer->real) : plan->doorman.performs_reads)
        locks |= LOCK_DOORMAN;
    return locks;
}

/* A socket that can be seen can be connected to, whatever its mount says. */
static unsigned locks_on_denied_socket(const struct session *session, const struct answer *answer)
{
    const struct policy *policy = &session->policy;

    if ((policy->seccomp.block_unix_sockets && policy->seccomp.enabled) || session->plan.backend == BACKEND_LANDLOCK)
        return LOCK_SECCOMP;
    unsigned doorman = session->plan.doorman.sockets ? LOCK_DOORMAN : 0;
    if (answer->real.ptr[0] == '@')
        return doorman | (session->plan.network == NETWORK_HOST ? 0 : LOCK_NAMESPACE);
    struct decision seen = decide_real_path(policy, OPERATION_READ, answer->real);
    return doorman | (seen.allowed && seen.backing == BACKING_HOST ? 0 : LOCK_MOUNT);
}

static unsigned locks_on_network(const struct session *session)
{
    const int landlock_abi_network = 4;

    if (session->plan.backend == BACKEND_NAMESPACES)
        return LOCK_NAMESPACE;
    return session->facts.landlock_abi >= landlock_abi_network ? LOCK_SECCOMP | LOCK_LANDLOCK : LOCK_SECCOMP;
}

static void find_locks_on_denial(const struct session *session, struct answer *answer)
{
    const struct plan *plan = &session->plan;

    switch (answer->question.operation) {
    case OPERATION_READ:
    case OPERATION_WRITE:
        answer->locks = locks_on_denied_path(session, answer);
        if (!answer->locks && !answer->note)
            answer->note = "not held by any lock: only names that exist when the run starts are";
        break;
    case OPERATION_UNIX:
        answer->locks = locks_on_denied_socket(session, answer);
        if (!answer->locks)
            answer->note = "not held by any lock: a socket in sight can be connected to, unless "
                           "seccomp.blockUnixSockets refuses all";
        break;
    case OPERATION_CONNECT:
    case OPERATION_DNS:
        answer->locks = plan->network == NETWORK_HOST ? 0 : locks_on_network(session);
        break;
    case OPERATION_ENV:
        answer->locks = LOCK_ENVIRONMENT;
        break;
    }
}

/* What holds the grants that no single rule made. */
static unsigned default_locks(const struct plan *plan, const struct answer *answer)
{
    unsigned landlock = plan->use_landlock ? LOCK_LANDLOCK : 0;
    unsigned mount = plan->backend == BACKEND_NAMESPACES ? LOCK_MOUNT : 0;

    switch (answer->question.operation) {
    case OPERATION_READ:
        return mount | (plan->landlock_reads ? landlock : 0);
    case OPERATION_WRITE:
        return mount | landlock;
    case OPERATION_ENV:
        return LOCK_ENVIRONMENT;
    case OPERATION_CONNECT:
    case OPERATION_DNS:
        return plan->network == NETWORK_FILTERED ? LOCK_NAMESPACE : 0;
    case OPERATION_UNIX:
        break;
    }
    return 0;
}

/* Built-in rules share their origin, so the text counts too. */
static bool is_about(const struct hold *hold, const struct answer *answer)
{
    const struct origin *a = &hold->origin;
    const struct origin *b = &answer->decision.origin;

    return slice_equal(hold->rule_text, answer->decision.rule_text) && a->file && b->file && a->path && b->path &&
           strcmp(a->file, b->file) == 0 && strcmp(a->path, b->path) == 0 &&
           (hold->real.len == 0 || path_covers(hold->real, answer->real));
}

/* Landlock alone refuses more than the policy: see plan/confine.c. */
static void note_what_is_refused_all_the_same(const struct session *session, struct answer *answer)
{
    bool write = answer->question.operation == OPERATION_WRITE;

    if (session->plan.backend != BACKEND_LANDLOCK || !answer->decision.allowed || answer->note ||
        (!write && answer->question.operation != OPERATION_READ) ||
        plan_grants(&session->plan, session->tree, answer->real, write))
        return;
    answer->decision.allowed = false;
    answer->by_backend = true;
    answer->locks = LOCK_LANDLOCK;
    answer->note = write ? "the policy allows it, but it is refused without namespaces: it lies beside something that "
                           "must not be written, and only what exists as the run starts can be told apart"
                         : "the policy allows it, but it is refused without namespaces: something hidden lies below "
                           "it or beside it";
}

static bool is_set(const struct plan *plan, struct slice name)
{
    for (size_t i = 0; i < plan->environment_count; i++) {
        struct slice setting = slice_of(plan->environment[i]);
        if (slice_equal((struct slice){setting.ptr, slice_find(setting, '=')}, name))
            return true;
    }
    return false;
}

/* What a plain yes or no would leave a person wondering about. */
static void note_what_surprises(const struct session *session, struct answer *answer)
{
    const struct decision *decision = &answer->decision;

    if (answer->note)
        return;
    switch (answer->question.operation) {
    case OPERATION_READ:
    case OPERATION_WRITE:
        if (decision->allowed && decision->backing == BACKING_PRIVATE && exists(session, answer->real))
            answer->note = "private to the run: what the host has there is not visible";
        if (decision->allowed && decision->backing == BACKING_SESSION && exists(session, answer->real))
            answer->note = "the session's own: what the host has there is not visible";
        if (!decision->allowed && (answer->locks & LOCK_DOORMAN) && answer->question.operation == OPERATION_WRITE &&
            decide_git_config(&session->policy, answer->real))
            answer->note = "but git may replace it by one that runs nothing: names, branches, remotes with URLs of "
                           "servers; every other new or changed key is refused and named";
        if (decision->allowed && session->around.shares_proc && path_covers(SLICE("/proc"), answer->real))
            answer->note = "of processes outside the kernel shows no memory, environment or files";
        break;
    case OPERATION_CONNECT:
        if (!decision->allowed && host_is_loopback(&answer->question.host) && session->plan.network != NETWORK_HOST &&
            session->plan.backend == BACKEND_NAMESPACES)
            answer->note = "its own loopback works; the host's is not reachable";
        break;
    case OPERATION_ENV:
        if (decision->allowed && !is_set(&session->plan, answer->question.object))
            answer->note = "(not set now)";
        break;
    case OPERATION_DNS:
    case OPERATION_UNIX:
        break;
    }
}

static void find_locks(const struct session *session, struct answer *answer)
{
    const struct plan *plan = &session->plan;

    for (size_t i = 0; i < plan->hold_count; i++) {
        if (!is_about(&plan->holds[i], answer))
            continue;
        answer->locks = plan->holds[i].locks;
        answer->note = plan->holds[i].note;
        if (answer->locks)
            break;
    }
    if (!answer->decision.allowed)
        find_locks_on_denial(session, answer);
    else if (!answer->locks && !answer->note)
        answer->locks = default_locks(plan, answer);
    note_what_is_refused_all_the_same(session, answer);
    note_what_surprises(session, answer);
}

static struct slice canonical_host(struct arena *arena, const struct question *question)
{
    const struct host *host = &question->host;

    if (!question->port)
        return arena_slice(arena, (struct slice){host->name, host->name_length});
    bool bracket = host->is_address && host->address.v6;
    return slice_of(arena_printf(arena, bracket ? "[%s]:%u" : "%s:%u", host->name, (unsigned)question->port));
}

bool question_answer(struct arena *arena, const struct session *session, const struct question *question,
                     struct answer *answer, struct error *err)
{
    const struct policy *policy = &session->policy;
    struct tree_place place;

    *answer = (struct answer){.question = *question, .real = question->object};
    switch (question->operation) {
    case OPERATION_READ:
    case OPERATION_WRITE:
        if (!decide_path(arena, policy, session->tree, question->operation, question->object, &answer->real,
                         &answer->decision, err))
            return false;
        break;
    case OPERATION_UNIX:
        if (question->object.ptr[0] == '/') {
            if (!tree_follow(session->tree, arena, question->object, &place, err))
                return false;
            answer->real = place.path;
        }
        answer->decision = decide_unix(policy, answer->real);
        break;
    case OPERATION_CONNECT:
    case OPERATION_DNS:
        answer->real = canonical_host(arena, question);
        answer->decision = policy_network_mode(policy) == NETWORK_FILTERED && host_is_loopback(&question->host)
                               ? decide_host_port(policy, question->port)
                               : decide_connect(policy, &question->host, question->port);
        break;
    case OPERATION_ENV:
        answer->decision = decide_env(policy, question->object);
        break;
    }
    if (session->plan.policy)
        find_locks(session, answer);
    return true;
}

static const char *lock_name(enum lock lock)
{
    switch (lock) {
    case LOCK_MOUNT:
        return "mount";
    case LOCK_LANDLOCK:
        return "landlock";
    case LOCK_SECCOMP:
        return "seccomp";
    case LOCK_NAMESPACE:
        return "namespace";
    case LOCK_ENVIRONMENT:
        return "environment";
    case LOCK_DOORMAN:
        return "doorman";
    }
    return "unknown";
}

const char *locks_text(struct arena *arena, unsigned locks)
{
    struct text out = text_in(arena);

    for (unsigned bit = LOCK_MOUNT; bit <= LOCK_DOORMAN; bit <<= 1)
        if (locks & bit)
            text_appendf(&out, "%s%s", out.len ? " + " : "", lock_name((enum lock)bit));
    return text_slice(&out).ptr;
}

void locks_json(unsigned locks, struct text *out)
{
    bool first = true;

    text_append_byte(out, '[');
    for (unsigned bit = LOCK_MOUNT; bit <= LOCK_DOORMAN; bit <<= 1) {
        if (!(locks & bit))
            continue;
        text_appendf(out, "%s\"%s\"", first ? "" : ",", lock_name((enum lock)bit));
        first = false;
    }
    text_append_byte(out, ']');
}
