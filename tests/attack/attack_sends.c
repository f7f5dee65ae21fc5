/* Sends while sibling threads exchange what is sent, where to and over which
 * socket (attack 49): the name in the address, the address itself, what the name
 * leads to, and the descriptor. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SOCKETS = 4, MESSAGES = 3, LINK = 2, NAMES = 3, CALLS = 5 };

struct race {
    atomic_bool over;
    const char *names[NAMES]; /* one's own socket, the host's, and a link to either */
    struct sockaddr_un addresses[NAMES];
    struct sockaddr_un swapped;
    int sockets[SOCKETS];
    int descriptor;
    int receiver;
    struct msghdr message;
    struct mmsghdr messages[MESSAGES];
    long received;
};

static void *exchange_names(void *argument)
{
    struct race *race = argument;

    for (size_t i = 0; !race->over; i = (i + 1) % NAMES) {
        memcpy(&race->swapped, &race->addresses[i], sizeof race->swapped);
        /* Once as a pointer to another address, once as the same one with another content. */
        race->message.msg_name = i % 2 ? &race->swapped : &race->addresses[i];
        for (size_t j = 0; j < MESSAGES; j++)
            race->messages[j].msg_hdr.msg_name = race->message.msg_name;
    }
    return NULL;
}

static void *exchange_links(void *argument)
{
    struct race *race = argument;

    for (size_t i = 0; !race->over; i = !i) {
        if (symlink(race->names[i], "swapping") == 0)
            rename("swapping", race->names[LINK]);
    }
    return NULL;
}

static void *exchange_descriptors(void *argument)
{
    struct race *race = argument;

    for (size_t i = 0; !race->over; i = (i + 1) % SOCKETS)
        dup2(race->sockets[i], race->descriptor);
    return NULL;
}

static void *receive(void *argument)
{
    struct race *race = argument;
    char text[64];

    while (!race->over)
        race->received += recv(race->receiver, text, sizeof text, 0) > 0;
    return NULL;
}

static bool prepare(struct race *race, char **names)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof loopback;
    struct timeval patience = {.tv_usec = 10000};
    static char text[] = "smuggled";
    static struct iovec part = {.iov_base = text, .iov_len = sizeof text - 1};
    int pair[2];

    for (size_t i = 0; i < NAMES; i++) {
        race->names[i] = names[i];
        race->addresses[i].sun_family = AF_UNIX;
        strncpy(race->addresses[i].sun_path, names[i], sizeof race->addresses[i].sun_path - 1);
    }
    race->receiver = socket(AF_UNIX, SOCK_DGRAM, 0);
    race->sockets[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    race->sockets[1] = socket(AF_INET, SOCK_DGRAM, 0);
    if (race->receiver < 0 || race->sockets[0] < 0 || race->sockets[1] < 0 ||
        bind(race->receiver, (struct sockaddr *)&race->addresses[0], sizeof race->addresses[0]) < 0 ||
        setsockopt(race->receiver, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
        bind(race->sockets[1], (struct sockaddr *)&loopback, length) < 0 ||
        getsockname(race->sockets[1], (struct sockaddr *)&loopback, &length) < 0 ||
        connect(race->sockets[1], (struct sockaddr *)&loopback, length) < 0)
        return false;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
        return false;
    race->sockets[2] = pair[0];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return false;
    race->sockets[3] = pair[0];
    race->descriptor = dup(race->sockets[0]);
    race->message = (struct msghdr){
        .msg_name = &race->swapped, .msg_namelen = sizeof race->swapped, .msg_iov = &part, .msg_iovlen = 1};
    for (size_t i = 0; i < MESSAGES; i++)
        race->messages[i].msg_hdr = race->message;
    return true;
}

static ssize_t send_somehow(struct race *race, long turn)
{
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const struct sockaddr *address = (const struct sockaddr *)&race->swapped;

    switch (turn % CALLS) {
    case 0:
        return sendto(race->descriptor, "smuggled", 8, flags, address, sizeof race->swapped);
    case 1:
        return sendmsg(race->descriptor, &race->message, flags);
    case 2:
        return sendmmsg(race->descriptor, race->messages, MESSAGES, flags);
    case 3:
        return connect(race->descriptor, address, sizeof race->swapped);
    default:
        return send(race->descriptor, "smuggled", 8, flags);
    }
}

static bool is_over(const struct timespec *begun, unsigned long milliseconds)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)((now.tv_sec - begun->tv_sec) * 1000 + (now.tv_nsec - begun->tv_nsec) / 1000000) >
           milliseconds;
}

/* OWN HOST LINK MILLISECONDS. Says whether some sends were received, and some
 * refused: else it was no race. */
static int race_sends(char **words)
{
    void *(*const siblings[])(void *) = {exchange_names, exchange_links, exchange_descriptors, receive};
    enum { SIBLINGS = sizeof siblings / sizeof *siblings };
    static struct race race;
    pthread_t threads[SIBLINGS];
    struct timespec begun;
    long refused = 0;

    if (!prepare(&race, words))
        return -1;
    for (size_t i = 0; i < SIBLINGS; i++)
        pthread_create(&threads[i], NULL, siblings[i], &race);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (long turn = 0; !is_over(&begun, number(words[3])); turn++)
        refused += send_somehow(&race, turn) < 0 && errno == EACCES;
    race.over = true;
    for (size_t i = 0; i < SIBLINGS; i++)
        pthread_join(threads[i], NULL);
    printf("%s received, %s refused\n", race.received ? "some" : "none", refused ? "some" : "none");
    fprintf(stderr, "%ld received, %ld refused\n", race.received, refused);
    return 0;
}

const struct operation send_operations[] = {{"race-sends", 4, race_sends}, {NULL, 0, NULL}};
