/* Grouped by kind, each denial with its count, who did it, why, and the line that
 * would allow it. What is the same but for the operation, the error or the program
 * is one denial for a person. Names are escaped before they are put between
 * colours. */
#include "watch/summary.h"

#include "base/path.h"

enum { SHOWN_MAX = 12, OBJECT_SHOWN_MAX = 200, GROUP_MIN = 3 };

static const char *kind_words(enum event_kind kind)
{
    switch (kind) {
    case EVENT_FS_READ:
        return "read";
    case EVENT_FS_WRITE:
        return "write";
    case EVENT_NET_CONNECT:
        return "connect";
    case EVENT_NET_DNS:
        return "resolve";
    case EVENT_UNIX_CONNECT:
        return "socket";
    case EVENT_SYSCALL:
        return "system call";
    case EVENT_EXEC_LATER:
        return "later";
    case EVENT_LIMIT:
    case EVENT_RUN:
    case EVENT_KINDS:
        break;
    }
    return NULL;
}

/* One or several events that are one denial for people. */
struct line {
    const struct watched *first;
    uint64_t count;
    size_t others;   /* objects beside the first, in the same directory */
    bool is_grouped; /* among the others of another line */
};

struct lines {
    struct arena *arena;
    struct line *items;
    size_t count;
    size_t capacity;
    struct map known; /* kind, object and what keeps it apart -> struct line's number + 1 */
};

static void add(struct lines *lines, const struct watched *watched)
{
    struct text key = text_in(lines->arena);

    text_appendf(&key, "%d ", (int)watched->event.kind);
    text_append(&key, watched->event.object);
    text_append(&key, watched->event.apart);
    size_t known = (size_t)map_get(&lines->known, text_slice(&key));
    if (known) {
        struct line *line = &lines->items[known - 1];
        line->count += watched->count;
        /* The one with a remedy tells more. */
        if (line->first->event.hint.len == 0 && watched->event.hint.len > 0)
            line->first = watched;
        return;
    }
    lines->items =
        arena_grow(lines->arena, lines->items, lines->count, lines->count + 1, &lines->capacity, sizeof *lines->items);
    lines->items[lines->count++] = (struct line){.first = watched, .count = watched->count};
    *map_at(&lines->known, text_slice(&key)) = (void *)lines->count;
}

/* Of files that were read or written, only what was worth keeping apart is. */
static bool is_worth_a_line(const struct event *event)
{
    bool of_file = event->kind == EVENT_FS_READ || event->kind == EVENT_FS_WRITE;

    return kind_words(event->kind) && (!of_file || event->verdict != EVENT_OBSERVED || event->apart.len);
}

static void gather(struct lines *lines, const struct watch *watch, enum event_kind kind, enum event_verdict verdict)
{
    for (size_t i = 0; i < watch->count; i++) {
        const struct event *event = &watch->items[i]->event;
        if (event->kind == kind && event->verdict == verdict && is_worth_a_line(event))
            add(lines, watch->items[i]);
    }
}

static bool is_of_files(const struct line *line)
{
    return line->first->event.kind == EVENT_FS_READ || line->first->event.kind == EVENT_FS_WRITE;
}

/* Denials in one directory are one line where they are many. */
static void group(struct lines *lines)
{
    struct map first = map_in(lines->arena);

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < lines->count; i++) {
            struct line *line = &lines->items[i];
            struct text key = text_in(lines->arena);
            if (!is_of_files(line) || line->first->event.apart.len)
                continue;
            text_appendf(&key, "%d ", (int)line->first->event.kind);
            text_append(&key, path_parent(line->first->event.object));
            struct line **head = (struct line **)map_at(&first, text_slice(&key));
            if (!*head)
                *head = line;
            else if (pass == 0)
                (*head)->others++;
            else if (*head != line && (*head)->others >= GROUP_MIN) {
                line->is_grouped = true;
                (*head)->count += line->count;
            }
        }
    }
}

static void begin_line(struct text *out, const struct summary_style *style)
{
    text_appendf(out, "%s: ", style->name);
}

static void append_coloured(struct text *out, const struct summary_style *style, const char *colour, const char *text)
{
    if (style->colour)
        text_appendf(out, "\x1b[%sm%s\x1b[0m", colour, text);
    else
        text_append_string(out, text);
}

static const char *shown_object(struct arena *arena, struct slice object)
{
    if (object.len <= OBJECT_SHOWN_MAX)
        return escaped(arena, object);
    return arena_printf(arena, "%s...", escaped(arena, (struct slice){object.ptr, OBJECT_SHOWN_MAX}));
}

static void write_denial(struct text *out, const struct line *line, const struct summary_style *style)
{
    /* Of a name server that was asked for, the name is not known. */
    static const struct slice port = {":53", 3};
    const struct event *event = &line->first->event;
    struct arena *arena = out->arena;

    begin_line(out, style);
    text_append_string(out, "  ");
    if (event->kind == EVENT_NET_DNS && slice_ends(event->object, port)) {
        append_coloured(out, style, "31", "look up a name");
        text_appendf(out, " (at %s)",
                     shown_object(arena, (struct slice){event->object.ptr, event->object.len - port.len}));
    } else {
        append_coloured(out, style, "31", kind_words(event->kind));
        text_appendf(out, " %s", shown_object(arena, event->object));
    }
    if (line->others >= GROUP_MIN)
        text_appendf(out, " and %zu others in %s", line->others, shown_object(arena, path_parent(event->object)));
    if (line->count > 1)
        text_appendf(out, ", %llu times", (unsigned long long)line->count);
    if (event->program.len > 0)
        text_appendf(out, ", by %s", shown_object(arena, path_name(event->program)));
    if (event->reason.len > 0)
        text_appendf(out, ": %s", shown_object(arena, event->reason));
    if (event->rule.file)
        text_appendf(out, " (%s: %s)", escaped(arena, slice_of(event->rule.file)),
                     escaped(arena, slice_of(event->rule.path ? event->rule.path : "")));
    text_append_byte(out, '\n');
    if (event->hint.len == 0)
        return;
    begin_line(out, style);
    text_append_string(out, event->hint_is_wider ? "    to allow it, and all else in there: " : "    to allow it: ");
    append_coloured(out, style, "32", arena_slice(arena, event->hint).ptr);
    text_append_byte(out, '\n');
}

static void write_denials(struct text *out, const struct watch *watch, const struct summary_style *style)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct lines lines = {.arena = &arena, .known = map_in(&arena)};
    uint64_t unkept = 0;

    for (int kind = 0; kind < EVENT_KINDS; kind++) {
        gather(&lines, watch, (enum event_kind)kind, EVENT_DENIED);
        unkept += watch->unkept[kind];
    }
    if (lines.count == 0)
        return;
    uint64_t times = unkept;
    for (size_t i = 0; i < lines.count; i++)
        times += lines.items[i].count;
    group(&lines);
    begin_line(out, style);
    append_coloured(out, style, "1", "denied");
    size_t visible = 0;
    for (size_t i = 0; i < lines.count; i++)
        visible += !lines.items[i].is_grouped;
    if (times > visible)
        text_appendf(out, ", %llu times in all", (unsigned long long)times);
    text_append_string(out, ":\n");
    size_t shown = 0;
    size_t unshown = 0;
    for (size_t i = 0; i < lines.count; i++) {
        if (lines.items[i].is_grouped)
            continue;
        if (shown < SHOWN_MAX)
            write_denial(out, &lines.items[i], style);
        else
            unshown++;
        shown++;
    }
    if (unshown || unkept) {
        begin_line(out, style);
        if (unkept)
            text_append_string(out, "  and many more, which were only counted; cloche log tells most\n");
        else
            text_appendf(out, "  and %zu more; cloche log tells each\n", unshown);
    }
    if (style->note) {
        begin_line(out, style);
        text_appendf(out, "  %s\n", style->note);
    }
}

static void write_observed(struct text *out, const struct watch *watch, const struct summary_style *style,
                           enum event_kind kind, const char *title)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct lines lines = {.arena = &arena, .known = map_in(&arena)};

    gather(&lines, watch, kind, EVENT_OBSERVED);
    if (lines.count == 0)
        return;
    begin_line(out, style);
    append_coloured(out, style, "1", title);
    text_append_string(out, ":\n");
    size_t shown = lines.count <= SHOWN_MAX ? lines.count : SHOWN_MAX - 1;
    for (size_t i = 0; i < shown; i++) {
        const struct event *event = &lines.items[i].first->event;
        begin_line(out, style);
        text_appendf(out, "  %s", shown_object(&arena, event->object));
        if (event->reason.len > 0)
            text_appendf(out, ": %s", shown_object(&arena, event->reason));
        text_append_byte(out, '\n');
    }
    if (lines.count > shown) {
        begin_line(out, style);
        text_appendf(out, "  and %zu more; cloche log tells each\n", lines.count - shown);
    }
}

void summary_write(struct text *out, const struct watch *watch, const struct summary_style *style)
{
    write_denials(out, watch, style);
    write_observed(out, watch, style, EVENT_EXEC_LATER, "made by this run, and may run outside of it later");
    write_observed(out, watch, style, EVENT_FS_WRITE, "changed by this run");
    write_observed(out, watch, style, EVENT_FS_READ, "not hidden all the time");
}
