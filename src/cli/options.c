/* A small option parser of our own: getopt permutes words by default, keeps its
 * state in globals and cannot say "did you mean". Values may follow after a
 * space or "=" (long) or directly (short). Nothing is looked at twice: the first
 * thing that is wrong ends the parsing with a message. */
#include "cli/options.h"

#include "base/text.h"
#include "host/degraded.h"
#include "policy/problems.h"
#include "policy/source.h"

#include <string.h>
#include <unistd.h>

enum action {
    ACTION_ADD, /* one more policy option, of `kind` */
    ACTION_PROJECT,
    ACTION_SETTINGS,
    ACTION_PRESET,
    ACTION_SHELL,
    ACTION_BACKEND,
    ACTION_DEGRADED,
    ACTION_CONTROL,
    ACTION_LIFELINE,
    ACTION_PASS,
    ACTION_SESSION,
    ACTION_SESSION_TMP,
    ACTION_SESSION_SOCKET,
    ACTION_EVENTS,
    ACTION_OUTPUT,
    ACTION_ASK,
    ACTION_VERBOSE,
    ACTION_QUIET,
    ACTION_JSON,
    ACTION_BWRAP,
    ACTION_HELP
};

struct option_word {
    const char *name; /* without dashes; NULL: only the letter */
    char letter;      /* 0: only the name */
    bool takes_value;
    enum action action;
    enum option_kind kind; /* ACTION_ADD */
};

static const struct option_word option_words[] = {
    {"project", 'C', true, ACTION_PROJECT, 0},
    {"settings", 's', true, ACTION_SETTINGS, 0},
    {"preset", 'p', true, ACTION_PRESET, 0},
    {NULL, 'c', true, ACTION_SHELL, 0},
    {"allow-read", 0, true, ACTION_ADD, OPTION_ALLOW_READ},
    {"deny-read", 0, true, ACTION_ADD, OPTION_DENY_READ},
    {"allow-write", 0, true, ACTION_ADD, OPTION_ALLOW_WRITE},
    {"deny-write", 0, true, ACTION_ADD, OPTION_DENY_WRITE},
    {"allow-domain", 0, true, ACTION_ADD, OPTION_ALLOW_DOMAIN},
    {"deny-domain", 0, true, ACTION_ADD, OPTION_DENY_DOMAIN},
    {"allow-unix", 0, true, ACTION_ADD, OPTION_ALLOW_UNIX},
    {"env", 0, true, ACTION_ADD, OPTION_ENV},
    {"host-port", 0, true, ACTION_ADD, OPTION_HOST_PORT},
    {"publish", 0, true, ACTION_ADD, OPTION_PUBLISH},
    {"device", 0, true, ACTION_ADD, OPTION_DEVICE},
    {"timeout", 0, true, ACTION_ADD, OPTION_TIMEOUT},
    {"memory", 0, true, ACTION_ADD, OPTION_MEMORY},
    {"pids", 0, true, ACTION_ADD, OPTION_PIDS},
    {"ask", 0, false, ACTION_ASK, 0},
    {"events", 0, true, ACTION_EVENTS, 0},
    {"output", 'o', true, ACTION_OUTPUT, 0},
    {"control-fd", 0, true, ACTION_CONTROL, 0},
    {"lifeline-fd", 0, true, ACTION_LIFELINE, 0},
    {"pass-fd", 0, true, ACTION_PASS, 0},
    {"session-fd", 0, true, ACTION_SESSION, 0},
    {"session-tmp", 0, true, ACTION_SESSION_TMP, 0},
    {"fd", 0, true, ACTION_SESSION_SOCKET, 0},
    {"backend", 0, true, ACTION_BACKEND, 0},
    {"allow-degraded", 0, true, ACTION_DEGRADED, 0},
    {"verbose", 'v', false, ACTION_VERBOSE, 0},
    {"quiet", 'q', false, ACTION_QUIET, 0},
    {"json", 0, false, ACTION_JSON, 0},
    {"bwrap", 0, false, ACTION_BWRAP, 0},
    {"help", 'h', false, ACTION_HELP, 0},
};

enum { OPTION_WORD_COUNT = sizeof option_words / sizeof *option_words };

/* What is being parsed, and how far. */
struct parser {
    struct arena *arena;
    enum options_user user;
    struct options *options;
    char **next;
};

static const char *const backends[] = {"auto", "namespaces", "landlock", NULL};

static bool offered(const struct parser *parser, const struct option_word *word)
{
    if (word->action == ACTION_OUTPUT)
        return parser->user == OPTIONS_FOR_LEARN;
    if (word->action == ACTION_SESSION_SOCKET)
        return parser->user == OPTIONS_FOR_SESSION;
    return (word->action != ACTION_JSON && word->action != ACTION_BWRAP) || parser->user == OPTIONS_FOR_EXPLAIN;
}

static const char *help_of(const struct parser *parser)
{
    if (parser->user == OPTIONS_FOR_LEARN)
        return "cloche learn --help";
    if (parser->user == OPTIONS_FOR_SESSION)
        return "cloche session --help";
    return parser->user == OPTIONS_FOR_RUN ? "cloche run --help" : "cloche explain --help";
}

static bool refuse_unknown(const struct parser *parser, struct slice shown, struct slice name, struct error *err)
{
    const char *names[OPTION_WORD_COUNT + 1];
    size_t count = 0;

    for (size_t i = 0; i < OPTION_WORD_COUNT; i++)
        if (option_words[i].name && offered(parser, &option_words[i]))
            names[count++] = option_words[i].name;
    names[count] = NULL;

    const char *near = name.len > 1 ? did_you_mean(name, names) : NULL;
    if (near)
        return error_set(err, "unknown option \"%s\"; did you mean \"--%s\"?", escaped(parser->arena, shown), near);
    return error_set(err, "unknown option \"%s\"; see %s", escaped(parser->arena, shown), help_of(parser));
}

static bool one_of(const char *const *words, const char *value)
{
    for (; *words; words++)
        if (strcmp(*words, value) == 0)
            return true;
    return false;
}

/* For options with a closed list of values. */
static bool refuse_value(const struct parser *parser, const char *name, const char *value, const char *const *words,
                         struct error *err)
{
    struct text list = text_in(parser->arena);
    const char *near = did_you_mean(slice_of(value), words);

    for (size_t i = 0; words[i]; i++)
        text_appendf(&list, "%s%s", i ? ", " : "", words[i]);
    return error_set(err, "%s does not know \"%s\"; it takes: %s%s%s%s", name, escaped(parser->arena, slice_of(value)),
                     list.ptr, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static void add_source(struct parser *parser, struct policy_source source)
{
    struct options *options = parser->options;
    size_t have = options->request.source_count;

    options->sources = arena_grow(parser->arena, options->sources, have, have + 1, &options->source_capacity,
                                  sizeof *options->sources);
    options->sources[have] = source;
    options->request.sources = options->sources;
    options->request.source_count = have + 1;
}

static void add_addition(struct parser *parser, enum option_kind kind, const char *value)
{
    struct options *options = parser->options;
    size_t have = options->request.option_count;

    options->additions = arena_grow(parser->arena, options->additions, have, have + 1, &options->addition_capacity,
                                    sizeof *options->additions);
    options->additions[have] = (struct policy_option){kind, value};
    options->request.options = options->additions;
    options->request.option_count = have + 1;
}

static void add_question(struct parser *parser, char *question)
{
    struct options *options = parser->options;
    size_t have = options->question_count;

    options->questions = arena_grow(parser->arena, options->questions, have, have + 1, &options->question_capacity,
                                    sizeof *options->questions);
    options->questions[have] = question;
    options->question_count = have + 1;
}

static bool add_settings(struct parser *parser, const char *file, struct error *err)
{
    if (!file || !*file)
        return error_set(err, "--settings needs the name of a policy file");

    struct policy_source source = policy_source_named(file);
    if (!*source.name && source.format == FORMAT_CODEX)
        return error_set(err, "--settings codex: needs the name of a Codex policy: codex:FILE");
    add_source(parser, source);
    return true;
}

static bool take_descriptor(const struct parser *parser, const char *name, const char *value, int *fd,
                            struct error *err)
{
    return options_descriptor(value, fd) ||
           error_set(err, "%s needs the number of an open descriptor from 3 on, not \"%s\"", name,
                     escaped(parser->arena, slice_of(value)));
}

static bool add_passed(struct parser *parser, const char *name, const char *value, struct error *err)
{
    struct options *options = parser->options;
    size_t have = options->request.passed_count;
    int fd;

    if (value && value[0] >= '0' && value[0] <= '2' && !value[1])
        return error_set(err, "%s %s: the command has 0, 1 and 2 in any case", name, value);
    if (!take_descriptor(parser, name, value, &fd, err))
        return false;
    for (size_t i = 0; i < have; i++) {
        if (options->passed[i] == fd)
            return error_set(err, "%s %d was given twice", name, fd);
    }
    if (have == JAIL_PASSED_MAX)
        return error_set(err, "%s was given more than %d times", name, JAIL_PASSED_MAX);
    options->passed[have] = fd;
    options->request.passed = options->passed;
    options->request.passed_count = have + 1;
    return true;
}

/* `name` is the option as messages call it, dashes included. */
static bool apply(struct parser *parser, const struct option_word *word, const char *name, const char *value,
                  struct error *err)
{
    struct options *options = parser->options;

    switch (word->action) {
    case ACTION_ADD:
        add_addition(parser, word->kind, value);
        return true;
    case ACTION_PROJECT:
        options->request.project = value;
        return (value && *value) || error_set(err, "%s needs a directory", name);
    case ACTION_SETTINGS:
        return add_settings(parser, value, err);
    case ACTION_PRESET:
        add_source(parser, (struct policy_source){.kind = SOURCE_PRESET, .name = value});
        return true;
    case ACTION_SHELL:
        if (options->shell_text)
            return error_set(err, "-c was given twice: which of the two is to be run?");
        options->shell_text = value;
        return true;
    case ACTION_BACKEND:
        if (!one_of(backends, value))
            return refuse_value(parser, name, value, backends, err);
        options->automatic = strcmp(value, "auto") == 0;
        options->request.backend = strcmp(value, "landlock") == 0 ? BACKEND_LANDLOCK : BACKEND_NAMESPACES;
        return true;
    case ACTION_DEGRADED:
        if (!one_of(degraded_tokens, value))
            return refuse_value(parser, name, value, degraded_tokens, err);
        options->request.accepted |= degraded_bit(value);
        return true;
    case ACTION_CONTROL:
        return take_descriptor(parser, name, value, &options->request.control_fd, err);
    case ACTION_LIFELINE:
        return take_descriptor(parser, name, value, &options->request.lifeline_fd, err);
    case ACTION_PASS:
        return add_passed(parser, name, value, err);
    case ACTION_SESSION:
        return take_descriptor(parser, name, value, &options->request.session_fd, err);
    case ACTION_SESSION_TMP:
        options->request.session_tmp = value;
        return (value && value[0] == '/') || error_set(err, "%s needs the path that `cloche session` says", name);
    case ACTION_SESSION_SOCKET:
        return take_descriptor(parser, name, value, &options->session_socket, err);
    case ACTION_EVENTS:
        options->events = value;
        return true;
    case ACTION_OUTPUT:
        options->output = value;
        return (value && *value) || error_set(err, "%s needs the name of a file", name);
    case ACTION_ASK:
        options->request.asks = true;
        return true;
    case ACTION_VERBOSE:
        options->level = LOG_VERBOSE;
        return true;
    case ACTION_QUIET:
        options->level = LOG_QUIET;
        return true;
    case ACTION_JSON:
        options->json = true;
        return true;
    case ACTION_BWRAP:
        options->bwrap = true;
        return true;
    case ACTION_HELP:
        options->help = true;
        return true;
    }
    return true;
}

static bool take_value(struct parser *parser, const char *name, const char **value, struct error *err)
{
    if (!*parser->next)
        return error_set(err, "%s needs a value; see %s", name, help_of(parser));
    *value = *parser->next++;
    return true;
}

static bool parse_long(struct parser *parser, const char *argument, struct error *err)
{
    struct slice whole = slice_of(argument);
    struct slice body = slice_from(whole, 2);
    struct slice name = {body.ptr, slice_find(body, '=')};
    bool has_value = name.len < body.len;
    const struct option_word *word = NULL;

    for (size_t i = 0; i < OPTION_WORD_COUNT && !word; i++)
        if (option_words[i].name && slice_is(name, option_words[i].name) && offered(parser, &option_words[i]))
            word = &option_words[i];
    if (!word)
        return refuse_unknown(parser, (struct slice){whole.ptr, name.len + 2}, name, err);

    const char *spelled = arena_printf(parser->arena, "--%s", word->name);
    const char *value = NULL;
    if (has_value && !word->takes_value)
        return error_set(err, "%s takes no value", spelled);
    if (has_value)
        value = body.ptr + name.len + 1;
    else if (word->takes_value && !take_value(parser, spelled, &value, err))
        return false;
    return apply(parser, word, spelled, value, err);
}

static bool parse_short(struct parser *parser, const char *argument, struct error *err)
{
    const struct option_word *word = NULL;

    for (size_t i = 0; i < OPTION_WORD_COUNT && !word; i++)
        if (option_words[i].letter == argument[1] && offered(parser, &option_words[i]))
            word = &option_words[i];
    if (!word || (argument[2] && !word->takes_value))
        return refuse_unknown(parser, slice_of(argument), slice_of(argument + 1), err);

    const char *spelled = arena_printf(parser->arena, "-%c", word->letter);
    const char *value = argument[2] ? argument + 2 : NULL;
    if (word->takes_value && !value && !take_value(parser, spelled, &value, err))
        return false;
    return apply(parser, word, spelled, value, err);
}

/* -c 'TEXT' is the command `/bin/sh -c TEXT`. */
static bool settle_command(struct parser *parser, struct error *err)
{
    struct options *options = parser->options;
    bool has_words = *parser->next != NULL;

    if (options->shell_text && has_words)
        return error_set(err, "both -c and a command (\"%s\") were given: which of the two is to be run?",
                         escaped(parser->arena, slice_of(*parser->next)));
    if (options->shell_text) {
        char **command = arena_alloc(parser->arena, 4 * sizeof *command);
        command[0] = arena_string(parser->arena, "/bin/sh");
        command[1] = arena_string(parser->arena, "-c");
        command[2] = arena_string(parser->arena, options->shell_text);
        options->request.command = command;
    } else if (has_words) {
        options->request.command = parser->next;
    }
    return true;
}

bool options_parse(struct arena *arena, enum options_user user, int argc, char **argv, struct options *options,
                   struct error *err)
{
    struct parser parser = {arena, user, options, argv + (argc > 0)};

    *options = (struct options){.level = LOG_NORMAL, .automatic = true, .request = {.environment = environ}};
    while (*parser.next) {
        char *argument = *parser.next;
        bool is_option = argument[0] == '-' && argument[1] != '\0';

        if (!is_option && user != OPTIONS_FOR_EXPLAIN)
            break;
        parser.next++;
        if (!is_option) {
            add_question(&parser, argument);
            continue;
        }
        if (strcmp(argument, "--") == 0)
            break;
        if (!(argument[1] == '-' ? parse_long : parse_short)(&parser, argument, err))
            return false;
        if (options->help)
            return true;
    }
    return settle_command(&parser, err);
}

bool options_descriptor(const char *text, int *fd)
{
    enum { FIRST = 3, LAST = 1 << 20 };

    *fd = 0;
    for (; text && *text >= '0' && *text <= '9' && *fd <= LAST; text++)
        *fd = *fd * 10 + (*text - '0');
    return text && !*text && *fd >= FIRST && *fd <= LAST;
}

bool options_waive(const struct options *options, const struct refusal *refusal)
{
    return refusal->token && (options->request.accepted & degraded_bit(refusal->token));
}
