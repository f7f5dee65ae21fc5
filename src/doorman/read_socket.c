/* The arguments of calls on sockets: an address, and what is to be sent. As in
 * read.c everything is copied once. What can be sent in one go is bounded; a
 * descriptor in a control message stands for one of the caller's, and is replaced
 * by our own copy of that one: its number must never be taken for one of ours. */
#include "doorman/control.h"
#include "doorman/copy.h"
#include "doorman/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than the largest unix datagram of a host whose buffers are as the kernel
 * has them. */
enum { SENT_MAX = 512 * 1024, CONTROL_MAX = 64 * 1024, PARTS_MAX = 1024, MESSAGES_MAX = 64 };

/* What an address of a unix socket says, if it is a path. */
static int read_socket_path(const struct house *house, struct request *request)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)&request->address;
    struct operand *operand = &request->operands[0];
    size_t start = offsetof(struct sockaddr_un, sun_path);
    size_t length = request->address_length;

    if (length <= start || length > sizeof *name || name->sun_family != AF_UNIX || name->sun_path[0] == '\0')
        return 0;
    operand->length = strnlen(name->sun_path, length - start);
    memcpy(operand->path, name->sun_path, operand->length);
    operand->path[operand->length] = '\0';
    if (operand->path[0] == '/')
        return 0;
    return copy_base(house, request->thread, AT_FDCWD, &operand->base);
}

static int read_address(const struct house *house, struct request *request, uint64_t at, int length)
{
    if (length < 0 || (size_t)length > sizeof request->address)
        return EINVAL;
    request->address_length = (socklen_t)length;
    int error = copy_bytes(request->thread, at, &request->address, (size_t)length);
    return error ? error : read_socket_path(house, request);
}

static int read_named_socket(const struct house *house, const struct seccomp_notif *call, struct request *request)
{
    int error = copy_descriptor(house, request->thread, (int)call->data.args[0], &request->socket);

    return error ? error : read_address(house, request, call->data.args[1], (int)call->data.args[2]);
}

static int read_payload(struct request *request, struct iovec *parts, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++) {
        if (parts[i].iov_len > SSIZE_MAX)
            return EINVAL;
        if (parts[i].iov_len > SENT_MAX - total) {
            if (request->type != SOCK_STREAM)
                return EMSGSIZE;
            parts[i].iov_len = SENT_MAX - total; /* a stream may take less than it is given */
        }
        total += parts[i].iov_len;
    }
    request->value = malloc(total + 1);
    request->value_size = total;
    if (!request->value)
        return ENOMEM;
    return copy_parts(request->thread, parts, count, request->value, total);
}

static int take_descriptors(struct request *request, unsigned char *data, size_t size)
{
    size_t count = size / sizeof(int);
    int number;

    if (count > RIGHTS_MAX - request->right_count)
        return EINVAL;
    for (size_t i = 0; i < count; i++) {
        int *copy = &request->rights[request->right_count];
        memcpy(&number, data + i * sizeof number, sizeof number);
        int error = copy_descriptor_of(request->caller, number, copy);
        if (error)
            return error;
        memcpy(data + i * sizeof number, copy, sizeof *copy);
        request->right_count++;
    }
    return 0;
}

/* Whoever sends can only claim to be itself, and that is us. */
static int take_credentials(unsigned char *data, size_t size)
{
    struct ucred credentials;

    if (size != sizeof credentials)
        return EINVAL;
    memcpy(&credentials, data, size);
    credentials.pid = getpid();
    memcpy(data, &credentials, size);
    return 0;
}

static int translate_control(struct request *request)
{
    struct control_message message;
    enum control_step step;
    size_t at = 0;

    while ((step = control_next(request->control, request->control_size, &at, &message)) == CONTROL_MESSAGE) {
        int error = 0;
        if (message.level == SOL_SOCKET && message.type == SCM_RIGHTS)
            error = take_descriptors(request, message.data, message.size);
        else if (message.level == SOL_SOCKET && message.type == SCM_CREDENTIALS)
            error = take_credentials(message.data, message.size);
        if (error)
            return error;
    }
    return step == CONTROL_MALFORMED ? EINVAL : 0;
}

static int read_control(struct request *request, uint64_t at, size_t size)
{
    if (size == 0)
        return 0;
    if (size > CONTROL_MAX)
        return ENOBUFS;
    request->control = malloc(size);
    request->control_size = size;
    if (!request->control)
        return ENOMEM;
    int error = copy_bytes(request->thread, at, request->control, size);
    return error ? error : translate_control(request);
}

static int read_message(const struct house *house, struct request *request, uint64_t at)
{
    struct iovec parts[PARTS_MAX];
    struct msghdr head;

    int error = copy_bytes(request->thread, at, &head, sizeof head);
    if (error)
        return error;
    if (head.msg_iovlen > PARTS_MAX)
        return EMSGSIZE;
    if (head.msg_name) {
        int length = (int)head.msg_namelen;
        error = read_address(house, request, (uintptr_t)head.msg_name,
                             length > (int)sizeof request->address ? (int)sizeof request->address : length);
    }
    if (!error)
        error = copy_bytes(request->thread, (uintptr_t)head.msg_iov, parts, head.msg_iovlen * sizeof *parts);
    if (!error)
        error = read_payload(request, parts, head.msg_iovlen);
    return error ? error : read_control(request, (uintptr_t)head.msg_control, head.msg_controllen);
}

static int read_sendto(const struct house *house, const struct seccomp_notif *call, struct request *request)
{
    struct iovec part = {(void *)(uintptr_t)call->data.args[1], call->data.args[2]};
    int error = read_address(house, request, call->data.args[4], (int)call->data.args[5]);

    request->flags = (unsigned)call->data.args[3];
    return error ? error : read_payload(request, &part, 1);
}

/* One that comes after others, or NULL: it is malformed, or too much for one go.
 * Descriptors go with the first only, so that not thousands are copied. */
static struct request *read_next_message(const struct house *house, const struct request *first, uint64_t at,
                                         size_t *total)
{
    struct request *next = malloc(sizeof *next);

    if (!next)
        return NULL;
    request_begin(next, first->id, first->thread);
    next->domain = first->domain;
    next->type = first->type;
    next->length_at = at + offsetof(struct mmsghdr, msg_len);
    if (read_message(house, next, at) == 0 && next->right_count == 0 && next->value_size <= SENT_MAX - *total) {
        *total += next->value_size;
        return next;
    }
    request_clear(next);
    free(next);
    return NULL;
}

/* The call may send fewer messages than it is given, but at least one. */
static int read_messages(const struct house *house, const struct seccomp_notif *call, struct request *request)
{
    uint64_t at = call->data.args[1];
    unsigned count = (unsigned)call->data.args[2];

    request->flags = (unsigned)call->data.args[3];
    request->length_at = at + offsetof(struct mmsghdr, msg_len);
    /* The memory of a program that is not dumpable belongs to root; it can do
     * without this call. */
    if (copy_memory(house, request->thread, &request->memory))
        return ENOSYS;
    int error = read_message(house, request, at);
    size_t total = request->value_size;
    struct request **end = &request->next;
    for (unsigned i = 1; !error && i < count && i < MESSAGES_MAX; i++) {
        at += sizeof(struct mmsghdr);
        *end = read_next_message(house, request, at, &total);
        if (!*end)
            break;
        end = &(*end)->next;
    }
    return error;
}

static int find_kind(struct request *request)
{
    socklen_t size = sizeof(int);

    if (getsockopt(request->socket, SOL_SOCKET, SO_DOMAIN, &request->domain, &size) < 0 ||
        getsockopt(request->socket, SOL_SOCKET, SO_TYPE, &request->type, &size) < 0)
        return errno;
    return 0;
}

/* It would be our memory that is sent from, later, when there is something else in
 * it. Programs do without when they are told this. */
static int refuse_lending(struct request *request)
{
    int lends = 0;
    socklen_t size = sizeof lends;

    if (!(request->flags & MSG_ZEROCOPY))
        return 0;
    request->flags &= ~(unsigned)MSG_ZEROCOPY;
    return getsockopt(request->socket, SOL_SOCKET, SO_ZEROCOPY, &lends, &size) == 0 && lends ? ENOBUFS : 0;
}

static int read_send(const struct house *house, const struct seccomp_notif *call, struct request *request)
{
    int error = copy_caller(house, request->thread, &request->caller);

    if (!error)
        error = copy_descriptor_of(request->caller, (int)call->data.args[0], &request->socket);
    if (!error)
        error = find_kind(request);
    if (error)
        return error;
    if (call->data.nr == SYS_sendto) {
        error = read_sendto(house, call, request);
    } else if (call->data.nr == SYS_sendmsg) {
        request->flags = (unsigned)call->data.args[2];
        error = read_message(house, request, call->data.args[1]);
    } else {
        error = read_messages(house, call, request);
    }
    return error ? error : refuse_lending(request);
}

int read_socket_request(const struct house *house, const struct seccomp_notif *call, struct request *request)
{
    switch (call->data.nr) {
    case SYS_connect:
        request->kind = REQUEST_CONNECT;
        return read_named_socket(house, call, request);
    case SYS_bind:
        request->kind = REQUEST_BIND;
        request->umask = copy_umask(house, request->thread);
        request->other_user = copy_user(house, request->thread, &request->as_user, &request->as_group);
        return read_named_socket(house, call, request);
    default:
        request->kind = REQUEST_SEND;
        return read_send(house, call, request);
    }
}
