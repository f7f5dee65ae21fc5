/* What was learned, as a policy and in words. Names come from the command: in the
 * policy they are JSON strings of printable bytes (learn.c lets no others in), in
 * words they are escaped. */
#include "watch/learn.h"

static const char *list_key(enum lesson_list list)
{
    switch (list) {
    case LESSON_READ:
        return "filesystem.allowRead";
    case LESSON_WRITE:
        return "filesystem.allowWrite";
    case LESSON_HOST:
        return "network.allowedDomains";
    case LESSON_SOCKET:
        return "network.allowUnixSockets";
    case LESSON_NONE:
        break;
    }
    return "";
}

static const char *list_verb(enum lesson_list list)
{
    switch (list) {
    case LESSON_READ:
        return "read ";
    case LESSON_WRITE:
        return "write ";
    case LESSON_HOST:
        return "connect to ";
    case LESSON_SOCKET:
        return "connect to socket ";
    case LESSON_NONE:
        break;
    }
    return "system call ";
}

static bool has(const struct lessons *lessons, enum lesson_list list)
{
    for (size_t i = 0; i < lessons->count; i++) {
        if (lessons->items[i].tier == LESSON_NEEDED && lessons->items[i].list == list)
            return true;
    }
    return false;
}

static void write_list(const struct lessons *lessons, enum lesson_list list, const char *key, struct text *out)
{
    bool first = true;

    text_appendf(out, "    \"%s\": [", key);
    for (size_t i = 0; i < lessons->count; i++) {
        const struct lesson *lesson = &lessons->items[i];
        if (lesson->tier != LESSON_NEEDED || lesson->list != list)
            continue;
        text_append_string(out, first ? "\n      " : ",\n      ");
        text_append_json(out, lesson->entry);
        first = false;
    }
    text_append_string(out, "\n    ]");
}

static void write_files(const struct lessons *lessons, struct text *out)
{
    bool reads = has(lessons, LESSON_READ);
    bool writes = has(lessons, LESSON_WRITE);

    if (!reads && !writes)
        return;
    text_append_string(out, ",\n\n  \"filesystem\": {\n");
    if (reads)
        write_list(lessons, LESSON_READ, "allowRead", out);
    if (writes) {
        text_append_string(out, reads ? ",\n" : "");
        write_list(lessons, LESSON_WRITE, "allowWrite", out);
    }
    text_append_string(out, "\n  }");
}

static void write_optional(const struct lessons *lessons, struct text *out)
{
    bool first = true;

    for (size_t i = 0; i < lessons->count; i++) {
        const struct lesson *lesson = &lessons->items[i];
        if (lesson->tier != LESSON_OPTIONAL)
            continue;
        if (first)
            text_append_string(out, "\n  // Optional: it was refused these, and went on without them.\n");
        first = false;
        text_appendf(out, "  //   %s: ", list_key(lesson->list));
        text_append_json(out, slice_of(escaped(out->arena, lesson->entry)));
        text_append_byte(out, '\n');
    }
}

/* So that who reads the policy sees what it leaves out. */
static void write_refused(const struct lessons *lessons, struct text *out)
{
    bool first = true;

    for (size_t i = 0; i < lessons->count; i++) {
        const struct lesson *lesson = &lessons->items[i];
        if (lesson->tier != LESSON_REFUSED)
            continue;
        if (first)
            text_append_string(out, "\n  // Refused: nothing is proposed for these.\n");
        first = false;
        text_appendf(out, "  //   %s%s: %s\n", list_verb(lesson->list), escaped(out->arena, lesson->object),
                     lesson->why.len ? escaped(out->arena, lesson->why) : "refused");
    }
}

void lessons_write_policy(const struct lessons *lessons, struct slice command, const char *const *extends,
                          size_t extend_count, struct text *out)
{
    text_appendf(out,
                 "// What this did, and what it needs: %s\n"
                 "// Written by cloche learn. Read it before you let it count.\n"
                 "{\n  \"extends\": [",
                 escaped(out->arena, command));
    for (size_t i = 0; i < extend_count; i++) {
        text_append_string(out, i ? ", " : "");
        text_append_json(out, slice_of(extends[i]));
    }
    text_append_string(out, "]");
    write_files(lessons, out);
    if (has(lessons, LESSON_HOST)) {
        text_append_string(out, ",\n\n  \"network\": {\n    \"mode\": \"filtered\",\n");
        write_list(lessons, LESSON_HOST, "allowedDomains", out);
        text_append_string(out, "\n  }");
    }
    text_append_byte(out, '\n');
    write_optional(lessons, out);
    write_refused(lessons, out);
    text_append_string(out, "}\n");
}

static void write_line(const struct lesson *lesson, struct text *out)
{
    struct arena *arena = out->arena;

    text_appendf(out, "  %s%s", list_verb(lesson->list), escaped(arena, lesson->object));
    if (lesson->program.len)
        text_appendf(out, ", by %s", escaped(arena, lesson->program));
    if (lesson->count > 1)
        text_appendf(out, ", %llu times", (unsigned long long)lesson->count);
    if (lesson->tier == LESSON_REFUSED)
        text_appendf(out, ": %s\n", lesson->why.len ? escaped(arena, lesson->why) : "refused");
    else
        text_appendf(out, " -> %s %s\n", list_key(lesson->list), escaped(arena, lesson->entry));
    if (lesson->must_be_made && lesson->tier != LESSON_REFUSED)
        text_appendf(out, "    it is not there: before the run, %s %s\n", lesson->is_directory ? "mkdir -p" : "touch",
                     shell_word(arena, arena_slice(arena, lesson->object).ptr));
}

void lessons_write_report(const struct lessons *lessons, struct text *out)
{
    static const char *const titles[LESSON_TIERS] = {"needed:\n", "optional, it went on without:\n", "refused:\n"};

    for (int tier = 0; tier < LESSON_TIERS; tier++) {
        bool first = true;
        for (size_t i = 0; i < lessons->count; i++) {
            if ((int)lessons->items[i].tier != tier)
                continue;
            if (first)
                text_append_string(out, titles[tier]);
            first = false;
            write_line(&lessons->items[i], out);
        }
    }
    if (lessons->count == 0)
        text_append_string(out, "nothing beyond what it extends was used\n");
}
