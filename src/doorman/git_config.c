/* Git's configuration by meaning.
 *
 * Git writes config.lock and renames it to config. Whoever wrote it may hold it
 * open still, and write on behind its new name: so it is never the file itself that
 * gets there. Its content is copied into the doorman's memory, judged there
 * (policy/git_config.h), written to a file without a name, and that file put in
 * place by way of the name config.lock, which the host has seen all the time: no
 * name appears that git would not have made. Nobody of any run is between deciding
 * and acting meanwhile, for the lock is held alone.
 *
 * What may go wrong leaves the old configuration in place; config.lock may be gone. */
#include "doorman/git_config.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "doorman/own_view.h"
#include "doorman/records.h"
#include "doorman/tell.h"
#include "policy/git_config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COPY_MAX = GIT_CONFIG_SIZE_MAX + 1, MODE_OF_NEW = 0644 };

struct file_copy {
    struct slice content;
    struct stat status;
    bool exists;
};

static bool is_lock_of(struct slice lock, struct slice config)
{
    return lock.len == config.len + 5 && slice_starts(lock, config) && slice_ends(lock, SLICE(".lock"));
}

static bool is_meant(struct house *house, struct entry_name *source, const struct entry_name *target)
{
    return source->name.kind == NAME_KNOWN && target->name.kind == NAME_KNOWN && source->exists &&
           is_lock_of(name_slice(&source->name), name_slice(&target->name)) && judge_change(house, source) == 0 &&
           judge_is_git_config(house, &target->name);
}

/* An errno, or 0. Nothing but a file is read, and nothing is waited for. */
static int copy_file(struct arena *arena, int directory, const char *name, struct file_copy *copy)
{
    FD_CLEANUP int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    size_t length = 0;
    ssize_t count = 1;

    *copy = (struct file_copy){.exists = file >= 0};
    if (file < 0)
        return errno == ELOOP || errno == ENXIO ? EACCES : errno; /* a link, a socket */
    if (fstat(file, &copy->status) < 0)
        return errno;
    if (!S_ISREG(copy->status.st_mode))
        return EACCES;
    /* One byte more than there is, or than is ever judged. */
    size_t capacity = copy->status.st_size < COPY_MAX ? (size_t)copy->status.st_size + 1 : COPY_MAX;
    char *bytes = arena_alloc(arena, capacity);
    while (length < capacity && count != 0) {
        count = read(file, bytes + length, capacity - length);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0)
            length += (size_t)count;
    }
    copy->content = (struct slice){bytes, length};
    return length == capacity && length < COPY_MAX ? EAGAIN : 0; /* it grows meanwhile */
}

static bool write_all(int file, struct slice content)
{
    while (content.len) {
        ssize_t count = write(file, content.ptr, content.len);
        if (count < 0 && errno != EINTR)
            return false;
        if (count > 0)
            content = slice_from(content, (size_t)count);
    }
    return true;
}

/* With just this mode: changing it afterwards would be seen by those who watch the
 * directory, under a name that is none. */
static int open_with_mode(int directory, const char *name, int flags, mode_t mode)
{
    mode_t mask = umask(0);
    int file = openat(directory, name, flags | O_WRONLY | O_CLOEXEC, mode);
    int error = errno;

    umask(mask);
    errno = error;
    return file;
}

/* Where they cannot be kept, it is the caller's, as if git had renamed its own. */
static void keep_owners(int directory, const char *name, int file, const struct stat *old)
{
    struct stat status;

    if (fstat(file, &status) < 0 || (status.st_uid == old->st_uid && status.st_gid == old->st_gid))
        return;
    if (fchownat(directory, name, old->st_uid, old->st_gid, AT_SYMLINK_NOFOLLOW) < 0 &&
        fchownat(directory, name, (uid_t)-1, old->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return;
}

/* Puts it there by way of the lock's name. An errno, or 0. */
static int put_in_place(int directory, const char *lock, const char *config, const struct file_copy *from,
                        const struct file_copy *old)
{
    mode_t mode = old->exists ? old->status.st_mode & 0777 : from->status.st_mode & MODE_OF_NEW;
    FD_CLEANUP int file = open_with_mode(directory, ".", O_TMPFILE, mode);
    bool nameless = file >= 0;

    if (!nameless && errno != EOPNOTSUPP && errno != EISDIR)
        return errno;
    if (nameless && !write_all(file, from->content))
        return errno;
    if (unlinkat(directory, lock, 0) < 0)
        return errno;
    if (nameless) {
        if (linkat(AT_FDCWD, worker_number(file).text, directory, lock, AT_SYMLINK_FOLLOW) < 0)
            return errno;
    } else {
        /* A file system that has no files without names. */
        file = open_with_mode(directory, lock, O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (file < 0 || !write_all(file, from->content))
            return errno;
    }
    if (old->exists)
        keep_owners(directory, lock, file, &old->status);
    return syscall(SYS_renameat2, directory, lock, directory, config, 0) < 0 ? errno : 0;
}

/* "a.b, c.d: not among ...; e.f: must be ..." */
static const char *words_of(struct arena *arena, const struct git_config_findings *findings)
{
    struct text words = text_in(arena);

    for (size_t i = 0; i < findings->count; i++) {
        const struct git_config_finding *finding = &findings->items[i];
        bool more = i + 1 < findings->count && strcmp(finding->words, finding[1].words) == 0;
        text_append_string(&words, escaped(arena, finding->name));
        if (more)
            text_append_string(&words, ", ");
        else
            text_appendf(&words, "%s%s%s", finding->name.len ? ": " : "", finding->words,
                         i + 1 < findings->count ? "; " : "");
    }
    if (findings->unsaid)
        text_appendf(&words, "; and %zu more", findings->unsaid);
    return text_slice(&words).ptr;
}

static int replace(struct worker *worker, struct arena *arena, const struct place *place, struct slice lock_path,
                   const struct name *name)
{
    const char *lock = path_name(lock_path).ptr;
    const char *config = path_name(name_slice(name)).ptr;
    struct git_config_verdict verdict;
    struct file_copy from;
    struct file_copy old;

    int error = copy_file(arena, place->directory, lock, &from);
    if (!error)
        error = copy_file(arena, place->directory, config, &old);
    if (error && (error != ENOENT || !from.exists))
        return error;
    git_config_judge(arena, old.content, from.content, &verdict);
    if (verdict.refused.count) {
        tell_git_config(worker, name, RECORD_DENIED, words_of(arena, &verdict.refused));
        return EACCES;
    }
    error = put_in_place(place->directory, lock, config, &from, &old);
    if (error == EROFS) {
        /* Writable by a pattern alone. */
        FD_CLEANUP int own = own_view_directory(worker->house, place->directory, name_slice(name));
        if (own >= 0)
            error = put_in_place(own, lock, config, &from, &old);
    }
    if (!error && verdict.told.count)
        tell_git_config(worker, name, RECORD_OBSERVED, words_of(arena, &verdict.told));
    return error;
}

bool git_config_replace(struct worker *worker, const struct place *place, struct entry_name *source,
                        const struct entry_name *target, struct answer *answer)
{
    ARENA_CLEANUP struct arena arena = {0};

    if (!is_meant(worker->house, source, target))
        return false;
    int error = replace(worker, &arena, place, name_slice(&source->name), &target->name);
    *answer = error ? answer_error(error) : answer_value(0);
    return true;
}

bool git_config_is_probed(const struct worker *worker, int object, const struct entry_name *entry)
{
    struct stat status;

    return worker->request->kind == REQUEST_CHMOD && judge_is_git_config(worker->house, &entry->name) &&
           fstat(object, &status) == 0 && S_ISREG(status.st_mode) &&
           ((worker->request->mode ^ status.st_mode) & 07777 & ~(mode_t)S_IXUSR) == 0;
}
