/* The other end may be a pipe or a socket of a program that has stopped reading,
 * or is gone. The supervisor has signals to pass on and time to keep, so what it
 * writes is cut into pieces that a pipe has room for whenever it can be written
 * at all, and SIGPIPE does not reach it. */
#include "watch/stream.h"

#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2000 };

static ssize_t write_piece(int fd, struct slice piece)
{
    const struct timespec at_once = {0};
    sigset_t pipe, before;
    ssize_t wrote = send(fd, piece.ptr, piece.len, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (wrote >= 0 || errno != ENOTSOCK)
        return wrote;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigprocmask(SIG_BLOCK, &pipe, &before);
    wrote = write(fd, piece.ptr, piece.len);
    int failure = errno;
    if (wrote < 0 && failure == EPIPE)
        sigtimedwait(&pipe, NULL, &at_once);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return wrote;
}

static bool write_all(int fd, struct slice text)
{
    while (text.len > 0) {
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        int ready = poll(&polled, 1, PATIENCE);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            errno = ETIMEDOUT;
        if (ready <= 0)
            return false;
        ssize_t wrote = write_piece(fd, (struct slice){text.ptr, text.len < PIPE_BUF ? text.len : (size_t)PIPE_BUF});
        if (wrote < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (wrote <= 0)
            return false;
        text = slice_from(text, (size_t)wrote);
    }
    return true;
}

void event_stream_write(struct event_stream *stream, struct slice line)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);

    if (stream->fd < 0) {
        stream->lost += stream->error != 0;
        return;
    }
    text_append(&out, line);
    text_append_byte(&out, '\n');
    if (write_all(stream->fd, text_slice(&out)))
        return;
    stream->error = errno;
    stream->lost++;
    stream->fd = -1; /* half a line may stand there: nothing can follow it */
}
