/* Nothing here waits for the embedder, which may be busy, stopped or gone: a line
 * that does not fit is kept as far as it was not sent, and those behind it are
 * lost. Only at the very end it is given a moment, so that it knows of what was
 * denied when it learns that the command has ended.
 *
 * The name of an abstract socket is open to everybody, also after its owner has
 * ended: a socket of another user's is not believed. */
#include "session/peer.h"

#include "base/arena.h"
#include "base/fd.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* It is sent back inside of JSON as it is. */
static bool is_plain(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=._-")] == '\0';
}

static bool is_ours(int fd)
{
    struct ucred credentials;
    socklen_t length = sizeof credentials;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 && credentials.uid == geteuid();
}

static int connect_to(struct slice name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FD_CLEANUP int fd = -1;

    if (name.len == 0 || name.len >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path + 1, name.ptr, name.len);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name.len);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0 || !is_ours(fd))
        return -1;
    return fd_take(&fd);
}

static bool say_hello(struct peer *peer, const char *text)
{
    struct arena arena ARENA_CLEANUP = {0};

    return peer_say(peer,
                    slice_of(arena_printf(&arena, "{\"hello\":\"%s\",\"version\":\"" CLOCHE_VERSION "\",\"pid\":%d}",
                                          text, (int)getpid())));
}

bool peer_adopt(int fd, const char *option, struct peer *peer, struct error *err)
{
    int type;
    socklen_t length = sizeof type;

    *peer = (struct peer){.fd = -1};
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0)
        return error_set_errno(err, errno, "%s %d cannot be used", option, fd);
    if (type != SOCK_STREAM)
        return error_set(err, "%s %d must be a socket of streams", option, fd);
    peer->fd = fd;
    say_hello(peer, "");
    return true;
}

bool peer_open(const char *session, struct peer *peer)
{
    const char *colon = strchr(session, ':');

    *peer = (struct peer){.fd = -1};
    if (!colon || !is_plain(colon + 1))
        return false;
    peer->fd = connect_to((struct slice){session, (size_t)(colon - session)});
    if (peer->fd < 0)
        return false;
    return say_hello(peer, colon + 1);
}

static void keep(struct peer *peer, struct slice rest)
{
    char *copy = rest.len <= PEER_PENDING_MAX ? malloc(rest.len) : NULL;

    /* Half a line spoils all that follows. */
    if (!copy) {
        peer->broken = true;
        return;
    }
    memcpy(copy, rest.ptr, rest.len);
    peer->pending = copy;
    peer->pending_length = rest.len;
}

/* How much of it was sent. */
static size_t push(struct peer *peer, struct slice bytes)
{
    size_t done = 0;

    while (done < bytes.len) {
        ssize_t sent = send(peer->fd, bytes.ptr + done, bytes.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            peer->broken = true; /* closed later: somebody watches it */
        if (sent < 0)
            break;
        done += (size_t)sent;
    }
    return done;
}

/* True if nothing waits any more. */
static bool push_pending(struct peer *peer)
{
    if (!peer->pending)
        return true;
    size_t done = push(peer, (struct slice){peer->pending, peer->pending_length});
    peer->pending_length -= done;
    memmove(peer->pending, peer->pending + done, peer->pending_length);
    if (peer->pending_length > 0)
        return false;
    free(peer->pending);
    peer->pending = NULL;
    return true;
}

bool peer_say(struct peer *peer, struct slice line)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (!peer_is_there(peer) || !push_pending(peer))
        return false;
    struct text whole = text_in(&arena);
    text_append(&whole, line);
    text_append_byte(&whole, '\n');
    struct slice bytes = text_slice(&whole);
    size_t done = push(peer, bytes);
    if (done == 0)
        return false;
    if (done < bytes.len)
        keep(peer, slice_from(bytes, done));
    return true;
}

void peer_tell(struct peer *peer, struct slice line)
{
    if (peer_say(peer, line))
        peer->told = true;
}

/* It answers the end with its own, once it has read what came before. */
static void wait_for_its_end(const struct peer *peer)
{
    enum { PATIENCE_MS = 500, STRANGER_PATIENCE_MS = 50, READS_MAX = 64 };
    struct pollfd polled = {.fd = peer->fd, .events = POLLIN};
    char bytes[4096];

    for (int i = 0; i < READS_MAX; i++) {
        if (poll(&polled, 1, peer->greeted ? PATIENCE_MS : STRANGER_PATIENCE_MS) <= 0 ||
            recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            return;
    }
}

void peer_close(struct peer *peer)
{
    if (peer->told && peer_say(peer, SLICE("{\"end\":true}")))
        wait_for_its_end(peer);
    fd_close(&peer->fd);
    free(peer->pending);
    *peer = (struct peer){.fd = -1};
}
