/* Looked at from outside, once nothing of the run is left that could exchange
 * what is looked at: each name that was told, and no others. Links are not
 * followed, nothing is opened that could keep us waiting, and of a file no more
 * is read than a bound.
 *
 * What runs nothing is left out: git makes a configuration and a directory for
 * hooks in every new repository. */
#include "session/later.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "doorman/records.h"
#include "policy/git_config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES_MAX = 1000, CONTENT_MAX = GIT_CONFIG_SIZE_MAX };

void later_note(struct later *later, const struct event *event)
{
    if (!later->known.arena)
        later->known = map_in(&later->arena);
    if (event->object.len == 0 || map_get(&later->known, event->object))
        return;
    if (later->count == LATER_MAX)
        return;
    struct event *kept = &later->items[later->count++];
    *kept = *event;
    kept->object = arena_slice(&later->arena, event->object);
    kept->op = arena_slice(&later->arena, event->op);
    kept->program = arena_slice(&later->arena, event->program);
    kept->parent_program = arena_slice(&later->arena, event->parent_program);
    kept->reason = arena_slice(&later->arena, event->reason);
    *map_at(&later->known, kept->object) = kept;
}

static int open_plainly(struct slice path, int flags)
{
    struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, AT_FDCWD, path.ptr, &how, sizeof how);
}

/* Does a directory that was moved here hold anything that git does not put there
 * by itself? What is made in one tells of itself. */
static bool holds_anything(struct slice path)
{
    int fd = open_plainly(path, O_RDONLY | O_DIRECTORY);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    bool found = false;
    struct dirent *entry;

    if (!entries) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (int i = 0; !found && i < ENTRIES_MAX && (entry = readdir(entries)); i++)
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                !slice_ends(slice_of(entry->d_name), SLICE(".sample"));
    closedir(entries);
    return found;
}

static bool read_content(struct arena *arena, struct slice path, struct slice *content)
{
    FD_CLEANUP int fd = open_plainly(path, O_RDONLY);

    return fd >= 0 && fd_read_all(fd, path.ptr, CONTENT_MAX, arena, content, NULL);
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

static const char *git_config_words(struct arena *arena, struct slice path)
{
    struct git_config_verdict verdict = {0};
    struct git_config config = {0};
    struct text out = text_in(arena);
    struct slice content;

    if (!read_content(arena, path, &content))
        return NULL;
    git_config_judge(arena, SLICE(""), content, &verdict);
    if (!git_config_read(arena, content, &config, NULL))
        config.count = 0;
    for (size_t i = 0; i < verdict.refused.count; i++) {
        const struct git_config_finding *finding = &verdict.refused.items[i];
        if (names_a_directory(&config, finding->name))
            continue;
        text_append_string(&out, out.len ? ", " : "git obeys it: ");
        text_append(&out, finding->name.len ? finding->name : slice_of(finding->words));
    }
    return out.ptr;
}

/* Scripts that npm runs by itself when a package is installed. */
static const char *package_words(struct arena *arena, struct slice path)
{
    static const char *const scripts[] = {"\"preinstall\"", "\"install\"",     "\"postinstall\"", "\"prepare\"",
                                          "\"preprepare\"", "\"postprepare\"", "\"prepublish\""};
    struct slice content;

    if (!read_content(arena, path, &content))
        return NULL;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        size_t length = strlen(scripts[i]);
        const char *found = memmem(content.ptr, content.len, scripts[i], length);
        if (!found)
            continue;
        struct slice rest = slice_from(content, (size_t)(found - content.ptr) + length);
        while (rest.len > 0 && strchr(" \t\r\n", rest.ptr[0]) && rest.ptr[0])
            rest = slice_from(rest, 1);
        if (rest.len > 0 && rest.ptr[0] == ':')
            return arena_printf(arena, "npm runs its script %s when it is installed", scripts[i]);
    }
    return NULL;
}

static bool is_git_config(struct slice path)
{
    return slice_is(path_name(path), "config") || slice_is(path_name(path), "config.worktree");
}

/* NULL: it is gone, or runs nothing. */
static const char *words_for(struct arena *arena, const struct event *event)
{
    struct stat status;

    if (lstat(event->object.ptr, &status) < 0)
        return NULL;
    if (S_ISDIR(status.st_mode))
        return slice_starts(event->op, SLICE("rename")) && holds_anything(event->object) ? "what is in it came with it"
                                                                                         : NULL;
    if (slice_is(path_name(event->object), "package.json"))
        return S_ISREG(status.st_mode) ? package_words(arena, event->object) : NULL;
    if (slice_is(event->reason, RECORD_ON_PATH))
        return S_ISLNK(status.st_mode) || (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))
                   ? "a program in a directory of $PATH"
                   : NULL;
    if (is_git_config(event->object) && S_ISREG(status.st_mode))
        return git_config_words(arena, event->object);
    return "a name that the host would run or obey";
}

void later_look(struct later *later, void (*tell)(void *argument, const struct event *event), void *argument)
{
    for (size_t i = 0; i < later->count; i++) {
        struct arena arena ARENA_CLEANUP = {0};
        struct event event = later->items[i];
        const char *words = words_for(&arena, &event);
        if (!words)
            continue;
        event.reason = slice_of(words);
        tell(argument, &event);
    }
}

void later_close(struct later *later)
{
    arena_free(&later->arena);
}
