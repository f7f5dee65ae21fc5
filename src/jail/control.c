/* Records have a fixed head, and reports may have a text behind it; whatever is
 * shorter than its head is taken for the end of the conversation. */
#include "jail/control.h"

#include "base/passing.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

bool order_send(int socket, enum order_kind kind, int value)
{
    struct order order = {kind, value};

    /* The supervisor never waits for pid 1, which anybody outside may have stopped. */
    return send(socket, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof order;
}

static ssize_t receive(int socket, void *record, size_t size)
{
    ssize_t received;

    /* The other side may have gone without reading all we sent: that is told
     * once, before the last words it has left for us. */
    do
        received = recv(socket, record, size, 0);
    while (received < 0 && (errno == EINTR || errno == ECONNRESET));
    return received;
}

bool order_receive(int socket, struct order *order)
{
    return receive(socket, order, sizeof *order) == (ssize_t)sizeof *order;
}

bool descriptors_send(int socket, const int *fds, size_t count)
{
    const char mark = 0;

    if (passing_send(socket, &mark, sizeof mark, fds, count, MSG_DONTWAIT) == (ssize_t)sizeof mark)
        return true;
    /* Whoever waits for them waits no longer. */
    if (passing_send(socket, &mark, sizeof mark, NULL, 0, MSG_DONTWAIT) < 0)
        shutdown(socket, SHUT_RDWR);
    return false;
}

bool descriptor_send(int socket, int fd)
{
    return descriptors_send(socket, &fd, 1);
}

int descriptor_receive(int socket)
{
    int fd = -1;
    size_t count = 1;
    char mark;

    while (passing_receive(socket, &mark, sizeof mark, &fd, &count, 0) < 0 && errno == EINTR)
        count = 1;
    return count == 1 ? fd : -1;
}

static bool send_report(int socket, enum report_kind kind, int value, const char *text, int flags)
{
    struct report head;
    struct iovec parts[] = {
        {&head, offsetof(struct report, error)},
        {(void *)(uintptr_t)text, strlen(text)},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    head.kind = kind;
    head.value = value;
    return sendmsg(socket, &message, MSG_NOSIGNAL | flags) >= (ssize_t)offsetof(struct report, error);
}

bool report_send(int socket, enum report_kind kind, int value, const char *text)
{
    return send_report(socket, kind, value, text, 0);
}

bool report_offer(int socket, enum report_kind kind, int value)
{
    return send_report(socket, kind, value, "", MSG_DONTWAIT);
}

bool report_receive(int socket, struct report *report)
{
    ssize_t received = receive(socket, report, sizeof *report - 1);

    if (received < (ssize_t)offsetof(struct report, error))
        return false;
    ((char *)report)[received] = '\0';
    return true;
}
