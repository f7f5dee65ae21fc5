/* The page of a run: its head, what it comes to, and the parts.
 *
 * Everything in it was named by a command that is not trusted. Text passes through
 * page_append, which leaves no markup in it; were something to slip through, the
 * Content-Security-Policy lets no script run, no style apply but ours (by its
 * digest), and nothing be loaded or sent (attack 101). */
#include "watch/page.h"

#include "watch/log_table.h"
#include "watch/log_time.h"
#include "watch/page_parts.h"

#include <nettle/base64.h>
#include <sha2.h>

void page_append(struct text *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '&':
            text_append_string(out, "&amp;");
            break;
        case '<':
            text_append_string(out, "&lt;");
            break;
        case '>':
            text_append_string(out, "&gt;");
            break;
        case '"':
            text_append_string(out, "&quot;");
            break;
        case '\'':
            text_append_string(out, "&#39;");
            break;
        default:
            text_append_byte(out, text.ptr[i]);
        }
    }
}

bool page_is_connection(const struct log_entry *entry)
{
    return slice_starts(entry->kind, SLICE("net."));
}

bool page_is_file_written(const struct log_entry *entry)
{
    return slice_is(entry->kind, "fs.write") && !log_entry_is_denied(entry);
}

bool page_is_for_later(const struct log_entry *entry)
{
    return slice_is(entry->kind, "exec.later");
}

static void append_head(const struct log_run *run, struct text *out)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char spelled[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_LENGTH) + 1] = "";
    SHA2_CTX context;

    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)page_style.ptr, page_style.len);
    SHA256Final(digest, &context);
    base64_encode_raw(spelled, sizeof digest, digest);
    text_appendf(out,
                 "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; "
                 "base-uri 'none'; form-action 'none'\">\n"
                 "<meta name=\"referrer\" content=\"no-referrer\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"color-scheme\" content=\"light dark\">\n<title>cloche: ",
                 spelled);
    page_append(out, run->command.len ? run->command : run->id);
    text_append_string(out, "</title>\n<style>");
    text_append(out, page_style);
    text_append_string(out, "</style>\n</head>\n<body>\n<main>\n");
}

static void append_fact(struct text *out, const char *name, struct slice value, bool is_code)
{
    if (!value.len)
        return;
    text_appendf(out, "<div><dt>%s</dt><dd>%s", name, is_code ? "<code>" : "");
    page_append(out, value);
    text_appendf(out, "%s</dd></div>\n", is_code ? "</code>" : "");
}

static void append_title(const struct log_run *run, struct text *out)
{
    enum { LONG_COMMAND = 120 };
    struct text when = text_in(out->arena);
    char date[LOG_TIME_TEXT];
    char clock[LOG_TIME_TEXT];

    log_time_date(run->started, date);
    log_time_of_day(run->started, clock);
    text_appendf(&when, "%s %s", date, clock);
    if (run->ended) {
        text_append_string(&when, ", ");
        log_table_span(run->milliseconds, &when);
    }
    text_append_string(out,
                       "<header>\n"
                       "<p class=\"brand\"><svg width=\"22\" height=\"22\" viewBox=\"0 0 22 22\" aria-hidden=\"true\">"
                       "<path d=\"M4 17V11a7 7 0 0 1 14 0v6M2 18.5h18M11 4V2\"/></svg>cloche</p>\n");
    text_append_string(out, run->command.len > LONG_COMMAND ? "<h1 class=\"long\"><code>" : "<h1><code>");
    page_append(out, run->command.len ? run->command : SLICE("a run whose beginning is no longer in the log"));
    text_append_string(out, "</code></h1>\n<dl class=\"facts\">\n");
    append_fact(out, "Project", run->project, true);
    append_fact(out, "When", text_slice(&when), false);
    if (run->ended && run->status >= 0)
        append_fact(out, "Exit status", slice_of(arena_printf(out->arena, "%lld", (long long)run->status)), false);
    else if (!run->ended)
        append_fact(out, "Exit status", SLICE("its end is not in the log"), false);
    append_fact(out, "Policy", run->policy, true);
    append_fact(out, "Run", run->id, true);
    text_append_string(out, "</dl>\n</header>\n");
}

static void append_figure(struct text *out, const char *class, const char *anchor, const char *figure,
                          const char *label)
{
    text_appendf(out, "<li class=\"%s\"><a href=\"#%s\"><b>%s</b><span>%s</span></a></li>\n", class, anchor, figure,
                 label);
}

static const char *number(struct arena *arena, uint64_t value)
{
    return arena_printf(arena, "%llu", (unsigned long long)value);
}

static void append_figures(const struct log_run *run, struct text *out)
{
    uint64_t denied = 0, distinct = 0, hosts = 0, later = 0, sent = 0, received = 0;
    uint64_t files = page_files_written(run, out->arena);
    struct text carried = text_in(out->arena);

    for (size_t i = 0; i < run->event_count; i++) {
        const struct log_entry *entry = &run->events[i];
        if (log_entry_is_denied(entry)) {
            distinct++;
            denied += entry->count;
        }
        hosts += slice_is(entry->kind, "net.connect") && slice_is(entry->verdict, "allowed");
        later += page_is_for_later(entry);
        sent += entry->sent;
        received += entry->received;
    }
    log_table_bytes(sent + received, &carried);
    text_append_string(out, "<ul class=\"figures\">\n");
    append_figure(out, denied ? "bad" : "good", "denied", number(out->arena, distinct),
                  denied == distinct ? "denied"
                                     : arena_printf(out->arena, "denied (%llu times)", (unsigned long long)denied));
    append_figure(out, "plain", "hosts", number(out->arena, hosts), hosts == 1 ? "host reached" : "hosts reached");
    append_figure(out, "plain", "hosts", carried.ptr, "over the network");
    append_figure(out, "plain", "files", number(out->arena, files), files == 1 ? "file written" : "files written");
    if (later)
        append_figure(out, "notice", "later", number(out->arena, later), "would run later");
    text_append_string(out, "</ul>\n");
}

void page_write(const struct log_run *run, struct text *out)
{
    append_head(run, out);
    append_title(run, out);
    append_figures(run, out);
    page_timeline(run, out);
    page_denials(run, out);
    page_later(run, out);
    page_hosts(run, out);
    page_files(run, out);
    text_append_string(out, "<footer><p>Made by <code>cloche log --html</code>");
    if (run->version.len) {
        text_append_string(out, " from a run of cloche ");
        page_append(out, run->version);
    }
    text_append_string(out, ". All lines of this run: <code>cloche log --all --json --run ");
    page_append(out, run->id);
    text_append_string(out, "</code></p></footer>\n</main>\n</body>\n</html>\n");
}
