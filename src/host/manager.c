/* Asks for a method to be called and reads the answer. The socket is the manager's
 * own, where nobody is in between, or that of the user's message bus.
 *
 * Whoever listens there is believed nothing: it must have our user id (else it would
 * learn of our runs) and be seen from our pid namespace (a manager outside of a
 * container would take a process out of it). All of what it sends is bounded,
 * in size and in time. */
#include "host/manager.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE_MAX_LENGTH = 512 };

/* Of the addresses that D-Bus has, the one form that leads to a socket's path. */
static const char *path_of_bus(struct arena *arena, const char *address)
{
    struct slice rest = slice_of(address);

    if (!slice_starts(rest, SLICE("unix:path=/")))
        return NULL;
    rest = slice_from(rest, SLICE("unix:path=").len);
    size_t length = 0;
    while (length < rest.len && rest.ptr[length] != ',' && rest.ptr[length] != ';')
        length++;
    /* Such bytes would be spelled with an escape. */
    return memchr(rest.ptr, '%', length) ? NULL : arena_slice(arena, (struct slice){rest.ptr, length}).ptr;
}

static bool is_ours(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_uid == geteuid();
}

static void add(struct manager_address addresses[], size_t *count, const char *socket, bool bus)
{
    if (socket && is_ours(socket))
        addresses[(*count)++] = (struct manager_address){socket, bus};
}

size_t manager_find(struct arena *arena, struct manager_address addresses[MANAGER_ADDRESSES_MAX])
{
    size_t count = 0;

    if (geteuid() == 0) {
        add(addresses, &count, "/run/systemd/private", false);
        add(addresses, &count, "/run/dbus/system_bus_socket", true);
        return count;
    }
    const char *directory = getenv("XDG_RUNTIME_DIR");
    const char *bus = getenv("DBUS_SESSION_BUS_ADDRESS");
    if (!directory || directory[0] != '/')
        directory = arena_printf(arena, "/run/user/%u", (unsigned)geteuid());
    add(addresses, &count, arena_printf(arena, "%s/systemd/private", directory), false);
    add(addresses, &count, arena_printf(arena, "%s/bus", directory), true);
    add(addresses, &count, bus ? path_of_bus(arena, bus) : NULL, true);
    return count;
}

static int time_left(const struct manager *manager)
{
    uint64_t now = milliseconds_now();

    return now < manager->deadline ? (int)(manager->deadline - now) : 0;
}

static bool is_too_late(struct error *err)
{
    return error_set(err, "the service manager does not answer");
}

/* What we say is shorter than any socket's buffer. */
static bool say(const struct manager *manager, struct slice words, struct error *err)
{
    ssize_t sent = send(manager->fd, words.ptr, words.len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent == (ssize_t)words.len)
        return true;
    return sent < 0 ? error_set_errno(err, errno, "cannot speak to the service manager")
                    : error_set(err, "the service manager does not listen");
}

/* Waits for more, `milliseconds` at most. False, without an error: there is none yet. */
static bool receive(struct manager *manager, int milliseconds, bool *broken, struct error *err)
{
    struct pollfd watched = {.fd = manager->fd, .events = POLLIN};

    if (poll(&watched, 1, milliseconds) <= 0)
        return false;
    ssize_t got =
        recv(manager->fd, manager->bytes + manager->length, sizeof manager->bytes - manager->length, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    *broken = got <= 0; /* a full buffer holds a whole message */
    if (*broken)
        return error_set(err, "the service manager hung up");
    manager->length += (size_t)got;
    return true;
}

static bool check_peer(int fd, struct error *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return error_set_errno(err, errno, "cannot tell whose service manager it is");
    if (peer.uid != geteuid())
        return error_set(err, "the service manager is somebody else's");
    if (peer.pid <= 0)
        return error_set(err, "the service manager is outside of this container");
    return true;
}

/* By SASL's EXTERNAL: the user id in decimal, of which each digit is spelled in hexadecimal. */
static bool authenticate(struct manager *manager, struct error *err)
{
    char uid[16];
    char words[64];
    bool broken = false;

    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    int length = snprintf(words, sizeof words, "%cAUTH EXTERNAL ", '\0');
    for (const char *digit = uid; *digit; digit++)
        length += snprintf(words + length, sizeof words - (size_t)length, "%02x", (unsigned)*digit);
    length += snprintf(words + length, sizeof words - (size_t)length, "\r\n");
    if (!say(manager, (struct slice){words, (size_t)length}, err))
        return false;
    for (;;) {
        struct slice line = {manager->bytes, manager->length};
        size_t end = slice_find(line, '\n');
        if (end < line.len) {
            bool accepted =
                end + 1 == line.len && end > 0 && line.ptr[end - 1] == '\r' && slice_starts(line, SLICE("OK "));
            manager->length = 0;
            return accepted ? say(manager, SLICE("BEGIN\r\n"), err)
                            : error_set(err, "the service manager does not know us");
        }
        int left = time_left(manager);
        if (line.len > LINE_MAX_LENGTH)
            return error_set(err, "the service manager speaks no D-Bus");
        if (!receive(manager, left, &broken, err) && (broken || left == 0))
            return broken ? false : is_too_late(err);
    }
}

bool manager_hear(struct manager *manager, int milliseconds, struct dbus_message *message, bool *broken,
                  struct error *err)
{
    *broken = false;
    for (bool waited = false;; waited = true) {
        manager->length -= manager->taken;
        memmove(manager->bytes, manager->bytes + manager->taken, manager->length);
        manager->taken = 0;
        switch (dbus_read((struct slice){manager->bytes, manager->length}, message, &manager->taken)) {
        case DBUS_WHOLE:
            return true;
        case DBUS_BROKEN:
            *broken = true;
            return error_set(err, "the service manager speaks no D-Bus");
        case DBUS_MORE:
            break;
        }
        if (waited || !receive(manager, milliseconds, broken, err))
            return false;
    }
}

/* Whatever else is said is passed over. */
static bool await_answer(struct manager *manager, bool *refused, struct error *err)
{
    struct dbus_message message;
    bool broken;

    for (int left = time_left(manager); left > 0; left = time_left(manager)) {
        if (!manager_hear(manager, left, &message, &broken, err)) {
            if (broken)
                return false;
            continue;
        }
        if (message.reply_to != manager->serial)
            continue;
        if (message.kind == DBUS_RETURN)
            return true;
        *refused = message.kind == DBUS_ERROR;
        if (*refused)
            return error_set(err, "the service manager refuses: %.*s", (int)message.error.len, message.error.ptr);
    }
    return is_too_late(err);
}

static bool call(struct manager *manager, struct dbus_call *call, bool *refused, struct error *err)
{
    struct arena arena ARENA_CLEANUP = {0};

    *refused = false;
    call->serial = ++manager->serial;
    return say(manager, dbus_call_write(&arena, call), err) && await_answer(manager, refused, err);
}

/* A bus wants to be greeted first. */
static bool greet(struct manager *manager, struct error *err)
{
    struct dbus_call hello = {.destination = "org.freedesktop.DBus",
                              .path = "/org/freedesktop/DBus",
                              .interface = "org.freedesktop.DBus",
                              .member = "Hello",
                              .signature = "",
                              .body = SLICE("")};
    bool refused;

    return call(manager, &hello, &refused, err);
}

bool manager_open(const struct manager_address *address, uint64_t deadline, struct manager *manager, struct error *err)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};

    manager->bus = address->bus;
    manager->deadline = deadline;
    manager->serial = 0;
    manager->length = manager->taken = 0;
    manager->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (manager->fd < 0)
        return error_set_errno(err, errno, "cannot make a socket");
    if (strlen(address->socket) >= sizeof place.sun_path)
        return error_set(err, "the path of the service manager's socket is too long");
    memcpy(place.sun_path, address->socket, strlen(address->socket));
    if (connect(manager->fd, (const struct sockaddr *)&place, sizeof place) < 0)
        return error_set_errno(err, errno, "cannot reach the service manager");
    return check_peer(manager->fd, err) && authenticate(manager, err) && (!manager->bus || greet(manager, err));
}

bool manager_call(struct manager *manager, const char *member, const char *signature, struct slice body, bool *refused,
                  struct error *err)
{
    struct dbus_call asked = {.destination = manager->bus ? "org.freedesktop.systemd1" : NULL,
                              .path = "/org/freedesktop/systemd1",
                              .interface = "org.freedesktop.systemd1.Manager",
                              .member = member,
                              .signature = signature,
                              .body = body};

    return call(manager, &asked, refused, err);
}
