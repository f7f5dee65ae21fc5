/* cloche session: holds the /tmp of a session for those who cannot hold a descriptor, or
 * hands one to those who can. */
#include "base/log.h"
#include "base/passing.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "jail/session_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static bool hand_over(int socket, int descriptor, struct error *err)
{
    const char mark = 0;

    return passing_send(socket, &mark, sizeof mark, &descriptor, 1, 0) == (ssize_t)sizeof mark ||
           error_set_errno(err, errno, "cannot hand the session over through --fd %d: is it a socket?", socket);
}

static bool hold(int descriptor, struct error *err)
{
    char ignored[4096];
    ssize_t got;

    printf("/proc/%d/fd/%d\n", (int)getpid(), descriptor);
    if (fflush(stdout) != 0)
        return error_set_errno(err, errno, "cannot say where the session is held");
    do
        got = read(STDIN_FILENO, ignored, sizeof ignored);
    while (got > 0 || (got < 0 && errno == EINTR));
    return true;
}

static bool serve(struct arena *arena, const struct options *options, struct error *err)
{
    struct session *session = ARENA_NEW(arena, struct session);
    int descriptor;

    if (!session_read(arena, &options->request, session, err)) {
        session_say(session, err);
        err->text[0] = '\0';
        return false;
    }
    if (!session_tmp_make(session->policy.limits.memory, &descriptor, err))
        return false;
    return options->session_socket ? hand_over(options->session_socket, descriptor, err) : hold(descriptor, err);
}

int command_session(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct options options;
    struct error err;

    if (!options_parse(&arena, OPTIONS_FOR_SESSION, argc, argv, &options, &err)) {
        log_error("session: %s", err.text);
        return STATUS_REFUSED;
    }
    if (options.help)
        return help_print("session") ? STATUS_OK : STATUS_REFUSED;
    log_set_level(options.level);
    if (options.request.command) {
        log_error("session: runs no command: give the path it prints to cloche run --session-tmp");
        return STATUS_REFUSED;
    }
    if (serve(&arena, &options, &err))
        return STATUS_OK;
    if (err.text[0])
        log_error("session: %s", err.text);
    return STATUS_REFUSED;
}
