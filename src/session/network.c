/* Before the run: the token, the parent proxies, the published ports. When
 * somebody inside wants something for the first time: the network process, which
 * finds the sockets that pid 1 has sent to it. While it runs: its questions are
 * answered by decide() on the policy in force. Should it end before the run does,
 * the network is gone, and nothing that was refused comes through: the sockets
 * inside that it served are closed with it, and what connects to them is refused. */
#include "session/network.h"

#include "base/fd.h"
#include "base/log.h"
#include "jail/spawn.h"
#include "policy/proxy_url.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert((int)PLAN_HTTP_PORT == (int)NET_HTTP_PORT && (int)PLAN_SOCKS_PORT == (int)NET_SOCKS_PORT,
               "the variables lead to the listeners");
_Static_assert((int)PROXY_AUTHORIZATION_MAX <= (int)NET_AUTHORIZATION_MAX, "what was parsed fits");
_Static_assert(2 * (int)PLAN_PUBLISH_MAX <= (int)NET_PUBLISHED_MAX, "a listener for each family");

enum { WATCH_LINK, WATCH_INSIDE, WATCH_ALARM, WATCH_COUNT };
_Static_assert((int)WATCH_COUNT == (int)NETWORK_WATCHES, "a place for each");

/* ---- the parent proxy ---- */

static bool set_parent(struct slice text, const char *what, struct net_parent *parent, struct error *err)
{
    struct proxy_url url;

    if (text.len == 0)
        return true;
    const char *wrong = proxy_url_parse(text, &url);
    if (wrong)
        return error_set(err, "the parent proxy for %s cannot be used: %s", what, wrong);
    parent->host = url.host;
    parent->port = url.port;
    memcpy(parent->authorization, url.authorization, sizeof url.authorization);
    return true;
}

/* ---- published ports ---- */

static int listen_on_loopback(uint16_t port, bool v6)
{
    enum { BACKLOG = 128 };
    const int on = 1;
    struct sockaddr_in v4_address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6_address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr *address = v6 ? (struct sockaddr *)&v6_address : (struct sockaddr *)&v4_address;
    FD_CLEANUP int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 || /* inherited by the connections */
        bind(fd, address, v6 ? sizeof v6_address : sizeof v4_address) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return fd_take(&fd);
}

static void add_published(struct net_config *config, int listener, uint16_t port)
{
    config->published[config->published_count++] = (struct net_published){.listener = listener, .port = port};
}

static bool cannot_publish(uint16_t port, const char *where, struct error *err)
{
    if (errno != EADDRINUSE)
        return error_set_errno(err, errno, "cannot publish port %u on %s (network.publishPorts)", (unsigned)port,
                               where);
    return error_set(
        err,
        "cannot publish port %u on %s (network.publishPorts): Address already in use; end the program that "
        "listens there, or use another port",
        (unsigned)port, where);
}

static bool publish(const struct plan *plan, struct net_config *config, struct error *err)
{
    for (size_t i = 0; i < plan->publish_port_count; i++) {
        uint16_t port = plan->publish_ports[i];
        int listener = listen_on_loopback(port, false);
        if (listener < 0)
            return cannot_publish(port, "this host's loopback", err);
        add_published(config, listener, port);
        /* "localhost" is this one for some; a host without IPv6 has none. */
        listener = listen_on_loopback(port, true);
        if (listener >= 0)
            add_published(config, listener, port);
        else if (errno == EADDRINUSE)
            return cannot_publish(port, "::1", err);
    }
    return true;
}

static void close_published(struct net_config *config)
{
    for (size_t i = 0; i < config->published_count; i++)
        fd_close(&config->published[i].listener);
    config->published_count = 0;
}

/* ---- called by the jail ---- */

static struct net_inside inside_of(const struct network *network, int socket)
{
    struct net_inside inside = network->inside;

    inside.socket = socket;
    return inside;
}

static bool set_up_inside(void *argument, int socket, struct error *err)
{
    const struct net_inside inside = inside_of(argument, socket);

    return net_inside_set_up(&inside, err);
}

static bool serve_inside(void *argument, int socket)
{
    const struct net_inside inside = inside_of(argument, socket);

    return net_inside_serve(&inside);
}

static void tell(void *argument, const struct net_event *event)
{
    struct network *network = argument;
    struct net_event full = *event;
    struct decision decision;
    struct host host;
    struct error ignored;

    /* When a connection is over, nobody has decided anything: by what rule was it let through? */
    if (!full.decision && full.refusal == NET_NOT_REFUSED && host_parse(full.name, &host, &ignored)) {
        decision = decide_connect(network->judge.policy, &host, full.port);
        full.decision = decision.allowed ? &decision : NULL;
    }
    net_events_tell(&network->events, &full);
}

static void meet(void *argument, const struct net_event *event)
{
    struct network *network = argument;

    net_events_meet(&network->events, event);
}

/* ---- whoever embeds us ---- */

static enum net_appeal appeal(void *argument, const struct net_question *question)
{
    const struct network *network = argument;

    return asking_appeal(network->asking, question);
}

static bool postpone(void *argument, const struct net_question *question)
{
    const struct network *network = argument;

    return asking_postpone(network->asking, question);
}

static void resume(void *argument, const struct net_question *question, const struct net_answer *given)
{
    struct network *network = argument;

    network->judge.policy = network->reload->policy;
    if (network->started)
        (void)!net_judge_resume(&network->judge, network->process.link, question, given);
}

static bool judge_open(struct network *network, struct error *err)
{
    struct net_judge *judge = &network->judge;
    const struct policy *policy = network->reload->policy;

    *judge = (struct net_judge){.policy = policy,
                                .parent_http = network->config.parent_http,
                                .parent_https = network->config.parent_https,
                                .tell = tell,
                                .meet = network->config.tell_ends ? meet : NULL,
                                .argument = network};
    judge->appeal = appeal;
    judge->postpone = postpone;
    if (!guard_refresh(&judge->guard, err))
        return false;
    return true;
}

static void begun(void *argument, pid_t init)
{
    struct network *network = argument;

    network->events.init = init;
    fd_close(&network->inside.socket);
    network->watches[WATCH_INSIDE].fd = network->served;
}

/* Pid 1 has made its sockets, or is making them. */
static void take_alarm(void *argument, struct jail_watch *watch)
{
    struct network *network = argument;
    struct epoll_event event = {.events = EPOLLIN};

    watch->fd = -1;
    network->alarm = net_alarm_receive(network->served);
    for (size_t i = 0; network->alarm >= 0 && i < network->config.published_count; i++)
        epoll_ctl(network->alarm, EPOLL_CTL_ADD, network->config.published[i].listener, &event);
    network->watches[WATCH_ALARM].fd = network->alarm;
}

/* Somebody wants something: many commands never do. */
static void start(void *argument, struct jail_watch *watch)
{
    struct network *network = argument;
    struct error err;

    watch->fd = -1;
    fd_close(&network->alarm);
    network->started = judge_open(network, &err) &&
                       net_start(&network->config, network->served, network->shared, &network->process, &err);
    fd_close(&network->served);
    close_published(&network->config);
    network->watches[WATCH_LINK].fd = network->started ? network->process.link : -1;
    if (!network->started)
        log_error("%s; the command has no network", err.text);
}

static void answer(void *argument, struct jail_watch *watch)
{
    struct network *network = argument;

    network->judge.policy = network->reload->policy;
    if (net_judge_serve(&network->judge, watch->fd))
        return;
    watch->fd = -1;
    log_error("the network process has ended, and the command has no network any more");
}

/* ---- the whole ---- */

static bool configure(struct network *network, struct error *err)
{
    struct session *session = network->session;
    const struct policy *policy = &session->policy;
    struct net_config *config = &network->config;

    /* Nobody but the run can reach its proxies, and not every program that uses them can give a password (browsers
     * cannot): only srt insists. */
    if (policy->around.personality == PERSONALITY_SRT)
        memcpy(config->token, policy->around.proxy_token, sizeof config->token);
    config->tell_ends = log_is_verbose() || policy->violation.detection;
    config->require_host_match = policy->network.require_host_match;
    config->refuse_opaque_tunnels = policy->network.refuse_opaque_tunnels;
    config->external_http = (uint16_t)policy->network.http_proxy_port;
    config->external_socks = (uint16_t)policy->network.socks_proxy_port;
    return set_parent(policy->network.parent_proxy.http, "plain HTTP", &config->parent_http, err) &&
           set_parent(policy->network.parent_proxy.https, "tunnels", &config->parent_https, err) &&
           publish(&session->plan, config, err);
}

bool network_open(struct session *session, struct arena *shared, const struct reload *reload, struct asking *asking,
                  struct jail_watch *watches, struct events *events, struct network *network, struct error *err)
{
    const struct plan *plan = &session->plan;
    uint16_t *host_ports = arena_alloc(shared, plan->host_port_count * sizeof *host_ports);
    int ends[2];

    *network = (struct network){.session = session,
                                .shared = shared,
                                .watches = watches,
                                .served = -1,
                                .alarm = -1,
                                .inside = {.socket = -1},
                                .asking = asking,
                                .reload = reload};
    network->events.events = events;
    network->hooks = (struct jail_network){.argument = network,
                                           .begun = begun,
                                           .set_up_inside = set_up_inside,
                                           .serve_inside = serve_inside,
                                           .inside = -1};
    for (size_t i = 0; i < NETWORK_WATCHES; i++)
        network->watches[i] = (struct jail_watch){.fd = -1, .argument = network};
    network->watches[WATCH_LINK].ready = answer;
    network->watches[WATCH_INSIDE].ready = take_alarm;
    network->watches[WATCH_ALARM].ready = start;
    asking->resume = resume;
    asking->argument = network;
    network->config.answers_take_long = session->request->peer || session->request->asks;
    if (!configure(network, err))
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set_errno(err, errno, "cannot make a socket for the network process");
    network->served = ends[0];
    network->hooks.inside = ends[1];
    for (size_t i = 0; i < plan->host_port_count; i++)
        host_ports[i] = plan->host_ports[i];
    network->inside = (struct net_inside){.socket = ends[1],
                                          .host_ports = host_ports,
                                          .host_port_count = plan->host_port_count,
                                          .outlets = plan->publish_port_count > 0};
    /* Pid 1 finds out; the doorman, if there is one who connects sockets, will do without the kernel's help. srt has
     * nothing but its proxies. */
    bool promised = session->around.personality != PERSONALITY_SRT;
    if (arena_is_shared(shared) && (plan->doorman.sockets || !promised))
        session->plan.announced = network->inside.announced = &network->announced;
    return true;
}

void network_close(struct network *network)
{
    if (network->started) {
        net_judge_end(&network->judge, network->process.link);
        fd_close(&network->process.link);
        kill(network->process.pid, SIGKILL);
        spawn_wait(network->process.pid);
    }
    guard_close(&network->judge.guard);
    network->asking->resume = NULL;
    fd_close(&network->served);
    fd_close(&network->alarm);
    fd_close(&network->inside.socket);
    close_published(&network->config);
}
