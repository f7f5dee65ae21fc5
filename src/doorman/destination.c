/* A socket in the file system may be reached if this run has bound it or policy
 * names it. An abstract one is out of reach in a network namespace of the run's
 * own; else it too must be the run's or be named. What is no unix socket is not
 * this file's matter. */
#include "doorman/destination.h"

#include "doorman/grants.h"
#include "doorman/judge.h"
#include "doorman/tell.h"
#include "policy/decide.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool destination_is_path(const struct request *request)
{
    return request->operands[0].length > 0;
}

bool destination_is_abstract(const struct sockaddr_storage *address, socklen_t length)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)address;

    return address->ss_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) &&
           name->sun_path[0] == '\0';
}

/* One that its mode keeps shut is refused in any case, and no news. */
static bool may_reach(struct worker *worker, int object)
{
    struct house *house = worker->house;
    struct name name;

    if (made_is(&house->made, object))
        return true;
    name_of(house, object, &name);
    if (name.kind == NAME_KNOWN && (decide_unix(house->policy, name_slice(&name)).allowed ||
                                    grants_cover(house, OPERATION_UNIX, name_slice(&name))))
        return true;
    if (name.kind == NAME_KNOWN && (faccessat(object, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 || errno == EROFS))
        tell_connect(worker, name_slice(&name));
    return false;
}

/* "@name", as policies write it. */
static bool may_reach_abstract(struct worker *worker, const struct sockaddr_un *address, size_t length)
{
    struct house *house = worker->house;
    char text[sizeof address->sun_path];

    if (house->plan->network != NETWORK_HOST)
        return true;
    memcpy(text, address->sun_path, length);
    if (abstract_has(&house->abstract, text, length))
        return true;
    text[0] = '@';
    if (decide_unix(house->policy, (struct slice){text, length}).allowed ||
        grants_cover(house, OPERATION_UNIX, (struct slice){text, length}))
        return true;
    tell_connect(worker, (struct slice){text, length});
    return false;
}

/* The kernel takes nothing but a path: the number of our descriptor of the object
 * that was judged. */
static int judge_path(struct worker *worker, const struct request *request, struct destination *destination)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct place *place = &destination->place;
    struct stat status;

    int error = resolve(worker->house, request, &request->operands[0], RESOLVE_OBJECT, 0, place);
    if (error) {
        tell_unresolved(worker, &request->operands[0], error);
        return error;
    }
    destination->is_pinned = true;
    if (fstat(place->object, &status) < 0 || !S_ISSOCK(status.st_mode))
        return ECONNREFUSED;
    if (!may_reach(worker, place->object))
        return EACCES;
    struct number number = worker_number(place->object);
    memcpy(address.sun_path, number.text, sizeof number.text);
    memcpy(&destination->address, &address, sizeof address);
    destination->length = sizeof address;
    return 0;
}

int destination_judge(struct worker *worker, const struct request *request, struct destination *destination)
{
    destination->is_pinned = false;
    if (destination_is_path(request))
        return judge_path(worker, request, destination);
    destination->address = request->address;
    destination->length = request->address_length;
    if (!destination_is_abstract(&request->address, request->address_length))
        return 0;
    if (request->address_length > sizeof(struct sockaddr_un))
        return EINVAL;
    size_t length = request->address_length - offsetof(struct sockaddr_un, sun_path);
    /* As Landlock refuses it. */
    return may_reach_abstract(worker, (const struct sockaddr_un *)&request->address, length) ? 0 : EPERM;
}

void destination_close(struct destination *destination)
{
    if (destination->is_pinned)
        place_close(&destination->place);
}
