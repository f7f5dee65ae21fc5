/* What a run would say of a config before it starts anything: the same reading,
 * resolving and planning, and then no run. */
#include "cli/srt_check.h"

#include "base/fd.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONFIG_MAX = 1024 * 1024 }; /* as for a policy file */

static void print_line(struct arena *arena, const char *first, const char *value, const char *second, const char *text)
{
    struct text out = text_in(arena);

    text_append_string(&out, first);
    if (value)
        text_append_json(&out, slice_of(value));
    text_append_string(&out, second);
    text_append_json(&out, slice_of(text));
    text_append_string(&out, "}\n");
    fwrite(text_slice(&out).ptr, 1, out.len, stdout);
}

static void print_refused(struct arena *arena, const char *text)
{
    print_line(arena, "{\"refused\":", NULL, "", text);
}

static size_t print_problems(struct arena *arena, const struct problems *problems, const char *first)
{
    size_t errors = 0;

    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        if (problem->warning)
            continue;
        print_line(arena, first, problem->path, ",\"message\":", problem->text);
        errors++;
    }
    return errors;
}

static size_t print_objections(struct arena *arena, const struct session *session)
{
    const struct options no_options = {0};
    struct objection *objections;
    size_t count = report_objections(&no_options, session, &objections);

    for (size_t i = 0; i < count; i++)
        print_refused(arena,
                      arena_printf(arena, "%s (%s)", objections[i].what, origin_text(arena, &objections[i].origin)));
    return count;
}

/* Whether srt would take it; the rest is ours. */
static size_t print_what_srt_says(struct arena *arena, struct slice text)
{
    JSON_CLEANUP json_t *root = NULL;
    struct problems problems = {.arena = arena};
    struct error ignored;

    if (json_parse(text, "", &root, &ignored))
        srt_check_extended(root, "config", &problems);
    return print_problems(arena, &problems, "{\"path\":");
}

/* "-": it may be longer than a word of a command line can be. */
static bool read_config(struct arena *arena, const char *given, struct slice *text, struct error *err)
{
    *text = slice_of(given);
    return strcmp(given, "-") != 0 || fd_read_all(STDIN_FILENO, "the configuration", CONFIG_MAX, arena, text, err);
}

int srt_check_main(struct arena *arena, const char *given)
{
    struct error err = {{0}};
    struct slice text;

    puts("{\"cloche\":\"" CLOCHE_VERSION "\"}");
    if (!read_config(arena, given, &text, &err)) {
        print_refused(arena, err.text);
        return STATUS_NO;
    }
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "config", .text = text};
    const struct session_request request = {.personality = PERSONALITY_SRT,
                                            .extended = true,
                                            .sources = &source,
                                            .source_count = 1,
                                            .environment = environ};
    struct session *session = ARENA_NEW(arena, struct session);

    if (print_what_srt_says(arena, text) > 0)
        return STATUS_NO;
    bool prepared = session_prepare(arena, &request, session, &err);
    size_t errors = print_problems(arena, &session->problems, "{\"own\":true,\"path\":");
    if (!prepared && err.text[0]) {
        print_refused(arena, err.text);
        errors++;
    }
    if (prepared)
        errors += print_objections(arena, session);
    return errors == 0 ? STATUS_OK : STATUS_NO;
}
