/* Attacks by unix sockets: connecting and sending, by every call and kind of socket,
 * to a path or to @NAME, an abstract one; and sockets of one's own, which must work. */
#include "attacker.h"
#include "base/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t length = strlen(name) < sizeof address->sun_path ? strlen(name) : sizeof address->sun_path;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* What the server greets with. One that says nothing is not waited for. */
static int show_greeting(int fd)
{
    const struct timeval patience = {.tv_sec = 5};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return show(fd);
}

/* @NAME is an abstract socket. */
static int connect_to(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0)
        return -1;
    return show_greeting(fd);
}

static int connect_to_own(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);

    if (server < 0 || bind(server, (struct sockaddr *)&address, length) < 0 || listen(server, 1) < 0)
        return -1;
    return connect(client, (struct sockaddr *)&address, length);
}

static int send_to(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (fd < 0)
        return -1;
    return sendto(fd, words[1], strlen(words[1]), 0, (struct sockaddr *)&address, length) < 0 ? -1 : 0;
}

static int send_to_from_pair(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
        return -1;
    return sendto(pair[0], words[1], strlen(words[1]), 0, (struct sockaddr *)&address, length) < 0 ? -1 : 0;
}

static int connect_as(const char *path, int kind)
{
    struct sockaddr_un address;
    socklen_t length = address_of(path, &address);
    int fd = socket(AF_UNIX, kind, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0)
        return -1;
    fcntl(fd, F_SETFL, 0);
    return show_greeting(fd);
}

static int connect_packets(char **words)
{
    return connect_as(words[0], SOCK_SEQPACKET);
}

static int connect_without_waiting(char **words)
{
    return connect_as(words[0], SOCK_STREAM | SOCK_NONBLOCK);
}

static int connect_datagrams(char **words)
{
    return connect_as(words[0], SOCK_DGRAM);
}

/* One end of a pair, connected to somebody else. */
static int connect_from_pair(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[1], &address);
    int pair[2];

    if (socketpair(AF_UNIX, (int)number(words[0]), 0, pair) < 0)
        return -1;
    if (connect(pair[0], (struct sockaddr *)&address, length) < 0)
        return -1;
    return send(pair[0], "smuggled", 8, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* The descriptor is somebody else's copy: sent over a pair and connected there. */
static int connect_in_child(char **words)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        errno = 0;
        _exit(connect_as(words[0], SOCK_STREAM) < 0 ? errno : 0);
    }
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static int connect_and_send(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0)
        return -1;
    return send(fd, words[1], strlen(words[1]), 0) < 0 ? -1 : 0;
}

static int connect_and_write(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0)
        return -1;
    return write(fd, words[1], strlen(words[1])) < 0 ? -1 : 0;
}

static int send_message(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    struct iovec part = {.iov_base = words[1], .iov_len = strlen(words[1])};
    struct msghdr message = {.msg_name = &address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    return fd < 0 || sendmsg(fd, &message, 0) < 0 ? -1 : 0;
}

static int send_message_from_pair(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    struct iovec part = {.iov_base = words[1], .iov_len = strlen(words[1])};
    struct msghdr message = {.msg_name = &address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
    int pair[2];

    return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 || sendmsg(pair[0], &message, 0) < 0 ? -1 : 0;
}

static int send_messages(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    struct iovec part = {.iov_base = words[1], .iov_len = strlen(words[1])};
    struct mmsghdr messages[2] = {0};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    for (int i = 0; i < 2; i++)
        messages[i].msg_hdr =
            (struct msghdr){.msg_name = &address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
    return fd < 0 || sendmmsg(fd, messages, 2, 0) < 0 ? -1 : 0;
}

/* An address where none belongs: streams and packets must not be led by it. */
static int send_on_pair_to(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[1], &address);
    int pair[2];

    if (socketpair(AF_UNIX, (int)number(words[0]), 0, pair) < 0)
        return -1;
    return sendto(pair[0], words[2], strlen(words[2]), MSG_NOSIGNAL, (struct sockaddr *)&address, length) < 0 ? -1 : 0;
}

static int bind_socket(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0)
        return -1;
    return listen(fd, 8);
}

static int bind_packets(char **words)
{
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0)
        return -1;
    return listen(fd, 8);
}

/* Datagrams to a socket of one's own, and back. */
static int datagrams_to_own(char **words)
{
    struct sockaddr_un server_address;
    struct sockaddr_un client_address;
    struct sockaddr_un from;
    socklen_t length = address_of(words[0], &server_address), client_length = address_of(words[1], &client_address);
    socklen_t from_length = sizeof from;
    char text[8] = "";
    int server = socket(AF_UNIX, SOCK_DGRAM, 0), client = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (server < 0 || bind(server, (struct sockaddr *)&server_address, length) < 0 ||
        bind(client, (struct sockaddr *)&client_address, client_length) < 0 ||
        sendto(client, "there", 5, 0, (struct sockaddr *)&server_address, length) != 5 ||
        recvfrom(server, text, sizeof text, MSG_DONTWAIT, (struct sockaddr *)&from, &from_length) != 5 ||
        sendto(server, "back", 4, 0, (struct sockaddr *)&from, from_length) != 4 ||
        recv(client, text, sizeof text, MSG_DONTWAIT) != 4)
        return -1;
    return 0;
}

/* Sends a descriptor of words[1], open for writing, over a socket of one's own of the
 * kind words[2]; what arrives is written to. */
static int hand_over(char **words)
{
    int kind = (int)number(words[2]);
    struct sockaddr_un address;
    socklen_t length = address_of(words[0], &address);
    char byte = 'x';
    int server = socket(AF_UNIX, kind, 0);

    if (server < 0 || bind(server, (struct sockaddr *)&address, length) < 0 ||
        (kind != SOCK_DGRAM && listen(server, 1) < 0))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        int client = socket(AF_UNIX, kind, 0);
        int file = open(words[1], O_WRONLY | O_CREAT, 0600);
        bool sent = connect(client, (struct sockaddr *)&address, length) == 0 &&
                    passing_send(client, &byte, sizeof byte, &file, 1, 0) == 1;
        _exit(sent ? 0 : 1);
    }
    int client = kind == SOCK_DGRAM ? server : accept(server, NULL, NULL);
    int file = -1;
    size_t count = 1;
    int status;
    waitpid(child, &status, 0);
    if (client < 0 || passing_receive(client, &byte, sizeof byte, &file, &count, MSG_DONTWAIT) != 1 || count != 1)
        return -1;
    return write(file, "handed over", 11) < 0 ? -1 : 0;
}

const struct operation socket_operations[] = {
    {"connect", 1, connect_to},
    {"connect-packets", 1, connect_packets},
    {"connect-without-waiting", 1, connect_without_waiting},
    {"connect-datagrams", 1, connect_datagrams},
    {"connect-from-pair", 2, connect_from_pair},
    {"connect-in-child", 1, connect_in_child},
    {"connect-to-own", 1, connect_to_own},
    {"connect-and-send", 2, connect_and_send},
    {"connect-and-write", 2, connect_and_write},
    {"send-to", 2, send_to},
    {"send-to-from-pair", 2, send_to_from_pair},
    {"send-message", 2, send_message},
    {"send-message-from-pair", 2, send_message_from_pair},
    {"send-messages", 2, send_messages},
    {"send-on-pair-to", 3, send_on_pair_to},
    {"bind-socket", 1, bind_socket},
    {"bind-packets", 1, bind_packets},
    {"datagrams-to-own", 2, datagrams_to_own},
    {"hand-over", 3, hand_over},
    {0},
};
