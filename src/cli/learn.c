/* cloche learn: runs a command where it may do nearly everything that is not
 * secret and nothing of it stays, but in the project; watches; and writes the
 * policy under which it needs no more than it did. Enforced while it watches: what
 * is secret or protected is refused as in any run. */
#include "watch/learn.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char freedom[] = "{\"extends\": [], \"network\": {\"mode\": \"filtered\", \"allowedDomains\": [\"*\"]}, "
                              "\"violation\": {\"watch\": \"all\"}}";

struct lesson_plan {
    const char *output; /* -o; NULL: standard error */
    const char *const *extends;
    size_t extend_count;
    bool learned;
};

/* O_EXCL: the command may have made something of that name meanwhile. */
static bool write_policy(const char *file, struct slice content)
{
    FD_CLEANUP int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd < 0 || !fd_write_all(fd, content)) {
        log_error("cannot write %s: %s", file, strerror(errno));
        return false;
    }
    log_warning("wrote %s; read it, then: cloche run -s %s ...", file, file);
    return true;
}

static struct slice command_text(struct arena *arena, const struct session *session)
{
    struct text out = text_in(arena);

    for (char *const *word = session->around.command; word && *word; word++)
        text_appendf(&out, "%s%s", out.len ? " " : "", shell_word(arena, *word));
    return text_slice(&out);
}

/* As a block of lines, each of which says who speaks. */
static void say_lines(struct slice text)
{
    while (text.len > 0) {
        size_t length = slice_find(text, '\n');
        log_warning("%.*s", (int)length, text.ptr);
        text = slice_from(text, length < text.len ? length + 1 : length);
    }
}

static void conclude(void *argument, const struct session *session, const struct watch *watch, int status)
{
    struct lesson_plan *plan = argument;
    struct arena arena ARENA_CLEANUP = {0};
    struct lessons lessons = {.arena = &arena};
    struct text report = text_in(&arena);
    struct text policy = text_in(&arena);
    const struct learning learning = {.policy = &session->policy, .tree = session->tree, .succeeded = status == 0};
    uint64_t unkept = 0;

    if (!session->plan.doorman.reads) {
        log_error("nothing was learned: %s", session->plan.no_doorman ? session->plan.no_doorman : "nothing watched");
        return;
    }
    learn(&learning, watch, &lessons);
    lessons_write_report(&lessons, &report);
    say_lines(text_slice(&report));
    for (int kind = 0; kind < EVENT_KINDS; kind++)
        unkept += watch->unkept[kind];
    if (unkept > 0)
        log_error("%llu more things were done than could be kept: learn again with this policy (-s)",
                  (unsigned long long)unkept);
    if (status != 0)
        log_error("the command ended with %d: what it would have done after that is not known", status);
    lessons_write_policy(&lessons, command_text(&arena, session), plan->extends, plan->extend_count, &policy);
    if (plan->output)
        plan->learned = write_policy(plan->output, text_slice(&policy));
    else
        plan->learned = fd_write_all(STDERR_FILENO, text_slice(&policy));
}

/* What was given, or dev; and freedom upon it. */
static void choose_sources(struct arena *arena, struct options *options, struct lesson_plan *plan)
{
    size_t given = options->request.source_count;
    struct policy_source *sources = arena_alloc(arena, (given + 2) * sizeof *sources);
    const char **extends = arena_alloc(arena, (given + 1) * sizeof *extends);
    char path[PATH_MAX];
    size_t count = 0;

    if (given == 0)
        sources[count++] = (struct policy_source){.kind = SOURCE_PRESET, .name = "dev"};
    for (size_t i = 0; i < given; i++)
        sources[count++] = options->request.sources[i];
    for (size_t i = 0; i < count; i++) {
        if (sources[i].kind == SOURCE_PRESET)
            extends[plan->extend_count++] = arena_printf(arena, "preset:%s", sources[i].name);
        else if (sources[i].kind == SOURCE_FILE && realpath(sources[i].name, path))
            extends[plan->extend_count++] = arena_string(arena, path);
    }
    sources[count++] =
        (struct policy_source){.kind = SOURCE_TEXT, .name = "what is learned from", .text = slice_of(freedom)};
    plan->extends = extends;
    options->request.sources = sources;
    options->request.source_count = count;
}

int command_learn(int argc, char **argv)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct options options;
    struct error err;
    struct lesson_plan plan = {0};
    struct stat status;

    if (!options_parse(&arena, OPTIONS_FOR_LEARN, argc, argv, &options, &err)) {
        log_error("%s", err.text);
        return STATUS_REFUSED;
    }
    if (options.help)
        return help_print("learn") ? STATUS_OK : STATUS_REFUSED;
    log_set_level(options.level);
    plan.output = options.output;
    if (!options.request.command) {
        log_error("no command given: cloche learn [-o FILE] [OPTIONS] [--] COMMAND [ARG...]; see cloche learn --help");
        return STATUS_REFUSED;
    }
    if (plan.output && lstat(plan.output, &status) == 0) {
        log_error("%s is there already and was left as it is", plan.output);
        return STATUS_REFUSED;
    }
    if (options.request.backend != BACKEND_NAMESPACES) {
        log_error("learning needs namespaces: what is written has to be kept apart (--backend namespaces)");
        return STATUS_REFUSED;
    }
    options.automatic = false;
    choose_sources(&arena, &options, &plan);
    options.request.learn = conclude;
    options.request.argument = &plan;
    int ended = run_command(&arena, &options);
    return ended == STATUS_OK && !plan.learned ? STATUS_NO : ended;
}
