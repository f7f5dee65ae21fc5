/* cloche trust: whether a project's own policy counts.
 *
 * Only a valid policy can be trusted, so that what was read and agreed to is what
 * will hold. */
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "policy/around.h"
#include "policy/find.h"
#include "session/prepare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failed(const struct error *err)
{
    log_error("%s", err->text);
    return STATUS_NO;
}

static int grant_trust(struct arena *arena, const struct surroundings *around, const char *file, const char *shown)
{
    struct policy_source source = {.kind = SOURCE_FILE, .name = file};
    struct session_request request = {
        .project = arena_slice(arena, around->project).ptr,
        .sources = &source,
        .source_count = 1,
        .environment = environ,
    };
    struct session session;
    struct error err;

    bool valid = session_read(arena, &request, &session, &err);
    session_say(&session, &err);
    if (!valid) {
        log_error("%s is not valid and was not trusted", shown);
        return STATUS_NO;
    }
    if (!trust_grant(arena, around, file, &err))
        return failed(&err);
    log_warning("%s is trusted as it is now; any change to it or to what it extends ends that", shown);
    return STATUS_OK;
}

static int revoke_trust(struct arena *arena, const struct surroundings *around, const char *file, const char *shown)
{
    struct error err;

    if (!trust_revoke(arena, around, file, &err))
        return failed(&err);
    log_warning("%s is no longer trusted", shown);
    return STATUS_OK;
}

static int print_status(struct arena *arena, const struct surroundings *around, const char *file, const char *shown)
{
    bool trusted = false;
    struct error err;

    if (!trust_check(arena, around, file, &trusted, &err))
        return failed(&err);
    printf("%s: %s\n", shown, trusted ? "trusted" : "not trusted");
    return trusted ? STATUS_OK : STATUS_NO;
}

/* A policy that is named belongs to the project it lies in, wherever we are. */
static const char *project_of(struct arena *arena, const char *file)
{
    const char *slash = strrchr(file, '/');

    if (!slash)
        return ".";
    return slash == file ? "/" : arena_slice(arena, (struct slice){file, (size_t)(slash - file)}).ptr;
}

int command_trust(int argc, char **argv)
{
    enum { REVOKE, STATUS };
    struct argument_option options[] = {[REVOKE] = {.name = "revoke"}, [STATUS] = {.name = "status"}};
    struct arena arena ARENA_CLEANUP = {0};
    struct surroundings around;
    struct arguments arguments;
    struct error err;

    if (!arguments_parse("trust", argc, argv, options, 2, &arguments))
        return arguments.status;
    if (arguments.word_count > 1 || (options[REVOKE].given && options[STATUS].given)) {
        log_error("trust: one file and one of --revoke, --status at a time; see cloche trust --help");
        return STATUS_USAGE;
    }

    const char *file = arguments.words[0];
    const char *project = file ? project_of(&arena, file) : NULL;
    if (!surroundings_gather(&arena, PERSONALITY_CLOCHE, project, environ, NULL, &around, &err))
        return failed(&err);
    if (!file) {
        file = path_join(&arena, around.project, SLICE(".cloche.json")).ptr;
        if (!options[REVOKE].given && access(file, F_OK) < 0 && errno == ENOENT) {
            log_error("there is no .cloche.json here; cloche init writes one");
            return STATUS_NO;
        }
    }
    const char *shown = escaped(&arena, slice_of(file));
    if (options[REVOKE].given)
        return revoke_trust(&arena, &around, file, shown);
    if (options[STATUS].given)
        return print_status(&arena, &around, file, shown);
    return grant_trust(&arena, &around, file, shown);
}
