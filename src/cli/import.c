/* cloche import: a policy out of the settings of another program. The policy goes to
 * standard output; what could not be carried over is said on standard error, and
 * stands in the policy as comments. */
#include "policy/import.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "base/toml.h"
#include "cli/arguments.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

enum kind { KIND_CLAUDE, KIND_CODEX, KIND_BWRAP, KIND_COUNT, KIND_UNKNOWN };

static const char *const kinds[KIND_COUNT] = {"claude", "codex", "bwrap"};

static int failed(const struct error *err)
{
    log_error("import: %s", err->text);
    return STATUS_NO;
}

static int print(struct import *import, const char *from)
{
    fputs(import_text(import, from), stdout);
    for (size_t i = 0; i < import->note_count; i++)
        log_warning("import: %s", import->notes[i]);
    return STATUS_OK;
}

static int import_line(struct arena *arena, char **words)
{
    struct import import IMPORT_CLEANUP = import_begin(arena, "base");
    char *const *command = NULL;
    struct error err;

    if (!import_bwrap(&import, words, &command, &err))
        return failed(&err);
    if (command) {
        struct text line = text_in(arena);
        for (; *command; command++)
            text_appendf(&line, " %s", shell_word(arena, *command));
        import_note(&import, "the command is not part of a policy: cloche run -s THIS-FILE --%s", line.ptr);
    }
    return print(&import, "a command line of bubblewrap");
}

static int import_file(struct arena *arena, const char *path, enum kind kind)
{
    enum { SETTINGS_MAX = 16 * 1024 * 1024 };
    struct import import IMPORT_CLEANUP = import_begin(arena, "base");
    JSON_CLEANUP json_t *settings = NULL;
    struct slice content;
    struct error err;
    bool absent = false;

    if (!file_read(path, SETTINGS_MAX, arena, &content, &absent, &err)) {
        if (absent)
            error_set(&err, "there is no file %s", path);
        return failed(&err);
    }
    bool good = kind == KIND_CODEX
                    ? toml_parse(content, path, &settings, &err) && import_codex(&import, settings, &err)
                    : json_parse(content, path, &settings, &err) && import_claude(&import, settings, &err);
    if (!good)
        return failed(&err);
    return print(&import, path);
}

static enum kind kind_named(const char *name)
{
    for (int i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i], name) == 0)
            return (enum kind)i;
    return KIND_UNKNOWN;
}

/* By what it is called: bwrap or /usr/bin/bwrap, config.toml, settings.json. */
static enum kind kind_of(const char *word)
{
    struct slice name = slice_of(word);

    if (slice_is(name, "bwrap") || slice_ends(name, SLICE("/bwrap")))
        return KIND_BWRAP;
    return slice_ends(name, SLICE(".toml")) ? KIND_CODEX : KIND_CLAUDE;
}

int command_import(int argc, char **argv)
{
    struct argument_option options[] = {{.name = "from", .takes_value = true}};
    struct arena arena ARENA_CLEANUP = {0};
    struct arguments arguments;

    if (!arguments_parse("import", argc, argv, options, 1, &arguments))
        return arguments.status;
    if (!arguments.word_count) {
        log_error("import: name a file, or a command line: cloche import -- bwrap ...; see cloche import --help");
        return STATUS_USAGE;
    }
    enum kind kind = options[0].given ? kind_named(options[0].value) : kind_of(arguments.words[0]);
    if (kind == KIND_UNKNOWN) {
        log_error("import: --from takes claude, codex or bwrap; see cloche import --help");
        return STATUS_USAGE;
    }
    if (kind != KIND_BWRAP && arguments.word_count > 1) {
        log_error("import: one file at a time; see cloche import --help");
        return STATUS_USAGE;
    }
    return kind == KIND_BWRAP ? import_line(&arena, arguments.words) : import_file(&arena, arguments.words[0], kind);
}
