/* Ties the pure rooms together: surroundings, policy files, resolution, plan.
 *
 * Nothing here changes anything on the host, and nothing is said before the
 * caller asks: explain loads a second time to see whether a hint would help. */
#include "session/prepare.h"

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "host/scope.h"
#include "policy/around.h"
#include "policy/find.h"
#include "policy/resolve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static struct standing stand_here(void)
{
    struct stat status;

    if (stat(".", &status) < 0)
        return (struct standing){0};
    return (struct standing){.known = true, .device = status.st_dev, .inode = status.st_ino};
}

/* The command starts where cloche was called if that is in the project, so that
 * relative arguments keep their meaning; else at the project's top. A project
 * that was not named is where we stand, even if it has got another name since. */
static struct slice choose_working_directory(struct arena *arena, const struct surroundings *around,
                                             struct standing *standing)
{
    char buffer[PATH_MAX];
    struct slice chosen = around->project;
    bool here = !around->project_is_named;

    *standing = (struct standing){0};
    if (getcwd(buffer, sizeof buffer) && path_covers(around->project, slice_of(buffer))) {
        chosen = arena_slice(arena, slice_of(buffer));
        here = true;
    }
    if (here)
        *standing = stand_here();
    return chosen;
}

/* One that was named: what it really is, since inside no link may lead there. */
static bool find_working_directory(const struct session *session, struct slice *path, struct error *err)
{
    struct arena *arena = session->arena;
    struct slice named = slice_of(session->request->working_directory);
    struct tree_place place;
    char here[PATH_MAX];

    if (named.len == 0 || named.ptr[0] != '/') {
        if (!getcwd(here, sizeof here))
            return error_set_errno(err, errno, "cannot tell the current directory");
        named = path_join(arena, slice_of(here), named);
    }
    if (!tree_follow(session->tree, arena, named, &place, err))
        return error_wrap(err, "cannot start in %s", escaped(arena, named));
    if (place.node != NODE_DIRECTORY)
        return error_set(err, "cannot start in %s: there is no such directory, or it cannot be reached",
                         escaped(arena, named));
    *path = arena_slice(arena, place.path);
    return true;
}

/* Launchers of opencode name the project in a variable of their own. */
static const char *project_variable(const struct session_request *request)
{
    for (size_t i = 0; i < request->source_count; i++)
        if (request->sources[i].kind == SOURCE_PRESET && strcmp(request->sources[i].name, "opencode") == 0)
            return "PROJECT_DIR";
    return NULL;
}

/* Somebody who works in a part of a project expects the project's policy. It is
 * not taken from above (the project is where we stand), so say that it is there. */
static const char *policy_above(struct arena *arena, const struct surroundings *around)
{
    struct slice directory = around->project;

    if (around->personality != PERSONALITY_CLOCHE || around->project_is_named)
        return NULL;
    while (directory.len > 1) {
        directory = path_parent(directory);
        if (path_covers(directory, around->home))
            return NULL;
        const char *file = arena_slice(arena, path_join(arena, directory, SLICE(".cloche.json"))).ptr;
        if (access(file, F_OK) == 0)
            return file;
    }
    return NULL;
}

static bool choose_sources(struct arena *arena, const struct session_request *request, struct session *session,
                           struct error *err)
{
    if (request->source_count > 0) {
        session->sources = request->sources;
        session->source_count = request->source_count;
        return true;
    }

    struct policy_source *found = ARENA_NEW(arena, struct policy_source);
    if (!policy_find(arena, &session->around, found, &session->passed_over, err))
        return false;
    session->sources = found;
    session->source_count = 1;
    if (found->kind == SOURCE_PRESET)
        session->above = policy_above(arena, &session->around);
    return true;
}

bool session_read(struct arena *arena, const struct session_request *request, struct session *session,
                  struct error *err)
{
    *session = (struct session){
        .arena = arena, .request = request, .problems = {.arena = arena}, .lifeline_fd = request->lifeline_fd};
    err->text[0] = '\0';

    if (!surroundings_gather_with(arena, request->personality, request->project, project_variable(request),
                                  request->environment, request->command, &session->around, err))
        return false;
    session->around.extended = request->extended;
    session->around.backend = request->backend;
    session->around.shares_proc = request->shares_proc;
    session->around.has_session = request->session_tmp != NULL;
    session->around.accepted = request->accepted;
    /* Who embeds us can be told and asked whatever the network is. */
    session->around.network_is_controlled = (request->control_fd > 0 && !request->peer) || request->asks;
    session->around.asks = request->asks;
    session->around.is_learning = request->learn != NULL;
    if (!choose_sources(arena, request, session, err))
        return false;

    struct policy_request load = {
        .sources = session->sources,
        .source_count = session->source_count,
        .options = request->options,
        .option_count = request->option_count,
    };
    bool loaded = policy_load(arena, &session->around, &load, &session->policy, &session->problems);
    if (request->events_file)
        session->policy.events_file = slice_of(request->events_file);
    return loaded;
}

bool session_resolve(struct session *session, const struct tree *tree)
{
    session->tree = tree;
    policy_resolve(&session->policy, session->tree, &session->problems);
    return session->problems.errors == 0;
}

static struct slice environment_value(const struct session *session, const char *name)
{
    size_t length = strlen(name);

    for (char *const *variable = session->around.environment; variable && *variable; variable++) {
        if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
            return slice_of(*variable + length + 1);
    }
    return (struct slice){0};
}

static struct slice first_given(const struct session *session, const char *name, const char *or_name)
{
    struct slice value = environment_value(session, name);

    return value.len ? value : environment_value(session, or_name);
}

/* The user's own proxy variables, where the policy names no parent proxy. */
static void inherit_parents(struct session *session)
{
    struct policy *policy = &session->policy;

    if (policy->network.parent_proxy.http.len || policy->network.parent_proxy.https.len ||
        policy->network.keeps_proxy_variables)
        return;
    policy->network.parent_proxy.origin = (struct origin){"environment", "HTTP_PROXY, HTTPS_PROXY"};
    policy->network.parent_proxy.http = first_given(session, "http_proxy", "HTTP_PROXY");
    policy->network.parent_proxy.https = first_given(session, "https_proxy", "HTTPS_PROXY");
    if (!policy->network.parent_proxy.no_proxy.len)
        policy->network.parent_proxy.no_proxy = first_given(session, "no_proxy", "NO_PROXY");
}

/* What the proxies of a filtered run ask for. */
static bool make_token(struct session *session, struct error *err)
{
    unsigned char bytes[16];
    char *token = arena_alloc(session->arena, 2 * sizeof bytes + 1);

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set_errno(err, errno, "cannot get random numbers for a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    session->policy.around.proxy_token = token;
    return true;
}

/* A service manager is asked only by what is about to start, and only for limits that nothing else here holds
 * as well. If it gives nothing, the plan is made without it. */
static void gather_limits(struct session *session)
{
    struct facts *facts = &session->facts;
    struct error why;

    facts_gather_limits(session->arena, facts);
    if (!session->request->starts)
        return;
    if (plan_wants_scope(&session->policy, facts)) {
        if (scope_enter(session->arena, &why))
            facts_gather_limits(session->arena, facts);
        else
            log_detail("limits: no cgroup: %s", why.text);
    }
    facts->limits.manager = NULL;
}

bool session_plan(struct session *session, struct error *err)
{
    struct arena *arena = session->arena;
    struct standing standing = {0};
    struct slice working_directory;

    if (!session->request->working_directory)
        working_directory = choose_working_directory(arena, &session->around, &standing);
    else if (!find_working_directory(session, &working_directory, err))
        return false;
    if (policy_network_mode(&session->policy) == NETWORK_FILTERED) {
        inherit_parents(session);
        if (!make_token(session, err))
            return false;
    }
    facts_gather(&session->facts);
    facts_gather_disk(&session->facts, session->around.project.ptr);
    if (session->policy.limits.memory || session->policy.limits.processes)
        gather_limits(session);
    if (!plan_make(arena, &session->policy, &session->facts, session->tree, working_directory, &session->plan, err))
        return false;
    session->plan.standing = standing;
    return true;
}

bool session_prepare(struct arena *arena, const struct session_request *request, struct session *session,
                     struct error *err)
{
    return session_read(arena, request, session, err) && session_resolve(session, session->around.tree) &&
           session_plan(session, err);
}

const char *problem_line(struct arena *arena, const struct problem *problem)
{
    return arena_printf(arena, "%s%s%s: %s", problem->file, problem->path[0] ? ": " : "", problem->path, problem->text);
}

/* A grant that has nothing to be attached to is left out; whoever wrote it should
 * know. */
static void say_what_is_left_out(const struct session *session)
{
    for (size_t i = 0; i < session->policy.paths.count; i++) {
        const struct path_rule *rule = &session->policy.paths.items[i];
        if (rule->dropped && rule->node == NODE_ABSENT && rule_is_grant(rule) && !rule->derived &&
            !origin_is_built_in(&rule->origin) && session->around.personality == PERSONALITY_CLOCHE &&
            !session->policy.filesystem.disabled)
            log_warning("%s: %s: %s does not exist and is left out: make it before the run",
                        escaped(session->arena, slice_of(rule->origin.file)), rule->origin.path,
                        escaped(session->arena, rule->text));
    }
}

/* Names are what is protected. A file that has another one as well is changed by
 * whoever may write that (attack 7). */
static void say_what_has_other_names(const struct session *session)
{
    struct arena *arena = session->arena;
    struct stat status;

    if (session->around.personality != PERSONALITY_CLOCHE)
        return;
    for (size_t i = 0; i < session->policy.paths.count; i++) {
        const struct path_rule *rule = &session->policy.paths.items[i];
        if (rule->protects && !rule->dropped && rule->node == NODE_FILE &&
            lstat(arena_slice(arena, rule->real).ptr, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 1)
            log_warning("warning: %s is protected, but has another name too (%lu hard links): where that can be "
                        "written, so can this",
                        escaped(arena, rule->real), (unsigned long)status.st_nlink);
    }
}

void session_say(const struct session *session, const struct error *err)
{
    if (session->passed_over) {
        log_warning("%s is not trusted as it is now, and was passed over; read it, then: cloche trust %s",
                    escaped(session->arena, slice_of(session->passed_over)),
                    shell_word(session->arena, session->passed_over));
    }
    if (session->above)
        log_warning("%s is not used from here; to run in its project: -C %s",
                    escaped(session->arena, slice_of(session->above)),
                    shell_word(session->arena, arena_slice(session->arena, path_parent(slice_of(session->above))).ptr));
    if (session->problems.errors == 0) {
        say_what_is_left_out(session);
        say_what_has_other_names(session);
    }
    for (size_t i = 0; i < session->problems.count; i++) {
        const struct problem *problem = &session->problems.items[i];
        if (problem->warning)
            log_warning("warning: %s", problem_line(session->arena, problem));
        else
            log_error("%s", problem_line(session->arena, problem));
    }
    if (err->text[0])
        log_error("%s", err->text);
}

const char *origin_text(struct arena *arena, const struct origin *origin)
{
    if (!origin->file)
        return "built-in";
    if (!origin->path || !origin->path[0])
        return escaped(arena, slice_of(origin->file));
    return escaped(arena, slice_of(arena_printf(arena, "%s: %s", origin->file, origin->path)));
}

const char *source_name(struct arena *arena, const struct policy_source *source)
{
    if (source->kind == SOURCE_PRESET)
        return arena_printf(arena, "preset:%s", source->name);
    return source->name;
}
