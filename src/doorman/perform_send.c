/* sendto with an address, sendmsg and sendmmsg, where unix datagrams are allowed:
 * each message of one can name a destination of its own, which no filter sees
 * (attacks 47, 48). All of them are performed here, of other sockets too: if a
 * call could be told to go on, its descriptor would be exchanged meanwhile (49).
 *
 * The receiver sees who performed it: SCM_CREDENTIALS name the doorman's process,
 * which inside is number 0. */
#include "doorman/destination.h"
#include "doorman/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is sent over: of several messages all but the first have no socket. */
struct way {
    struct worker *worker;
    const struct request *request;
    bool blocks;
};

static bool may_block(const struct request *request)
{
    int flags = fcntl(request->socket, F_GETFL);

    return !(request->flags & MSG_DONTWAIT) && flags >= 0 && !(flags & O_NONBLOCK);
}

static struct answer send_part(const struct way *way, const struct msghdr *message, unsigned flags)
{
    return answer_of(sendmsg(way->request->socket, message, (int)(way->request->flags | MSG_NOSIGNAL | flags)));
}

/* A stream whose socket may block takes everything before the call returns. */
static struct answer send_waiting(const struct way *way, const struct msghdr *message, size_t sent)
{
    struct iovec rest = {(char *)message->msg_iov->iov_base + sent, message->msg_iov->iov_len - sent};
    struct msghdr rest_message = *message;

    if (!worker_may_wait(way->worker))
        return sent ? answer_value((int64_t)sent) : answer_error(EAGAIN);
    rest_message.msg_iov = &rest;
    if (sent) {
        rest_message.msg_control = NULL; /* went with the first part */
        rest_message.msg_controllen = 0;
    }
    struct answer answer = send_part(way, &rest_message, 0);
    bool broken_off = worker_has_waited(way->worker);
    if (sent)
        return answer_value((int64_t)sent + (answer.error ? 0 : answer.value));
    if (broken_off && answer.error == EINTR)
        answer.error = ANSWER_RESTART;
    return answer;
}

static struct answer send_to(const struct way *way, const struct request *content, struct destination *destination)
{
    struct iovec part = {content->value, content->value_size};
    struct msghdr message = {.msg_name = destination->length ? &destination->address : NULL,
                             .msg_namelen = destination->length,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = content->control,
                             .msg_controllen = content->control_size};
    struct answer answer = answer_error(EAGAIN);

    /* Most can be done at once. With TCP's fast open, trying would already begin
     * to connect. */
    if (!way->blocks || !(way->request->flags & MSG_FASTOPEN))
        answer = send_part(way, &message, MSG_DONTWAIT);
    size_t sent = answer.error ? 0 : (size_t)answer.value;
    bool is_rest = !answer.error && way->request->type == SOCK_STREAM && sent < content->value_size;
    if (!way->blocks || !(answer.error == EAGAIN || is_rest))
        return answer;
    return send_waiting(way, &message, sent);
}

/* Other unix sockets than datagrams look whether there is an address, not what it
 * is: they are given none that could lead anywhere. */
static int judge(struct worker *worker, const struct request *content, struct destination *destination)
{
    bool is_connected_kind = content->type == SOCK_STREAM || content->type == SOCK_SEQPACKET;

    if (content->address_length > 0 && !(content->domain == AF_UNIX && is_connected_kind))
        return destination_judge(worker, content, destination);
    destination->is_pinned = false;
    destination->address = (struct sockaddr_storage){.ss_family = AF_UNIX};
    destination->length = content->address_length > 0 ? sizeof(sa_family_t) : 0;
    return 0;
}

/* As the kernel does it, which for us is told not to. */
static void signal_broken_pipe(const struct request *request)
{
    if (request->type == SOCK_STREAM && !(request->flags & MSG_NOSIGNAL))
        syscall(SYS_pidfd_send_signal, request->caller, SIGPIPE, NULL, 0);
}

static bool tell_length(const struct way *way, const struct request *content, int64_t sent)
{
    uint32_t length = (uint32_t)sent;

    return pwrite(way->request->memory, &length, sizeof length, (off_t)content->length_at) == (ssize_t)sizeof length;
}

static struct answer send_one(const struct way *way, const struct request *content)
{
    struct destination destination;
    int error = judge(way->worker, content, &destination);
    struct answer answer = answer_error(error);

    if (!error)
        answer = send_to(way, content, &destination);
    destination_close(&destination);
    if (answer.error == EPIPE)
        signal_broken_pipe(way->request);
    if (!answer.error && way->request->memory >= 0 && !tell_length(way, content, answer.value))
        answer = answer_error(EFAULT);
    return answer;
}

/* What could not be sent any more, or not as a whole, is the matter of the next call. */
static struct answer send_several(const struct way *way)
{
    int64_t count = 0;

    for (const struct request *content = way->request; content; content = content->next) {
        struct answer answer = send_one(way, content);
        if (answer.error)
            return count ? answer_value(count) : answer;
        count++;
        if ((size_t)answer.value < content->value_size)
            break;
    }
    return answer_value(count);
}

struct answer perform_send(struct worker *worker, struct request *request)
{
    struct way way = {worker, request, may_block(request)};
    struct answer answer = request->memory < 0 ? send_one(&way, request) : send_several(&way);

    request_let_go(request);
    return answer;
}
