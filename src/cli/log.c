/* cloche log: what was denied, when, by which rule. Reads the log's files oldest
 * first; keeps what is wanted, by run, and prints it; or prints as it reads (--json,
 * --follow). */
#include "base/log.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/log_output.h"
#include "policy/around.h"
#include "policy/variables.h"
#include "watch/log_chain.h"
#include "watch/log_files.h"
#include "watch/log_filter.h"
#include "watch/log_time.h"
#include "watch/page.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum option {
    OPTION_SINCE,
    OPTION_UNTIL,
    OPTION_PROJECT,
    OPTION_KIND,
    OPTION_COMMAND,
    OPTION_RUN,
    OPTION_DENIED,
    OPTION_ALL,
    OPTION_FOLLOW,
    OPTION_JSON,
    OPTION_HTML,
    OPTION_VERIFY,
    OPTION_COUNT
};

enum how { HOW_TABLE, HOW_JSON, HOW_HTML };

struct reading {
    struct arena *arena;
    struct log_filter filter;
    struct log_files *files;
    struct log_book book;
    struct log_table table;
    enum how how;
    bool follow;
    bool silent;                 /* what is there already is only learned from */
    const struct log_run *shown; /* whose head line was printed last */
    const struct log_run *last;  /* the last run that was wanted */
    size_t malformed;
};

static void print(const struct text *text)
{
    fwrite(text_slice(text).ptr, 1, text->len, stdout);
}

/* A row as soon as it is read; the head again where another run speaks. */
static void print_event(struct reading *reading, const struct log_run *run, const struct log_entry *entry)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);

    if (run != reading->shown)
        log_table_run(&reading->table, run, &out);
    reading->shown = run;
    log_table_event(&reading->table, entry, &out);
    print(&out);
}

/* What it takes from `scratch` need not live on. */
static void take_line(struct reading *reading, struct arena *scratch, struct slice line)
{
    struct log_entry entry;

    if (!log_entry_parse(scratch, line, &entry)) {
        reading->malformed++;
        return;
    }
    struct log_run *run = log_book_run(&reading->book, &entry);
    if (!run || reading->silent)
        return;
    if (reading->how == HOW_HTML) {
        if (log_filter_run(&reading->filter, run, &entry))
            reading->last = run;
        log_book_keep(&reading->book, run, &entry);
    } else if (!log_filter_entry(&reading->filter, run, &entry)) {
        return;
    } else if (reading->how == HOW_JSON) {
        struct text out = text_in(scratch);
        log_line_append(&out, line);
        print(&out);
    } else if (reading->follow) {
        print_event(reading, run, &entry);
    } else {
        log_book_keep(&reading->book, run, &entry);
    }
}

static bool take_all(struct reading *reading, struct error *err)
{
    enum { LINES_PER_ARENA = 256 }; /* giving memory back costs more than reading a line */
    struct arena scratch ARENA_CLEANUP = {0};
    struct slice line;

    for (size_t lines = 1; log_files_next(reading->files, &line, err); lines++) {
        take_line(reading, &scratch, line);
        if (lines % LINES_PER_ARENA == 0)
            arena_free(&scratch);
    }
    return !err->text[0];
}

/* Until somebody ends us, or nobody reads any more. A poll of what there is costs
 * next to nothing, and works on every file system. */
static bool follow(struct reading *reading, struct error *err)
{
    enum { PAUSE_MILLISECONDS = 250 };

    reading->silent = false;
    for (;;) {
        struct pollfd reader = {.fd = STDOUT_FILENO};

        if (fflush(stdout) != 0)
            return true; /* main says why */
        if (poll(&reader, 1, PAUSE_MILLISECONDS) > 0 && (reader.revents & (POLLERR | POLLNVAL)))
            return true;
        if (!log_files_renew(reading->files, err) || !take_all(reading, err))
            return false;
    }
}

static void print_table(struct reading *reading)
{
    for (size_t i = 0; i < reading->book.run_count; i++) {
        const struct log_run *run = reading->book.runs[i];
        for (size_t j = 0; j < run->event_count; j++)
            print_event(reading, run, &run->events[j]);
    }
    if (!reading->book.event_count && reading->files->count)
        log_warning("nothing in %s is what was asked for%s", reading->files->path,
                    reading->filter.verdicts == LOG_ALL ? "" : "; --all shows what was allowed, too");
}

static void say_what_is_missing(const struct reading *reading)
{
    size_t skipped = reading->malformed + reading->files->lines.skipped;

    if (!reading->files->count)
        log_warning("there is no log yet: nothing was written to %s", reading->files->path);
    if (skipped)
        log_warning("%zu line%s passed over: not an event, cut off or too long", skipped,
                    skipped == 1 ? " was" : "s were");
    if (reading->book.left_out)
        log_warning("%zu lines are not shown: too many match; narrow it down with --since or --run",
                    reading->book.left_out);
}

static int write_page(const struct reading *reading, const char *path)
{
    struct text page = text_in(reading->arena);
    struct error err;

    if (!reading->last) {
        log_error("there is no such run in %s", reading->files->path);
        return STATUS_NO;
    }
    page_write(reading->last, &page);
    if (strcmp(path, "-") == 0) {
        print(&page);
        return STATUS_OK;
    }
    if (!log_output_write(path, text_slice(&page), &err)) {
        log_error("%s", err.text);
        return STATUS_NO;
    }
    log_warning("wrote %s: run %s, %s", path, reading->last->id.ptr,
                reading->last->command.len ? reading->last->command.ptr : "its command is not in the log");
    return STATUS_OK;
}

static int verify(struct log_files *files)
{
    struct log_chain chain = {0};
    struct slice line;
    struct error err;

    while (log_files_next(files, &line, &err)) {
        if (!log_chain_follow(&chain, line, files->older_gone)) {
            printf("%s: line %zu: the chain is broken: this line or one before it was changed, removed or put in\n",
                   log_files_name(files), files->lines.number);
            return STATUS_NO;
        }
    }
    if (err.text[0]) {
        log_error("%s", err.text);
        return STATUS_NO;
    }
    log_lines_end(&files->lines);
    if (files->lines.skipped || !chain.begun) {
        printf("%s: %s\n", files->path,
               chain.begun ? "lines that are cut off or too long stand in it"
                           : "no line has a chain; \"violation\": {\"chain\": true} in the policy begins one");
        return STATUS_NO;
    }
    printf("%s: unbroken, %zu lines, the last is %s\n", files->path, chain.chained, chain.last.text);
    if (chain.headless)
        log_warning("older lines have been rotated away: the first that is here was taken as it is");
    if (chain.outside)
        log_warning("%zu lines stand outside the chain: runs that keep none wrote them, or somebody else",
                    chain.outside);
    return STATUS_OK;
}

/* ---- what was asked for ---- */

static bool read_time(const struct argument_option *option, int64_t otherwise, int64_t *time, struct error *err)
{
    struct timespec now;

    *time = otherwise;
    if (!option->given)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t milliseconds = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return log_time_asked(slice_of(option->value), milliseconds, time, err) || error_wrap(err, "--%s", option->name);
}

static struct slice value_of(const struct argument_option *option)
{
    return slice_of(option->given ? option->value : "");
}

static bool read_filter(struct arena *arena, const struct surroundings *around, const struct argument_option *options,
                        struct log_filter *filter, struct error *err)
{
    struct slice project = value_of(&options[OPTION_PROJECT]);

    *filter = (struct log_filter){.command = value_of(&options[OPTION_COMMAND]), .run = value_of(&options[OPTION_RUN])};
    filter->verdicts = options[OPTION_ALL].given      ? LOG_ALL
                       : options[OPTION_DENIED].given ? LOG_DENIED
                                                      : LOG_WORTH_SEEING;
    /* Names stand in the log as a terminal may see them. */
    if (options[OPTION_PROJECT].given)
        filter->project = slice_of(escaped(arena, path_normal(arena, around->project, project)));
    if (options[OPTION_KIND].given && !log_filter_kinds(filter, value_of(&options[OPTION_KIND]), err))
        return false;
    return read_time(&options[OPTION_SINCE], 0, &filter->since, err) &&
           read_time(&options[OPTION_UNTIL], INT64_MAX, &filter->until, err);
}

static const char *contradiction(const struct argument_option *options, const struct arguments *arguments)
{
    bool page = options[OPTION_HTML].given;

    if (arguments->word_count > 1)
        return "one file at a time";
    if (options[OPTION_DENIED].given && options[OPTION_ALL].given)
        return "--denied and --all exclude each other";
    if (page && (options[OPTION_FOLLOW].given || options[OPTION_JSON].given))
        return "--html writes a page: it goes with neither --follow nor --json";
    if (options[OPTION_VERIFY].given && (page || options[OPTION_FOLLOW].given || options[OPTION_JSON].given))
        return "--verify stands alone";
    return NULL;
}

static int show(struct reading *reading, const struct argument_option *options)
{
    struct error err;

    reading->how = options[OPTION_HTML].given ? HOW_HTML : options[OPTION_JSON].given ? HOW_JSON : HOW_TABLE;
    reading->follow = options[OPTION_FOLLOW].given;
    /* As tail -f: from now on, unless a beginning was named. */
    reading->silent = reading->follow && !options[OPTION_SINCE].given;
    bool good = take_all(reading, &err);
    if (good && reading->follow)
        good = follow(reading, &err);
    if (!good) {
        log_error("%s", err.text);
        return STATUS_NO;
    }
    if (reading->follow)
        return STATUS_OK;
    log_lines_end(&reading->files->lines);
    say_what_is_missing(reading);
    if (reading->how == HOW_HTML)
        return write_page(reading, options[OPTION_HTML].value);
    if (reading->how == HOW_TABLE)
        print_table(reading);
    return STATUS_OK;
}

int command_log(int argc, char **argv)
{
    struct argument_option options[OPTION_COUNT] = {
        [OPTION_SINCE] = {.name = "since", .takes_value = true},
        [OPTION_UNTIL] = {.name = "until", .takes_value = true},
        [OPTION_PROJECT] = {.name = "project", .letter = 'C', .takes_value = true},
        [OPTION_KIND] = {.name = "kind", .takes_value = true},
        [OPTION_COMMAND] = {.name = "command", .takes_value = true},
        [OPTION_RUN] = {.name = "run", .takes_value = true},
        [OPTION_DENIED] = {.name = "denied"},
        [OPTION_ALL] = {.name = "all"},
        [OPTION_FOLLOW] = {.name = "follow", .letter = 'f'},
        [OPTION_JSON] = {.name = "json"},
        [OPTION_HTML] = {.name = "html", .takes_value = true},
        [OPTION_VERIFY] = {.name = "verify"},
    };
    struct arena arena ARENA_CLEANUP = {0};
    struct reading reading = {.arena = &arena, .book = log_book_in(&arena)};
    struct surroundings around;
    struct arguments arguments;
    struct error err;

    if (!arguments_parse("log", argc, argv, options, OPTION_COUNT, &arguments))
        return arguments.status;
    const char *wrong = contradiction(options, &arguments);
    if (wrong) {
        log_error("log: %s; see cloche log --help", wrong);
        return STATUS_USAGE;
    }
    json_give_memory_back();
    if (!surroundings_gather(&arena, PERSONALITY_CLOCHE, ".", environ, NULL, &around, &err) ||
        !read_filter(&arena, &around, options, &reading.filter, &err)) {
        log_error("log: %s", err.text);
        return STATUS_USAGE;
    }
    const char *path = arguments.words[0] ? arguments.words[0] : log_default_path(&arena, &around);
    reading.files = ARENA_NEW(&arena, struct log_files);
    if (!log_files_open(&arena, path, LOG_FILES_ROTATED, reading.files, &err)) {
        log_error("%s", err.text);
        return STATUS_NO;
    }
    reading.table = log_output_table(&arena, &around);
    int status = options[OPTION_VERIFY].given ? verify(reading.files) : show(&reading, options);
    log_files_close(reading.files);
    return status;
}
