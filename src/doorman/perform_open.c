/* open, openat, creat and openat2 of what is to be written or made; and of what is
 * to be read, where a rule about reading speaks of files to come.
 *
 * What exists is pinned first, judged by the name it really has, and then opened
 * anew through its own descriptor; what does not is made in the directory that
 * was judged, and only if it is still not there. Nothing is looked up twice. */
#include "base/fd.h"
#include "base/path.h"
#include "doorman/fetch.h"
#include "doorman/grants.h"
#include "doorman/judge.h"
#include "doorman/own_view.h"
#include "doorman/perform.h"
#include "doorman/sticky.h"
#include "doorman/tell.h"
#include "doorman/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ATTEMPTS = 16 };

static const uint64_t tmpfile_bit = O_TMPFILE & ~O_DIRECTORY;

/* Does it ask for more than reading? */
static bool changes(uint64_t flags)
{
    return (flags & (O_ACCMODE | O_TRUNC | tmpfile_bit)) != 0;
}

static struct answer handed_over(int fd, uint64_t flags)
{
    if (fd < 0)
        return answer_error(errno);
    return (struct answer){.fd = fd, .close_on_exec = flags & O_CLOEXEC};
}

/* The other end of a FIFO may be long in coming. */
static struct answer open_waiting(struct worker *worker, int object, int flags, uint64_t how)
{
    if (!worker_may_wait(worker))
        return answer_error(EAGAIN);
    int fd = openat(AT_FDCWD, worker_number(object).text, flags);
    int error = errno;
    bool broken_off = worker_has_waited(worker);
    if (fd < 0 && broken_off && error == EINTR)
        return answer_error(ANSWER_RESTART);
    errno = error;
    return handed_over(fd, how);
}

/* A terminal's line may be silent, and whoever opens it may wait: not the doorman. */
static struct answer open_device(int object, int flags, uint64_t how)
{
    int fd = openat(AT_FDCWD, worker_number(object).text, flags | O_NONBLOCK);

    if (fd >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags & (O_APPEND | O_DIRECT | O_NOATIME));
    return handed_over(fd, how);
}

/* Through its own descriptor: what was judged is what is opened. */
static struct answer open_again(struct worker *worker, int object, uint64_t how)
{
    struct stat status;
    /* Of a nameless file O_EXCL says that it is never to have a name. */
    uint64_t dropped = how & tmpfile_bit ? O_CREAT | O_NOFOLLOW : O_CREAT | O_EXCL | O_NOFOLLOW;
    int flags = (int)(how & ~dropped) | O_CLOEXEC | O_NOCTTY;

    if (fstat(object, &status) < 0)
        return answer_error(errno);
    /* So says O_TMPFILE, too. */
    if (how & O_DIRECTORY && !S_ISDIR(status.st_mode))
        return answer_error(ENOTDIR);
    switch (status.st_mode & S_IFMT) {
    case S_IFLNK:
        return answer_error(ELOOP);
    case S_IFSOCK:
        return answer_error(ENXIO);
    case S_IFDIR:
        if (how & O_CREAT || (changes(how) && !(how & tmpfile_bit)))
            return answer_error(EISDIR);
        break;
    case S_IFIFO:
        if (!(how & O_NONBLOCK) && (how & O_ACCMODE) != O_RDWR)
            return open_waiting(worker, object, flags, how);
        break;
    case S_IFCHR:
        if (status.st_rdev == makedev(TERMINAL_MAJOR, TERMINAL_MINOR_OF_CALLER))
            return handed_over(terminal_of_caller(worker->house, worker->request->thread, flags), how);
        return open_device(object, flags, how);
    default:
        break;
    }
    return handed_over(openat(AT_FDCWD, worker_number(object).text, flags, (mode_t)worker->request->how.mode), how);
}

/* It would have been made, were it not there: not everybody's is opened then. */
static int judge_instead_of_new(struct worker *worker, const struct place *place)
{
    FD_CLEANUP int parent = -1;
    struct stat status;
    struct name name;

    if (fstat(place->object, &status) < 0)
        return errno;
    if (place->directory >= 0)
        return sticky_judge_open(worker->house, worker->request, place->directory, &status);
    name_of(worker->house, place->object, &name);
    if (name.kind == NAME_KNOWN)
        parent = resolve_exactly(AT_FDCWD, path_parent(name_slice(&name)), O_PATH | O_DIRECTORY);
    return parent < 0 ? 0 : sticky_judge_open(worker->house, worker->request, parent, &status);
}

/* Nothing is read of a link, a socket or a mere path; and devices are where the
 * sandbox has put them. */
static int judge_reading(struct worker *worker, const struct place *place, uint64_t how, bool *empty)
{
    struct house *house = worker->house;
    struct stat status;
    struct name name;

    *empty = false;
    if (!house->plan->doorman.performs_reads || how & O_PATH || (how & O_ACCMODE) == O_WRONLY)
        return 0;
    if (fstat(place->object, &status) < 0)
        return errno;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISFIFO(status.st_mode))
        return 0;
    int error = judge_read(house, place->object, &status, &name, empty);
    if (error)
        tell_read(worker, place->object, &name);
    else if (house->plan->doorman.reads)
        tell_reading(worker, &worker->request->operands[0], place->object, 0);
    return error;
}

/* What the command may open of itself in /proc, and we may not of it: memory, variables. */
static struct answer open_to_read(struct worker *worker, const struct place *place, uint64_t how)
{
    struct answer answer = open_again(worker, place->object, how);
    int fd;

    if ((answer.error == EACCES || answer.error == EPERM) && place->by_hand && place->directory >= 0 &&
        fetch_open(worker->house, worker->request->thread, place->directory, place->object, &fd) == 0)
        answer = handed_over(fd, how);
    return answer;
}

static struct answer open_existing(struct worker *worker, const struct place *place, uint64_t how)
{
    struct entry_name entry;
    bool empty;

    int error = how & O_CREAT ? judge_instead_of_new(worker, place) : 0;
    if (error)
        return answer_error(error);
    if (!changes(how)) {
        error = judge_reading(worker, place, how, &empty);
        if (empty)
            return handed_over(open("/dev/null", O_RDONLY | O_CLOEXEC), how);
        return error ? answer_error(error) : open_to_read(worker, place, how);
    }
    error = judge_object(worker->house, place->object, &entry);
    /* Devices are where the sandbox has put them: on every other mount the kernel
     * opens none. */
    if (entry.type == S_IFCHR || entry.type == S_IFBLK)
        return open_again(worker, place->object, how);
    if (error) {
        tell_object(worker, place->object, &entry, error);
        return answer_error(error);
    }
    error = judge_reading(worker, place, how, &empty);
    if (error || empty)
        return answer_error(error ? error : EACCES);
    struct answer answer = open_again(worker, place->object, how);
    /* Writable by a pattern alone: not on its mount, but in the doorman's own view. */
    if (answer.error == EROFS && entry.name.kind == NAME_KNOWN) {
        FD_CLEANUP int own = own_view_object(worker->house, place->object, name_slice(&entry.name));
        if (own >= 0)
            answer = open_again(worker, own, how);
    }
    if (!answer.error)
        tell_written(worker, &entry.name);
    return answer;
}

/* `*again`: somebody else has made it in the meantime. */
static struct answer open_new(struct worker *worker, const struct place *place, const struct open_how *how, bool *again)
{
    struct entry_name entry;
    int flags = (int)how->flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY;

    int error = judge_entry_name(worker->house, place, &entry);
    if (!error && !worker->alone && judge_wants_alone(worker->house, &entry.name))
        return answer_error(ANSWER_ALONE);
    if (!error)
        error = judge_write(worker->house, &entry.name);
    if (error) {
        error = judge_refusal_to_make(error, place->directory, &entry);
        tell_entry(worker, place->directory, &entry, error);
        return answer_error(error);
    }
    int fd = openat(place->directory, place->last, flags, (mode_t)how->mode);
    if (fd < 0 && errno == EROFS && entry.name.kind == NAME_KNOWN) {
        FD_CLEANUP int own = own_view_directory(worker->house, place->directory, name_slice(&entry.name));
        if (own >= 0)
            fd = openat(own, place->last, flags, (mode_t)how->mode);
        else
            errno = EROFS;
    }
    if (fd >= 0) {
        judge_remember_file(worker->house, &entry.name, fd);
        tell_made(worker, &entry.name);
    }
    *again = fd < 0 && errno == EEXIST && !(how->flags & O_EXCL);
    return handed_over(fd, how->flags);
}

static struct answer attempt(struct worker *worker, const struct request *request, bool *again)
{
    const struct open_how *how = &request->how;
    uint64_t resolve_flags = request->has_resolve ? how->resolve : 0;
    enum resolve_for purpose = RESOLVE_OBJECT;
    struct place place;
    struct answer answer;

    if (how->flags & O_CREAT)
        purpose = how->flags & (O_EXCL | O_NOFOLLOW) ? RESOLVE_ENTRY : RESOLVE_CREATE;
    else if (how->flags & O_NOFOLLOW)
        purpose = RESOLVE_LINK;
    int error = resolve(worker->house, request, &request->operands[0], purpose, resolve_flags, &place);
    if (error) {
        if (changes(how->flags) || how->flags & O_CREAT)
            tell_unresolved(worker, &request->operands[0], error);
        else if (worker->house->plan->doorman.reads)
            tell_reading(worker, &request->operands[0], -1, error);
        return answer_error(error);
    }
    const struct operand *operand = &request->operands[0];
    if (how->flags & O_CREAT && operand->length && operand->path[operand->length - 1] == '/') {
        place_close(&place);
        return answer_error(EISDIR);
    }
    if (purpose == RESOLVE_ENTRY && !(how->flags & O_EXCL) && place.last_length) {
        /* A link at the end is an error, anything else is opened. */
        place.object = openat(place.directory, place.last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (place.object < 0 && errno != ENOENT) {
            error = errno;
            place_close(&place);
            return answer_error(error);
        }
    }
    if (place.object >= 0)
        answer = open_existing(worker, &place, how->flags);
    else if (place.last_length == 0)
        answer = answer_error(EISDIR);
    else
        answer = open_new(worker, &place, how, again);
    place_close(&place);
    return answer;
}

/* The kernel knows best which flags and flags of resolution go together: it is
 * asked about a place where nothing can be done. */
static int check_how(const struct open_how *how)
{
    int fd = (int)syscall(SYS_openat2, -1, "x", how, sizeof *how);

    if (fd >= 0)
        close(fd); /* cannot be: there is no such directory */
    return errno == EBADF ? 0 : errno;
}

struct answer perform_open(struct worker *worker, struct request *request)
{
    struct answer answer = answer_error(EAGAIN);
    bool again = true;

    if (request->how.flags & O_CREAT && request->how.flags & O_DIRECTORY)
        return answer_error(EINVAL);
    if (request->has_resolve) {
        int error = check_how(&request->how);
        if (error)
            return answer_error(error);
        if (request->how.flags & O_PATH)
            request->how.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    }
    for (int i = 0; again && i < ATTEMPTS; i++) {
        again = false;
        answer = attempt(worker, request, &again);
    }
    return answer;
}

/* A regular file that is hidden, and that somebody who was asked has shown. */
static bool is_granted(const struct house *house, int object)
{
    struct stat status;
    struct name name;

    if (!house->grants || fstat(object, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    name_of(house, object, &name);
    return name.kind == NAME_KNOWN && grants_cover(house, OPERATION_READ, name_slice(&name)) &&
           !decide_real_path(house->policy, OPERATION_READ, name_slice(&name)).allowed;
}

struct answer perform_look(struct worker *worker, struct request *request)
{
    enum resolve_for purpose = request->how.flags & O_NOFOLLOW ? RESOLVE_LINK : RESOLVE_OBJECT;
    struct place place;

    int error = resolve(worker->house, request, &request->operands[0], purpose, 0, &place);
    struct answer answer = {.fd = -1, .goes_on = true};
    if (!error && is_granted(worker->house, place.object))
        answer = open_again(worker, place.object, request->how.flags);
    else
        tell_reading(worker, &request->operands[0], error ? -1 : place.object, error);
    if (!error)
        place_close(&place);
    return answer;
}
