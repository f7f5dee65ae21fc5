/* Carries bytes between the two sides of an open tunnel.
 *
 * Small pieces are copied through one buffer that all tunnels share. After a few
 * full reads in a row it is bulk, and goes by splice through a pipe from a small
 * pool. What one side does not take is kept, and nothing more is read from the
 * other until it has: a tunnel holds one buffer or one pipe per direction, or
 * nothing at all.
 *
 * The end of one direction is passed on when all before it was; a reset resets
 * the other side. Each call carries a bounded amount, then comes back after the
 * other tunnels. */
#include "net/exchange.h"
#include "net/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 8, BULK_AFTER = 4, PIPE_SIZE = 1 << 18 };

enum flow {
    FLOW_WAIT, /* nothing to do until something happens */
    FLOW_MORE, /* its share is used up */
    FLOW_BROKEN
};

static bool take_pipe(struct network *network, struct side *to)
{
    if (network->pipe_count > 0) {
        to->pipe = network->pipes[--network->pipe_count];
        return true;
    }
    if (network->pipes_made == PIPES_MAX || pipe2(to->pipe.ends, O_NONBLOCK | O_CLOEXEC) < 0) {
        to->pipe.ends[0] = to->pipe.ends[1] = -1;
        return false;
    }
    fcntl(to->pipe.ends[1], F_SETPIPE_SZ, PIPE_SIZE); /* the default will do as well */
    network->pipes_made++;
    return true;
}

static void give_pipe_back(struct network *network, struct side *to)
{
    if (to->pipe.ends[0] < 0 || to->in_pipe > 0)
        return;
    network->pipes[network->pipe_count++] = to->pipe;
    to->pipe.ends[0] = to->pipe.ends[1] = -1;
}

/* What `to` has not taken yet. True when nothing is left. */
static bool flush(struct side *to, enum flow *flow)
{
    *flow = FLOW_WAIT;
    while (to->pending || to->in_pipe > 0) {
        if (!to->writable)
            return false;
        ssize_t taken = to->pending ? send(to->watch.fd, to->pending + to->pending_start,
                                           to->pending_end - to->pending_start, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : splice(to->pipe.ends[0], NULL, to->watch.fd, NULL, to->in_pipe,
                                             SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (taken < 0 && errno == EAGAIN) {
            to->writable = false;
            return false;
        }
        if (taken < 0) {
            *flow = FLOW_BROKEN;
            return false;
        }
        to->taken += (uint64_t)taken;
        if (!to->pending) {
            to->in_pipe -= (uint32_t)taken;
            continue;
        }
        to->pending_start += (uint32_t)taken;
        if (to->pending_start == to->pending_end) {
            free(to->pending);
            to->pending = NULL;
        }
    }
    return true;
}

bool relay_give(struct side *to, const char *bytes, size_t length)
{
    ssize_t taken = 0;

    if (to->pending) { /* our own words, while something waits already */
        size_t waiting = to->pending_end - to->pending_start;
        char *both = malloc(waiting + length);
        if (!both)
            return false;
        memcpy(both, to->pending + to->pending_start, waiting);
        memcpy(both + waiting, bytes, length);
        free(to->pending);
        to->pending = both;
        to->pending_start = 0;
        to->pending_end = (uint32_t)(waiting + length);
        return true;
    }
    if (to->writable) {
        taken = send(to->watch.fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken < 0 && errno != EAGAIN)
            return false;
        if (taken < 0)
            taken = 0;
        to->taken += (uint64_t)taken;
        if ((size_t)taken == length)
            return true;
        to->writable = false;
    }
    to->pending = malloc(length - (size_t)taken);
    if (!to->pending)
        return false;
    memcpy(to->pending, bytes + taken, length - (size_t)taken);
    to->pending_start = 0;
    to->pending_end = (uint32_t)(length - (size_t)taken);
    return true;
}

/* After a read of `length` of `wanted` bytes. */
static void note_read(struct side *from, ssize_t length, size_t wanted)
{
    if (length == 0)
        from->at_end = true;
    /* Drained; unless its end was announced with the same event as the bytes. */
    if (length > 0 && (size_t)length < wanted && !from->ending)
        from->readable = false;
    from->filled = (size_t)length == wanted ? (uint8_t)(from->filled + (from->filled < BULK_AFTER)) : 0;
}

static enum flow copy(struct network *network, struct side *from, struct side *to)
{
    /* Behind a request may stand another, which is to be read as such. */
    bool peeks = from->is_client && from->tunnel->exchange && from->tunnel->exchange->persists;
    ssize_t length = recv(from->watch.fd, network->scratch, SCRATCH_SIZE, MSG_DONTWAIT | (peeks ? MSG_PEEK : 0));

    if (length < 0 && errno == EAGAIN) {
        from->readable = false;
        return FLOW_WAIT;
    }
    if (length < 0)
        return FLOW_BROKEN;
    note_read(from, length, SCRATCH_SIZE);
    struct slice bytes = {network->scratch, (size_t)length};
    if (from->tunnel->exchange &&
        !(from->is_client ? exchange_take_body(from->tunnel, &bytes) : exchange_take_response(from->tunnel, &bytes)))
        return FLOW_BROKEN;
    if (peeks && bytes.len > 0 && recv(from->watch.fd, network->scratch, bytes.len, MSG_DONTWAIT) != (ssize_t)bytes.len)
        return FLOW_BROKEN;
    return bytes.len == 0 || relay_give(to, bytes.ptr, bytes.len) ? FLOW_MORE : FLOW_BROKEN;
}

static enum flow splice_in(struct side *from, struct side *to)
{
    ssize_t length = splice(from->watch.fd, NULL, to->pipe.ends[1], NULL, PIPE_SIZE, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

    if (length < 0 && errno == EAGAIN) {
        from->readable = false;
        from->filled = 0;
        return FLOW_WAIT;
    }
    if (length < 0)
        return FLOW_BROKEN;
    if (length == 0)
        from->at_end = true;
    to->in_pipe += (uint32_t)length;
    return FLOW_MORE;
}

static void pass_end_on(struct side *to)
{
    if (to->was_shut)
        return;
    to->was_shut = true;
    shutdown(to->watch.fd, SHUT_WR);
}

static enum flow carry(struct tunnel *tunnel, struct side *from, struct side *to)
{
    struct network *network = tunnel->network;

    for (int round = 0; round < ROUNDS; round++) {
        enum flow flow;

        if (!flush(to, &flow))
            return flow;
        if (from->at_end) {
            pass_end_on(to);
            give_pipe_back(network, to);
            return FLOW_WAIT;
        }
        if (from->is_client && exchange_holds_client(tunnel))
            return from->hung_up ? FLOW_BROKEN : FLOW_WAIT;
        if (!from->readable || (tunnel->exchange && !from->is_client && tunnel->exchange->response_done)) {
            give_pipe_back(network, to);
            return FLOW_WAIT;
        }
        if (from->is_client && tunnel->gate != GATE_OPEN && !gate_passes(tunnel))
            return FLOW_WAIT;
        if (!from->is_client && tunnel->gate != GATE_OPEN && network->config->refuse_opaque_tunnels)
            return FLOW_WAIT;
        if (!from->is_client && tunnel->gate == GATE_LISTEN && !gate_listens(tunnel))
            return FLOW_WAIT;
        if (!from->is_client && tunnel->exchange && !tunnel->exchange->response_begun) {
            switch (exchange_begin_response(tunnel)) {
            case HTTP_DONE:
                continue;
            default:
                return FLOW_WAIT;
            }
        }
        bool bulk =
            from->filled >= BULK_AFTER && !tunnel->exchange && (to->pipe.ends[0] >= 0 || take_pipe(network, to));
        flow = bulk ? splice_in(from, to) : copy(network, from, to);
        if (flow != FLOW_MORE)
            return flow;
    }
    return FLOW_MORE;
}

static bool is_done(const struct side *side)
{
    return side->was_shut && !side->pending && side->in_pipe == 0;
}

void relay_continue(struct tunnel *tunnel)
{
    enum flow out = carry(tunnel, &tunnel->client, &tunnel->server);
    if (tunnel->over || tunnel->stage != STAGE_OPEN)
        return; /* the gate did not let it pass */
    enum flow in = out == FLOW_BROKEN ? FLOW_BROKEN : carry(tunnel, &tunnel->server, &tunnel->client);

    if (tunnel->over || tunnel->stage != STAGE_OPEN)
        return;
    if (out == FLOW_BROKEN || in == FLOW_BROKEN) {
        tunnel_reset(tunnel);
        return;
    }
    if (exchange_holds_client(tunnel) && tunnel->exchange->response_done && !tunnel->client.pending) {
        tunnel_again(tunnel);
        return;
    }
    /* A plain request is over when the response is. */
    bool answered = tunnel->exchange && tunnel->server.at_end && is_done(&tunnel->client);
    if (answered || (is_done(&tunnel->client) && is_done(&tunnel->server))) {
        tunnel_close(tunnel);
        return;
    }
    if (out == FLOW_MORE || in == FLOW_MORE)
        loop_soon(&tunnel->network->loop, &tunnel->errand);
}

void relay_begin(struct tunnel *tunnel)
{
    tunnel->client.writable = true;
    relay_continue(tunnel);
}
