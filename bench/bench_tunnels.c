/* Both ends of a connection, to measure what stands between them.
 *
 *   bench_tunnels serve ADDRESS PORT
 *   bench_tunnels exchange|open|bulk|connect SECONDS COUNT ADDRESS PORT [proxy]
 *
 * exchange: requests and answers of 64 bytes over COUNT connections, per second;
 * open:     new connections with one exchange each, COUNT at a time, per second, the first COUNT not counted;
 * bulk:     bytes received over COUNT connections, per second;
 * connect:  microseconds that connect() takes, the median of as many as fit (COUNT is of no use);
 * idle:     COUNT connections that do nothing, until standard input ends.
 * With "proxy" each begins with a CONNECT to the HTTP proxy of $HTTP_PROXY. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 64, BUFFER = 1 << 18, EVENTS = 256, SAMPLES_MAX = 200000, WARM_UP_MAX = 30 /* seconds */ };

static char buffer[BUFFER];

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void set_address(struct sockaddr_in *address, const char *text, const char *port)
{
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, text, &address->sin_addr) != 1)
        fail("address");
}

static void hurry(int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- the server ---- */

static void serve_one(int epoll, int fd, uint32_t events)
{
    if (events & EPOLLIN) {
        ssize_t length = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (length > 0 && buffer[0] == 'b') {
            struct epoll_event event = {.events = EPOLLOUT, .data.fd = fd};
            epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
            return;
        }
        if (length > 0 && send(fd, buffer, (size_t)length, MSG_NOSIGNAL) == length)
            return;
        if (length < 0 && errno == EAGAIN)
            return;
        close(fd);
    } else if (events & EPOLLOUT) {
        if (send(fd, buffer, sizeof buffer, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
            close(fd);
    } else {
        close(fd);
    }
}

static _Noreturn void serve(const char *text, const char *port)
{
    const int on = 1;
    struct sockaddr_in address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};

    set_address(&address, text, port);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 4096) < 0)
        fail("listen");
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd != listener) {
                serve_one(epoll, events[i].data.fd, events[i].events);
                continue;
            }
            int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            if (fd < 0)
                continue;
            hurry(fd);
            event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
            epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
        }
    }
}

/* ---- the client ---- */

struct target {
    struct sockaddr_in address;
    char request[1024]; /* CONNECT; empty: none */
    struct sockaddr_in proxy;
};

static void encode_base64(const char *text, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i += 3) {
        unsigned a = (unsigned char)text[i];
        unsigned b = i + 1 < length ? (unsigned char)text[i + 1] : 0;
        unsigned c = i + 2 < length ? (unsigned char)text[i + 2] : 0;
        *out++ = digits[a >> 2];
        *out++ = digits[(a & 3) << 4 | b >> 4];
        *out++ = i + 1 < length ? digits[(b & 15) << 2 | c >> 6] : '=';
        *out++ = i + 2 < length ? digits[c & 63] : '=';
    }
    *out = '\0';
}

/* http://user:word@localhost:port, with %3D in the user's name. */
static void set_proxy(struct target *target, const char *host, const char *port)
{
    const char *url = getenv("HTTP_PROXY");
    char login[512] = "";
    char encoded[700];
    size_t length = 0;

    if (!url || strncmp(url, "http://", 7) != 0)
        fail("HTTP_PROXY");
    const char *at = strrchr(url, '@');
    for (const char *from = url + 7; at && from < at && length < sizeof login - 1; from++) {
        unsigned byte = (unsigned char)*from;
        if (byte == '%' && sscanf(from + 1, "%2x", &byte) == 1)
            from += 2;
        login[length++] = (char)byte;
    }
    encode_base64(login, encoded);
    set_address(&target->proxy, "127.0.0.1", strrchr(url, ':') + 1);
    snprintf(target->request, sizeof target->request,
             "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\nProxy-Authorization: Basic %s\r\n\r\n", host, port, host, port,
             encoded);
}

struct client {
    int fd;
    bool connected;
    bool greeted; /* the proxy has answered */
    size_t received;
};

static int dial(const struct target *target, bool wait)
{
    const struct sockaddr_in *to = *target->request ? &target->proxy : &target->address;
    int fd = socket(AF_INET, SOCK_STREAM | (wait ? 0 : SOCK_NONBLOCK), 0);

    if (fd < 0 || (connect(fd, (const struct sockaddr *)to, sizeof *to) < 0 && errno != EINPROGRESS))
        fail("connect");
    hurry(fd);
    return fd;
}

static void say(int fd, char kind)
{
    char message[MESSAGE] = {kind};

    if (send(fd, message, sizeof message, MSG_NOSIGNAL) != (ssize_t)sizeof message)
        fail("send");
}

/* Blocking, through the proxy if there is one. */
static int open_tunnel(const struct target *target)
{
    int fd = dial(target, true);
    size_t length = strlen(target->request);

    if (length == 0)
        return fd;
    if (send(fd, target->request, length, 0) != (ssize_t)length)
        fail("send");
    for (size_t have = 0; have < 4 || !memmem(buffer, have, "\r\n\r\n", 4);) {
        ssize_t more = recv(fd, buffer + have, sizeof buffer - have, 0);
        if (more <= 0)
            fail("CONNECT");
        have += (size_t)more;
    }
    if (strncmp(buffer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "%.80s\n", buffer);
        exit(1);
    }
    return fd;
}

static void watch(int epoll, struct client *client)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event);
}

static double exchange_or_bulk(const struct target *target, double seconds, int count, bool bulk)
{
    struct client *clients = calloc((size_t)count, sizeof *clients);
    int epoll = epoll_create1(0);
    uint64_t done = 0;

    for (int i = 0; i < count; i++) {
        clients[i].fd = open_tunnel(target);
        watch(epoll, &clients[i]);
    }
    double start = now();
    for (int i = 0; i < count; i++)
        say(clients[i].fd, bulk ? 'b' : 'e');
    while (now() - start < seconds) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(epoll, events, EVENTS, 1000);
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            ssize_t length = recv(client->fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (length <= 0)
                fail("recv");
            if (bulk) {
                done += (uint64_t)length;
                continue;
            }
            client->received += (size_t)length;
            if (client->received < MESSAGE)
                continue;
            client->received = 0;
            done++;
            say(client->fd, 'e');
        }
    }
    return (double)done / (now() - start);
}

static void expect(int epoll, struct client *client, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = client};

    if (epoll_ctl(epoll, EPOLL_CTL_MOD, client->fd, &event) < 0)
        fail("epoll_ctl");
}

/* One step of a connection that is opened, used once and closed. */
static bool step(int epoll, const struct target *target, struct client *client)
{
    if (!client->connected) {
        int problem = 0;
        socklen_t size = sizeof problem;
        if (getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0 || problem != 0) {
            errno = problem;
            fail("connect");
        }
        client->connected = true;
        expect(epoll, client, EPOLLIN);
        if (!*target->request)
            say(client->fd, 'e');
        else if (send(client->fd, target->request, strlen(target->request), MSG_NOSIGNAL) < 0)
            fail("send");
        return false;
    }
    ssize_t length = recv(client->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN)
        return false;
    if (length <= 0)
        fail("recv");
    if (*target->request && !client->greeted) {
        if (strncmp(buffer, "HTTP/1.1 200", 12) != 0)
            fail("CONNECT");
        client->greeted = true;
        say(client->fd, 'e');
        return false;
    }
    client->received += (size_t)length;
    return client->received >= MESSAGE;
}

/* Nobody waits for another's connect(): it takes a second where a queue for new connections is full. */
static void begin(int epoll, const struct target *target, struct client *client)
{
    *client = (struct client){.fd = dial(target, false)};
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = client};
    epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event);
}

/* The clock starts when as many have been through as are under way at a time: by then whoever stands between has
 * started what it starts when it is first used. */
static double open_many(const struct target *target, double seconds, int count)
{
    struct client *clients = calloc((size_t)count, sizeof *clients);
    int epoll = epoll_create1(0);
    int first = 0;
    uint64_t done = 0;
    double start = now();
    double patience = start + WARM_UP_MAX;

    for (int i = 0; i < count; i++)
        begin(epoll, target, &clients[i]);
    while (first < count ? now() < patience : now() - start < seconds) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(epoll, events, EVENTS, 100);
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            if (!step(epoll, target, client))
                continue;
            const struct linger hard = {.l_onoff = 1}; /* or ports run out */
            setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
            close(client->fd);
            if (first == count)
                done++;
            else if (++first == count)
                start = now();
            begin(epoll, target, client);
        }
    }
    return first == count ? (double)done / (now() - start) : 0;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double connect_time(const struct target *target, double seconds)
{
    double *samples = calloc(SAMPLES_MAX, sizeof *samples);
    size_t count = 0;
    double start = now();

    while (now() - start < seconds && count < SAMPLES_MAX) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        double before = now();
        if (connect(fd, (const struct sockaddr *)&target->address, sizeof target->address) < 0)
            fail("connect");
        samples[count++] = (now() - before) * 1e6;
        const struct linger hard = {.l_onoff = 1};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(fd);
        usleep(200); /* the other side's turn */
    }
    qsort(samples, count, sizeof *samples, by_size);
    return samples[count / 2];
}

static void idle(const struct target *target, int count)
{
    for (int i = 0; i < count; i++)
        open_tunnel(target);
    puts("open");
    fflush(stdout);
    while (read(STDIN_FILENO, buffer, sizeof buffer) > 0)
        ;
}

int main(int argc, char **argv)
{
    struct target target = {0};
    struct rlimit files;

    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (argc == 4 && strcmp(argv[1], "serve") == 0)
        serve(argv[2], argv[3]);
    if (argc < 6) {
        fprintf(stderr, "see the first lines of bench_tunnels.c\n");
        return 2;
    }
    double seconds = atof(argv[2]);
    int count = atoi(argv[3]);
    set_address(&target.address, argv[4], argv[5]);
    if (argc > 6)
        set_proxy(&target, argv[4], argv[5]);
    if (strcmp(argv[1], "idle") == 0)
        idle(&target, count);
    else if (strcmp(argv[1], "connect") == 0)
        printf("%.1f\n", connect_time(&target, seconds));
    else if (strcmp(argv[1], "open") == 0)
        printf("%.0f\n", open_many(&target, seconds, count));
    else
        printf("%.0f\n", exchange_or_bulk(&target, seconds, count, strcmp(argv[1], "bulk") == 0));
    return 0;
}
