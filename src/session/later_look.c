/* Looked at from outside, once nothing of the run is left that could exchange
 * what is looked at: each name that was told, and no others. Links are not
 * followed, nothing is opened that could keep us waiting, and of a file no more
 * is read than a bound. What cannot be read, or not be understood, is told of:
 * whoever made it so may have had a reason.
 *
 * What runs nothing is left out: git makes a configuration and a directory for
 * hooks in every new repository. */
#include "session/later.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/map.h"
#include "base/path.h"
#include "base/text.h"
#include "doorman/records.h"
#include "policy/git_config.h"
#include "policy/later.h"
#include "policy/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ENTRIES_MAX = 1000,
    CONTENT_MAX = GIT_CONFIG_SIZE_MAX,
    /* Of all packages together: whoever waits for the run to end waits for this. */
    PACKAGES_MAX = 4 * 1024 * 1024
};

struct look {
    struct arena arena; /* for what was told of */
    struct map told;
    size_t packages_left;
    void (*tell)(void *argument, const struct event *event);
    void *argument;
};

static int open_plainly(struct slice path, int flags)
{
    struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, AT_FDCWD, path.ptr, &how, sizeof how);
}

/* The first entry of a directory that git does not put there by itself; false if there is none. */
static bool first_entry(struct arena *arena, struct slice path, struct slice *name)
{
    DIR *entries = fd_list(open_plainly(path, O_RDONLY | O_DIRECTORY));
    bool found = false;
    struct dirent *entry;

    if (!entries)
        return false;
    for (int i = 0; !found && i < ENTRIES_MAX && (entry = readdir(entries)); i++) {
        *name = slice_of(entry->d_name);
        found = !slice_is(*name, ".") && !slice_is(*name, "..") && !slice_ends(*name, SLICE(".sample"));
    }
    if (found)
        *name = arena_slice(arena, *name);
    closedir(entries);
    return found;
}

/* Words if it cannot be read; NULL: `content` is what is in it. */
static const char *read_content(struct arena *arena, struct slice path, struct slice *content)
{
    FD_CLEANUP int fd = open_plainly(path, O_RDONLY);

    if (fd < 0)
        return "it cannot be read, so nobody knows what it runs";
    if (!fd_read_all(fd, path.ptr, CONTENT_MAX, arena, content, NULL))
        return "it is too large to be looked through, so nobody knows what it runs";
    return NULL;
}

/* A clone of a directory here names it: not what an old repository may be led to,
 * but what every such clone has. */
static bool names_a_directory(const struct git_config *config, struct slice name)
{
    bool found = false;

    for (size_t i = 0; i < config->count; i++) {
        const struct git_config_entry *entry = &config->entries[i];
        if (!slice_equal(entry->name, name))
            continue;
        if (!slice_is(entry->section, "remote") || !slice_is(entry->key, "url") ||
            !slice_starts(entry->value, SLICE("/")))
            return false;
        found = true;
    }
    return found;
}

/* A repository inside another one is asked for its state whenever the outer one is. */
static const char *git_config_words(struct arena *arena, struct slice path)
{
    struct git_config_verdict verdict = {0};
    struct git_config config = {0};
    struct text out = text_in(arena);
    struct slice content;
    const char *words = read_content(arena, path, &content);

    if (words)
        return words;
    git_config_judge(arena, SLICE(""), content, &verdict);
    if (!git_config_read(arena, content, &config, NULL))
        config.count = 0;
    for (size_t i = 0; i < verdict.refused.count; i++) {
        const struct git_config_finding *finding = &verdict.refused.items[i];
        if (names_a_directory(&config, finding->name))
            continue;
        text_append_string(&out, out.len ? ", " : "git obeys it, also when called in a directory above: ");
        text_append(&out, finding->name.len ? finding->name : slice_of(finding->words));
    }
    return out.ptr;
}

/* Scripts that npm runs by itself when a package is installed. */
static const char *package_words(struct look *look, struct arena *arena, struct slice path)
{
    static const char *const names[] = {"preinstall", "install",     "postinstall", "prepare",
                                        "preprepare", "postprepare", "prepublish"};
    JSON_CLEANUP json_t *package = NULL;
    struct slice content;
    const char *words = read_content(arena, path, &content);

    if (words)
        return words;
    if (content.len > look->packages_left)
        return "there are too many packages to look through them all";
    look->packages_left -= content.len;
    if (!json_parse(content, path.ptr, &package, NULL))
        return "it is not plain JSON, so nobody knows what npm runs when it is installed";
    const json_t *scripts = json_object_get(package, "scripts");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (json_object_get(scripts, names[i]))
            return arena_printf(arena, "npm runs its script \"%s\" when it is installed", names[i]);
    }
    return NULL;
}

static bool has_command(struct slice line, struct slice command)
{
    return slice_starts(line, command) && line.len > command.len && strchr(" \t", line.ptr[command.len]);
}

/* What git goes on with when a rebase is continued. */
static const char *todo_words(struct arena *arena, struct slice path)
{
    struct slice content;
    const char *words = read_content(arena, path, &content);

    while (!words && content.len > 0) {
        struct slice line = {content.ptr, slice_find(content, '\n')};
        content = slice_from(content, line.len < content.len ? line.len + 1 : line.len);
        while (line.len > 0 && line.ptr[0] && strchr(" \t\r\v\f", line.ptr[0]))
            line = slice_from(line, 1);
        if (has_command(line, SLICE("exec")) || has_command(line, SLICE("x")))
            words = "git runs a command in it when the rebase is continued";
    }
    return words;
}

static const char *strategy_words(struct arena *arena, struct slice name)
{
    return later_is_own_strategy(name)
               ? NULL
               : arena_printf(arena, "git runs a program called git-merge-%s when this is continued",
                              escaped(arena, name));
}

static const char *strategy_file_words(struct arena *arena, struct slice path)
{
    struct slice content;
    const char *words = read_content(arena, path, &content);

    return words ? words : strategy_words(arena, (struct slice){content.ptr, slice_find(content, '\n')});
}

/* Of a cherry-pick: written like a configuration. */
static const char *options_words(struct arena *arena, struct slice path)
{
    struct git_config config = {0};
    struct slice content;
    const char *words = read_content(arena, path, &content);

    if (!words && !git_config_read(arena, content, &config, NULL))
        words = "git may read more in it than can be read here";
    for (size_t i = 0; !words && i < config.count; i++) {
        if (slice_is(config.entries[i].name, "options.strategy"))
            words = strategy_words(arena, config.entries[i].value);
    }
    return words;
}

static const char *sequence_words(struct arena *arena, struct slice path)
{
    struct slice name = path_name(path);

    if (slice_is(name, "git-rebase-todo"))
        return todo_words(arena, path);
    return slice_is(name, "opts") ? options_words(arena, path) : strategy_file_words(arena, path);
}

static bool is_git_config(struct slice path)
{
    return slice_is(path_name(path), "config") || slice_is(path_name(path), "config.worktree");
}

static const char *directory_words(struct arena *arena, const struct event *event)
{
    struct slice name;

    /* What is made in one tells of itself, and what makes a git directory of it, too. */
    return slice_starts(event->op, SLICE("rename")) && !protect_is_git_pointer(event->object) &&
                   first_entry(arena, event->object, &name)
               ? "what is in it came with it"
               : NULL;
}

/* NULL: it is gone, or runs nothing. */
static const char *words_for(struct look *look, struct arena *arena, const struct event *event)
{
    struct slice name = path_name(event->object);
    struct stat status;

    if (lstat(event->object.ptr, &status) < 0)
        return NULL;
    if (S_ISDIR(status.st_mode))
        return directory_words(arena, event);
    if (slice_is(name, "package.json"))
        return S_ISREG(status.st_mode) ? package_words(look, arena, event->object) : NULL;
    if (slice_is(event->reason, RECORD_ON_PATH))
        return S_ISLNK(status.st_mode) || (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))
                   ? "a program in a directory of $PATH"
                   : NULL;
    if (later_is_sequence(event->object) && S_ISREG(status.st_mode))
        return sequence_words(arena, event->object);
    if (is_git_config(event->object) && S_ISREG(status.st_mode))
        return git_config_words(arena, event->object);
    if (protect_is_git_pointer(event->object))
        return "git takes its configuration from where this leads";
    const char *words = later_words(event->object);
    return words ? words : "a name that the host would run or obey";
}

static void tell_once(struct look *look, const struct event *event, struct slice object, const char *words)
{
    struct event told = *event;

    if (!words || map_get(&look->told, object))
        return;
    *map_at(&look->told, arena_slice(&look->arena, object)) = look;
    told.object = object;
    told.reason = slice_of(words);
    look->tell(look->argument, &told);
}

static void look_at_name(struct look *look, const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};

    tell_once(look, event, event->object, words_for(look, &arena, event));
}

/* A git directory that need not be called .git: what git runs there. */
static void look_at_git(struct look *look, const struct event *event)
{
    static const char *const configs[] = {"config", "config.worktree"};
    struct arena arena ARENA_CLEANUP = {0};
    struct stat status;
    struct slice name;

    if (lstat(path_join(&arena, event->object, SLICE("HEAD")).ptr, &status) < 0)
        return;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct slice path = path_join(&arena, event->object, slice_of(configs[i]));
        if (lstat(path.ptr, &status) == 0)
            tell_once(look, event, path,
                      S_ISREG(status.st_mode) ? git_config_words(&arena, path) : "git obeys what this leads to");
    }
    struct slice hooks = path_join(&arena, event->object, SLICE("hooks"));
    if (lstat(hooks.ptr, &status) < 0)
        return;
    if (!S_ISDIR(status.st_mode))
        tell_once(look, event, hooks, "git runs what this leads to");
    else if (first_entry(&arena, hooks, &name))
        tell_once(look, event, path_join(&arena, hooks, name), "git runs what is in this directory");
}

static void tell_unseen(const struct later *later, struct slice project, const struct look *look)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (later->unseen > 0)
        look->tell(look->argument,
                   &(struct event){
                       .kind = EVENT_EXEC_LATER,
                       .verdict = EVENT_OBSERVED,
                       .object = project,
                       .reason = slice_of(arena_printf(
                           &arena, "and %zu more names that were not looked at: too many were made", later->unseen))});
}

void later_look(struct later *later, struct slice project, void (*tell)(void *argument, const struct event *event),
                void *argument)
{
    struct look look = {.packages_left = PACKAGES_MAX, .tell = tell, .argument = argument};

    look.told = map_in(&look.arena);
    later_settle(later);
    /* First, for a summary shows only the first ones. */
    tell_unseen(later, project, &look);
    for (size_t i = 0; i < later->count; i++) {
        if (!slice_is(later->items[i].reason, RECORD_GIT))
            look_at_name(&look, &later->items[i]);
    }
    for (size_t i = 0; i < later->count; i++) {
        if (slice_is(later->items[i].reason, RECORD_GIT))
            look_at_git(&look, &later->items[i]);
    }
    arena_free(&look.arena);
}
