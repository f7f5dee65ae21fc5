#include "watch/log_table.h"

#include "base/columns.h"
#include "base/path.h"
#include "watch/log_time.h"

enum {
    KIND_COLUMNS = 12,
    PROGRAM_COLUMNS = 14,
    OBJECT_COLUMNS = 44, /* where nothing has to fit */
    OBJECT_COLUMNS_MIN = 16,
    WIDTH_FOR_PROGRAM = 64,
    WIDTH_FOR_ERROR = 76,
};

static const char bold[] = "1", dim[] = "2", red[] = "31", green[] = "32", yellow[] = "33", cyan[] = "36";

static void begin(const struct log_table *table, struct text *out, const char *colour)
{
    if (table->colours)
        text_appendf(out, "\x1b[%sm", colour);
}

static void end(const struct log_table *table, struct text *out)
{
    if (table->colours)
        text_append_string(out, "\x1b[0m");
}

static struct slice shortened(struct arena *arena, const struct log_table *table, struct slice path)
{
    if (table->home.len <= 1 || !path_covers(table->home, path))
        return path;
    return slice_of(arena_printf(arena, "~%s", path.ptr + table->home.len));
}

void log_table_bytes(uint64_t bytes, struct text *out)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double amount = (double)bytes;
    size_t unit = 0;

    if (bytes < 1000) {
        text_appendf(out, "%u B", (unsigned)bytes);
        return;
    }
    for (amount /= 1000; amount >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        amount /= 1000;
    text_appendf(out, amount < 10 ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

void log_table_span(uint64_t milliseconds, struct text *out)
{
    uint64_t seconds = milliseconds / 1000;

    if (milliseconds < 1000)
        text_appendf(out, "%u ms", (unsigned)milliseconds);
    else if (seconds < 60)
        text_appendf(out, "%.1f s", (double)milliseconds / 1000);
    else if (seconds < 3600)
        text_appendf(out, "%u min %u s", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
    else
        text_appendf(out, "%llu h %u min", (unsigned long long)(seconds / 3600), (unsigned)(seconds / 60 % 60));
}

void log_table_run(const struct log_table *table, const struct log_run *run, struct text *out)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text line = text_in(&arena);
    char date[LOG_TIME_TEXT];
    char clock[LOG_TIME_TEXT];

    log_time_date(run->started, date);
    log_time_of_day(run->started, clock);
    struct slice project = shortened(&arena, table, run->project);
    struct slice tail = slice_of(
        arena_printf(&arena, "  %s%s%s", project.len ? project.ptr : "", project.len ? "  run " : "run ", run->id.ptr));
    struct slice command = run->command.len ? run->command : SLICE("(its beginning is no longer in the log)");
    size_t head = strlen(date) + 1 + strlen(clock) + 2;
    size_t command_columns = columns_of(command);
    if (table->width && head + command_columns + columns_of(tail) > table->width) {
        size_t rest = table->width > head + columns_of(tail) ? table->width - head - columns_of(tail) : 0;
        command_columns = rest > OBJECT_COLUMNS_MIN ? rest : OBJECT_COLUMNS_MIN;
    }
    text_appendf(&line, "%s %s  ", date, clock);
    columns_append_cut(&line, command, command_columns);
    text_append(&line, tail);
    begin(table, out, bold);
    columns_append_cut(out, text_slice(&line), table->width ? table->width : line.len);
    end(table, out);
    text_append_byte(out, '\n');
}

static const char *colour_of(const struct log_entry *entry)
{
    if (log_entry_is_denied(entry))
        return red;
    return slice_is(entry->verdict, "allowed") ? green : yellow;
}

/* What came of it: the error, how much was carried, how often. */
static void append_outcome(const struct log_entry *entry, bool in_full, struct text *out)
{
    if (in_full && entry->error.len)
        text_appendf(out, "%s ", entry->error.ptr);
    if (!log_entry_is_denied(entry))
        text_appendf(out, "%s ", entry->verdict.ptr);
    if (in_full && (entry->sent || entry->received)) {
        log_table_bytes(entry->sent, out);
        text_append_string(out, " out, ");
        log_table_bytes(entry->received, out);
        text_append_string(out, " in ");
    }
    if (entry->count > 1)
        text_appendf(out, "\xc3\x97%llu ", (unsigned long long)entry->count);
    if (out->len)
        out->ptr[--out->len] = '\0';
}

static void append_row(const struct log_table *table, const struct log_entry *entry, struct text *out)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text outcome = text_in(&arena);
    bool program = !table->width || table->width >= WIDTH_FOR_PROGRAM;
    char clock[LOG_TIME_TEXT];

    append_outcome(entry, !table->width || table->width >= WIDTH_FOR_ERROR, &outcome);
    log_time_of_day(entry->time, clock);
    size_t used = 2 + strlen(clock) + 2 + KIND_COLUMNS + 2 + (program ? 2 + PROGRAM_COLUMNS : 0) +
                  (outcome.len ? 2 + columns_of(text_slice(&outcome)) : 0);
    struct slice object = shortened(&arena, table, entry->object);
    size_t columns = columns_of(object);
    if (columns < OBJECT_COLUMNS && program)
        columns = OBJECT_COLUMNS;
    if (table->width && used + columns > table->width)
        columns = table->width > used + OBJECT_COLUMNS_MIN ? table->width - used : OBJECT_COLUMNS_MIN;

    text_appendf(out, "  %s  ", clock);
    begin(table, out, colour_of(entry));
    columns_append_padded(out, entry->kind, KIND_COLUMNS);
    end(table, out);
    text_append_string(out, "  ");
    columns_append_padded(out, object, columns);
    if (program) {
        text_append_string(out, "  ");
        columns_append_padded(out, path_name(entry->program), PROGRAM_COLUMNS);
    }
    if (outcome.len)
        text_appendf(out, "  %s", outcome.ptr);
    while (out->len && out->ptr[out->len - 1] == ' ')
        out->ptr[--out->len] = '\0';
    text_append_byte(out, '\n');
}

/* A line below the row, under the object. A hint is never cut: it is there to be copied. */
static void append_note(const struct log_table *table, const char *label, struct slice note, const char *colour,
                        bool cut, struct text *out)
{
    const size_t wide_indent = 2 + 8 + 2 + KIND_COLUMNS + 2;
    const size_t indent = table->width && table->width < WIDTH_FOR_PROGRAM ? 4 : wide_indent;

    text_appendf(out, "%*s", (int)indent, "");
    begin(table, out, colour);
    text_append_string(out, label);
    size_t room = table->width > indent + strlen(label) ? table->width - indent - strlen(label) : OBJECT_COLUMNS_MIN;
    columns_append_cut(out, note, cut && table->width ? room : SIZE_MAX);
    end(table, out);
    text_append_byte(out, '\n');
}

/* Its beginning is the head line. */
static void append_end_of_run(const struct log_entry *entry, struct text *out)
{
    char clock[LOG_TIME_TEXT];

    if (!slice_is(entry->op, "end"))
        return;
    log_time_of_day(entry->time, clock);
    text_appendf(out, "  %s  ended with status %lld after ", clock, (long long)entry->status);
    log_table_span(entry->milliseconds, out);
    text_append_byte(out, '\n');
}

void log_table_event(const struct log_table *table, const struct log_entry *entry, struct text *out)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (log_entry_is_run(entry)) {
        append_end_of_run(entry, out);
        return;
    }
    append_row(table, entry, out);
    if (!log_entry_is_denied(entry) && !entry->reason.len)
        return;
    if (entry->reason.len)
        append_note(table, "", entry->reason, dim, true, out);
    if (entry->rule_file.len) {
        struct slice file = shortened(&arena, table, entry->rule_file);
        const char *rule =
            entry->rule_path.len ? arena_printf(&arena, "%s: %s", file.ptr, entry->rule_path.ptr) : file.ptr;
        append_note(table, "by ", slice_of(rule), dim, true, out);
    }
    if (entry->hint.len)
        append_note(table, "to allow: ", entry->hint, cyan, false, out);
}
