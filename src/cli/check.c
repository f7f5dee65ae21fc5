/* cloche check: validates policy files as a run would load them.
 *
 * Each file is loaded by itself. What only this host objects to (a required path
 * that is absent here) and what no lock holds yet is listed too, but does not
 * make a file invalid: it may be meant for another host or a later version. */
#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "policy/source.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_problem(struct arena *arena, const struct problem *problem, const char *label)
{
    printf("%s%s%s: %s%s\n", escaped(arena, slice_of(problem->file)), problem->path[0] ? ": " : "", problem->path,
           label, problem->text);
}

/* The name of the system call that was probably meant; NULL if none is near. */
static const char *near_system_call(struct arena *arena, struct slice name)
{
    enum { NUMBERS_MAX = 1024 }; /* beyond every number in use */
    const char **names = arena_alloc(arena, (NUMBERS_MAX + 1) * sizeof *names);
    size_t count = 0;

    for (int number = 0; number < NUMBERS_MAX; number++) {
        char *found = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
        if (found)
            names[count++] = arena_printf(arena, "%s", found);
        free(found);
    }
    names[count] = NULL;
    return did_you_mean(name, names);
}

/* The loader knows how a system call may be spelled, not which ones there are. */
static void check_system_calls(struct session *session, const struct name_rules *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct name_rule *call = &calls->items[i];
        const char *name = arena_slice(session->arena, call->text).ptr;
        if (seccomp_syscall_resolve_name(name) != __NR_SCMP_ERROR)
            continue;
        const char *near = near_system_call(session->arena, call->text);
        problem_add(&session->problems, call->origin.file, call->origin.path,
                    near ? "there is no system call called \"%s\"; did you mean \"%s\"?"
                         : "there is no system call called \"%s\"",
                    name, near);
    }
}

/* What stands between a valid policy and a run of it, here and now. True if
 * nothing does. */
static bool print_obstacles(struct session *session)
{
    const struct options no_options = {0};
    struct arena *arena = session->arena;
    struct objection *objections;
    struct error err = {{0}};
    size_t said = session->problems.count;

    bool resolved = session_resolve(session, session->around.tree);
    for (size_t i = said; i < session->problems.count; i++)
        print_problem(arena, &session->problems.items[i], "on this host: ");
    if (!resolved)
        return false;
    if (!session_plan(session, &err)) {
        printf("on this host: %s\n", err.text);
        return false;
    }
    size_t count = report_objections(&no_options, session, &objections);
    for (size_t i = 0; i < count; i++)
        printf("%s: a run refuses this: %s\n", origin_text(arena, &objections[i].origin), objections[i].what);
    return count == 0;
}

/* True if the file is valid. */
static bool check_file(const char *name)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct policy_source source = policy_source_named(name);
    /* Named, so that a file can be checked from anywhere, $HOME included. */
    struct session_request request = {.project = ".", .sources = &source, .source_count = 1, .environment = environ};
    struct session session;
    struct error err;
    const char *shown = escaped(&arena, slice_of(name));
    bool valid = session_read(&arena, &request, &session, &err);

    if (valid) {
        check_system_calls(&session, &session.policy.seccomp.allow);
        check_system_calls(&session, &session.policy.seccomp.deny);
        valid = session.problems.errors == 0;
    }
    for (size_t i = 0; i < session.problems.count; i++)
        print_problem(&arena, &session.problems.items[i], session.problems.items[i].warning ? "warning: " : "");
    if (err.text[0])
        printf("%s: %s\n", shown, err.text);
    if (valid) {
        bool starts = print_obstacles(&session);
        printf("%s: valid%s\n", shown, starts ? "" : ", but a run refuses it");
        return true;
    }
    if (session.problems.errors > 0)
        printf("%s: %zu problem%s\n", shown, session.problems.errors, session.problems.errors == 1 ? "" : "s");
    return false;
}

int command_check(int argc, char **argv)
{
    struct arguments arguments;
    bool all_valid = true;

    if (!arguments_parse("check", argc, argv, NULL, 0, &arguments))
        return arguments.status;
    if (arguments.word_count == 0) {
        log_error("no file given: cloche check FILE...");
        return STATUS_USAGE;
    }
    for (int i = 0; i < arguments.word_count; i++)
        all_valid = check_file(arguments.words[i]) && all_valid;
    return all_valid ? STATUS_OK : STATUS_NO;
}
