/* The plan as a command line of bubblewrap, for those who want to compare, or have
 * nothing else. It is the nearest one: what it leaves open is said before it, in
 * comments, so that the whole is a shell script.
 *
 * Where bubblewrap could only do something that shows more than the plan does, the
 * stricter thing is printed. Needs bubblewrap 0.8. */
#include "plan/bwrap.h"

#include "base/text.h"

#include <string.h>

struct missing {
    bool pins, overlays, empty_files, copies;
};

static void word(struct text *out, struct arena *arena, struct slice value)
{
    text_appendf(out, " %s", shell_word(arena, arena_slice(arena, value).ptr));
}

static void option(struct text *out, struct arena *arena, const char *name, struct slice value)
{
    text_appendf(out, " \\\n    %s", name);
    word(out, arena, value);
}

static void bind(struct text *out, struct arena *arena, const char *name, struct slice path)
{
    option(out, arena, name, path);
    word(out, arena, path);
}

static void print_entries(const struct step *step, struct arena *arena, struct text *out)
{
    for (size_t i = 0; i < step->entry_count; i++) {
        const struct entry *entry = &step->entries[i];
        switch (entry->kind) {
        case ENTRY_DIRECTORY:
            option(out, arena, "--dir", entry->path);
            break;
        case ENTRY_LINK:
            option(out, arena, "--symlink", entry->target);
            word(out, arena, entry->path);
            break;
        case ENTRY_DEVICE:
            bind(out, arena, "--dev-bind-try", entry->path);
            break;
        case ENTRY_FILE:
            break; /* a place to attach to, which bubblewrap makes by itself */
        }
    }
}

static void print_tmpfs(const struct step *step, struct arena *arena, struct text *out)
{
    /* The entries of others have to be made in it first: what the mode is meant to keep out is kept out by its being
     * read-only. */
    text_appendf(out, " \\\n    --perms %04o --tmpfs", step->mode);
    word(out, arena, step->path);
    print_entries(step, arena, out);
}

static void print_step(const struct step *step, struct arena *arena, struct missing *missing, struct text *out)
{
    switch (step->kind) {
    case STEP_ROOT:
    case STEP_BIND:
        if (step->judged) {
            print_tmpfs(step, arena, out);
            break;
        }
        bind(out, arena, step->writable ? "--bind" : "--ro-bind", step->path);
        break;
    case STEP_ROOT_EMPTY:
        print_entries(step, arena, out);
        break;
    case STEP_HIDE_DIRECTORY:
    case STEP_PRIVATE:
    case STEP_SESSION:
        print_tmpfs(step, arena, out);
        break;
    case STEP_EMPTY_FILE:
        missing->empty_files = true;
        /* fall through */
    case STEP_HIDE_FILE:
        option(out, arena, "--ro-bind /dev/null", step->path);
        break;
    case STEP_OVERLAY:
        missing->overlays = true;
        bind(out, arena, "--ro-bind", step->path);
        break;
    case STEP_DEVICES:
        text_append_string(out, " \\\n    --dev /dev");
        print_entries(step, arena, out);
        break;
    case STEP_PROC:
        text_append_string(out, " \\\n    --proc /proc");
        break;
    case STEP_PROC_OF_HOST:
        text_append_string(out, " \\\n    --ro-bind /proc /proc");
        break;
    case STEP_PIN:
        missing->pins = true;
        break;
    case STEP_COPY:
        missing->copies = true;
        break;
    }
}

/* What was made writable only so that mounts find their places, innermost first. */
static void print_remounts(const struct plan *plan, struct arena *arena, struct text *out)
{
    for (size_t i = plan->step_count; i-- > 0;) {
        const struct step *step = &plan->steps[i];
        if (step->kind == STEP_HIDE_DIRECTORY || step->kind == STEP_ROOT_EMPTY || step->judged ||
            (step->kind == STEP_PRIVATE && !step->writable))
            option(out, arena, "--remount-ro", step->path);
    }
}

static const char *value_in(char *const *environment, struct slice name)
{
    for (; *environment; environment++) {
        struct slice pair = slice_of(*environment);
        if (slice_starts(pair, name) && pair.len > name.len && pair.ptr[name.len] == '=')
            return pair.ptr + name.len + 1;
    }
    return NULL;
}

static bool is_shell_name(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.ptr[i];
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
        if (!letter && (i == 0 || byte < '0' || byte > '9'))
            return false;
    }
    return name.len > 0;
}

/* A value that is handed on is named, not printed: it may be a secret. */
static void print_environment(const struct plan *plan, char *const *outside, struct arena *arena, struct text *out)
{
    text_append_string(out, " \\\n    --clearenv");
    for (size_t i = 0; i < plan->environment_count; i++) {
        struct slice pair = slice_of(plan->environment[i]);
        struct slice name = {pair.ptr, slice_find(pair, '=')};
        struct slice value = name.len < pair.len ? slice_from(pair, name.len + 1) : SLICE("");
        const char *same = value_in(outside, name);

        option(out, arena, "--setenv", name);
        if (same && slice_is(value, same) && is_shell_name(name))
            text_appendf(out, " \"$%.*s\"", (int)name.len, name.ptr);
        else
            word(out, arena, value);
    }
}

static void note(struct text *out, const char *words)
{
    text_appendf(out, "#   - %s\n", words);
}

static void print_missing(const struct plan *plan, const struct missing *missing, struct text *out)
{
    text_append_string(out, "# The nearest that bubblewrap (0.8 or later) comes to this run. It cannot express:\n");
    if (plan->network == NETWORK_FILTERED)
        note(out, "the network by name: here there is none at all");
    if (plan->doorman.files)
        note(out, "names that do not exist yet: protected names can be made, patterns hold for what exists now");
    if (plan->doorman.performs_reads)
        note(out,
             "patterns over what may be read, and hidden paths to come: what they hide can be read, what they show "
             "inside of something hidden cannot");
    if (plan->doorman.sockets)
        note(out, "single sockets of the host: every one that is in sight can be connected to");
    if (missing->pins)
        note(out, "that directories with something protected in them cannot be renamed away");
    if (missing->overlays)
        note(out,
             "private copies of caches (bubblewrap 0.11: --overlay-src PATH --tmp-overlay PATH): they are read-only");
    if (missing->empty_files)
        note(out, "files that read as empty: they cannot be read");
    if (missing->copies)
        note(out, "files of root's shown as your own (ssh may refuse its configuration)");
    if (plan->rlimit_count || plan->wall_seconds || plan->memory.value || plan->processes.value)
        note(out, "limits");
    note(out, "a second lock behind the mounts (Landlock), and the filter of system calls (bring one: --seccomp FD)");
    note(out, "the parts of /proc that are hidden or read-only; events, and what they tell");
}

void plan_print_bwrap(const struct plan *plan, char *const *outside, char *const *command, struct text *out)
{
    struct arena *arena = plan->arena;
    struct text line = text_in(arena);
    struct missing missing = {0};

    text_append_string(&line, "bwrap --unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try");
    if (plan->network != NETWORK_HOST)
        text_append_string(&line, " --unshare-net");
    text_append_string(&line, " \\\n    --die-with-parent --new-session --cap-drop ALL");
    if (!plan->nested_user_namespaces)
        text_append_string(&line, " --disable-userns");
    for (size_t i = 0; i < plan->step_count; i++)
        print_step(&plan->steps[i], arena, &missing, &line);
    print_remounts(plan, arena, &line);
    print_environment(plan, outside, arena, &line);
    option(&line, arena, "--chdir", plan->working_directory);
    text_append_string(&line, " \\\n    --");
    for (char *const *argument = command; argument && *argument; argument++)
        word(&line, arena, slice_of(*argument));
    if (!command || !*command)
        text_append_string(&line, " \"${SHELL:-/bin/sh}\"");
    print_missing(plan, &missing, out);
    text_append(out, text_slice(&line));
    text_append_byte(out, '\n');
}
