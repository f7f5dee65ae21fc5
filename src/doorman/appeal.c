/* A call that was refused is performed once more, here, with what has been granted
 * taken into account; what is still refused is put to the supervisor, and with its yes
 * the call is performed again, from the doorman's own copy of the arguments. So a yes is
 * about the very name that was told, and whatever else the caller's path leads to by then is
 * judged like everything else.
 *
 * Nobody is asked about what is not there, or could not be handed over. */
#include "doorman/appeal.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/fetch.h"
#include "doorman/grants.h"
#include "doorman/perform.h"
#include "doorman/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A rename has two names. */
enum { QUESTIONS_MAX = 4, TICK_MS = 200 };

static bool operation_of(const struct noticed *noticed, enum operation *operation)
{
    switch ((enum doorman_record_kind)noticed->kind) {
    case RECORD_READ:
        *operation = OPERATION_READ;
        return true;
    case RECORD_WRITE:
        *operation = OPERATION_WRITE;
        return true;
    case RECORD_CONNECT:
        *operation = OPERATION_UNIX;
        return true;
    default:
        return false;
    }
}

static struct slice object_of(const struct noticed *noticed)
{
    return (struct slice){noticed->path, noticed->length};
}

static mode_t type_of(const struct house *house, struct slice path)
{
    FD_CLEANUP int fd = path.len > 1 ? resolve_whole(house, path, 0) : -1;
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

/* A directory of the host's tree is never handed over: from it a way leads to all the rest. */
static bool can_be_done(const struct worker *worker, enum operation operation, struct slice object)
{
    const struct house *house = worker->house;
    enum request_kind kind = worker->request->kind;

    switch (operation) {
    case OPERATION_READ:
        return type_of(house, object) == S_IFREG;
    case OPERATION_UNIX:
        return object.ptr[0] == '@' || type_of(house, object) == S_IFSOCK;
    default:
        break;
    }
    if ((kind == REQUEST_MKDIR || kind == REQUEST_MKNOD || kind == REQUEST_SYMLINK) && type_of(house, object))
        return false; /* it is there, and hidden */
    /* What stands in the root is not given away for one name either. */
    if (path_depth(object) < 2)
        return type_of(house, object) != S_IFDIR;
    return type_of(house, path_parent(object)) == S_IFDIR;
}

bool appeal_is_open(const struct worker *worker, const struct answer *answer)
{
    const struct noticed *noticed = &worker->noticed;
    const struct house *house = worker->house;
    enum operation operation;

    /* What is explained in words of our own is refused whatever is granted. */
    return house->grants && noticed->any && noticed->verdict == RECORD_DENIED && !noticed->reason &&
           (answer->error || answer->goes_on) && operation_of(noticed, &operation) && noticed->length > 1 &&
           decide_may_be_granted(house->policy, operation, object_of(noticed)) &&
           !grants_is_refused(house, operation, object_of(noticed)) &&
           can_be_done(worker, operation, object_of(noticed));
}

static void send_question(const struct worker *worker)
{
    const struct noticed *noticed = &worker->noticed;
    struct caller caller = {0};

    fetch_caller(worker->house, worker->request->thread, &caller);
    struct doorman_record record = {.kind = noticed->kind,
                                    .verdict = RECORD_ASKED,
                                    .number = noticed->number,
                                    .call = worker->request->call,
                                    .process = caller.process,
                                    .parent = caller.parent};
    doorman_record_add(&record, &record.path_length, noticed->path, noticed->length);
    doorman_record_add(&record, &record.program_length, caller.program, caller.program_length);
    doorman_record_send(worker->house->records, &record);
}

/* The supervisor answers each in the end; only who has asked may have gone meanwhile. */
static enum doorman_reply wait_for_reply(const struct worker *worker)
{
    struct pollfd polled = {.fd = worker->house->records, .events = POLLIN};
    struct doorman_answer answer;

    while (receive_is_valid(worker->house, worker->request->id)) {
        if (poll(&polled, 1, TICK_MS) <= 0)
            continue;
        ssize_t size = recv(polled.fd, &answer, sizeof answer, MSG_DONTWAIT);
        if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
            return REPLY_NO;
        if (size == (ssize_t)sizeof answer && answer.number == worker->noticed.number)
            return (enum doorman_reply)answer.reply;
    }
    return REPLY_NO;
}

static struct slice granted_by(const struct house *house, enum doorman_reply reply, enum operation operation,
                               struct slice object)
{
    struct slice directory = SLICE("");

    if (reply == REPLY_DIRECTORY && operation == OPERATION_WRITE)
        directory = decide_grantable_directory(house->policy, object);
    return directory.len > 0 ? directory : object;
}

static enum doorman_reply ask(struct worker *worker, enum operation operation)
{
    struct house *house = worker->house;
    enum doorman_reply reply = REPLY_NO;

    if (!worker_may_wait(worker))
        return REPLY_NO;
    grants_take_turn(house);
    /* Somebody else may have been answered about the same meanwhile. */
    if (grants_cover(house, operation, object_of(&worker->noticed))) {
        reply = REPLY_ONCE;
    } else if (receive_is_valid(worker->house, worker->request->id) &&
               !grants_is_refused(house, operation, object_of(&worker->noticed))) {
        send_question(worker);
        reply = wait_for_reply(worker);
    }
    /* No link stands at a name that was granted for longer. */
    if (reply == REPLY_RUN && worker->request->kind == REQUEST_SYMLINK)
        reply = REPLY_ONCE;
    if ((reply == REPLY_RUN || reply == REPLY_DIRECTORY) &&
        !grants_add(house, operation, granted_by(house, reply, operation, object_of(&worker->noticed)), true))
        reply = REPLY_ONCE;
    if (reply == REPLY_NEVER)
        grants_refuse(house, operation, object_of(&worker->noticed));
    grants_leave_turn(house);
    worker_has_waited(worker);
    return reply;
}

/* True: it is to be performed again. */
static bool is_allowed(struct worker *worker)
{
    enum operation operation;

    if (!operation_of(&worker->noticed, &operation))
        return false;
    enum doorman_reply reply = ask(worker, operation);
    return reply == REPLY_RUN || reply == REPLY_DIRECTORY ||
           (reply == REPLY_ONCE && grants_add(worker->house, operation, object_of(&worker->noticed), false));
}

/* The same once more, after everything: no mistake elsewhere hands a directory out. */
static bool is_directory(int fd)
{
    struct stat status;

    return fstat(fd, &status) < 0 || S_ISDIR(status.st_mode);
}

struct answer appeal_perform(struct worker *worker, struct request *request)
{
    struct noticed *asked = NULL;

    grants_begin(worker->house);
    struct answer answer = perform(worker, request);
    for (int i = 0; i < QUESTIONS_MAX && appeal_is_open(worker, &answer) && is_allowed(worker); i++) {
        if (!asked && (asked = malloc(sizeof *asked)))
            *asked = worker->noticed;
        answer = perform(worker, request);
    }
    grants_end(worker->house);
    if (answer.fd >= 0 && is_directory(answer.fd)) {
        close(answer.fd);
        answer = answer_error(EACCES);
    }
    if (asked && !answer.error && !answer.goes_on && !worker->noticed.any) {
        worker->noticed = *asked;
        worker->noticed.verdict = RECORD_ALLOWED;
        worker->noticed.reason = "whoever was asked allowed it";
        worker->noticed.error = 0;
    }
    free(asked);
    return answer;
}
