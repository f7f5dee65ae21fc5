#include "watch/annotate.h"

static const struct slice tags[] = {SLICE("<sandbox_violations"), SLICE("</sandbox_violations")};

enum match { MATCH_NONE, MATCH_BEGUN, MATCH_WHOLE };

static enum match match(struct slice text)
{
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (text.len <= tags[i].len && slice_equal_ignoring_case(text, (struct slice){tags[i].ptr, text.len}))
            return text.len == tags[i].len ? MATCH_WHOLE : MATCH_BEGUN;
    }
    return MATCH_NONE;
}

void annotate_append_rest(struct annotate_text *text, struct text *out)
{
    text_append(out, (struct slice){text->held, text->held_count});
    text->held_count = 0;
}

/* "<" begins a tag and is nowhere else in one: what does not match is let go as a whole. */
void annotate_append(struct annotate_text *text, struct slice bytes, struct text *out)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.ptr[i] == '<')
            annotate_append_rest(text, out);
        text->held[text->held_count++] = bytes.ptr[i];
        switch (match((struct slice){text->held, text->held_count})) {
        case MATCH_BEGUN:
            break;
        case MATCH_WHOLE:
            text_append_string(out, "&lt;");
            text_append(out, (struct slice){text->held + 1, text->held_count - 1});
            text->held_count = 0;
            break;
        case MATCH_NONE:
            annotate_append_rest(text, out);
        }
    }
}

static void append_whole(struct slice bytes, struct text *out)
{
    struct annotate_text text = {0};

    annotate_append(&text, bytes, out);
    annotate_append_rest(&text, out);
}

/* srt's word for what was attempted: the system call, or where a connection was to go. */
static struct slice attempt_of(const struct log_entry *entry)
{
    if (slice_starts(entry->kind, SLICE("net.")) || slice_starts(entry->kind, SLICE("unix.")))
        return SLICE("network-outbound");
    if (slice_starts(entry->kind, SLICE("fs.")) && entry->op.len)
        return entry->op;
    return entry->kind;
}

void annotate_line(const struct log_entry *entry, struct text *out)
{
    text_append_string(out, "deny ");
    append_whole(attempt_of(entry), out);
    text_append_byte(out, ' ');
    append_whole(entry->object, out);
    if (entry->reason.len) {
        text_append_string(out, " (");
        append_whole(entry->reason, out);
        text_append_byte(out, ')');
    }
    if (entry->count > 1)
        text_appendf(out, " [%llu times]", (unsigned long long)entry->count);
    if (entry->hint.len) {
        text_append_string(out, " [to allow: ");
        append_whole(entry->hint, out);
        text_append_byte(out, ']');
    }
}
