/* Git's own way to replace a file, with a copy in the file's stead.
 *
 * The content is copied into the doorman's memory, and there the caller judges it. It is
 * written to a file without a name, and that file put in place by way of the name of the
 * lock, which the host has seen all the time: no name appears that git would not have
 * made.
 *
 * What may go wrong leaves the old file in place; the lock may be gone. */
#include "doorman/replace.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/own_view.h"
#include "doorman/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MODE_OF_NEW = 0644 };

bool replace_is_lock_of(struct slice lock, struct slice path)
{
    return lock.len == path.len + 5 && slice_starts(lock, path) && slice_ends(lock, SLICE(".lock"));
}

int replace_copy(struct arena *arena, int directory, const char *name, size_t most, struct file_copy *copy)
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
    size_t capacity = (size_t)copy->status.st_size < most ? (size_t)copy->status.st_size + 1 : most + 1;
    char *bytes = arena_alloc(arena, capacity);
    while (length < capacity && count != 0) {
        count = read(file, bytes + length, capacity - length);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0)
            length += (size_t)count;
    }
    copy->content = (struct slice){bytes, length};
    return length == capacity && length <= most ? EAGAIN : 0; /* it grows meanwhile */
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
static int put_in_place(int directory, const char *lock, const char *name, const struct file_copy *from,
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
    /* By the time of its index git knows which files it must look into. */
    const struct timespec times[] = {from->status.st_atim, from->status.st_mtim};
    if (from->keeps_time && utimensat(directory, lock, times, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
    return syscall(SYS_renameat2, directory, lock, directory, name, 0) < 0 ? errno : 0;
}

int replace_put(struct house *house, int directory, struct slice path, const struct file_copy *from,
                const struct file_copy *old)
{
    const char *name = path_name(path).ptr;
    char lock[NAME_MAX + sizeof ".lock"];

    snprintf(lock, sizeof lock, "%s.lock", name);
    int error = put_in_place(directory, lock, name, from, old);
    if (error != EROFS)
        return error;
    /* Writable by a pattern alone. */
    FD_CLEANUP int own = own_view_directory(house, directory, path);
    return own < 0 ? error : put_in_place(own, lock, name, from, old);
}
