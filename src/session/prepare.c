/* Ties the pure rooms together: surroundings, policy files, resolution, plan.
 *
 * Nothing here changes anything on the host, and nothing is said before the
 * caller asks: explain loads a second time to see whether a hint would help. */
#include "session/prepare.h"

#include "base/log.h"
#include "base/path.h"
#include "policy/around.h"
#include "policy/find.h"
#include "policy/resolve.h"

#include <limits.h>
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

/* Launchers of opencode name the project in a variable of their own. */
static const char *project_variable(const struct session_request *request)
{
    for (size_t i = 0; i < request->source_count; i++)
        if (request->sources[i].kind == SOURCE_PRESET && strcmp(request->sources[i].name, "opencode") == 0)
            return "PROJECT_DIR";
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
    return true;
}

bool session_read(struct arena *arena, const struct session_request *request, struct session *session,
                  struct error *err)
{
    *session = (struct session){.arena = arena, .problems = {.arena = arena}};
    err->text[0] = '\0';

    if (!surroundings_gather_with(arena, request->personality, request->project, project_variable(request),
                                  request->environment, request->command, &session->around, err))
        return false;
    session->around.backend = request->backend;
    session->around.accepted = request->accepted;
    if (!choose_sources(arena, request, session, err))
        return false;

    struct policy_request load = {
        .sources = session->sources,
        .source_count = session->source_count,
        .options = request->options,
        .option_count = request->option_count,
    };
    return policy_load(arena, &session->around, &load, &session->policy, &session->problems);
}

bool session_resolve(struct session *session, const struct tree *tree)
{
    session->tree = tree;
    policy_resolve(&session->policy, session->tree, &session->problems);
    return session->problems.errors == 0;
}

bool session_plan(struct session *session, struct error *err)
{
    struct arena *arena = session->arena;
    struct standing standing;
    struct slice working_directory = choose_working_directory(arena, &session->around, &standing);

    facts_gather(&session->facts);
    if (session->policy.limits.memory || session->policy.limits.processes)
        facts_gather_limits(arena, &session->facts);
    if (!plan_make(arena, &session->policy, &session->facts, session->tree, working_directory, &session->plan, err))
        return false;
    session->plan.standing = standing;
    return true;
}

bool session_prepare(struct arena *arena, const struct session_request *request, struct session *session,
                     struct error *err)
{
    return session_read(arena, request, session, err) && session_resolve(session, tree_of_host(arena)) &&
           session_plan(session, err);
}

const char *problem_line(struct arena *arena, const struct problem *problem)
{
    return arena_printf(arena, "%s%s%s: %s", problem->file, problem->path[0] ? ": " : "", problem->path, problem->text);
}

void session_say(const struct session *session, const struct error *err)
{
    if (session->passed_over) {
        const char *shown = escaped(session->arena, slice_of(session->passed_over));
        log_warning("%s is not trusted and was passed over; read it, then: cloche trust %s", shown, shown);
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
