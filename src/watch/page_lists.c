/* The lists of the page: denials with what would allow them, hosts with what was
 * carried, files, and what would run later. */
#include "base/path.h"
#include "watch/log_table.h"
#include "watch/page_parts.h"

typedef bool (*choice)(const struct log_entry *entry);

static size_t count_of(const struct log_run *run, choice wanted)
{
    size_t count = 0;

    for (size_t i = 0; i < run->event_count; i++)
        count += wanted(&run->events[i]);
    return count;
}

/* Calls `append` for the first PAGE_ROWS_MAX that are wanted; returns how many are left. */
static size_t append_each(const struct log_run *run, choice wanted,
                          void (*append)(const struct log_entry *, struct text *), struct text *out)
{
    size_t done = 0;
    size_t all = 0;

    for (size_t i = 0; i < run->event_count; i++) {
        if (!wanted(&run->events[i]))
            continue;
        if (all++ < PAGE_ROWS_MAX) {
            append(&run->events[i], out);
            done++;
        }
    }
    return all - done;
}

static void append_rest(size_t rest, struct text *out)
{
    if (rest)
        text_appendf(out, "<p class=\"rest\">%zu more are not shown.</p>\n", rest);
}

static void append_code(struct text *out, struct slice text)
{
    text_append_string(out, "<code>");
    page_append(out, text);
    text_append_string(out, "</code>");
}

static void append_count(const struct log_entry *entry, struct text *out)
{
    if (entry->count > 1)
        text_appendf(out, "<span class=\"count\">\xc3\x97%llu</span>", (unsigned long long)entry->count);
}

static void append_detail(struct text *out, const char *name, struct slice first, const char *between,
                          struct slice second)
{
    if (!first.len)
        return;
    text_appendf(out, "<div><dt>%s</dt><dd>", name);
    append_code(out, first);
    if (second.len) {
        text_append_string(out, between);
        append_code(out, second);
    }
    text_append_string(out, "</dd></div>\n");
}

static void append_denial(const struct log_entry *entry, struct text *out)
{
    text_append_string(out, "<li>\n<p class=\"what\"><span class=\"kind\">");
    page_append(out, entry->kind);
    text_append_string(out, "</span> ");
    append_code(out, entry->object);
    append_count(entry, out);
    text_append_string(out, "</p>\n");
    if (entry->reason.len) {
        text_append_string(out, "<p class=\"reason\">");
        page_append(out, entry->reason);
        text_append_string(out, "</p>\n");
    }
    text_append_string(out, "<dl class=\"details\">\n");
    append_detail(out, "Attempt", entry->op, " &rarr; ", entry->error);
    append_detail(out, "Program", entry->program, " started by ", entry->parent);
    append_detail(out, "Rule", entry->rule_file, " ", entry->rule_path);
    text_append_string(out, "</dl>\n");
    if (entry->hint.len) {
        text_append_string(out, "<p class=\"fix\"><span>To allow it</span> ");
        append_code(out, entry->hint);
        text_append_string(out, "</p>\n");
    }
    text_append_string(out, "</li>\n");
}

void page_denials(const struct log_run *run, struct text *out)
{
    text_append_string(out, "<section id=\"denied\">\n<h2>Denied</h2>\n");
    if (!count_of(run, log_entry_is_denied)) {
        text_append_string(out, "<p class=\"empty\">Nothing was denied.</p>\n</section>\n");
        return;
    }
    text_append_string(out, "<ul class=\"denials\">\n");
    size_t rest = append_each(run, log_entry_is_denied, append_denial, out);
    text_append_string(out, "</ul>\n");
    append_rest(rest, out);
    text_append_string(out, "</section>\n");
}

static void append_number(struct text *out, uint64_t bytes)
{
    text_append_string(out, "<td class=\"number\">");
    if (bytes)
        log_table_bytes(bytes, out);
    text_append_string(out, "</td>");
}

static void append_host(const struct log_entry *entry, struct text *out)
{
    text_append_string(out, "<tr><td>");
    append_code(out, entry->object);
    text_append_string(out, "</td><td>");
    text_appendf(out, "<span class=\"verdict %s\">", log_entry_is_denied(entry) ? "denied" : "allowed");
    page_append(out, entry->verdict);
    text_append_string(out, "</span></td><td>");
    page_append(out, entry->protocol.len ? entry->protocol : entry->op);
    text_appendf(out, "</td><td class=\"number\">%llu</td>", (unsigned long long)entry->count);
    append_number(out, entry->sent);
    append_number(out, entry->received);
    text_append_string(out, "</tr>\n");
}

void page_hosts(const struct log_run *run, struct text *out)
{
    text_append_string(out, "<section id=\"hosts\">\n<h2>Hosts</h2>\n");
    if (!count_of(run, page_is_connection)) {
        text_append_string(out, "<p class=\"empty\">No connection was asked for.</p>\n</section>\n");
        return;
    }
    text_append_string(out,
                       "<div class=\"scroll\"><table>\n<thead><tr><th>Host</th><th>Verdict</th><th>How</th>"
                       "<th class=\"number\">Times</th><th class=\"number\">Sent</th><th class=\"number\">Received</th>"
                       "</tr></thead>\n<tbody>\n");
    size_t rest = append_each(run, page_is_connection, append_host, out);
    text_append_string(out, "</tbody></table></div>\n");
    append_rest(rest, out);
    text_append_string(out, "</section>\n");
}

/* A file, by whatever calls and programs it was written. */
struct written {
    struct slice path;
    struct text calls;
    struct text programs;
    uint64_t count;
};

struct writings {
    struct written *items;
    size_t count;
    size_t capacity;
};

/* Adds a word to a list of words, once. */
static void add_word(struct text *list, struct slice word)
{
    struct slice rest = text_slice(list);

    while (rest.len) {
        size_t end = slice_find(rest, ',');
        if (slice_equal((struct slice){rest.ptr, end}, word))
            return;
        rest = slice_from(rest, end + 2 < rest.len ? end + 2 : rest.len);
    }
    text_append_string(list, list->len ? ", " : "");
    text_append(list, word);
}

static struct writings writings_of(const struct log_run *run, struct arena *arena)
{
    struct map by_path = map_in(arena);
    struct writings writings = {0};

    for (size_t i = 0; i < run->event_count; i++) {
        const struct log_entry *entry = &run->events[i];
        if (!page_is_file_written(entry) || !entry->object.len)
            continue;
        size_t at = (size_t)map_get(&by_path, entry->object);
        if (!at) {
            writings.items = arena_grow(arena, writings.items, writings.count, writings.count + 1, &writings.capacity,
                                        sizeof *writings.items);
            writings.items[writings.count++] =
                (struct written){.path = entry->object, .calls = text_in(arena), .programs = text_in(arena)};
            at = writings.count;
            *map_at(&by_path, entry->object) = (void *)at;
        }
        struct written *file = &writings.items[at - 1];
        add_word(&file->calls, entry->op);
        add_word(&file->programs, path_name(entry->program));
        file->count += entry->count;
    }
    return writings;
}

size_t page_files_written(const struct log_run *run, struct arena *arena)
{
    return writings_of(run, arena).count;
}

static void append_file(const struct written *file, struct text *out)
{
    text_append_string(out, "<tr><td>");
    append_code(out, file->path);
    text_append_string(out, "</td><td>");
    page_append(out, text_slice(&file->calls));
    text_append_string(out, "</td><td>");
    page_append(out, text_slice(&file->programs));
    text_appendf(out, "</td><td class=\"number\">%llu</td></tr>\n", (unsigned long long)file->count);
}

void page_files(const struct log_run *run, struct text *out)
{
    struct writings writings = writings_of(run, out->arena);
    size_t shown = writings.count < PAGE_ROWS_MAX ? writings.count : PAGE_ROWS_MAX;

    text_append_string(out, "<section id=\"files\">\n<h2>Files written</h2>\n");
    if (!writings.count) {
        text_append_string(out, "<p class=\"empty\">None were recorded. Files that may be written are recorded with "
                                "<code>\"violation\": {\"watch\": \"all\"}</code>.</p>\n</section>\n");
        return;
    }
    text_append_string(out, "<div class=\"scroll\"><table>\n<thead><tr><th>File</th><th>By</th><th>Program</th>"
                            "<th class=\"number\">Times</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < shown; i++)
        append_file(&writings.items[i], out);
    text_append_string(out, "</tbody></table></div>\n");
    append_rest(writings.count - shown, out);
    text_append_string(out, "</section>\n");
}

static void append_later(const struct log_entry *entry, struct text *out)
{
    text_append_string(out, "<li><p class=\"what\">");
    append_code(out, entry->object);
    text_append_string(out, "</p>");
    if (entry->reason.len) {
        text_append_string(out, "<p class=\"reason\">");
        page_append(out, entry->reason);
        text_append_string(out, "</p>");
    }
    text_append_string(out, "</li>\n");
}

void page_later(const struct log_run *run, struct text *out)
{
    if (!count_of(run, page_is_for_later))
        return;
    text_append_string(out,
                       "<section id=\"later\">\n<h2>Would run later, outside</h2>\n<p>Made by this run. The host runs "
                       "or obeys these one day, with all of your rights: look at them first.</p>\n<ul class=\"denials "
                       "later\">\n");
    size_t rest = append_each(run, page_is_for_later, append_later, out);
    text_append_string(out, "</ul>\n");
    append_rest(rest, out);
    text_append_string(out, "</section>\n");
}
