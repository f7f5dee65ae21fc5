/* Takes the lock, has the request performed by its family's file, and leaves the
 * lock. Renames and links of directories take it alone, by themselves. */
#include "doorman/perform.h"

#include "doorman/lock.h"
#include "doorman/refuse.h"
#include "doorman/tell.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

static struct answer perform_locked(struct worker *worker, struct request *request, bool alone,
                                    struct answer (*family)(struct worker *worker, struct request *request))
{
    for (;; alone = true) {
        if (!lock_take(worker->lock, alone))
            return answer_error(EAGAIN);
        worker->alone = alone;
        struct answer answer = family(worker, request);
        lock_leave(worker->lock);
        if (answer.error != ANSWER_ALONE || alone)
            return answer;
    }
}

static struct answer perform_by_kind(struct worker *worker, struct request *request)
{
    switch (request->kind) {
    case REQUEST_OPEN:
        return perform_locked(worker, request, false, perform_open);
    case REQUEST_MKDIR:
    case REQUEST_MKNOD:
    case REQUEST_SYMLINK:
        return perform_locked(worker, request, false, perform_make);
    case REQUEST_UNLINK:
        return perform_locked(worker, request, false, perform_unlink);
    case REQUEST_LINK:
        return perform_locked(worker, request, false, perform_link);
    case REQUEST_RENAME:
        return perform_rename(worker, request);
    case REQUEST_TRUNCATE:
    case REQUEST_CHMOD:
    case REQUEST_CHOWN:
    case REQUEST_TIMES:
    case REQUEST_SET_ATTRIBUTE:
    case REQUEST_REMOVE_ATTRIBUTE:
        return perform_locked(worker, request, false, perform_change);
    case REQUEST_BIND:
        return perform_locked(worker, request, true, perform_bind);
    case REQUEST_CONNECT:
        return perform_connect(worker, request);
    case REQUEST_SEND:
        return perform_send(worker, request);
    case REQUEST_LOOK:
        return perform_look(worker, request);
    case REQUEST_REFUSED:
        tell_call(worker, request->refusal->reason, request->refusal->is_probe);
        return answer_error(request->refusal->error);
    }
    return answer_error(ENOSYS);
}

/* As the user that the caller has become: the kernel then lends a root's thread
 * none of its rights over files. */
struct answer perform(struct worker *worker, struct request *request)
{
    worker->request = request;
    worker->noticed.any = false;
    worker->noticed.moved = false;
    if (request->umask != worker->umask)
        umask(request->umask);
    worker->umask = request->umask;
    if (request->other_user) {
        setfsgid(request->as_group);
        setfsuid(request->as_user);
    }
    struct answer answer = perform_by_kind(worker, request);
    if (request->other_user) {
        setfsuid(geteuid());
        setfsgid(getegid());
    }
    return answer;
}
