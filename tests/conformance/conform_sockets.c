/* Sockets with a name: bind and connect, and TCP beside them. */
#include "base/passing.h"
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(const char *path, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strlen(path);
    memcpy(address->sun_path, path, length);
    if (*path == '@')
        address->sun_path[0] = 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*path == '@' ? 0 : 1));
}

static int bind_to(int fd, const char *path)
{
    struct sockaddr_un address;
    socklen_t length = address_of(path, &address);

    return bind(fd, (struct sockaddr *)&address, length);
}

static int connect_to(int fd, const char *path)
{
    struct sockaddr_un address;
    socklen_t length = address_of(path, &address);

    return connect(fd, (struct sockaddr *)&address, length);
}

static int server_at(const char *path, int type)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind_to(fd, path) < 0 || listen(fd, 5) < 0)
        give_up(path);
    return fd;
}

static void say_bound(const char *path, int type)
{
    struct sockaddr_un address = {0};
    socklen_t length = sizeof address;
    int fd = socket(AF_UNIX, type, 0);

    if (say(bind_to(fd, path), "bind %s", path)) {
        getsockname(fd, (struct sockaddr *)&address, &length);
        say(address.sun_path[0] ? strcmp(address.sun_path, path) : 0, "it is called so, %u bytes", length);
        say(listen(fd, 5), "listen");
    }
    if (*path != '@')
        look(path);
    close(fd);
}

static void say_connected(const char *path, int type, int flags)
{
    struct sockaddr_un address = {0};
    socklen_t length = sizeof address;
    int fd = socket(AF_UNIX, type | flags, 0);

    if (say(connect_to(fd, path), "connect %s (%d)", path, type)) {
        getpeername(fd, (struct sockaddr *)&address, &length);
        say(0, "the peer is called %s%s, %u bytes", address.sun_path[0] ? "" : "@",
            address.sun_path + (address.sun_path[0] ? 0 : 1), length);
        say(write(fd, "hello", 5), "write");
    }
    say(fcntl(fd, F_GETFL), "flags afterwards");
    close(fd);
}

static void binding(void)
{
    static const char *const paths[] = {"socket", "socket",      "d/deep", "d/../dots", "link", "dangling",
                                        "file",   "absent/x",    "",       "way/x",     "loop", "/proc/self/cwd/by-way",
                                        "d/",     "@conformance"};
    static char longest[200];

    put_directory("d");
    put_file("file", "");
    put_link("file", "link");
    put_link("nothing", "dangling");
    put_link("d", "way");
    put_link("loop", "loop");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        say_bound(paths[i], SOCK_STREAM);
        say_bound(paths[i], SOCK_SEQPACKET);
    }
    umask(0177);
    say_bound("masked", SOCK_STREAM);
    umask(0);
    say_bound("open", SOCK_STREAM);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address;
    socklen_t length = address_of("a", &address);
    say(bind(fd, (struct sockaddr *)&address, 2), "bind to nothing");
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    say(bind(fd, (struct sockaddr *)&address, 1), "too short");
    say(bind(fd, (struct sockaddr *)&address, sizeof address + 1), "too long");
    say(bind(fd, NULL, length), "from NULL");
    say(bind(fd, (struct sockaddr *)&address, length - 1), "without an end");
    say(bind(fd, (struct sockaddr *)&address, length), "twice");
    say(bind(99, (struct sockaddr *)&address, length), "no descriptor");
    say(bind(0, (struct sockaddr *)&address, length), "no socket");
    memset(longest, 'n', 108);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path, longest, 108);
    say(bind(fd, (struct sockaddr *)&address, sizeof address), "108 bytes without an end");
    look(longest);
    address.sun_family = AF_INET;
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    say(bind(fd, (struct sockaddr *)&address, sizeof address), "another family");
}

static void connecting(void)
{
    static const char *const paths[] = {
        "server", "./server", "d/../server", "link",    "way/../server",         "gone", "file",   "absent",
        "d",      "loop",     "dangling",    "packets", "/proc/self/cwd/server", "@own", "@nobody"};

    put_directory("d");
    put_file("file", "");
    put_link("server", "link");
    put_link("nothing", "dangling");
    put_link("d", "way");
    put_link("loop", "loop");
    close(server_at("gone", SOCK_STREAM));
    int server = server_at("server", SOCK_STREAM), packets = server_at("packets", SOCK_SEQPACKET);
    int own = server_at("@own", SOCK_STREAM);
    (void)packets;
    (void)own;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        say_connected(paths[i], SOCK_STREAM, i % 2 ? SOCK_NONBLOCK : 0);
        say_connected(paths[i], SOCK_SEQPACKET, SOCK_CLOEXEC);
        for (int client; fcntl(server, F_SETFL, O_NONBLOCK) == 0 && (client = accept(server, NULL, NULL)) >= 0;)
            close(client);
    }
    chmod("server", 0);
    say_connected("server", SOCK_STREAM, 0);
    chmod("server", 0600);
    struct sockaddr_un address;
    socklen_t length = address_of("server", &address);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    say(connect(fd, (struct sockaddr *)&address, 2), "nothing");
    say(connect(fd, (struct sockaddr *)&address, 1), "too short");
    say(connect(fd, (struct sockaddr *)&address, sizeof address + 1), "too long");
    say(connect(fd, NULL, length), "NULL");
    say(connect(99, (struct sockaddr *)&address, length), "no descriptor");
    say(connect(0, (struct sockaddr *)&address, length), "no socket");
    say(connect(fd, (struct sockaddr *)&address, length), "plain");
    say(connect(fd, (struct sockaddr *)&address, length), "twice");
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    say(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), "who is the server");
    say(peer.uid == getuid() && peer.gid == getgid() && peer.pid == getpid() ? 0 : -1, "it is me");
    int client = accept(server, NULL, NULL);
    say(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size), "who is the client");
    say(peer.uid == getuid() && peer.gid == getgid() ? 0 : -1, "it is of my user");
    say(peer.pid == getpid() ? 0 : -1, "it is me");
    address.sun_family = AF_UNSPEC;
    say(connect(fd, (struct sockaddr *)&address, length), "no family");
}

static void *accept_later(void *server)
{
    rest(300);
    for (int i = 0; i < 3; i++)
        close(accept(*(int *)server, NULL, NULL));
    return NULL;
}

static void full_queue(void)
{
    pthread_t thread;
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    int fd;

    if (bind_to(server, "server") < 0 || listen(server, 1) < 0)
        give_up("server");
    for (int i = 0; i < 4; i++) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        say(connect_to(fd, "server"), "not to wait, %d", i);
    }
    struct timeval soon = {.tv_usec = 100000};
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    say(connect_to(fd, "server"), "to wait a moment");
    if (pthread_create(&thread, NULL, accept_later, &server))
        give_up("pthread_create");
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    put_file("meanwhile", "x");
    say(connect_to(fd, "server"), "to wait until somebody is let in");
    pthread_join(thread, NULL);
}

static void internet(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

    say(bind(server, (struct sockaddr *)&address, length), "bind");
    getsockname(server, (struct sockaddr *)&address, &length);
    say(connect(client, (struct sockaddr *)&address, length), "connect to what does not listen");
    client = socket(AF_INET, SOCK_STREAM, 0);
    say(listen(server, 5), "listen");
    say(connect(client, (struct sockaddr *)&address, length), "connect");
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    say(sendto(datagrams, "x", 1, 0, (struct sockaddr *)&address, length), "send a datagram");
    say(connect(datagrams, (struct sockaddr *)&address, length), "connect datagrams");
}

/* Descriptors go from one to the other. */
static void handed_over(void)
{
    int server = server_at("server", SOCK_STREAM), fd = open("file", O_RDWR | O_CREAT, 0600);
    size_t count = 1;
    char byte = 'x';

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        bool sent = connect_to(client, "server") == 0 && passing_send(client, &byte, sizeof byte, &fd, 1, 0) == 1;
        _exit(sent ? 0 : errno);
    }
    close(fd);
    int client = accept(server, NULL, NULL);
    say(passing_receive(client, &byte, sizeof byte, &fd, &count, 0), "receiving");
    say(write(fd, "handed over", 11), "writing to it");
    say(status_of(child), "the sender's end");
    look("file");
}

const struct subject socket_subjects[] = {
    {"bind", binding},      {"connect", connecting},      {"full-queue", full_queue},
    {"internet", internet}, {"handed-over", handed_over}, {0},
};
