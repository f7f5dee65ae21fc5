/* Files are opened newest first, so that a rotation in between shows one twice (it
 * is then left out) and never hides one. A file that is open stays readable under
 * whatever name it gets; when FILE is another one, what lies between the two is
 * found by looking for the one we have among the rotated ones. */
#include "watch/log_files.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_one(const char *name, struct log_file *file, bool *absent, struct error *err)
{
    FD_CLEANUP int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    *absent = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (*absent)
        return true;
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open the log %s", name);
    if (fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "cannot examine the log %s", name);
    if (!S_ISREG(status.st_mode))
        return error_set(err, "the log %s is not a regular file", name);
    *file = (struct log_file){.fd = fd_take(&fd), .name = name, .device = status.st_dev, .inode = status.st_ino};
    return true;
}

static bool is_same(const struct log_file *a, const struct log_file *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Opens FILE, FILE.1 ... up to one that `known` is, newest first. Returns how many,
 * or -1. `*oldest`: the last one that is kept was among them. */
static int open_newer(struct log_files *files, const struct log_file *known, struct log_file newest[EVENT_LOG_OLD + 1],
                      bool *oldest, struct error *err)
{
    int count = 0;

    *oldest = false;
    for (int age = 0; age <= files->oldest; age++) {
        const char *name = age ? arena_printf(files->arena, "%s.%d", files->path, age) : files->path;
        struct log_file *next = &newest[count];
        bool absent;
        bool good = open_one(name, next, &absent, err);
        if (good && absent)
            continue;
        if (good && known && is_same(next, known)) {
            fd_close(&next->fd);
            break;
        }
        if (good && count && is_same(next, &newest[count - 1])) {
            fd_close(&next->fd);
            continue;
        }
        if (!good) {
            while (count)
                fd_close(&newest[--count].fd);
            return -1;
        }
        *oldest = *oldest || age == EVENT_LOG_OLD;
        count++;
    }
    return count;
}

static bool add_newer(struct log_files *files, const struct log_file *known, bool *oldest, struct error *err)
{
    struct log_file newest[EVENT_LOG_OLD + 1];
    int count = open_newer(files, known, newest, oldest, err);

    if (count < 0)
        return false;
    files->count = 0;
    files->current = 0;
    while (count)
        files->files[files->count++] = newest[--count];
    return true;
}

bool log_files_open(struct arena *arena, const char *path, enum log_files_kind kind, struct log_files *files,
                    struct error *err)
{
    files->oldest = kind == LOG_FILES_ROTATED ? EVENT_LOG_OLD : 0;
    files->arena = arena;
    files->path = path;
    files->count = 0;
    files->current = 0;
    files->unread = (struct slice){files->buffer, 0};
    memset(&files->lines, 0, offsetof(struct log_lines, bytes));
    return add_newer(files, NULL, &files->older_gone, err);
}

/* More bytes of the current file; false at its end. */
static bool fill(struct log_files *files, bool *good, struct error *err)
{
    struct log_file *file = &files->files[files->current];
    ssize_t got;

    do
        got = read(file->fd, files->buffer, sizeof files->buffer);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        *good = error_set_errno(err, errno, "cannot read the log %s", file->name);
    if (got <= 0)
        return false;
    files->unread = (struct slice){files->buffer, (size_t)got};
    return true;
}

bool log_files_next(struct log_files *files, struct slice *line, struct error *err)
{
    bool good = true;

    err->text[0] = '\0';
    while (files->current < files->count) {
        if (log_lines_next(&files->lines, &files->unread, line))
            return true;
        if (fill(files, &good, err))
            continue;
        if (!good || files->current + 1 == files->count)
            return false;
        /* A file that was rotated away gets no more lines. */
        log_lines_end(&files->lines);
        files->lines.number = 0;
        fd_close(&files->files[files->current].fd);
        files->current++;
    }
    return false;
}

/* Somebody emptied the file under us: what is written now begins at its start. */
static void rewind_if_shorter(const struct log_file *file)
{
    struct stat status;

    if (fstat(file->fd, &status) == 0 && status.st_size < lseek(file->fd, 0, SEEK_CUR))
        lseek(file->fd, 0, SEEK_SET);
}

bool log_files_renew(struct log_files *files, struct error *err)
{
    struct log_file known = files->count ? files->files[files->current] : (struct log_file){.fd = -1};
    struct stat status;
    bool oldest;

    if (stat(files->path, &status) < 0)
        return errno == ENOENT || errno == ENOTDIR ||
               error_set_errno(err, errno, "cannot look at the log %s", files->path);
    if (files->count && status.st_dev == known.device && status.st_ino == known.inode) {
        rewind_if_shorter(&known);
        return true;
    }
    if (!add_newer(files, files->count ? &known : NULL, &oldest, err))
        return false;
    /* What the old file still holds comes first. */
    if (known.fd >= 0) {
        memmove(files->files + 1, files->files, files->count * sizeof *files->files);
        files->files[0] = known;
        files->count++;
    }
    return true;
}

const char *log_files_name(const struct log_files *files)
{
    return files->current < files->count ? files->files[files->current].name : files->path;
}

void log_files_close(struct log_files *files)
{
    while (files->count > files->current)
        fd_close(&files->files[--files->count].fd);
    files->count = 0;
}
