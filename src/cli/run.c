/* cloche run: prepare, refuse what cannot be kept, start the command.
 *
 * Everything that is asked for and not enforced is named in one go, so that a
 * person mends the policy once and not key by key. */
#include "session/run.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/run.h"
#include "policy/variables.h"
#include "session/events_target.h"
#include "session/passed.h"
#include "session/peer.h"

#include <string.h>
#include <unistd.h>

/* How many reasons there are not to start; each is said. What was accepted is
 * said once. */
static size_t say_objections(const struct options *options, const struct session *session, bool again)
{
    struct objection *objections;
    size_t count = report_objections(options, session, &objections);
    size_t standing = 0;

    for (size_t i = 0; i < count; i++) {
        const char *what = objections[i].what;
        const char *origin = origin_text(session->arena, &objections[i].origin);
        const char *token = objections[i].token;
        if (objections[i].waived) {
            if (!again)
                log_warning("%s (%s); accepted by --allow-degraded %s", what, origin, token);
            continue;
        }
        standing++;
        if (token)
            log_error("refused: %s (%s); to accept this: --allow-degraded %s", what, origin, token);
        else
            log_error("refused: %s (%s)", what, origin);
    }
    return standing;
}

/* For -v: what is about to happen, in a few lines; `cloche explain` has the rest. */
static void say_details(const struct session *session)
{
    struct arena *arena = session->arena;

    for (size_t i = 0; i < session->source_count; i++)
        log_detail("policy: %s", escaped(arena, slice_of(source_name(arena, &session->sources[i]))));
    log_detail("project: %s", escaped(arena, session->around.project));
    log_detail("starts in: %s", escaped(arena, session->plan.working_directory));
    bool landlock = session->plan.backend == BACKEND_LANDLOCK;
    log_detail("%zu %s, %zu variables; cloche explain, with the same options, lists them",
               landlock ? session->plan.grant_count : session->plan.step_count, landlock ? "grants" : "mounts",
               session->plan.environment_count);
}

/* After 127: a command that is on this system and hidden from the run is told
 * from one that is nowhere. */
static void say_if_hidden(const struct session *session, const char *command)
{
    struct arena *arena = session->arena;
    struct slice path = slice_of("");
    struct slice directory;

    if (strchr(command, '/'))
        return;
    environment_find(session->around.environment, SLICE("PATH"), &path);
    for (; path.len > 0; path = slice_from(path, directory.len + (directory.len < path.len))) {
        directory = (struct slice){path.ptr, slice_find(path, ':')};
        if (directory.len == 0 || directory.ptr[0] != '/')
            continue;
        struct slice file = path_join(arena, directory, slice_of(command));
        const char *name = arena_slice(arena, file).ptr;
        struct slice real;
        struct decision decision;
        struct error ignored;
        if (access(name, X_OK) != 0 ||
            !decide_path(arena, &session->policy, session->tree, OPERATION_READ, file, &real, &decision, &ignored))
            continue;
        if (!decision.allowed)
            log_error("%s is on this system, but hidden from the run: --allow-read %s", escaped(arena, file),
                      shell_word(arena, arena_slice(arena, real).ptr));
        return;
    }
}

/* One attempt with one backend. `again`: not the first, because this system gives
 * no usable namespaces or no fresh /proc, for the reason in `err`. */
static enum jail_end attempt(struct arena *arena, const struct options *options, bool again,
                             struct head_start *head_start, int *status, struct error *err)
{
    struct session *session = ARENA_NEW(arena, struct session);
    struct error why = *err;

    bool prepared = session_read(arena, &options->request, session, err);
    if (prepared) {
        jail_tell_network(head_start, policy_network_mode(&session->policy) != NETWORK_HOST);
        prepared = session_resolve(session, session->around.tree) && session_plan(session, err);
    }
    if (!again || !prepared)
        session_say(session, err);
    *err = why;
    if (!prepared || say_objections(options, session, again) > 0)
        return JAIL_REFUSED;
    say_details(session);
    if (!again && session->plan.network == NETWORK_HOST)
        log_warning("the command uses the host's network, unfiltered (%s)",
                    origin_text(arena, &session->policy.network.mode_origin));
    /* A fall-back that nobody asked for is said whatever -q says. */
    if (session->plan.weaker && session->plan.backend == BACKEND_NAMESPACES)
        log_error("%s", session->plan.weaker);
    else if (session->plan.weaker && again)
        log_error("%s%s", BACKEND_FELL_BACK, session->plan.weaker);
    else if (session->plan.weaker)
        log_warning("this run is held by Landlock alone: %s", session->plan.weaker);
    err->text[0] = '\0';
    enum jail_end end =
        session_run(session, options->request.command, options->request.control_fd, head_start, status, err);
    if (end == JAIL_ENDED && *status == STATUS_NOT_FOUND)
        say_if_hidden(session, options->request.command[0]);
    return end;
}

/* By a policy, and not just by being started in one. */
static bool asks_for_session(struct arena *arena, const struct options *options)
{
    struct session *session = ARENA_NEW(arena, struct session);
    struct error ignored;

    return !session_read(arena, &options->request, session, &ignored) ||
           session->policy.filesystem.tmp_asked == TMP_SESSION;
}

/* What the program at the other end says comes like the lines of --control-fd. */
static bool take_peer(struct session_request *request, struct peer *peer, struct error *err)
{
    *peer = (struct peer){.fd = -1};
    if (request->session_fd == 0 && request->asks && request->control_fd) {
        request->peer = peer;
        if (!peer_adopt(request->control_fd, "--control-fd", peer, err))
            return false;
        peer->greeted = peer->asks = true; /* it was named for that */
        return true;
    }
    if (request->session_fd == 0)
        return true;
    if (request->control_fd)
        return error_set(err, "--session-fd takes what --control-fd would: give one of the two");
    request->peer = peer;
    request->control_fd = request->session_fd;
    return peer_adopt(request->session_fd, "--session-fd", peer, err);
}

int run_command(struct arena *arena, struct options *options)
{
    struct peer *peer = ARENA_NEW(arena, struct peer); /* as long as the request that leads to it */
    struct error err;

    /* Before anything of ours can stand at one of these numbers. */
    if (!passed_are_open(&options->request, &err) ||
        (options->events && !events_target_open(arena, options->events, &options->request, &err)) ||
        !passed_are_apart(&options->request, &err) || !take_peer(&options->request, peer, &err)) {
        log_error("%s", err.text);
        return STATUS_REFUSED;
    }

    int status = STATUS_REFUSED;
    err.text[0] = '\0';
    options->request.starts = true;
    struct head_start *head_start = options->request.backend == BACKEND_NAMESPACES ? jail_begin(arena) : NULL;
    enum jail_end end = attempt(arena, options, false, head_start, &status, &err);
    jail_abandon(head_start);
    if (end == JAIL_OTHER_PLACES && !asks_for_session(arena, options)) {
        log_warning("this command has a /tmp of its own: %s", err.text);
        options->request.session_tmp = NULL;
        end = attempt(arena, options, true, NULL, &status, &err);
    }
    if (end == JAIL_NO_PROC) {
        options->request.shares_proc = true;
        end = attempt(arena, options, true, NULL, &status, &err);
    }
    if (end == JAIL_NO_NAMESPACES && options->automatic) {
        options->request.backend = BACKEND_LANDLOCK;
        end = attempt(arena, options, true, NULL, &status, &err);
    }
    peer_close(peer);
    if (end == JAIL_ENDED)
        return status;
    if (err.text[0])
        log_error("%s", err.text);
    return STATUS_REFUSED;
}

int command_run(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct options options;
    struct error err;

    if (!options_parse(&arena, OPTIONS_FOR_RUN, argc, argv, &options, &err)) {
        log_error("%s", err.text);
        return STATUS_REFUSED;
    }
    if (options.help)
        return help_print("run") ? STATUS_OK : STATUS_REFUSED;
    log_set_level(options.level);
    if (!options.request.command) {
        log_error("no command given: cloche run [OPTIONS] COMMAND [ARG...]; see cloche run --help");
        return STATUS_REFUSED;
    }
    return run_command(&arena, &options);
}
