/* cloche annotate: a command's error output, with what was denied behind it, for a
 * model to read. The text passes through whatever else goes wrong: it is what the
 * caller would have had without us. */
#include "watch/annotate.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/log_output.h"
#include "policy/around.h"
#include "watch/log_book.h"
#include "watch/log_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool pass_text_on(struct error *err)
{
    static char buffer[64 * 1024];
    struct annotate_text text = {0};

    for (;;) {
        struct arena arena ARENA_CLEANUP = {0};
        struct text out = text_in(&arena);
        ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            annotate_append(&text, (struct slice){buffer, (size_t)got}, &out);
        else
            annotate_append_rest(&text, &out);
        fwrite(text_slice(&out).ptr, 1, out.len, stdout);
        if (got == 0)
            return true;
        if (got < 0)
            return error_set_errno(err, errno, "cannot read the text on standard input");
    }
}

/* Fills the book with the denials of the runs that are meant; `*known`: there is one. */
static bool collect(struct log_files *files, struct slice run_id, struct log_book *book, bool *known, struct error *err)
{
    struct slice line;

    *known = false;
    while (log_files_next(files, &line, err)) {
        struct arena arena ARENA_CLEANUP = {0};
        struct log_entry entry;
        if (!log_entry_parse(&arena, line, &entry) || !slice_starts(entry.run, run_id))
            continue;
        *known = true;
        if (!log_entry_is_denied(&entry))
            continue;
        struct log_run *run = log_book_run(book, &entry);
        if (run)
            log_book_keep(book, run, &entry);
    }
    return !err->text[0];
}

static void print_block(const struct log_book *book)
{
    struct text out = text_in(book->arena);
    size_t lines = 0;

    if (!book->event_count)
        return;
    text_append_string(&out, "\n<sandbox_violations>\n");
    for (size_t i = 0; i < book->run_count; i++) {
        for (size_t j = 0; j < book->runs[i]->event_count; j++) {
            if (lines++ >= ANNOTATE_LINES_MAX)
                continue;
            annotate_line(&book->runs[i]->events[j], &out);
            text_append_byte(&out, '\n');
        }
    }
    if (lines > ANNOTATE_LINES_MAX)
        text_appendf(&out, "and %zu more\n", lines - ANNOTATE_LINES_MAX);
    text_append_string(&out, "</sandbox_violations>\n");
    fwrite(out.ptr, 1, out.len, stdout);
}

static bool annotate(struct arena *arena, const char *events, const char *run_id, struct error *err)
{
    struct log_files *files = ARENA_NEW(arena, struct log_files);
    struct log_book book = log_book_in(arena);
    struct surroundings around;

    if (!events) {
        if (!surroundings_gather(arena, PERSONALITY_CLOCHE, ".", environ, NULL, &around, err))
            return false;
        events = log_default_path(arena, &around);
    }
    if (!log_files_open(arena, events, run_id ? LOG_FILES_ROTATED : LOG_FILES_ONE, files, err))
        return false;
    bool found = files->count > 0 || error_set(err, "there is no file %s", events);
    bool known;
    bool good = found && collect(files, slice_of(run_id ? run_id : ""), &book, &known, err);
    log_files_close(files);
    if (good && run_id && !known)
        return error_set(err, "%s has no run %s; cloche log tells which it has", events,
                         escaped(arena, slice_of(run_id)));
    if (good)
        print_block(&book);
    return good;
}

int command_annotate(int argc, char **argv)
{
    enum { EVENTS, RUN };
    struct argument_option options[] = {
        [EVENTS] = {.name = "events", .takes_value = true}, [RUN] = {.name = "run", .takes_value = true}};
    struct arena arena ARENA_CLEANUP = {0};
    struct arguments arguments;
    struct error err;

    if (!arguments_parse("annotate", argc, argv, options, 2, &arguments))
        return arguments.status;
    if (arguments.word_count > 0 || options[EVENTS].given == options[RUN].given) {
        log_error("annotate: say what was denied with one of --events FILE and --run ID; see cloche annotate --help");
        return STATUS_USAGE;
    }
    if (options[RUN].given && !options[RUN].value[0]) {
        log_error("annotate: --run needs the number of a run");
        return STATUS_USAGE;
    }
    json_give_memory_back();
    if (pass_text_on(&err) && annotate(&arena, options[EVENTS].value, options[RUN].value, &err))
        return STATUS_OK;
    log_error("annotate: %s", err.text);
    return STATUS_NO;
}
