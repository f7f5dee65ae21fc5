/* The option parser of the commands that take no policy options. */
#include "cli/arguments.h"

#include "base/log.h"
#include "base/slice.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "policy/problems.h"

#include <string.h>

enum { OPTIONS_MAX = 16 };

static bool refuse(struct arguments *arguments, const char *command, const char *word, const char *what)
{
    struct arena arena ARENA_CLEANUP = {0};

    log_error("%s: \"%s\" %s; see cloche %s --help", command, escaped(&arena, slice_of(word)), what, command);
    arguments->status = STATUS_USAGE;
    return false;
}

static bool refuse_unknown(struct arguments *arguments, const char *command, const char *word,
                           const struct argument_option *options, size_t option_count)
{
    struct arena arena ARENA_CLEANUP = {0};
    const char *names[OPTIONS_MAX + 1] = {0};
    struct slice name = slice_of(word + (word[1] == '-' ? 2 : 1));

    name.len = slice_find(name, '=');
    for (size_t i = 0; i < option_count && i < OPTIONS_MAX; i++)
        names[i] = options[i].name;

    const char *near = did_you_mean(name, names);
    if (!near)
        return refuse(arguments, command, word, "is not an option");
    return refuse(arguments, command, word, arena_printf(&arena, "is not an option; did you mean \"--%s\"?", near));
}

static struct argument_option *find(const char *word, struct argument_option *options, size_t option_count,
                                    const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < option_count; i++) {
        struct argument_option *option = &options[i];
        struct slice body = slice_of(word + (word[1] == '-' ? 2 : 1));
        size_t equals = slice_find(body, '=');
        if (word[1] != '-') {
            if (option->letter && body.len == 1 && body.ptr[0] == option->letter)
                return option;
        } else if (slice_is((struct slice){body.ptr, equals}, option->name)) {
            *value = equals < body.len ? body.ptr + equals + 1 : NULL;
            return option;
        }
    }
    return NULL;
}

bool arguments_parse(const char *command, int argc, char **argv, struct argument_option *options, size_t option_count,
                     struct arguments *arguments)
{
    int words = 1;
    bool words_only = false;

    *arguments = (struct arguments){.words = argv + 1};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (words_only || word[0] != '-' || !word[1]) {
            argv[words++] = argv[i];
            continue;
        }
        if (strcmp(word, "--") == 0) {
            words_only = true;
            continue;
        }
        if (help_wanted(word)) {
            help_print(command);
            return false;
        }

        const char *value;
        struct argument_option *option = find(word, options, option_count, &value);
        if (!option)
            return refuse_unknown(arguments, command, word, options, option_count);
        if (value && !option->takes_value)
            return refuse(arguments, command, word, "takes no value");
        if (option->takes_value && !value && i + 1 >= argc)
            return refuse(arguments, command, word, "needs a value");
        if (option->takes_value && !value)
            value = argv[++i];
        option->given = true;
        option->value = value;
    }
    argv[words] = NULL;
    arguments->word_count = words - 1;
    return true;
}
