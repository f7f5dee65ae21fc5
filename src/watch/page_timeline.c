/* The timeline: a lane for each sort of event, a mark for each event. Places are
 * given in percent, so that the picture fits every width without being stretched. */
#include "watch/log_table.h"
#include "watch/page_parts.h"

enum { LANE_HEIGHT = 34, TICKS = 4, MARK_RADIUS = 5 };

struct lane {
    const char *name;
    struct slice kinds; /* how they begin */
};

static const struct lane lanes[] = {
    {"Files", SLICE("fs.")},     {"Network", SLICE("net.")},
    {"Sockets", SLICE("unix.")}, {"System calls", SLICE("syscall")},
    {"Limits", SLICE("limit")},  {"Runs later", SLICE("exec.")},
};

static bool is_in_lane(const struct lane *lane, const struct log_entry *entry)
{
    return slice_starts(entry->kind, lane->kinds);
}

static bool lane_is_used(const struct log_run *run, const struct lane *lane)
{
    for (size_t i = 0; i < run->event_count; i++)
        if (is_in_lane(lane, &run->events[i]))
            return true;
    return false;
}

static int64_t length_of(const struct log_run *run)
{
    int64_t length = run->latest - run->started;

    if (run->milliseconds <= INT64_MAX && (int64_t)run->milliseconds > length)
        length = (int64_t)run->milliseconds;
    return length > 0 ? length : 1;
}

/* Between 1.5 % and 98.5 %, so that no mark is cut in half. */
static double place_of(const struct log_run *run, int64_t time)
{
    double share = (double)(time - run->started) / (double)length_of(run);

    return 1.5 + 97 * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void append_mark(const struct log_run *run, const struct log_entry *entry, struct text *out)
{
    text_appendf(out, "<circle class=\"%s\" cx=\"%.2f%%\" cy=\"%d\" r=\"%d\"><title>",
                 log_entry_is_denied(entry)            ? "denied"
                 : slice_is(entry->verdict, "allowed") ? "allowed"
                                                       : "observed",
                 place_of(run, entry->time), LANE_HEIGHT / 2, MARK_RADIUS);
    log_table_span((uint64_t)(entry->time > run->started ? entry->time - run->started : 0), out);
    text_append_string(out, ": ");
    page_append(out, entry->verdict);
    text_append_byte(out, ' ');
    page_append(out, entry->op.len ? entry->op : entry->kind);
    text_append_byte(out, ' ');
    page_append(out, entry->object);
    text_append_string(out, "</title></circle>\n");
}

static void append_lane(const struct log_run *run, const struct lane *lane, struct text *out)
{
    size_t marks = 0;

    text_appendf(out,
                 "<div class=\"lane\"><span>%s</span><svg width=\"100%%\" height=\"%d\" role=\"img\" aria-label=\"%s\">"
                 "<line x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>\n",
                 lane->name, LANE_HEIGHT, lane->name, LANE_HEIGHT / 2, LANE_HEIGHT / 2);
    /* Denials last: they lie on top. */
    for (int denied = 0; denied <= 1; denied++)
        for (size_t i = 0; i < run->event_count && marks < PAGE_ROWS_MAX; i++) {
            const struct log_entry *entry = &run->events[i];
            if (!is_in_lane(lane, entry) || log_entry_is_denied(entry) != (denied == 1))
                continue;
            append_mark(run, entry, out);
            marks++;
        }
    text_append_string(out, "</svg></div>\n");
}

static void append_axis(const struct log_run *run, struct text *out)
{
    text_append_string(out, "<div class=\"lane axis\"><span></span><div>");
    for (int i = 0; i <= TICKS; i++) {
        text_append_string(out, "<i>");
        log_table_span((uint64_t)(length_of(run) * i / TICKS), out);
        text_append_string(out, "</i>");
    }
    text_append_string(out, "</div></div>\n");
}

void page_timeline(const struct log_run *run, struct text *out)
{
    bool any = false;

    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        any = any || lane_is_used(run, &lanes[i]);
    if (!any)
        return;
    text_append_string(out, "<section id=\"timeline\">\n<h2>Timeline</h2>\n<div class=\"timeline\">\n");
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (lane_is_used(run, &lanes[i]))
            append_lane(run, &lanes[i], out);
    append_axis(run, out);
    text_append_string(out,
                       "</div>\n<p class=\"key\"><span class=\"denied\">denied</span> <span class=\"allowed\">allowed"
                       "</span> <span class=\"observed\">observed</span></p>\n</section>\n");
}
