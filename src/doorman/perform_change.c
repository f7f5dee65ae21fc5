/* What changes a file or what is said of it: truncate, chmod, chown, times and
 * attributes, by path and by descriptor (a descriptor that was opened for reading
 * is enough for most of them). */
#include "base/fd.h"
#include "doorman/git_config.h"
#include "doorman/judge.h"
#include "doorman/own_view.h"
#include "doorman/perform.h"
#include "doorman/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static int change_mode(const struct request *request, int object, bool is_link)
{
    /* The kernel has no modes of links either. */
    if (is_link) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return fchmodat(AT_FDCWD, worker_number(object).text, request->mode & 07777, 0);
}

static int change_times(const struct request *request, int object, bool is_link)
{
    const struct timespec *times = request->now ? NULL : request->times;

    if (is_link)
        return utimensat(object, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    return utimensat(AT_FDCWD, worker_number(object).text, times, 0);
}

static int change_attribute(const struct request *request, int object, bool is_link)
{
    /* What users may attach, links cannot have. */
    if (is_link) {
        errno = EPERM;
        return -1;
    }
    if (request->kind == REQUEST_REMOVE_ATTRIBUTE)
        return removexattr(worker_number(object).text, request->text);
    return setxattr(worker_number(object).text, request->text, request->value, request->value_size,
                    (int)request->flags);
}

static int change(const struct request *request, int object)
{
    struct stat status;

    if (fstat(object, &status) < 0)
        return -1;
    bool is_link = S_ISLNK(status.st_mode);
    switch (request->kind) {
    case REQUEST_TRUNCATE:
        return truncate(worker_number(object).text, request->size);
    case REQUEST_CHMOD:
        return change_mode(request, object, is_link);
    case REQUEST_CHOWN:
        return fchownat(object, "", request->user, request->group, AT_EMPTY_PATH);
    case REQUEST_TIMES:
        return change_times(request, object, is_link);
    default:
        return change_attribute(request, object, is_link);
    }
}

struct answer perform_change(struct worker *worker, struct request *request)
{
    const unsigned known = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    bool attribute = request->kind == REQUEST_SET_ATTRIBUTE || request->kind == REQUEST_REMOVE_ATTRIBUTE;
    struct entry_name entry;
    struct statvfs mount;
    struct place place;

    if (!attribute && request->flags & ~known)
        return answer_error(EINVAL);
    if (request->kind == REQUEST_TIMES && !request->now && request->times[0].tv_nsec == UTIME_OMIT &&
        request->times[1].tv_nsec == UTIME_OMIT)
        return answer_value(0);
    bool link_itself = request->no_follow || (!attribute && request->flags & AT_SYMLINK_NOFOLLOW);
    int error =
        resolve(worker->house, request, &request->operands[0], link_itself ? RESOLVE_LINK : RESOLVE_OBJECT, 0, &place);
    if (error) {
        tell_unresolved(worker, &request->operands[0], error);
        return answer_error(error);
    }
    error = judge_object(worker->house, place.object, &entry);
    if (error && git_config_is_probed(worker, place.object, &entry))
        error = 0;
    /* Of the mount the kernel speaks first here. */
    if (error == EACCES && fstatvfs(place.object, &mount) == 0 && mount.f_flag & ST_RDONLY)
        error = EROFS;
    if (error)
        tell_object(worker, place.object, &entry, error);
    struct answer answer = error ? answer_error(error) : answer_of(change(request, place.object));
    if (answer.error == EROFS && !error && entry.name.kind == NAME_KNOWN) {
        FD_CLEANUP int own = own_view_object(worker->house, place.object, name_slice(&entry.name));
        if (own >= 0)
            answer = answer_of(change(request, own));
    }
    if (!answer.error)
        tell_written(worker, &entry.name);
    place_close(&place);
    return answer;
}
