/* The DNS inside: answers whoever asks, at whatever address it asks. Policy
 * decides first, so a refused name is never sent anywhere (attacks 81, 82). An
 * allowed one is resolved, to learn whether it exists, and answered with the
 * address that stands for it here.
 *
 * A query is a job from the moment it is read until its answer is sent; there is
 * a bounded number of them, and more are dropped, as an overrun server does. */
#include "net/dns.h"
#include "net/network.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { JOBS_MAX = 1024, STREAMS_MAX = 64, SOCKETS_MAX = 8, READS_AT_ONCE = 64, TTL = 60, FRAME = 2 };

struct udp {
    struct watch watch; /* first */
    struct network *network;
};

struct dns_server {
    struct network *network;
    struct udp sockets[SOCKETS_MAX];
    size_t socket_count;
    size_t job_count;
    size_t stream_count;
};

/* A client that asks over TCP. Lives until it is gone and its last job as well. */
struct stream {
    struct watch watch; /* first */
    struct timer timer;
    struct dns_server *server;
    size_t job_count;
    bool ending;
    bool over;
};

struct control {
    _Alignas(struct cmsghdr) char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

struct job {
    struct dns_server *server;
    struct dns_query query;
    struct stream *stream; /* NULL: UDP, and what follows is known */
    int fd;
    struct sockaddr_storage client;
    socklen_t client_length;
    struct control control; /* from which of our addresses to answer */
    size_t control_length;
};

static void bury_stream(struct stream *stream)
{
    if (!stream->over || stream->job_count > 0)
        return;
    stream->server->stream_count--;
    free(stream);
}

/* Freed at the end of the turn at the earliest: by its timer. */
static void close_stream(struct stream *stream)
{
    loop_close(&stream->watch);
    if (!stream->timer.link.next || !stream->over)
        loop_timer_start(&stream->server->network->loop, &stream->timer, LOOP_DRAIN);
    stream->over = true;
}

static void stream_expired(struct timer *timer)
{
    struct stream *stream = (struct stream *)((char *)timer - offsetof(struct stream, timer));

    if (!stream->over)
        close_stream(stream);
    else
        bury_stream(stream);
}

static void end_job(struct job *job)
{
    struct stream *stream = job->stream;

    job->server->job_count--;
    free(job);
    if (stream) {
        stream->job_count--;
        if (!stream->timer.link.next)
            bury_stream(stream);
    }
}

static void send_stream(struct job *job, const uint8_t *answer, size_t length)
{
    struct stream *stream = job->stream;
    uint8_t frame[FRAME] = {(uint8_t)(length >> 8), (uint8_t)length};
    struct iovec parts[] = {{frame, FRAME}, {(void *)(uintptr_t)answer, length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    if (stream->watch.fd < 0)
        return;
    if (sendmsg(stream->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)(FRAME + length))
        close_stream(stream); /* it does not read */
    else
        loop_timer_start(&job->server->network->loop, &stream->timer, LOOP_HANDSHAKE);
}

static void send_datagram(struct job *job, const uint8_t *answer, size_t length)
{
    struct iovec part = {(void *)(uintptr_t)answer, length};
    struct msghdr message = {.msg_name = &job->client,
                             .msg_namelen = job->client_length,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = job->control_length ? job->control.bytes : NULL,
                             .msg_controllen = job->control_length};

    /* One that does not fit into the socket is lost, as datagrams are. */
    (void)!sendmsg(job->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void finish(struct job *job, const uint8_t *answer, size_t length)
{
    if (length && job->stream)
        send_stream(job, answer, length);
    else if (length)
        send_datagram(job, answer, length);
    end_job(job);
}

static size_t room(const struct job *job)
{
    return job->stream ? DNS_MESSAGE_MAX : job->query.payload;
}

static void finish_code(struct job *job, unsigned code, unsigned extended, const char *text)
{
    uint8_t answer[DNS_MESSAGE_MAX];

    finish(job, answer, dns_answer_code(&job->query, code, extended, text, answer, room(job)));
}

static void finish_address(struct job *job, const struct address *address)
{
    uint8_t answer[DNS_MESSAGE_MAX];

    finish(job, answer, dns_answer_address(&job->query, address, TTL, answer, room(job)));
}

static struct slice name_of(const struct job *job)
{
    return (struct slice){job->query.host.name, job->query.host.name_length};
}

/* Addresses that nobody inside could connect to are not given out. */
static bool is_kind_unusable(const struct job *job)
{
    return job->query.type == DNS_TYPE_AAAA && !job->server->network->has_v6;
}

static void finish_synthetic(struct job *job)
{
    struct address address;
    uint32_t number;

    if (is_kind_unusable(job)) {
        finish_code(job, DNS_NOERROR, DNS_EDE_NONE, "");
        return;
    }
    if (!names_number(job->server->network->names, name_of(job), &number)) {
        finish_code(job, DNS_SERVFAIL, DNS_EDE_NONE, "too many names in one run");
        return;
    }
    names_address(number, job->query.type == DNS_TYPE_AAAA, &address);
    finish_address(job, &address);
}

static void resolved(void *argument, const struct resolution *resolution)
{
    struct job *job = argument;

    if (resolution->result == RESOLVED)
        finish_synthetic(job);
    else if (resolution->result == RESOLVE_NO_SUCH_NAME)
        finish_code(job, DNS_NXDOMAIN, DNS_EDE_NONE, "");
    else
        finish_code(job, DNS_SERVFAIL, DNS_EDE_NETWORK_ERROR, "the host's name servers do not answer");
}

static void resolve(struct job *job)
{
    struct resolver *resolver = job->server->network->resolver;
    struct resolution known;

    if (resolver_knows(resolver, name_of(job), &known))
        resolved(job, &known);
    else if (!resolver_ask(resolver, name_of(job), resolved, job))
        finish_code(job, DNS_SERVFAIL, DNS_EDE_NONE, "too many queries at once");
}

static void forwarded(void *argument, struct slice upstream)
{
    struct job *job = argument;
    uint8_t answer[DNS_MESSAGE_MAX];
    size_t length;

    if (dns_answer_forward(&job->query, upstream, job->stream != NULL, answer, room(job), &length))
        finish(job, answer, length);
    else
        finish_code(job, DNS_SERVFAIL, DNS_EDE_NETWORK_ERROR, "the host's name servers do not answer");
}

static void forward(struct job *job)
{
    if (!resolver_ask_raw(job->server->network->resolver, name_of(job), job->query.type, forwarded, job))
        finish_code(job, DNS_SERVFAIL, DNS_EDE_NONE, "too many queries at once");
}

static void answered(void *argument, const struct net_verdict *verdict, int fd)
{
    struct job *job = argument;

    if (fd >= 0)
        close(fd);
    if (verdict->refusal) {
        char reason[NET_REASON_MAX + 1];
        memcpy(reason, verdict->reason, verdict->reason_length);
        reason[verdict->reason_length] = '\0';
        finish_code(job, DNS_NXDOMAIN, DNS_EDE_BLOCKED, reason);
        return;
    }
    /* Through a proxy above: that resolves names, and we may not be able to. */
    bool direct = verdict->route == NET_DIRECT;
    switch (dns_handling_of(&job->query)) {
    case DNS_SYNTHESIZE:
        if (direct)
            resolve(job);
        else
            finish_synthetic(job);
        return;
    case DNS_FORWARD:
        if (direct) {
            forward(job);
            return;
        }
        finish_code(job, DNS_NOERROR, DNS_EDE_NONE, "");
        return;
    case DNS_DECLINE:
        finish_code(job, DNS_NOTIMP, DNS_EDE_NONE, "");
        return;
    default:
        finish_code(job, DNS_NOERROR, DNS_EDE_NONE, "");
    }
}

static void answer_reverse(struct job *job)
{
    struct slice name;
    uint8_t answer[DNS_MESSAGE_MAX];

    if (names_find(job->server->network->names, &job->query.reverse, &name) && name.len)
        finish(job, answer, dns_answer_name(&job->query, name, TTL, answer, room(job)));
    else
        finish_code(job, DNS_NXDOMAIN, DNS_EDE_NONE, "");
}

/* RFC 6761: localhost is this machine, that is the inside. */
static void answer_localhost(struct job *job)
{
    struct address address = {.v6 = job->query.type == DNS_TYPE_AAAA};

    if ((job->query.type != DNS_TYPE_A && job->query.type != DNS_TYPE_AAAA) || is_kind_unusable(job)) {
        finish_code(job, DNS_NOERROR, DNS_EDE_NONE, "");
        return;
    }
    address.bytes[0] = address.v6 ? 0 : 127;
    address.bytes[address.v6 ? 15 : 3] = 1;
    finish_address(job, &address);
}

static bool is_localhost(struct slice name)
{
    return slice_is(name, "localhost") || slice_ends(name, SLICE(".localhost"));
}

static void work(struct job *job)
{
    struct network *network = job->server->network;

    if (job->query.is_reverse) {
        answer_reverse(job);
        return;
    }
    if (!job->query.is_host || job->query.host.is_address) {
        finish_code(job, DNS_NXDOMAIN, DNS_EDE_BLOCKED, "not a host name");
        return;
    }
    if (is_localhost(name_of(job))) {
        answer_localhost(job);
        return;
    }
    struct ask *ask = ask_new(network, NET_ASK_DNS, answered, job);
    if (!ask) {
        finish_code(job, DNS_SERVFAIL, DNS_EDE_NONE, "too many queries at once");
        return;
    }
    ask->question.protocol = NET_DNS;
    ask_set_host(&ask->question, &job->query.host, 0);
    if (!job->stream)
        ask->question.client_port = ntohs(((const struct sockaddr_in *)&job->client)->sin_port); /* of both families */
    ask_send(network, ask);
}

static struct job *new_job(struct dns_server *server)
{
    if (server->job_count == JOBS_MAX)
        return NULL;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->server = server;
    server->job_count++;
    return job;
}

static void take_message(struct job *job, struct slice message)
{
    switch (dns_query_parse(message, &job->query)) {
    case DNS_QUERY:
        work(job);
        return;
    case DNS_REJECT:
        finish_code(job, job->query.code, DNS_EDE_NONE, "");
        return;
    default:
        end_job(job);
    }
}

static void set_control(struct job *job, int level, int type, const void *info, size_t size)
{
    struct cmsghdr *header = (struct cmsghdr *)(void *)job->control.bytes;

    *header = (struct cmsghdr){.cmsg_level = level, .cmsg_type = type, .cmsg_len = CMSG_LEN(size)};
    memcpy(CMSG_DATA(header), info, size);
    job->control_length = CMSG_SPACE(size);
}

/* The answer comes from the address the query went to: musl and c-ares insist. */
static void answer_from_there(struct job *job, const struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);

    if (!header)
        return;
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo info;
        memcpy(&info, CMSG_DATA(header), sizeof info);
        info = (struct in_pktinfo){.ipi_spec_dst = info.ipi_addr};
        set_control(job, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo info;
        memcpy(&info, CMSG_DATA(header), sizeof info);
        info.ipi6_ifindex = 0;
        set_control(job, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    }
}

static void udp_ready(struct watch *watch, uint32_t events)
{
    struct network *network = ((struct udp *)watch)->network;

    (void)events;
    for (int i = 0; i < READS_AT_ONCE; i++) {
        struct sockaddr_storage client;
        struct control control;
        struct iovec part = {network->scratch, SCRATCH_SIZE};
        struct msghdr message = {.msg_name = &client,
                                 .msg_namelen = sizeof client,
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t length = recvmsg(watch->fd, &message, MSG_DONTWAIT);

        if (length < 0)
            return;
        struct job *job = new_job(network->dns);
        if (!job)
            continue;
        job->fd = watch->fd;
        job->client = client;
        job->client_length = message.msg_namelen;
        answer_from_there(job, &message);
        take_message(job, (struct slice){network->scratch, (size_t)length});
    }
}

void dns_serve_udp(struct network *network, int fd)
{
    struct dns_server *server = network->dns;

    if (server->socket_count == SOCKETS_MAX) {
        close(fd);
        return;
    }
    struct udp *udp = &server->sockets[server->socket_count++];
    *udp = (struct udp){.watch = {.fd = fd, .ready = udp_ready}, .network = network};
    if (!loop_watch(&network->loop, &udp->watch, EPOLLIN))
        loop_close(&udp->watch);
}

/* One framed message, left in the socket until it is all there. */
static bool read_stream(struct stream *stream)
{
    struct network *network = stream->server->network;
    uint8_t *scratch = (uint8_t *)network->scratch;
    ssize_t length = recv(stream->watch.fd, scratch, FRAME + DNS_MESSAGE_MAX, MSG_PEEK | MSG_DONTWAIT);

    if (length < 0 && errno == EAGAIN)
        return false;
    if (length <= 0) {
        close_stream(stream);
        return false;
    }
    size_t wanted = length >= FRAME ? FRAME + ((size_t)scratch[0] << 8 | scratch[1]) : FRAME;
    if (wanted > FRAME + DNS_MESSAGE_MAX || ((size_t)length < wanted && stream->ending)) {
        close_stream(stream);
        return false;
    }
    if (length < FRAME || (size_t)length < wanted)
        return false;
    if (recv(stream->watch.fd, scratch, wanted, MSG_DONTWAIT) != (ssize_t)wanted) {
        close_stream(stream);
        return false;
    }
    struct job *job = new_job(stream->server);
    if (!job) {
        close_stream(stream);
        return false;
    }
    job->stream = stream;
    stream->job_count++;
    take_message(job, (struct slice){(char *)scratch + FRAME, wanted - FRAME});
    return true;
}

static void stream_ready(struct watch *watch, uint32_t events)
{
    struct stream *stream = (struct stream *)watch;

    stream->ending |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    for (int i = 0; i < READS_AT_ONCE && watch->fd >= 0 && read_stream(stream); i++)
        ;
}

void dns_serve_tcp(struct network *network, int fd)
{
    struct dns_server *server = network->dns;
    struct stream *stream = server->stream_count < STREAMS_MAX ? calloc(1, sizeof *stream) : NULL;

    if (!stream) {
        close(fd);
        return;
    }
    stream->watch = (struct watch){.fd = fd, .ready = stream_ready};
    stream->timer.expired = stream_expired;
    stream->server = server;
    server->stream_count++;
    loop_timer_start(&network->loop, &stream->timer, LOOP_HANDSHAKE);
    if (!loop_watch(&network->loop, &stream->watch, EPOLLIN | EPOLLRDHUP))
        close_stream(stream);
}

bool dns_serve_open(struct network *network)
{
    network->dns = calloc(1, sizeof *network->dns);
    if (network->dns)
        network->dns->network = network;
    return network->dns != NULL;
}
