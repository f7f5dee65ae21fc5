/* bind and connect. Both act on the caller's own socket, of which the doorman
 * has a descriptor, and on its own copy of the address, so exchanging either
 * under its hands has no effect (attack 49). */
#include "base/fd.h"
#include "doorman/announce.h"
#include "doorman/destination.h"
#include "doorman/judge.h"
#include "doorman/own_view.h"
#include "doorman/perform.h"
#include "doorman/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_socket(int fd, int *error)
{
    int type;
    socklen_t size = sizeof type;

    *error = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ? errno : 0;
    return *error == 0;
}

/* A stream that has a peer and no name may have been handed to the command: then it is
 * of the host's network, and an abstract name would be taken there. Others have no use
 * for one. */
static bool is_connected_stream(const struct request *request)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    int type = SOCK_DGRAM;
    socklen_t size = sizeof type;

    return request->address.ss_family == AF_UNIX &&
           getsockopt(request->socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type != SOCK_DGRAM &&
           getpeername(request->socket, (struct sockaddr *)&peer, &length) == 0;
}

static int bind_in(const struct request *request, int directory, const char *last)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(last);

    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, last, length + 1);
    if (fchdir(directory) < 0)
        return -1;
    return bind(request->socket, (struct sockaddr *)&address, sizeof address);
}

/* With the bytes the caller gave, which become the socket's address: nobody can
 * have changed what they lead to, for the lock is ours alone. Only what leads
 * through /proc would lead the doorman elsewhere: then by its last component. */
static int bind_there(const struct request *request, const struct place *place)
{
    if (place->by_hand)
        return bind_in(request, place->directory, place->last);
    if (request->operands[0].base >= 0 && fchdir(request->operands[0].base) < 0)
        return -1;
    return bind(request->socket, (const struct sockaddr *)&request->address, request->address_length);
}

static void remember_socket(struct house *house, const struct place *place)
{
    FD_CLEANUP int fd = openat(place->directory, place->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct identity identity;
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode))
        return;
    if (identity_of(fd, &identity))
        made_add(&house->made, &identity);
}

static struct answer bind_path(struct worker *worker, const struct request *request)
{
    struct house *house = worker->house;
    struct entry_name entry;
    struct place place;

    int error = resolve(house, request, &request->operands[0], RESOLVE_ENTRY, 0, &place);
    if (error) {
        tell_unresolved(worker, &request->operands[0], error);
        return answer_error(error);
    }
    error = judge_entry_name(house, &place, &entry);
    if (!error && entry.exists)
        error = EADDRINUSE;
    if (!error)
        error = judge_write(house, &entry.name);
    if (error)
        tell_entry(worker, place.directory, &entry, error);
    struct answer answer = answer_error(error);
    if (!error) {
        answer = answer_of(bind_there(request, &place));
        /* Writable, but not on its mount. The socket's own address is short then. */
        if (answer.error == EROFS && entry.name.kind == NAME_KNOWN) {
            FD_CLEANUP int own = own_view_directory(house, place.directory, name_slice(&entry.name));
            if (own >= 0)
                answer = answer_of(bind_in(request, own, place.last));
        }
        if (!answer.error)
            remember_socket(house, &place);
    }
    if (fchdir(house->self) < 0)
        _exit(1); /* no number would mean anything any more */
    place_close(&place);
    return answer;
}

struct answer perform_bind(struct worker *worker, struct request *request)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;

    int error;

    if (!is_socket(request->socket, &error))
        return answer_error(error);
    if (is_connected_stream(request))
        return answer_error(EINVAL);
    if (destination_is_path(request))
        return bind_path(worker, request);
    struct answer answer =
        answer_of(bind(request->socket, (const struct sockaddr *)&request->address, request->address_length));
    if (!answer.error && request->address.ss_family == AF_UNIX &&
        getsockname(request->socket, (struct sockaddr *)&address, &length) == 0 &&
        destination_is_abstract(&address, length))
        abstract_add(&worker->house->abstract, ((struct sockaddr_un *)&address)->sun_path,
                     length - offsetof(struct sockaddr_un, sun_path));
    return answer;
}

static struct answer connect_to(struct worker *worker, int socket, const struct destination *destination)
{
    const struct sockaddr *address = (const struct sockaddr *)&destination->address;
    int flags = fcntl(socket, F_GETFL);

    if (flags >= 0 && flags & O_NONBLOCK)
        return answer_of(connect(socket, address, destination->length));
    if (!worker_may_wait(worker))
        return answer_error(EAGAIN);
    struct answer answer = answer_of(connect(socket, address, destination->length));
    bool broken_off = worker_has_waited(worker);
    if (broken_off && answer.error == EINTR)
        answer.error = ANSWER_RESTART;
    return answer;
}

static struct answer connect_out(struct worker *worker, int socket, struct destination *destination)
{
    struct tproxy_announcement announcement;

    if (!announce_wanted(worker->house->plan, socket, &destination->address, &destination->length, &announcement))
        return connect_to(worker, socket, destination);
    struct answer answer = connect_to(worker, socket, destination);
    if (answer.error != ANSWER_RESTART)
        answer.error = announce(socket, answer.error, &destination->address, destination->length, &announcement);
    return answer;
}

struct answer perform_connect(struct worker *worker, struct request *request)
{
    struct destination destination;
    int error;

    if (!is_socket(request->socket, &error))
        return answer_error(error);
    error = destination_judge(worker, request, &destination);
    struct answer answer = answer_error(error);
    if (!error)
        answer = connect_out(worker, request->socket, &destination);
    if (!error)
        tell_network(worker, &destination.address, destination.length, answer.error);
    destination_close(&destination);
    return answer;
}
