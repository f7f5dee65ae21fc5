/* Starts N, and is its main program: prepare, shut oneself in, serve until S is
 * gone. What N cannot do it says with its exit, which S notices: the link ends. */
#include "net/net.h"

#include "base/fd.h"
#include "net/confine.h"
#include "net/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that are not for tunnels: listeners, name servers, pipes, our own. */
enum { DESCRIPTORS_RESERVED = 96, TUNNELS_MAX = 16384, TUNNELS_MIN = 16, EXIT_NOT_CONFINED = 1 };

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool shut_descriptors(const struct net_config *config, int link, int inside, struct error *err)
{
    int kept[NET_PUBLISHED_MAX + 2];
    size_t count = 0;

    kept[count++] = link;
    kept[count++] = inside;
    for (size_t i = 0; i < config->published_count; i++)
        kept[count++] = config->published[i].listener;
    qsort(kept, count, sizeof *kept, by_number);
    return confine_process(kept, count, err);
}

static size_t tunnel_limit(void)
{
    struct rlimit files = {.rlim_cur = 1024};

    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < DESCRIPTORS_RESERVED + 2 * TUNNELS_MIN)
        return TUNNELS_MIN;
    size_t most = (size_t)(files.rlim_cur - DESCRIPTORS_RESERVED) / 2;
    return most < TUNNELS_MAX ? most : TUNNELS_MAX;
}

static bool prepare(struct network *network, const struct net_config *config, int link, int inside, struct error *err)
{
    if (!shut_descriptors(config, link, inside, err))
        return false;
    if (!loop_open(&network->loop))
        return error_set_errno(err, errno, "cannot make an event loop");
    network->config = config;
    network->tunnel_limit = tunnel_limit();
    network->inside.fd = -1;
    link_init(&network->tunnels);
    link_init(&network->graveyard);
    network->names = names_new();
    network->resolver = resolver_open(&network->loop, err);
    if (!network->names || !network->resolver || !dns_serve_open(network))
        return false;
    return confine_finally(err);
}

static _Noreturn void serve(const struct net_config *config, int link, int inside, struct arena *shared)
{
    struct network *network = calloc(1, sizeof *network);
    struct error err;

    arena_free(shared);
    if (!network || !prepare(network, config, link, inside, &err) || !asks_open(network, link) ||
        !listen_inside(network, inside))
        _exit(EXIT_NOT_CONFINED);
    listen_publish(network);
    while (!network->loop.stop) {
        if (!loop_turn(&network->loop, resolver_patience(network->resolver)))
            break;
        resolver_work(network->resolver);
        tunnels_bury(network);
    }
    tunnels_end(network);
    asks_end(network);
    _exit(0);
}

bool net_start(const struct net_config *config, int inside, struct arena *shared, struct net_process *process,
               struct error *err)
{
    /* What is in shared memory may change as soon as there are two of us. */
    struct net_config *own = malloc(sizeof *own);
    int link[2];

    if (!own)
        return error_set(err, "no memory for the network process");
    *own = *config;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, link) < 0) {
        free(own);
        return error_set_errno(err, errno, "cannot make a socket for the network process");
    }
    pid_t pid = fork(); /* `process` may be in memory that both see */
    if (pid == 0)
        serve(own, link[1], inside, shared);
    int errnum = errno;
    free(own);
    close(link[1]);
    if (pid < 0) {
        close(link[0]);
        return error_set_errno(err, errnum, "cannot start the network process");
    }
    process->pid = pid;
    process->link = link[0];
    return true;
}
