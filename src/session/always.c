/* The file is read anew, changed in memory, checked as a policy, written beside the old one and
 * put in its place by a rename: whoever looks finds the old one or the new one. Only a file of
 * the user's own is changed; not a project's, whose trust would end by it, nor one that was
 * written for another program. */
#include "session/always.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/edit.h"
#include "policy/find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE ".XXXXXX"

enum { POLICY_MAX = 1024 * 1024 };

/* The name itself, links followed as far as there is anything. */
static struct slice followed(struct arena *arena, struct slice path)
{
    struct slice there = path;
    char real[PATH_MAX];

    while (there.len > 1 && !realpath(arena_slice(arena, there).ptr, real))
        there = path_parent(there);
    if (there.len <= 1)
        return path;
    return path_normal(arena, slice_of(arena_string(arena, real)),
                       slice_from(path, there.len + (path.len > there.len)));
}

/* Whoever can write beside the policy gets hold of the file that is to take its place, and what can write above it
 * puts another directory there. What is private to the run is not where the policy lies. */
static bool is_exposed(const struct session *session, struct slice path)
{
    for (; path.len > 1; path = path_parent(path)) {
        struct decision decision = decide_real_path(&session->policy, OPERATION_WRITE, path);
        if (decision.allowed && (decision.backing == BACKING_HOST || decision.backing == BACKING_SESSION))
            return true;
    }
    return false;
}

static const char *governing_file(struct arena *arena, const struct session *session, struct error *err)
{
    const struct policy_source *last = &session->sources[session->source_count - 1];
    bool found = session->request->source_count == 0;

    if (session->around.personality != PERSONALITY_CLOCHE || last->format != FORMAT_CLOCHE) {
        error_set(err, "the policy is not one of cloche's own form");
        return NULL;
    }
    if (last->kind == SOURCE_PRESET && found)
        return policy_users_file(arena, &session->around);
    if (last->kind != SOURCE_FILE) {
        error_set(err, "no policy file governs this run");
        return NULL;
    }
    if (slice_equal(path_name(slice_of(last->name)), SLICE(".cloche.json")) ||
        slice_equal(path_name(slice_of(last->name)), SLICE(".srt-settings.json"))) {
        error_set(err, "%s is not only yours to change", last->name);
        return NULL;
    }
    return last->name;
}

static struct slice absolute(struct arena *arena, const char *name)
{
    char here[PATH_MAX];

    if (name[0] == '/' || !getcwd(here, sizeof here))
        return path_normal(arena, SLICE("/"), slice_of(name));
    return path_normal(arena, slice_of(here), slice_of(name));
}

const char *always_file(struct arena *arena, const struct session *session, struct error *err)
{
    const char *name = governing_file(arena, session, err);

    if (!name)
        return NULL;
    struct slice path = absolute(arena, name);
    struct slice real = followed(arena, path);
    const char *beside = arena_printf(arena, "%.*s" BESIDE, (int)real.len, real.ptr);
    if (is_exposed(session, path) || is_exposed(session, real) || is_exposed(session, slice_of(beside))) {
        error_set(err, ALWAYS_EXPOSED);
        return NULL;
    }
    return name;
}

bool always_lies_below(struct arena *arena, const struct session *session, struct slice path)
{
    struct error ignored;
    const char *name = governing_file(arena, session, &ignored);

    if (!name)
        return false;
    struct slice file = absolute(arena, name);
    return path_covers(path, file) || path_covers(path, followed(arena, file));
}

/* Where there is none yet: what governed until now, and nothing else. */
static struct slice first_policy(struct arena *arena, const struct session *session)
{
    const struct policy_source *source = &session->sources[session->source_count - 1];

    return slice_of(arena_printf(arena, "{\n  \"extends\": [\"preset:%s\"]\n}\n", source->name));
}

struct policy_file {
    const char *path; /* links followed */
    struct slice text;
    mode_t mode;
    bool is_new;
};

static bool read_file(struct arena *arena, const struct session *session, const char *name, struct policy_file *file,
                      struct error *err)
{
    FD_CLEANUP int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char real[PATH_MAX];
    struct stat status;

    *file = (struct policy_file){.path = name, .mode = 0600, .is_new = fd < 0 && errno == ENOENT};
    if (file->is_new && session->sources[session->source_count - 1].kind == SOURCE_PRESET) {
        file->text = first_policy(arena, session);
        return true;
    }
    if (fd < 0 || fstat(fd, &status) < 0 || !realpath(name, real))
        return error_set_errno(err, errno, "cannot read %s", name);
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_size > POLICY_MAX)
        return error_set(err, "%s is not a file of your own, and is left as it is", name);
    char *bytes = arena_alloc(arena, (size_t)status.st_size + 1);
    ssize_t length = read(fd, bytes, (size_t)status.st_size + 1);
    if (length != status.st_size)
        return error_set(err, "%s is being changed by somebody else", name);
    file->path = arena_string(arena, real);
    file->text = (struct slice){bytes, (size_t)length};
    file->mode = status.st_mode & 07777;
    return true;
}

static bool write_file(struct arena *arena, const struct policy_file *file, struct slice text, struct error *err)
{
    char *beside = arena_printf(arena, "%s" BESIDE, file->path);

    if (file->is_new && !directory_make(arena, SLICE("/"), path_parent(slice_of(file->path)), err))
        return false;
    FD_CLEANUP int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot write beside %s", file->path);
    if (fd_write_all(fd, text) && fchmod(fd, file->mode) == 0 && fsync(fd) == 0 && rename(beside, file->path) == 0)
        return true;
    error_set_errno(err, errno, "cannot write %s", file->path);
    unlink(beside);
    return false;
}

static bool check(struct arena *arena, const struct session *session, const char *name, struct slice text,
                  struct error *err)
{
    const struct policy_source source = {.kind = SOURCE_TEXT, .name = name, .text = text};
    const struct policy_request request = {.sources = &source, .source_count = 1};
    struct problems problems = {.arena = arena};
    struct policy policy;

    if (policy_load(arena, &session->around, &request, &policy, &problems))
        return true;
    return error_set(err, "%s would not be a valid policy any more", name);
}

/* A name in which the policy's own signs stand would mean another one there, or many. */
static bool can_be_written(struct slice object)
{
    static const char signs[] = "*?[]{}\\$!";

    for (size_t i = 0; i < object.len; i++) {
        if (memchr(signs, object.ptr[i], sizeof signs)) /* and no NUL */
            return false;
    }
    return object.len > 0;
}

/* A rule speaks of what a link leads to: it would be about something that nobody was asked about. */
static bool is_link_free(struct arena *arena, enum operation operation, struct slice object)
{
    struct stat status;

    if (operation == OPERATION_CONNECT || object.ptr[0] != '/')
        return true;
    return slice_equal(followed(arena, object), object) &&
           !(lstat(arena_slice(arena, object).ptr, &status) == 0 && S_ISLNK(status.st_mode));
}

bool always_add(struct arena *arena, const struct session *session, enum operation operation, struct slice object,
                const char **change, struct error *err)
{
    const char *name = always_file(arena, session, err);
    const char *section = operation == OPERATION_CONNECT || operation == OPERATION_UNIX ? "network" : "filesystem";
    const char *key = operation == OPERATION_CONNECT ? "allowedDomains"
                      : operation == OPERATION_UNIX  ? "allowUnixSockets"
                      : operation == OPERATION_WRITE ? "allowWrite"
                                                     : "allowRead";
    struct policy_file file;
    struct slice edited;

    if (!can_be_written(object))
        return error_set(err, "its name has signs that mean something else in a policy");
    if (!is_link_free(arena, operation, object))
        return error_set(err, "a link stands at its name, or above it");
    if (!name || !read_file(arena, session, name, &file, err) ||
        !edit_add(arena, file.text, name, section, key, object, &edited, err) ||
        !check(arena, session, name, edited, err) || !write_file(arena, &file, edited, err))
        return false;
    *change = arena_printf(arena, "%s%s:\n%s", escaped(arena, slice_of(file.path)), file.is_new ? " (new)" : "",
                           edit_difference(arena, file.is_new ? SLICE("") : file.text, edited));
    return true;
}
