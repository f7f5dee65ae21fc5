/* Names come from the command: they are escaped, so that none can drive the terminal or turn
 * the question around. That of the program is short, and nowhere are there many spaces in a row: else a name could fill
 * the lines of the terminal with a question of its own, above the real one. */
#include "session/ask_text.h"

#include "base/text.h"

#include <string.h>

static const struct {
    const char *word;
    enum asking_reply reply;
} words[] = {
    {"o", ASKING_ONCE},   {"once", ASKING_ONCE},     {"r", ASKING_RUN},       {"run", ASKING_RUN},
    {"a", ASKING_ALWAYS}, {"always", ASKING_ALWAYS}, {"d", ASKING_DIRECTORY}, {"n", ASKING_NO},
    {"no", ASKING_NO},    {"v", ASKING_NEVER},       {"never", ASKING_NEVER},
};

bool ask_text_reply(const char *word, enum asking_reply *reply)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(words[i].word, word) == 0) {
            *reply = words[i].reply;
            return true;
        }
    }
    return false;
}

const char *ask_text_said(enum asking_reply reply)
{
    switch (reply) {
    case ASKING_ONCE:
        return "cloche: allowed once\n";
    case ASKING_DIRECTORY:
        return "cloche: its directory is allowed for this run\n";
    case ASKING_RUN:
    case ASKING_ALWAYS:
        return "cloche: allowed for this run\n";
    case ASKING_NEVER:
        return "cloche: refused, and not asked again\n";
    case ASKING_NO:
        break;
    }
    return "cloche: refused\n";
}

static const char *wants_to(const struct ask_text *about)
{
    switch (about->operation) {
    case OPERATION_READ:
        return "wants to read (to execute it takes a new run)";
    case OPERATION_WRITE:
        return about->makes_link ? "wants to make a symbolic link at" : "wants to make, change or remove";
    case OPERATION_UNIX:
        return "wants to connect to the socket";
    default:
        return "wants to connect to";
    }
}

enum { PROGRAM_MAX = 64 };

static void append_name(struct text *out, struct slice name)
{
    while (name.len > 0) {
        size_t end = slice_find(name, ' ');
        size_t spaces = end;

        while (spaces < name.len && name.ptr[spaces] == ' ')
            spaces++;
        text_append_escaped(out, (struct slice){name.ptr, end});
        if (spaces == end + 1)
            text_append_byte(out, ' ');
        for (size_t i = end; spaces > end + 1 && i < spaces; i++)
            text_append_string(out, "\\x20");
        name = slice_from(name, spaces);
    }
}

/* What it ends in tells more. */
static void append_program(struct text *out, struct slice program)
{
    static const struct slice left_out = SLICE("...");
    bool is_long = program.len > PROGRAM_MAX;

    if (is_long)
        text_append(out, left_out);
    append_name(out, is_long ? slice_from(program, program.len - (PROGRAM_MAX - left_out.len)) : program);
}

static void append_object(struct text *out, const struct ask_text *about)
{
    append_name(out, about->object);
    if (about->operation == OPERATION_CONNECT)
        text_appendf(out, " port %u", (unsigned)about->port);
}

const char *ask_text_question(struct arena *arena, const struct ask_text *about, const char *file)
{
    struct text out = text_in(arena);

    text_append_string(&out, "cloche asks. Everything in the sandbox is stopped until you answer.\n  ");
    if (about->program.len) {
        append_program(&out, about->program);
        text_appendf(&out, " (process %d)", about->process);
    } else {
        text_append_string(&out, "The command");
    }
    text_appendf(&out, " %s\n    ", wants_to(about));
    append_object(&out, about);
    text_append_string(&out, "\n  which nothing in the policy allows.\n"
                             "  o  allow it once\n");
    if (!about->makes_link)
        text_appendf(&out, "  r  allow it for this run%s\n",
                     about->operation == OPERATION_WRITE ? ", and what lies below it" : "");
    if (about->directory.len) {
        text_append_string(&out, "  d  allow all of ");
        append_name(&out, about->directory);
        text_append_string(&out, " for this run\n");
    }
    if (file && !about->makes_link)
        text_appendf(&out, "  a  allow it always: adds it to %s\n", escaped(arena, slice_of(file)));
    text_appendf(&out,
                 "  n  refuse it\n"
                 "  v  refuse it, and never ask about it again in this run\n"
                 "Type a letter and press Enter (nothing within %d seconds is a no): ",
                 ASK_SECONDS);
    return out.ptr;
}

const char *ask_text_line(struct arena *arena, const struct ask_text *about, uint32_t number)
{
    struct text out = text_in(arena);

    text_appendf(&out, "{\"ask\":%u,\"%s\":", number,
                 about->operation == OPERATION_CONNECT ? "host"
                 : about->operation == OPERATION_UNIX  ? "unix"
                 : about->operation == OPERATION_WRITE ? "write"
                                                       : "read");
    text_append_json(&out, about->object);
    if (about->operation == OPERATION_CONNECT) {
        text_appendf(&out, ",\"port\":%u}", (unsigned)about->port);
        return out.ptr;
    }
    text_append_string(&out, ",\"program\":");
    text_append_json(&out, about->program);
    text_appendf(&out, ",\"pid\":%d}", about->process);
    return out.ptr;
}

struct slice ask_text_entry(struct arena *arena, const struct ask_text *about)
{
    bool bracketed = about->operation == OPERATION_CONNECT && slice_find(about->object, ':') < about->object.len;

    if (about->operation != OPERATION_CONNECT)
        return about->object;
    return slice_of(arena_printf(arena, bracketed ? "[%.*s]:%u" : "%.*s:%u", (int)about->object.len, about->object.ptr,
                                 (unsigned)about->port));
}
