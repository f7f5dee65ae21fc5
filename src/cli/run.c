/* cloche run: prepare, refuse what cannot be kept, start the command.
 *
 * Everything that is asked for and not enforced is named in one go, so that a
 * person mends the policy once and not key by key. */
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/report.h"
#include "jail/jail.h"

/* How many reasons there are not to start; each is said. */
static size_t say_objections(const struct options *options, const struct session *session)
{
    struct objection *objections;
    size_t count = report_objections(options, session, &objections);
    size_t standing = 0;

    for (size_t i = 0; i < count; i++) {
        const char *what = objections[i].what;
        const char *origin = origin_text(session->arena, &objections[i].origin);
        const char *token = objections[i].token;
        if (objections[i].waived) {
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
    log_detail("%zu mounts, %zu variables; cloche explain, with the same options, lists them", session->plan.step_count,
               session->plan.environment_count);
}

int command_run(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct options options;
    struct session session;
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

    bool prepared = session_prepare(&arena, &options.request, &session, &err);
    session_say(&session, &err);
    if (!prepared || say_objections(&options, &session) > 0)
        return STATUS_REFUSED;
    say_details(&session);
    if (session.plan.network == NETWORK_HOST)
        log_warning("the command uses the host's network, unfiltered (%s)",
                    origin_text(&arena, &session.policy.network.mode_origin));

    int status;
    if (!jail_run(&session.plan, options.request.command, &status, &err)) {
        log_error("%s", err.text);
        return STATUS_REFUSED;
    }
    return status;
}
