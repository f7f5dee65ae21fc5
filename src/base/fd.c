#include "base/fd.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_close(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

bool fd_close_others(const int *kept, size_t count)
{
    unsigned from = STDERR_FILENO + 1;

    for (size_t i = 0; i < count; i++) {
        unsigned fd = (unsigned)kept[i];
        if (fd > from && close_range(from, fd - 1, 0) < 0)
            return false;
        from = fd + 1;
    }
    return close_range(from, ~0U, 0) == 0;
}

bool fd_is_same_file(int a, int b)
{
    struct stat one;
    struct stat other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool fd_read_all(int fd, const char *name, size_t limit, struct arena *arena, struct slice *content, struct error *err)
{
    char *bytes = NULL;
    size_t len = 0;
    size_t capacity = 0;

    for (;;) {
        bytes = arena_grow(arena, bytes, len, len + 4096, &capacity, 1);
        ssize_t got = read(fd, bytes + len, capacity - len - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, errno, "cannot read %s", name);
        if (got == 0)
            break;
        len += (size_t)got;
        if (len > limit)
            return error_set(err, "cannot read %s: it is larger than %zu bytes", name, limit);
    }
    bytes[len] = '\0';
    *content = (struct slice){bytes, len};
    return true;
}

bool file_read(const char *path, size_t limit, struct arena *arena, struct slice *content, bool *absent,
               struct error *err)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (absent)
        *absent = false;
    if (fd < 0) {
        if (absent && (errno == ENOENT || errno == ENOTDIR)) {
            *absent = true;
            return false;
        }
        return error_set_errno(err, errno, "cannot open %s", path);
    }
    if (fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect %s", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, "cannot read %s: it is not a regular file (a policy must be one)", path);
    return fd_read_all(fd, path, limit, arena, content, err);
}

DIR *fd_list(int fd)
{
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);

    if (!entries)
        fd_close(&fd);
    return entries;
}

bool fd_write_all(int fd, struct slice content)
{
    while (content.len > 0) {
        ssize_t written = write(fd, content.ptr, content.len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO;
        if (written <= 0)
            return false;
        content = slice_from(content, (size_t)written);
    }
    return true;
}

bool directory_make(struct arena *arena, struct slice from, struct slice path, struct error *err)
{
    for (size_t depth = path_depth(from) + 1; depth <= path_depth(path); depth++) {
        const char *name = arena_slice(arena, path_prefix(path, depth)).ptr;
        if (mkdir(name, 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "cannot make the directory %s", name);
    }
    return true;
}

bool terminal_takes_sequences(void)
{
    const char *kind = getenv("TERM");

    return kind && *kind && strcmp(kind, "dumb") != 0;
}

bool fd_wants_colour(int fd)
{
    const char *unwanted = getenv("NO_COLOR");

    return !(unwanted && *unwanted) && terminal_takes_sequences() && isatty(fd);
}
