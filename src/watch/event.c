/* Events as lines of JSON. Keys come in a fixed order, and what is not known is
 * left out. Only the object and the hint may be as long as a path can be; other
 * texts are cut, so that a line can be appended to a file in one write. */
#include "watch/event.h"

#include <limits.h>
#include <string.h>

enum {
    PROGRAM_SHOWN_MAX = 512,
    REASON_SHOWN_MAX = 1024,
    OP_SHOWN_MAX = 64,
    RULE_SHOWN_MAX = 1024,
    COMMAND_SHOWN_MAX = 8192
};

_Static_assert(PATH_MAX == 4096, "a line has room for two of these, each byte escaped");

const char *event_kind_name(enum event_kind kind)
{
    static const char *const names[EVENT_KINDS] = {
        [EVENT_FS_READ] = "fs.read", [EVENT_FS_WRITE] = "fs.write",         [EVENT_NET_CONNECT] = "net.connect",
        [EVENT_NET_DNS] = "net.dns", [EVENT_UNIX_CONNECT] = "unix.connect", [EVENT_SYSCALL] = "syscall",
        [EVENT_LIMIT] = "limit",     [EVENT_EXEC_LATER] = "exec.later",     [EVENT_RUN] = "run",
    };

    return names[kind];
}

const char *event_verdict_name(enum event_verdict verdict)
{
    switch (verdict) {
    case EVENT_DENIED:
        return "denied";
    case EVENT_ALLOWED:
        return "allowed";
    case EVENT_OBSERVED:
        return "observed";
    }
    return "?";
}

void event_write_time(struct text *out, const struct timespec *time)
{
    struct tm parts;

    gmtime_r(&time->tv_sec, &parts);
    text_appendf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                 parts.tm_hour, parts.tm_min, parts.tm_sec, time->tv_nsec / 1000000);
}

static void write_key(struct text *out, const char *key)
{
    text_appendf(out, ",\"%s\":", key);
}

void event_write_name(struct text *out, const char *key, struct slice value, size_t limit)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text safe = text_in(&arena);

    if (value.len == 0)
        return;
    text_append_escaped(&safe, value.len > limit ? (struct slice){value.ptr, limit} : value);
    if (value.len > limit)
        text_append_string(&safe, "...");
    write_key(out, key);
    text_append_json(out, text_slice(&safe));
}

/* Each line begins with when and in which run. */
static void write_head(struct text *out, const struct timespec *time, const char *run, enum event_kind kind)
{
    text_append_string(out, "{\"time\":\"");
    event_write_time(out, time);
    text_appendf(out, "\",\"run\":\"%s\",\"kind\":\"%s\"", run, event_kind_name(kind));
}

static void write_number(struct text *out, const char *key, uint64_t value)
{
    if (value == 0)
        return;
    write_key(out, key);
    text_appendf(out, "%llu", (unsigned long long)value);
}

static void write_parent(struct text *out, const struct event *event)
{
    if (event->parent == 0)
        return;
    text_appendf(out, ",\"parent\":{\"pid\":%d", (int)event->parent);
    event_write_name(out, "program", event->parent_program, PROGRAM_SHOWN_MAX);
    text_append_byte(out, '}');
}

static void write_rule(struct text *out, const struct origin *rule)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (!rule->file)
        return;
    text_append_string(out, ",\"rule\":{\"file\":");
    struct slice file = slice_of(rule->file);
    text_append_json(out, slice_of(escaped(&arena, file.len > PATH_MAX ? (struct slice){file.ptr, PATH_MAX} : file)));
    event_write_name(out, "path", slice_of(rule->path ? rule->path : ""), RULE_SHOWN_MAX);
    text_append_byte(out, '}');
}

static void write_hint(struct text *out, struct slice hint)
{
    /* Already fit for a terminal: spelled for a shell, which an escape would change. One that is cut would lead to
     * another place. */
    if (hint.len == 0 || hint.len > 4 * PATH_MAX)
        return;
    write_key(out, "hint");
    text_append_json(out, hint);
}

void event_write(struct text *out, const struct event *event, const struct event_line *line)
{
    write_head(out, &line->time, line->run, event->kind);
    event_write_name(out, "op", event->op, OP_SHOWN_MAX);
    event_write_name(out, "object", event->object, PATH_MAX);
    text_appendf(out, ",\"verdict\":\"%s\"", event_verdict_name(event->verdict));
    if (event->error) {
        const char *name = strerrorname_np(event->error);
        event_write_name(out, "errno", slice_of(name ? name : "?"), OP_SHOWN_MAX);
    }
    write_number(out, "pid", event->pid > 0 ? (uint64_t)event->pid : 0);
    event_write_name(out, "program", event->program, PROGRAM_SHOWN_MAX);
    write_parent(out, event);
    event_write_name(out, "protocol", event->protocol, OP_SHOWN_MAX);
    write_number(out, "port", event->port);
    event_write_name(out, "reason", event->reason, REASON_SHOWN_MAX);
    write_rule(out, &event->rule);
    write_hint(out, event->hint);
    write_number(out, "count", line->count);
    if (line->folded)
        text_append_string(out, ",\"folded\":true");
    if (event->sent || event->received)
        text_appendf(out, ",\"bytes\":{\"out\":%llu,\"in\":%llu}", (unsigned long long)event->sent,
                     (unsigned long long)event->received);
    write_number(out, "ms", event->milliseconds);
    text_append_byte(out, '}');
}

static void write_run_head(struct text *out, const struct event_run *run, const struct timespec *time, const char *op)
{
    write_head(out, time, run->id, EVENT_RUN);
    text_appendf(out, ",\"op\":\"%s\"", op);
    /* Spelled for a shell: fit for a terminal as it is. */
    struct slice command = run->command;
    if (command.len > COMMAND_SHOWN_MAX)
        command.len = COMMAND_SHOWN_MAX;
    write_key(out, "object");
    text_append_json(out, command);
    text_append_string(out, ",\"verdict\":\"observed\"");
}

void event_write_start(struct text *out, const struct event_run *run)
{
    enum { POLICIES_MAX = 8 };
    struct arena arena ARENA_CLEANUP = {0};

    write_run_head(out, run, &run->start, "start");
    text_appendf(out, ",\"pid\":%d", (int)run->pid);
    event_write_name(out, "project", run->project, PATH_MAX);
    text_append_string(out, ",\"policy\":[");
    for (size_t i = 0; i < run->policy_count && i < POLICIES_MAX; i++) {
        struct slice name = slice_of(run->policies[i]);
        if (i)
            text_append_byte(out, ',');
        if (name.len > PROGRAM_SHOWN_MAX)
            name.len = PROGRAM_SHOWN_MAX;
        text_append_json(out, slice_of(escaped(&arena, name)));
    }
    text_append_string(out, "],\"version\":\"" CLOCHE_VERSION "\"}");
}

void event_write_end(struct text *out, const struct event_run *run, int status, uint64_t denied)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    int64_t milliseconds = (now.tv_sec - run->start.tv_sec) * 1000 + (now.tv_nsec - run->start.tv_nsec) / 1000000;
    write_run_head(out, run, &now, "end");
    text_appendf(out, ",\"status\":%d,\"ms\":%lld,\"denied\":%llu}", status,
                 (long long)(milliseconds > 0 ? milliseconds : 0), (unsigned long long)denied);
}
