/* The personality `codex-linux-sandbox`: the command line and statuses of the
 * helper that OpenAI's Codex starts for every command, as of 0.166.0 (and the flags
 * of earlier ones). It is one process and no bwrap, nothing of it is needed inside,
 * and what it is not told to hand on stays outside.
 *
 * Statuses as there: 2 for a command line or JSON that is wrong, 101 where the
 * helper panics for want of a profile, a command or a proxy, 1 for a sandbox that
 * cannot be made; except that a missing command is 127 and one that cannot be
 * executed 126. */
#include "policy/codex.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/personality.h"
#include "session/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CODEX_REFUSED = 1, CODEX_USAGE = 2, CODEX_PANIC = 101, CODEX_CANNOT_EXECUTE = 126 };

static const char help[] =
    "Usage: codex-linux-sandbox --sandbox-policy-cwd <DIR> --permission-profile <JSON> [OPTIONS]\n"
    "                           -- <COMMAND>...\n"
    "\n"
    "Options:\n"
    "  --sandbox-policy-cwd <DIR>   what \"project_roots\" stands for in the profile\n"
    "  --command-cwd <DIR>          where the command starts (default: here)\n"
    "  --permission-profile <JSON>  what the command may do\n"
    "  --sandbox-policy <JSON>      the same in the words of earlier versions\n"
    "  --managed-network <JSON>     no network but the proxies that the environment names\n"
    "  --allow-network-for-proxy    the same as --managed-network '{}'\n"
    "  --use-legacy-landlock        refused where files are restricted\n"
    "  --no-proc                    taken; a /proc of its own is given where it can be had\n"
    "  -h, --help                   print help\n"
    "  -V, --version                print version\n"
    "\n"
    "This is cloche " CLOCHE_VERSION ".\n";

struct codex_options {
    const char *project;
    const char *working_directory;
    const char *profile;
    const char *sandbox_policy;
    const char *managed_network;
    bool legacy_landlock;
    char **command;
};

enum parsed { PARSED, PARSED_DONE, PARSED_WRONG };

struct word {
    const char *name;
    const char **value; /* takes one */
    bool *flag;
};

/* Flags of the helper that are not for the outside, or that cannot be honoured. */
static const char *why_not(struct slice name)
{
    static const struct {
        const char *name;
        const char *why;
    } refused[] = {
        {"--apply-seccomp-then-exec", "it belongs to a second stage inside, which there is none of here"},
        {"--proxy-route-spec", "it belongs to a second stage inside, which there is none of here"},
        {"--verify-fd-mount", "it belongs to a second stage inside, which there is none of here"},
        {"--inherit-pid-namespace", "every run has a pid namespace of its own here"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (slice_is(name, refused[i].name))
            return refused[i].why;
    }
    return NULL;
}

static bool take(char ***next, const struct word *word, struct slice given, const char **missing)
{
    const char *argument = *(*next)++;

    if (word->flag) {
        *word->flag = true;
        if (argument[given.len] == '=')
            *missing = "takes no value";
    } else if (argument[given.len] == '=') {
        *word->value = argument + given.len + 1;
    } else if (**next) {
        *word->value = *(*next)++;
    } else {
        *missing = "needs a value";
    }
    return !*missing;
}

static enum parsed parse_word(struct arena *arena, char ***next, struct codex_options *options)
{
    bool for_proxy = false;
    bool ignored = false;
    const struct word words[] = {
        {"--sandbox-policy-cwd", &options->project, NULL},
        {"--command-cwd", &options->working_directory, NULL},
        {"--permission-profile", &options->profile, NULL},
        {"--sandbox-policy", &options->sandbox_policy, NULL},
        {"--managed-network", &options->managed_network, NULL},
        {"--allow-network-for-proxy", NULL, &for_proxy},
        {"--use-legacy-landlock", NULL, &options->legacy_landlock},
        {"--no-proc", NULL, &ignored},
    };
    struct slice argument = slice_of(**next);
    struct slice name = {argument.ptr, slice_find(argument, '=')};
    const char *wrong = why_not(name);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!slice_is(name, words[i].name))
            continue;
        if (take(next, &words[i], name, &wrong)) {
            if (for_proxy && !options->managed_network)
                options->managed_network = "{}";
            return PARSED;
        }
        break;
    }
    log_error("%s: %s; see codex-linux-sandbox --help", escaped(arena, name),
              wrong ? wrong : "there is no such option");
    return PARSED_WRONG;
}

static enum parsed parse(struct arena *arena, char **argv, struct codex_options *options)
{
    char **next = argv;

    *options = (struct codex_options){0};
    while (*next && (*next)[0] == '-' && strcmp(*next, "--") != 0) {
        if (strcmp(*next, "-h") == 0 || strcmp(*next, "--help") == 0) {
            fputs(help, stdout);
            return PARSED_DONE;
        }
        if (strcmp(*next, "-V") == 0 || strcmp(*next, "--version") == 0) {
            puts("codex-linux-sandbox 0.166.0 (cloche " CLOCHE_VERSION ")");
            return PARSED_DONE;
        }
        if (parse_word(arena, &next, options) != PARSED)
            return PARSED_WRONG;
    }
    options->command = *next && strcmp(*next, "--") == 0 ? next + 1 : next;
    return PARSED;
}

/* What is wrong before anything is read; STATUS_OK: nothing. */
static int judge(const struct codex_options *options)
{
    const char *missing = options->managed_network ? codex_proxies_missing(environ) : NULL;

    if (!options->project || !*options->project) {
        log_error("--sandbox-policy-cwd <DIR> is required; see codex-linux-sandbox --help");
        return CODEX_USAGE;
    }
    if (options->profile && options->sandbox_policy) {
        log_error("both --permission-profile and --sandbox-policy were given: which of the two is to hold?");
        return CODEX_USAGE;
    }
    if (!options->profile && !options->sandbox_policy) {
        log_error("missing permission profile: --permission-profile <JSON> says what the command may do");
        return CODEX_PANIC;
    }
    if (!options->command[0]) {
        log_error("no command specified to execute: it follows --");
        return CODEX_PANIC;
    }
    if (missing) {
        log_error("%s: HTTP_PROXY or one of its like must name a port on 127.0.0.1", missing);
        return CODEX_PANIC;
    }
    return STATUS_OK;
}

/* `disabled`: the caller asks for no sandbox, and gets none. */
static int execute_unconfined(const struct codex_options *options)
{
    const char *directory = options->working_directory;

    if (directory && chdir(directory) < 0) {
        log_error("cannot start in %s: %s", directory, strerror(errno));
        return CODEX_REFUSED;
    }
    execvp(options->command[0], options->command);
    int error = errno;
    log_error("cannot run %s: %s", options->command[0], strerror(error));
    return error == ENOENT ? STATUS_NOT_FOUND : CODEX_CANNOT_EXECUTE;
}

static int refuse(const struct session *session, const struct error *err, int status)
{
    session_say(session, err);
    return status;
}

static int start(struct session *session, const struct session_request *request, struct head_start *head_start)
{
    struct error err;
    int status;

    jail_tell_network(head_start, policy_network_mode(&session->policy) != NETWORK_HOST);
    if (!session_resolve(session, session->around.tree) || !session_plan(session, &err))
        return refuse(session, &err, CODEX_REFUSED);
    if (personality_objects(session))
        return CODEX_REFUSED;
    enum jail_end end = session_run(session, request->command, 0, head_start, &status, &err);
    if (end == JAIL_NO_PROC) {
        struct session_request again = *request;
        again.shares_proc = true;
        if (!session_prepare(session->arena, &again, session, &err))
            return refuse(session, &err, CODEX_REFUSED);
        if (personality_objects(session))
            return CODEX_REFUSED;
        log_warning("%s", session->plan.weaker);
        end = session_run(session, request->command, 0, NULL, &status, &err);
    }
    if (end == JAIL_ENDED)
        return status;
    log_error("%s", err.text);
    return CODEX_REFUSED;
}

/* `*unconfined`: there is nothing to hold, and the command is not started yet. */
static int run(struct arena *arena, const struct codex_options *options, struct head_start *head_start,
               bool *unconfined)
{
    bool profile = options->profile != NULL;
    const char *text = profile ? options->profile : options->sandbox_policy;
    const struct policy_source sources[] = {
        {.kind = SOURCE_TEXT,
         .name = profile ? "--permission-profile" : "--sandbox-policy",
         .text = slice_of(text),
         .format = profile ? FORMAT_CODEX_PROFILE : FORMAT_CODEX_SANDBOX_POLICY},
        {.kind = SOURCE_TEXT,
         .name = "--managed-network",
         .text = slice_of(options->managed_network ? options->managed_network : "{}"),
         .format = FORMAT_CODEX_NETWORK},
    };
    const struct session_request request = {
        .personality = PERSONALITY_CODEX,
        .project = options->project,
        .sources = sources,
        .source_count = options->managed_network ? 2 : 1,
        .environment = environ,
        .command = options->command,
        .starts = true,
        .working_directory = options->working_directory ? options->working_directory : ".",
    };
    struct session *session = ARENA_NEW(arena, struct session);
    struct error err;

    if (!session_read(arena, &request, session, &err))
        return refuse(session, &err, err.text[0] ? CODEX_REFUSED : CODEX_USAGE);
    if (options->legacy_landlock && !session->policy.filesystem.disabled) {
        log_error("--use-legacy-landlock is refused: what restricts files needs namespaces of its own");
        return CODEX_PANIC;
    }
    *unconfined = session->policy.unconfined;
    if (*unconfined)
        return STATUS_OK;
    return start(session, &request, head_start);
}

int codex_main(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct codex_options options;

    log_set_name("codex-linux-sandbox");
    switch (parse(&arena, argv + (argc > 0), &options)) {
    case PARSED_DONE:
        return STATUS_OK;
    case PARSED_WRONG:
        return CODEX_USAGE;
    case PARSED:
        break;
    }
    int status = judge(&options);
    if (status != STATUS_OK)
        return status;
    struct head_start *head_start = jail_begin(&arena);
    bool unconfined = false;
    status = run(&arena, &options, head_start, &unconfined);
    jail_abandon(head_start);
    return unconfined ? execute_unconfined(&options) : status;
}
