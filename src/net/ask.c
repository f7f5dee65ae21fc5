/* N's side of the link to S. No more questions are under way at a time than
 * verdicts fit into the socket, so that S never has to wait for us. */
#include "net/network.h"

#include "base/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static uint32_t slot_of(uint32_t id)
{
    return id % ASKS_MAX;
}

static void forget_tell(struct asks *asks, struct ask *tell)
{
    asks->tells--;
    free(tell);
}

static void flush(struct network *network)
{
    struct asks *asks = &network->asks;

    while (!link_is_empty(&asks->waiting) && asks->outstanding < ASKS_AT_ONCE) {
        struct ask *ask = (struct ask *)asks->waiting.next;
        ssize_t sent = send(asks->watch.fd, &ask->question, sizeof ask->question, MSG_NOSIGNAL);

        if (sent < 0 && errno == EAGAIN)
            return;
        link_take(&asks->waiting);
        if (sent < 0)
            network->loop.stop = true; /* S is gone */
        else if (ask->answered)
            asks->outstanding++;
        else
            forget_tell(asks, ask);
    }
}

static void take_slot(struct asks *asks, struct ask *ask, uint32_t slot)
{
    asks->slots[slot] = ask;
    asks->next_slot = slot + 1;
    ask->id = slot + ASKS_MAX * (uint32_t)++asks->generations[slot];
    ask->question.id = ask->id;
}

struct ask *ask_new(struct network *network, enum net_question_kind kind,
                    void (*answered)(void *argument, const struct net_verdict *verdict, int fd), void *argument)
{
    struct asks *asks = &network->asks;

    for (uint32_t i = 0; i < ASKS_MAX; i++) {
        uint32_t slot = (asks->next_slot + i) % ASKS_MAX;
        if (asks->slots[slot])
            continue;
        struct ask *ask = calloc(1, sizeof *ask);
        if (!ask)
            return NULL;
        ask->question.kind = kind;
        ask->answered = answered;
        ask->argument = argument;
        take_slot(asks, ask, slot);
        return ask;
    }
    return NULL;
}

void ask_send(struct network *network, struct ask *ask)
{
    link_append(&network->asks.waiting, &ask->link);
    flush(network);
}

static void ignore(void *argument, const struct net_verdict *verdict, int fd)
{
    (void)argument;
    (void)verdict;
    if (fd >= 0)
        close(fd);
}

void ask_forget(struct network *network, struct ask *ask)
{
    if (!ask)
        return;
    if (!ask->link.next) { /* it was sent: the answer comes */
        ask->answered = ignore;
        return;
    }
    link_remove(&ask->link);
    network->asks.slots[slot_of(ask->id)] = NULL;
    free(ask);
}

void ask_set_host(struct net_question *question, const struct host *host, uint16_t port)
{
    memcpy(question->name, host->name, host->name_length);
    question->name_length = (uint8_t)host->name_length;
    question->port = port;
}

void ask_tell(struct network *network, const struct net_question *question)
{
    struct asks *asks = &network->asks;
    struct ask *ask = asks->tells < TELLS_MAX ? calloc(1, sizeof *ask) : NULL;

    if (!ask)
        return;
    asks->tells++;
    ask->question = *question;
    ask_send(network, ask);
}

/* False when there is nothing more to read now. */
static bool receive(struct network *network)
{
    struct asks *asks = &network->asks;
    struct net_verdict verdict;
    int fd = -1;
    size_t count = 1;
    ssize_t length = passing_receive(asks->watch.fd, &verdict, sizeof verdict, &fd, &count, 0);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length != (ssize_t)sizeof verdict) {
        network->loop.stop = true; /* S is gone */
        return false;
    }
    struct ask *ask = asks->slots[slot_of(verdict.id)];
    if (!ask || ask->id != verdict.id) {
        ignore(NULL, NULL, fd);
        return true;
    }
    asks->slots[slot_of(verdict.id)] = NULL;
    asks->outstanding--;
    ask->answered(ask->argument, &verdict, fd);
    free(ask);
    return true;
}

void asks_end(struct network *network)
{
    struct asks *asks = &network->asks;
    int flags = fcntl(asks->watch.fd, F_GETFL);

    fcntl(asks->watch.fd, F_SETFL, flags & ~O_NONBLOCK);
    while (!link_is_empty(&asks->waiting)) {
        const struct ask *ask = (struct ask *)link_take(&asks->waiting);
        if (!ask->answered && send(asks->watch.fd, &ask->question, sizeof ask->question, MSG_NOSIGNAL) < 0)
            return; /* S is gone */
    }
}

static void ready(struct watch *watch, uint32_t events)
{
    struct asks *asks = (struct asks *)watch;
    struct network *network = asks->network;

    (void)events;
    while (receive(network))
        ;
    flush(network);
}

bool asks_open(struct network *network, int link)
{
    struct asks *asks = &network->asks;

    asks->watch = (struct watch){.fd = link, .ready = ready};
    asks->network = network;
    link_init(&asks->waiting);
    return loop_watch(&network->loop, &asks->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}
