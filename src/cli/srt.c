/* The personality `srt`: the command line, words and statuses of Anthropic's
 * sandbox-runtime 0.0.83, with one repair: options end at the first word that is
 * not one, so that `srt grep -c x f` runs grep.
 *
 * Its words are its own ("Error: ...", status 1); what only cloche refuses (a
 * feature that is not built, a host that cannot hold the policy) is said in
 * cloche's form under the name srt, status 1 too. */
#include "policy/srt.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/personality.h"
#include "cli/report.h"
#include "cli/srt_check.h"
#include "session/peer.h"
#include "session/run.h"
#include "session/scratch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SRT_STATUS_ERROR = 1 };

static const char default_temporary[] = "/tmp/claude";

/* Every run has one of its own. Used where the usual place is somebody else's. */
#define PRIVATE_TEMPORARY "/dev/shm"

static const char help[] = "Usage: srt [options] [command...]\n"
                           "\n"
                           "Run commands in a sandbox with network and filesystem restrictions\n"
                           "\n"
                           "Arguments:\n"
                           "  command                      command to run in the sandbox\n"
                           "\n"
                           "Options:\n"
                           "  -V, --version                output the version number\n"
                           "  -d, --debug                  enable debug logging\n"
                           "  -s, --settings <path>        path to config file (default:\n"
                           "                               ~/.srt-settings.json)\n"
                           "  -c <command>                 run command string directly (like sh -c), no\n"
                           "                               escaping applied\n"
                           "  --control-fd <fd>            read config updates from file descriptor (JSON\n"
                           "                               lines protocol)\n"
                           "  -h, --help                   display help for command\n"
                           "\n"
                           "Options end at the first word that is not one. This is cloche " CLOCHE_VERSION ".\n";

struct srt_options {
    const char *settings;
    char *settings_text; /* for those who embed us; these six are not srt's */
    char *session;
    const char *session_tmp;
    const char *shell;
    bool check;
    bool ask;
    const char *shell_text;
    const char *control_fd;
    bool debug;
    bool ended; /* by "--": what follows is a command, whatever it is called */
    char **words;
};

enum parsed { PARSED, PARSED_DONE, PARSED_WRONG };

/* srt's words go out as they are, without a prefix. */
static void say(const char *text)
{
    fputs(text, stderr);
}

/* `-s VALUE`, `-sVALUE`, `--settings VALUE`, `--settings=VALUE`. */
static bool takes(char ***next, const char *letter, const char *name, const char **value, bool *missing)
{
    const char *word = **next;
    size_t length = strlen(name);

    *missing = false;
    if (letter && strncmp(word, letter, 2) == 0 && word[1] != '-') {
        *value = word[2] ? word + 2 : NULL;
    } else if (length > 0 && strncmp(word, name, length) == 0 && (word[length] == '=' || word[length] == '\0')) {
        *value = word[length] == '=' ? word + length + 1 : NULL;
    } else {
        return false;
    }
    (*next)++;
    if (!*value && **next)
        *value = *(*next)++;
    *missing = !*value;
    return true;
}

static bool is_flag(const char *word, const char *letter, const char *name)
{
    return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

/* What the Node package calls us with. Other users see the words of a command line:
 * the policy and the key to the embedder are taken out of it. */
static bool takes_embedding(char ***next, struct srt_options *options, bool *missing)
{
    const char *value = NULL;

    if (takes(next, NULL, "--settings-text", &value, missing))
        options->settings_text = (char *)(uintptr_t)value;
    else if (takes(next, NULL, "--session", &value, missing))
        options->session = (char *)(uintptr_t)value;
    else if (takes(next, NULL, "--session-tmp", &options->session_tmp, missing))
        return true;
    else
        return takes(next, NULL, "--shell", &options->shell, missing);
    return true;
}

static void take_out_of_sight(struct arena *arena, char **word)
{
    char *seen = *word;

    if (!seen)
        return;
    *word = arena_string(arena, seen);
    memset(seen, '-', strlen(seen));
}

static enum parsed parse(struct arena *arena, char **argv, struct srt_options *options)
{
    char **next = argv;
    bool missing = false;

    *options = (struct srt_options){0};
    while (*next && (*next)[0] == '-' && (*next)[1]) {
        const char *word = *next;
        if (strcmp(word, "--") == 0) {
            options->ended = true;
            next++;
            break;
        }
        if (is_flag(word, "-V", "--version")) {
            puts("0.0.83 (cloche " CLOCHE_VERSION ")");
            return PARSED_DONE;
        }
        if (is_flag(word, "-h", "--help")) {
            fputs(help, stdout);
            return PARSED_DONE;
        }
        if (strcmp(word, "--check") == 0 || strcmp(word, "--ask") == 0) {
            *(word[2] == 'c' ? &options->check : &options->ask) = true;
            next++;
            continue;
        }
        if (is_flag(word, "-d", "--debug")) {
            options->debug = true;
            next++;
            continue;
        }
        if (!takes(&next, "-s", "--settings", &options->settings, &missing) &&
            !takes(&next, "-c", "", &options->shell_text, &missing) &&
            !takes(&next, NULL, "--control-fd", &options->control_fd, &missing) &&
            !takes_embedding(&next, options, &missing)) {
            say(arena_printf(arena, "error: unknown option '%s'\n", escaped(arena, slice_of(word))));
            return PARSED_WRONG;
        }
        if (missing) {
            say(arena_printf(arena, "error: option '%s' argument missing\n", escaped(arena, slice_of(word))));
            return PARSED_WRONG;
        }
    }
    options->words = next;
    if (options->ask && !options->session) { /* nobody could be asked */
        say("error: unknown option '--ask'\n");
        return PARSED_WRONG;
    }
    return PARSED;
}

/* srt's other commands, by the names under which people would look for them. */
static const char *missing_command(const struct srt_options *options)
{
    const char *word = options->shell_text ? NULL : options->words[0];

    if (!word || options->ended)
        return NULL;
    if (strcmp(word, "proxy") == 0)
        return "`srt proxy` is not built: each command has proxies of its own";
    if (strcmp(word, "windows-install") == 0 || strcmp(word, "windows-uninstall") == 0)
        return "this is for Windows, and cloche is for Linux";
    return NULL;
}

/* For -d and SRT_DEBUG: all that is about to be done. */
static void say_plan(const struct session *session)
{
    const struct options no_options = {0};
    struct text out = text_in(session->arena);

    report_plan(&no_options, session, &out);
    fwrite(text_slice(&out).ptr, 1, out.len, stderr);
}

/* The bash that srt would use: the first on PATH. */
static char *find_bash(struct arena *arena)
{
    const char *path = getenv("PATH");
    struct slice rest = slice_of(path ? path : "/usr/bin:/bin");

    while (rest.len > 0) {
        struct slice directory = {rest.ptr, slice_find(rest, ':')};
        rest = slice_from(rest, directory.len < rest.len ? directory.len + 1 : directory.len);
        char *candidate = arena_printf(arena, "%.*s/bash", (int)directory.len, directory.ptr);
        if (directory.len > 0 && directory.ptr[0] == '/' && access(candidate, X_OK) == 0)
            return candidate;
    }
    return arena_string(arena, "bash");
}

/* srt gives every command to bash; "$@" lets bash run words as they are. */
static char **command_of(struct arena *arena, const struct srt_options *options)
{
    size_t count = 0;
    size_t fixed = 0;
    char *bash = options->shell ? arena_string(arena, options->shell) : find_bash(arena);

    while (!options->shell_text && options->words[count])
        count++;
    char **command = arena_alloc(arena, (count + 5) * sizeof *command);
    command[fixed++] = bash;
    command[fixed++] = arena_string(arena, "-c");
    command[fixed++] = arena_string(arena, options->shell_text ? options->shell_text : "\"$@\"");
    if (count > 0)
        command[fixed++] = bash;
    memcpy(command + fixed, options->words, count * sizeof *command);
    return command;
}

/* Where srt sends temporary files. */
static const char *temporary_directory(void)
{
    const char *named = getenv("CLAUDE_CODE_TMPDIR");

    if (!named || !*named)
        named = getenv("CLAUDE_TMPDIR");
    return named && *named ? named : default_temporary;
}

/* Says why in srt's own words. */
static int refuse(const struct session *session, const struct error *err)
{
    struct text out = text_in(session->arena);

    if (err->text[0])
        log_error("%s", err->text);
    if (session->problems.errors > 0)
        srt_print_problems(&session->problems, &out);
    fwrite(text_slice(&out).ptr, 1, out.len, stderr);
    return SRT_STATUS_ERROR;
}

static struct policy_source source_of(const struct srt_options *options)
{
    if (options->settings_text)
        return (struct policy_source){.kind = SOURCE_TEXT, .name = "config", .text = slice_of(options->settings_text)};
    return (struct policy_source){.kind = SOURCE_FILE, .name = options->settings};
}

/* TMPDIR depends on what the policy says of files: where that is not what was assumed, it is read once more. */
static bool read_policy(struct arena *arena, struct session_request *request, struct policy_option *tmpdir,
                        const char *temporary, struct session *session, struct scratch *scratch, struct error *err)
{
    if (!session_read(arena, request, session, err))
        return false;
    if (session->policy.filesystem.disabled)
        request->option_count = 0; /* TMPDIR is left as it is */
    else if (temporary == default_temporary && session->policy.filesystem.tmp != TMP_HOST)
        tmpdir->value = "TMPDIR=/tmp";
    else if (temporary == default_temporary && !scratch_open(temporary, scratch))
        tmpdir->value = "TMPDIR=" PRIVATE_TEMPORARY;
    else
        return true;
    return session_read(arena, request, session, err);
}

/* And once more, otherwise, where this system refuses what was planned. */
static int carry_out(struct session *session, struct session_request *request, struct head_start *head_start)
{
    struct error err;
    int status;

    enum jail_end end = session_run(session, request->command, request->control_fd, head_start, &status, &err);
    if (end == JAIL_NO_PROC) {
        request->shares_proc = true;
        if (!session_prepare(session->arena, request, session, &err))
            return refuse(session, &err);
        if (personality_objects(session))
            return SRT_STATUS_ERROR;
        log_warning("%s", session->plan.weaker);
        end = session_run(session, request->command, request->control_fd, NULL, &status, &err);
    }
    if (end == JAIL_NO_NAMESPACES) {
        struct error why = err;
        request->backend = BACKEND_LANDLOCK;
        if (!session_prepare(session->arena, request, session, &err))
            return refuse(session, &err);
        if (personality_objects(session)) {
            log_error("%s", why.text);
            return SRT_STATUS_ERROR;
        }
        log_warning(BACKEND_FELL_BACK "%s", session->plan.weaker);
        end = session_run(session, request->command, request->control_fd, NULL, &status, &err);
    }
    if (end == JAIL_ENDED)
        return status;
    log_error("%s", err.text);
    return SRT_STATUS_ERROR;
}

static int run(struct arena *arena, const struct srt_options *options, int control_fd, struct peer *peer,
               struct head_start *head_start)
{
    const char *temporary = temporary_directory();
    struct policy_source source = source_of(options);
    struct policy_option tmpdir = {OPTION_ENV, arena_printf(arena, "TMPDIR=%s", temporary)};
    struct session_request request = {
        .personality = PERSONALITY_SRT,
        .sources = &source,
        .extended = options->settings_text || options->session,
        .source_count = options->settings || options->settings_text ? 1 : 0,
        .options = &tmpdir,
        .option_count = 1,
        .environment = environ,
        .command = command_of(arena, options),
        .starts = true,
        .control_fd = control_fd,
        .asks = options->ask && peer, /* never at a terminal: srt has no such thing */
        .peer = peer,
        .session_tmp = options->session_tmp,
    };
    struct scratch scratch __attribute__((cleanup(scratch_close))) = {.fd = -1};
    struct session *session = ARENA_NEW(arena, struct session);
    struct error err;

    if (!read_policy(arena, &request, &tmpdir, temporary, session, &scratch, &err))
        return refuse(session, &err);
    jail_tell_network(head_start, policy_network_mode(&session->policy) != NETWORK_HOST);
    if (!session_resolve(session, session->around.tree) || !session_plan(session, &err))
        return refuse(session, &err);
    if (personality_objects(session))
        return SRT_STATUS_ERROR;
    if (options->debug && !options->session)
        say_plan(session);
    return carry_out(session, &request, head_start);
}

int srt_main(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct srt_options options;
    const char *debug = getenv("SRT_DEBUG");
    struct peer peer = {.fd = -1};
    int control_fd = 0;

    log_set_name("srt");
    switch (parse(&arena, argv + (argc > 0), &options)) {
    case PARSED_DONE:
        return STATUS_OK;
    case PARSED_WRONG:
        return SRT_STATUS_ERROR;
    case PARSED:
        break;
    }
    options.debug = options.debug || (debug && *debug);
    if (options.debug)
        log_set_level(LOG_VERBOSE);
    if (options.control_fd && !options_descriptor(options.control_fd, &control_fd)) {
        log_error("--control-fd needs the number of an open descriptor from 3 on, not \"%s\"",
                  escaped(&arena, slice_of(options.control_fd)));
        return SRT_STATUS_ERROR;
    }
    if (options.check && options.settings_text)
        return srt_check_main(&arena, options.settings_text);
    if (!options.shell_text && !options.words[0]) {
        say("Error: No command specified. Use -c <command> or provide command arguments.\n");
        return SRT_STATUS_ERROR;
    }
    if (missing_command(&options)) {
        log_error("%s; `srt -- %s` runs a program of that name", missing_command(&options), options.words[0]);
        return SRT_STATUS_ERROR;
    }
    take_out_of_sight(&arena, &options.settings_text);
    take_out_of_sight(&arena, &options.session);
    struct head_start *head_start = jail_begin(&arena);
    /* Whoever wrapped the command may have ended: it runs all the same, and nobody is asked. */
    bool embedded = options.session && peer_open(options.session, &peer);
    int status = run(&arena, &options, embedded ? peer.fd : control_fd, embedded ? &peer : NULL, head_start);
    jail_abandon(head_start);
    peer_close(&peer);
    return status;
}
