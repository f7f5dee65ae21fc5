/* One line of a log. The file is the user's own, but what stands in it was chosen
 * by commands, and a file that is named may come from anywhere (attack 101): text
 * is made safe here, once, and numbers out of range are taken as absent. */
#include "watch/log_entry.h"

#include "base/json.h"
#include "base/text.h"
#include "watch/log_time.h"

static struct slice text_of(struct arena *arena, const json_t *value)
{
    if (!json_is_string(value))
        return (struct slice){"", 0};
    struct slice copy = arena_slice(arena, json_slice(value));
    text_make_safe((char *)copy.ptr);
    return copy;
}

static struct slice text_at(struct arena *arena, const json_t *object, const char *name)
{
    return text_of(arena, json_object_get(object, name));
}

static int64_t number_at(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);

    return json_is_integer(value) && json_integer_value(value) >= 0 ? (int64_t)json_integer_value(value) : otherwise;
}

/* ["preset:dev", "/p/policy.json"] -> "preset:dev, /p/policy.json" */
static struct slice list_at(struct arena *arena, const json_t *object, const char *name)
{
    const json_t *list = json_object_get(object, name);
    struct text joined = text_in(arena);

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i)
            text_append_string(&joined, ", ");
        text_append(&joined, text_of(arena, json_array_get(list, i)));
    }
    return text_slice(&joined);
}

static void read_members(struct arena *arena, const json_t *object, struct log_entry *entry)
{
    const json_t *rule = json_object_get(object, "rule");
    const json_t *bytes = json_object_get(object, "bytes");

    entry->run = text_at(arena, object, "run");
    entry->kind = text_at(arena, object, "kind");
    entry->op = text_at(arena, object, "op");
    entry->object = text_at(arena, object, "object");
    entry->verdict = text_at(arena, object, "verdict");
    entry->error = text_at(arena, object, "errno");
    entry->pid = number_at(object, "pid", -1);
    entry->program = text_at(arena, object, "program");
    entry->parent = text_at(arena, json_object_get(object, "parent"), "program");
    entry->protocol = text_at(arena, object, "protocol");
    entry->reason = text_at(arena, object, "reason");
    entry->rule_file = text_at(arena, rule, "file");
    entry->rule_path = text_at(arena, rule, "path");
    entry->hint = text_at(arena, object, "hint");
    entry->count = (uint64_t)number_at(object, "count", 1);
    entry->count += entry->count == 0;
    entry->sent = (uint64_t)number_at(bytes, "out", 0);
    entry->received = (uint64_t)number_at(bytes, "in", 0);
    entry->milliseconds = (uint64_t)number_at(object, "ms", 0);
    entry->folded = json_is_true(json_object_get(object, "folded"));
    entry->project = text_at(arena, object, "project");
    entry->policy = list_at(arena, object, "policy");
    entry->version = text_at(arena, object, "version");
    entry->status = number_at(object, "status", -1);
}

bool log_entry_parse(struct arena *arena, struct slice line, struct log_entry *entry)
{
    json_error_t problem;
    /* No JSON_ALLOW_NUL: what a text is must not depend on who reads it. */
    JSON_CLEANUP json_t *object = json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, &problem);

    *entry = (struct log_entry){0};
    if (!json_is_object(object))
        return false;
    const json_t *time = json_object_get(object, "time");
    if (!json_is_string(time) || !log_time_parse(json_slice(time), &entry->time))
        return false;
    read_members(arena, object, entry);
    return entry->kind.len && entry->run.len && entry->verdict.len;
}

/* The library leaves one control character as it is. */
static int append_ascii(const char *bytes, size_t size, void *argument)
{
    struct text *out = argument;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == 0x7f)
            text_append_string(out, "\\u007f");
        else
            text_append_byte(out, bytes[i]);
    }
    return 0;
}

void log_line_append(struct text *out, struct slice line)
{
    char *safe = (char *)arena_slice(out->arena, line).ptr;

    text_make_safe(safe);
    if (slice_equal(slice_of(safe), line)) {
        text_append(out, line);
    } else {
        JSON_CLEANUP json_t *object = json_loadb(line.ptr, line.len, 0, NULL);
        json_dump_callback(object, append_ascii, out, JSON_COMPACT | JSON_ENSURE_ASCII);
    }
    text_append_byte(out, '\n');
}
