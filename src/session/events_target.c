/* Nothing that the command can write to itself is taken: a line there would prove
 * nothing. So a descriptor must not be one that it is given, and a file is kept
 * read-only inside (policy/built_in.c). */
#include "session/events_target.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard(const struct stat *status)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat standard;
        if (fstat(fd, &standard) == 0 && standard.st_dev == status->st_dev && standard.st_ino == status->st_ino)
            return true;
    }
    return false;
}

static bool check(int fd, const char *shown, struct error *err)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "--events %s cannot be used", shown);
    if ((flags & O_ACCMODE) == O_RDONLY)
        return error_set(err, "--events %s cannot be written to", shown);
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
        return error_set(err, "--events %s is neither a file nor a pipe nor a socket", shown);
    if (is_standard(&status))
        return error_set(err,
                         "--events %s is what the command is given as standard input, output or error: it could write "
                         "events of its own there. Name another place",
                         shown);
    return true;
}

static bool parse_descriptor(struct slice text, int *fd)
{
    enum { FIRST = 3, LAST = 1 << 20 };

    *fd = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *fd > LAST)
            return false;
        *fd = *fd * 10 + (text.ptr[i] - '0');
    }
    return text.len > 0 && *fd >= FIRST && *fd <= LAST;
}

static bool open_descriptor(const char *shown, struct slice number, struct session_request *request, struct error *err)
{
    int fd;

    if (!parse_descriptor(number, &fd))
        return error_set(err, "--events %s: the number of an open descriptor from 3 on is expected", shown);
    if (!check(fd, shown, err))
        return false;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    request->events_fd = fd;
    return true;
}

static bool open_file(struct arena *arena, const char *path, const char *shown, struct session_request *request,
                      struct error *err)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

    if (fd < 0 && errno == ENXIO)
        return error_set(err, "--events %s: nobody reads from this pipe", shown);
    if (fd < 0)
        return error_set_errno(err, errno, "--events %s: cannot open it for writing", shown);
    if (!check(fd, shown, err))
        return false;
    char *real = realpath(path, NULL);
    if (!real)
        return error_set_errno(err, errno, "--events %s: cannot tell where it is", shown);
    request->events_file = arena_string(arena, real);
    free(real);
    /* Descriptors 0 to 2 are open, so it is none of them. */
    request->events_fd = fd_take(&fd);
    return true;
}

bool events_target_open(struct arena *arena, const char *text, struct session_request *request, struct error *err)
{
    struct slice whole = slice_of(text);
    const char *shown = escaped(arena, whole);

    if (slice_starts(whole, SLICE("fd:")))
        return open_descriptor(shown, slice_from(whole, 3), request, err);
    if (whole.len == 0)
        return error_set(err, "--events needs a file, or fd:N for an open descriptor");
    return open_file(arena, text, shown, request, err);
}
