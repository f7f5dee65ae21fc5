/* Which argument of which call is what. Everything a pointer leads to is copied
 * here, once; nothing after this looks at the caller's memory again, so nothing
 * that changes there later has any effect (attacks 49, 51). */
#include "doorman/read.h"

#include "base/fd.h"
#include "doorman/copy.h"
#include "doorman/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
enum { SYS_fchmodat2 = 452 };
#endif

enum { OPEN_HOW_SIZE_MAX = 4096 };

struct reader {
    const struct house *house;
    const struct seccomp_notif *call;
    struct request *request;
};

static uint64_t argument(const struct reader *reader, size_t number)
{
    return reader->call->data.args[number];
}

static int read_path(const struct reader *reader, size_t which, int directory, size_t at)
{
    struct operand *operand = &reader->request->operands[which];
    int error =
        copy_text(reader->request->thread, argument(reader, at), operand->path, sizeof operand->path, &operand->length);

    /* Where the base is the root, absolute paths begin there, too. */
    bool below_base = reader->request->how.resolve & (RESOLVE_IN_ROOT | RESOLVE_BENEATH);
    if (error || (operand->path[0] == '/' && !below_base))
        return error;
    /* Found before the descriptor is looked at. */
    if (operand->length == 0 && (which != 0 || !(reader->request->flags & AT_EMPTY_PATH)))
        return ENOENT;
    return copy_base(reader->house, reader->request->thread, directory, &operand->base);
}

static int read_path_here(const struct reader *reader, size_t which, size_t at)
{
    return read_path(reader, which, AT_FDCWD, at);
}

/* A directory argument and, after it, a path that is relative to it. */
static int read_path_at(const struct reader *reader, size_t which, size_t at)
{
    return read_path(reader, which, (int)argument(reader, at), at + 1);
}

static int read_descriptor(const struct reader *reader, size_t at)
{
    struct operand *operand = &reader->request->operands[0];

    operand->is_base = true;
    int error = copy_descriptor(reader->house, reader->request->thread, (int)argument(reader, at), &operand->base);
    /* A mere path is no open file. */
    return !error && fcntl(operand->base, F_GETFL) & O_PATH ? EBADF : error;
}

static void allow_empty(struct request *request, size_t which, unsigned flags)
{
    struct operand *operand = &request->operands[which];

    if (flags & AT_EMPTY_PATH && operand->length == 0)
        operand->is_base = true;
}

static int read_open(const struct reader *reader, size_t flags_at)
{
    struct request *request = reader->request;

    const uint64_t making = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
    const uint64_t writing = O_ACCMODE | O_TRUNC | making;

    request->how.flags = (unsigned)argument(reader, flags_at);
    bool performed = request->how.flags & writing || reader->house->plan->doorman.performs_reads;
    request->kind = performed ? REQUEST_OPEN : REQUEST_LOOK;
    if (request->how.flags & making)
        request->how.mode = argument(reader, flags_at + 1) & 07777;
    return 0;
}

/* What is behind the path: a mode and, of device files, which device. */
static int read_node(const struct reader *reader, enum request_kind kind, size_t mode_at)
{
    reader->request->kind = kind;
    reader->request->mode = (mode_t)argument(reader, mode_at);
    if (kind == REQUEST_MKNOD)
        reader->request->device = (dev_t)argument(reader, mode_at + 1);
    return 0;
}

static int read_target(const struct reader *reader)
{
    struct request *request = reader->request;
    size_t length;

    request->kind = REQUEST_SYMLINK;
    return copy_text(request->thread, argument(reader, 0), request->text, sizeof request->text, &length);
}

/* As the kernel's copy_struct_from_user: what is newer than we know must be 0. */
static int read_how(const struct reader *reader)
{
    struct request *request = reader->request;
    size_t size = argument(reader, 3);
    unsigned char bytes[OPEN_HOW_SIZE_MAX] = {0};

    if (size < sizeof request->how)
        return EINVAL;
    if (size > sizeof bytes)
        return E2BIG;
    int error = copy_bytes(request->thread, argument(reader, 2), bytes, size);
    if (error)
        return error;
    for (size_t i = sizeof request->how; i < size; i++) {
        if (bytes[i])
            return E2BIG;
    }
    memcpy(&request->how, bytes, sizeof request->how);
    request->kind = REQUEST_OPEN;
    request->has_resolve = true;
    const uint64_t tmpfile_bit = O_TMPFILE & ~O_DIRECTORY;
    bool makes = request->how.flags & (O_CREAT | tmpfile_bit);
    if (request->how.mode & ~(uint64_t)07777 || (request->how.mode && !makes))
        return EINVAL;
    return 0;
}

static int read_timespecs(const struct reader *reader, size_t at)
{
    struct request *request = reader->request;

    request->kind = REQUEST_TIMES;
    if (argument(reader, at) == 0) {
        request->now = true;
        return 0;
    }
    return copy_bytes(request->thread, argument(reader, at), request->times, sizeof request->times);
}

static int read_timevals(const struct reader *reader, size_t at)
{
    struct request *request = reader->request;
    struct timeval values[2];

    request->kind = REQUEST_TIMES;
    if (argument(reader, at) == 0) {
        request->now = true;
        return 0;
    }
    int error = copy_bytes(request->thread, argument(reader, at), values, sizeof values);
    if (error)
        return error;
    for (size_t i = 0; i < 2; i++) {
        if (values[i].tv_usec < 0 || values[i].tv_usec >= 1000000)
            return EINVAL;
        request->times[i] = (struct timespec){values[i].tv_sec, values[i].tv_usec * 1000};
    }
    return 0;
}

#ifdef SYS_utime
static int read_utimbuf(const struct reader *reader, size_t at)
{
    struct request *request = reader->request;
    struct utimbuf value;

    request->kind = REQUEST_TIMES;
    if (argument(reader, at) == 0) {
        request->now = true;
        return 0;
    }
    int error = copy_bytes(request->thread, argument(reader, at), &value, sizeof value);
    request->times[0].tv_sec = value.actime;
    request->times[1].tv_sec = value.modtime;
    return error;
}
#endif

static int read_attribute_name(const struct reader *reader, size_t at)
{
    struct request *request = reader->request;
    size_t length;
    int error = copy_text(request->thread, argument(reader, at), request->text, ATTRIBUTE_NAME_MAX, &length);

    if (error == ENAMETOOLONG || (!error && length == 0))
        return ERANGE;
    return error;
}

static int read_attribute(const struct reader *reader)
{
    struct request *request = reader->request;
    size_t size = argument(reader, 3);
    int error = read_attribute_name(reader, 1);

    request->kind = REQUEST_SET_ATTRIBUTE;
    request->flags = (unsigned)argument(reader, 4);
    if (error)
        return error;
    if (size > ATTRIBUTE_VALUE_MAX)
        return E2BIG;
    request->value = malloc(size + 1);
    request->value_size = size;
    if (!request->value)
        return ENOMEM;
    return copy_bytes(request->thread, argument(reader, 2), request->value, size);
}

/* The first error of two; both are found out in any case. */
static int first(int error, int next)
{
    return error ? error : next;
}

/* The caller's own limit, not the doorman's. */
static bool is_too_large(const struct request *request)
{
    struct rlimit limit;

    return request->size > 0 && prlimit(request->thread, RLIMIT_FSIZE, NULL, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY && (uint64_t)request->size > limit.rlim_cur;
}

/* Calls that begin with a path, or a directory and a path, and those with a
 * descriptor, come in families; `legacy` ones exist on some machines only. */
static int read_legacy(const struct reader *reader)
{
    struct request *request = reader->request;

    switch (reader->call->data.nr) {
#ifdef SYS_open
    case SYS_open:
        return first(read_open(reader, 1), read_path_here(reader, 0, 0));
    case SYS_creat:
        request->kind = REQUEST_OPEN;
        request->how = (struct open_how){.flags = O_CREAT | O_WRONLY | O_TRUNC, .mode = argument(reader, 1) & 07777};
        return read_path_here(reader, 0, 0);
    case SYS_mkdir:
        return first(read_path_here(reader, 0, 0), read_node(reader, REQUEST_MKDIR, 1));
    case SYS_mknod:
        return first(read_path_here(reader, 0, 0), read_node(reader, REQUEST_MKNOD, 1));
    case SYS_symlink:
        return first(read_target(reader), read_path_here(reader, 0, 1));
    case SYS_link:
        request->kind = REQUEST_LINK;
        return first(read_path_here(reader, 0, 0), read_path_here(reader, 1, 1));
    case SYS_unlink:
        request->kind = REQUEST_UNLINK;
        return read_path_here(reader, 0, 0);
    case SYS_rmdir:
        request->kind = REQUEST_UNLINK;
        request->flags = AT_REMOVEDIR;
        return read_path_here(reader, 0, 0);
    case SYS_rename:
        request->kind = REQUEST_RENAME;
        return first(read_path_here(reader, 0, 0), read_path_here(reader, 1, 1));
    case SYS_chmod:
        request->kind = REQUEST_CHMOD;
        request->mode = (mode_t)argument(reader, 1);
        return read_path_here(reader, 0, 0);
    case SYS_chown:
    case SYS_lchown:
        request->kind = REQUEST_CHOWN;
        request->user = (uid_t)argument(reader, 1);
        request->group = (gid_t)argument(reader, 2);
        request->no_follow = reader->call->data.nr == SYS_lchown;
        return read_path_here(reader, 0, 0);
    case SYS_utime:
        return first(read_path_here(reader, 0, 0), read_utimbuf(reader, 1));
    case SYS_utimes:
        return first(read_path_here(reader, 0, 0), read_timevals(reader, 1));
    case SYS_futimesat:
        if (argument(reader, 1) == 0)
            return first(read_descriptor(reader, 0), read_timevals(reader, 2));
        return first(read_path_at(reader, 0, 0), read_timevals(reader, 2));
#endif
    default:
        return ENOSYS;
    }
}

static int read_names(const struct reader *reader)
{
    struct request *request = reader->request;
    int error;

    switch (reader->call->data.nr) {
    case SYS_openat:
        return first(read_open(reader, 2), read_path_at(reader, 0, 0));
    case SYS_openat2:
        error = read_how(reader);
        return error ? error : read_path_at(reader, 0, 0);
    case SYS_mkdirat:
        return first(read_path_at(reader, 0, 0), read_node(reader, REQUEST_MKDIR, 2));
    case SYS_mknodat:
        return first(read_path_at(reader, 0, 0), read_node(reader, REQUEST_MKNOD, 2));
    case SYS_symlinkat:
        return first(read_target(reader), read_path_at(reader, 0, 1));
    case SYS_linkat: {
        request->kind = REQUEST_LINK;
        request->flags = (unsigned)argument(reader, 4);
        if (request->flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
            return EINVAL;
        error = first(read_path_at(reader, 0, 0), read_path_at(reader, 1, 2));
        allow_empty(request, 0, request->flags);
        return error;
    }
    case SYS_unlinkat:
        request->kind = REQUEST_UNLINK;
        request->flags = (unsigned)argument(reader, 2);
        return request->flags & ~(unsigned)AT_REMOVEDIR ? EINVAL : read_path_at(reader, 0, 0);
    case SYS_renameat:
    case SYS_renameat2:
        request->kind = REQUEST_RENAME;
        request->flags = reader->call->data.nr == SYS_renameat2 ? (unsigned)argument(reader, 4) : 0;
        return first(read_path_at(reader, 0, 0), read_path_at(reader, 1, 2));
    case SYS_truncate:
        request->kind = REQUEST_TRUNCATE;
        request->size = (off_t)argument(reader, 1);
        return first(read_path_here(reader, 0, 0), is_too_large(request) ? EFBIG : 0);
    default:
        return read_legacy(reader);
    }
}

static int read_metadata(const struct reader *reader)
{
    struct request *request = reader->request;
    int error;

    switch (reader->call->data.nr) {
    case SYS_fchmod:
        request->kind = REQUEST_CHMOD;
        request->mode = (mode_t)argument(reader, 1);
        return read_descriptor(reader, 0);
    case SYS_fchmodat:
    case SYS_fchmodat2:
        request->kind = REQUEST_CHMOD;
        request->mode = (mode_t)argument(reader, 2);
        request->flags = reader->call->data.nr == SYS_fchmodat2 ? (unsigned)argument(reader, 3) : 0;
        error = read_path_at(reader, 0, 0);
        allow_empty(request, 0, request->flags);
        return error;
    case SYS_fchown:
        request->kind = REQUEST_CHOWN;
        request->user = (uid_t)argument(reader, 1);
        request->group = (gid_t)argument(reader, 2);
        return read_descriptor(reader, 0);
    case SYS_fchownat:
        request->kind = REQUEST_CHOWN;
        request->user = (uid_t)argument(reader, 2);
        request->group = (gid_t)argument(reader, 3);
        request->flags = (unsigned)argument(reader, 4);
        error = read_path_at(reader, 0, 0);
        allow_empty(request, 0, request->flags);
        return error;
    case SYS_utimensat:
        request->flags = (unsigned)argument(reader, 3);
        if (argument(reader, 1) == 0 && (int)argument(reader, 0) != AT_FDCWD)
            return first(request->flags ? EINVAL : read_descriptor(reader, 0), read_timespecs(reader, 2));
        error = first(read_timespecs(reader, 2), read_path_at(reader, 0, 0));
        allow_empty(request, 0, request->flags);
        return error;
    case SYS_setxattr:
    case SYS_lsetxattr:
        request->no_follow = reader->call->data.nr == SYS_lsetxattr;
        return first(read_attribute(reader), read_path_here(reader, 0, 0));
    case SYS_fsetxattr:
        return first(read_attribute(reader), read_descriptor(reader, 0));
    case SYS_removexattr:
    case SYS_lremovexattr:
        request->kind = REQUEST_REMOVE_ATTRIBUTE;
        request->no_follow = reader->call->data.nr == SYS_lremovexattr;
        return first(read_attribute_name(reader, 1), read_path_here(reader, 0, 0));
    case SYS_fremovexattr:
        request->kind = REQUEST_REMOVE_ATTRIBUTE;
        return first(read_attribute_name(reader, 1), read_descriptor(reader, 0));
    default:
        return read_names(reader);
    }
}

/* What the filter refuses where it sees the mode, and sends here where that is told of. */
static bool sets_id(const struct house *house, const struct request *request)
{
    uint64_t mode = request->kind == REQUEST_OPEN ? request->how.mode : request->mode;
    bool counts = request->kind == REQUEST_OPEN || request->kind == REQUEST_CHMOD || request->kind == REQUEST_MKNOD;

    return counts && mode & (house->is_root ? S_ISUID | S_ISGID : S_ISUID);
}

int read_request(const struct house *house, const struct seccomp_notif *call, struct request *request)
{
    struct reader reader = {house, call, request};
    int error;

    request_begin(request, call->id, (pid_t)call->pid);
    request->call = call->data.nr;
    request->refusal = refuse_find_denied(house, call->data.nr);
    if (!request->refusal)
        request->refusal = refuse_find(&call->data, house->policy->seccomp.block_unix_sockets, house->is_root);
    if (request->refusal) {
        request->kind = REQUEST_REFUSED;
        return 0;
    }
    switch (call->data.nr) {
    case SYS_connect:
    case SYS_bind:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
        return read_socket_request(house, call, request);
    default:
        request->umask = copy_umask(house, request->thread);
        request->other_user = copy_user(house, request->thread, &request->as_user, &request->as_group);
        error = read_metadata(&reader);
        if (!sets_id(house, request))
            return error;
        request->kind = REQUEST_REFUSED;
        request->refusal = &refuse_set_id;
        return 0;
    }
}
