/* bind and connect. Both act on the caller's own socket, of which the doorman
 * has a descriptor, and on its own copy of the address, so exchanging either
 * under its hands has no effect (attack 49).
 *
 * A socket in the file system may be connected to if this run has bound it or
 * policy names it. An abstract one is out of reach in a network namespace of the
 * run's own; else it too must be the run's or be named. */
#include "base/fd.h"
#include "doorman/judge.h"
#include "doorman/perform.h"
#include "policy/decide.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A unix address whose name is a path, an abstract one, or something else. */
static bool is_path(const struct request *request)
{
    return request->operands[0].length > 0;
}

static bool is_abstract(const struct sockaddr_storage *address, socklen_t length)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)address;

    return address->ss_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) &&
           name->sun_path[0] == '\0';
}

static bool is_socket(int fd, int *error)
{
    int type;
    socklen_t size = sizeof type;

    *error = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ? errno : 0;
    return *error == 0;
}

/* With the bytes the caller gave, which become the socket's address: nobody can
 * have changed what they lead to, for the lock is ours alone. Only what leads
 * through /proc would lead the doorman elsewhere: then by its last component. */
static int bind_there(const struct request *request, const struct place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!place->by_hand) {
        if (request->operands[0].base >= 0 && fchdir(request->operands[0].base) < 0)
            return -1;
        return bind(request->socket, (const struct sockaddr *)&request->address, request->address_length);
    }
    size_t length = strlen(place->last);
    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, place->last, length + 1);
    if (fchdir(place->directory) < 0)
        return -1;
    return bind(request->socket, (struct sockaddr *)&address, sizeof address);
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
    if (error)
        return answer_error(error);
    error = judge_entry_name(house, &place, &entry);
    if (!error && entry.exists)
        error = EADDRINUSE;
    if (!error)
        error = judge_write(house, &entry.name);
    struct answer answer = answer_error(error);
    if (!error) {
        answer = answer_of(bind_there(request, &place));
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
    if (is_path(request))
        return bind_path(worker, request);
    struct answer answer =
        answer_of(bind(request->socket, (const struct sockaddr *)&request->address, request->address_length));
    if (!answer.error && request->address.ss_family == AF_UNIX &&
        getsockname(request->socket, (struct sockaddr *)&address, &length) == 0 && is_abstract(&address, length))
        abstract_add(&worker->house->abstract, ((struct sockaddr_un *)&address)->sun_path,
                     length - offsetof(struct sockaddr_un, sun_path));
    return answer;
}

static struct answer connect_to(struct worker *worker, int socket, const void *address, socklen_t length)
{
    int flags = fcntl(socket, F_GETFL);

    if (flags >= 0 && flags & O_NONBLOCK)
        return answer_of(connect(socket, address, length));
    if (!worker_may_wait(worker))
        return answer_error(EAGAIN);
    struct answer answer = answer_of(connect(socket, address, length));
    bool broken_off = worker_has_waited(worker);
    if (broken_off && answer.error == EINTR)
        answer.error = ANSWER_RESTART;
    return answer;
}

static bool may_connect(struct house *house, int object)
{
    struct identity identity;
    struct name name;

    if (identity_of(object, &identity) && made_has(&house->made, &identity))
        return true;
    name_of(house, object, &name);
    return name.kind == NAME_KNOWN && decide_unix(house->policy, name_slice(&name)).allowed;
}

static struct answer connect_path(struct worker *worker, const struct request *request)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    struct place place;

    int error = resolve(worker->house, request, &request->operands[0], RESOLVE_OBJECT, 0, &place);
    if (error)
        return answer_error(error);
    struct answer answer = answer_error(ECONNREFUSED);
    if (fstat(place.object, &status) == 0 && S_ISSOCK(status.st_mode)) {
        answer = answer_error(EACCES);
        if (may_connect(worker->house, place.object)) {
            struct number number = worker_number(place.object);
            memcpy(address.sun_path, number.text, sizeof number.text);
            answer = connect_to(worker, request->socket, &address, sizeof address);
        }
    }
    place_close(&place);
    return answer;
}

/* "@name", as policies write it. */
static bool may_connect_abstract(struct house *house, const struct request *request)
{
    const struct sockaddr_un *address = (const struct sockaddr_un *)&request->address;
    char text[sizeof address->sun_path];
    size_t length = request->address_length - offsetof(struct sockaddr_un, sun_path);

    if (house->plan->network != NETWORK_HOST)
        return true;
    memcpy(text, address->sun_path, length);
    if (abstract_has(&house->abstract, text, length))
        return true;
    text[0] = '@';
    return decide_unix(house->policy, (struct slice){text, length}).allowed;
}

struct answer perform_connect(struct worker *worker, struct request *request)
{
    int error;

    if (!is_socket(request->socket, &error))
        return answer_error(error);
    if (is_path(request))
        return connect_path(worker, request);
    if (is_abstract(&request->address, request->address_length) && !may_connect_abstract(worker->house, request))
        return answer_error(EPERM); /* as Landlock refuses it */
    return connect_to(worker, request->socket, &request->address, request->address_length);
}
