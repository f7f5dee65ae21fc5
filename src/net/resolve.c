/* c-ares does the DNS; its sockets are watched by our loop. Each request is one
 * c-ares query that cannot be taken back: one that is forgotten is answered into
 * the void. Answers are kept for as long as they say, within bounds, so that a
 * program that asks the DNS and then connects is served by one resolution. */
#include "net/resolve.h"

#include "net/hosts.h"

#include <ares.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/time.h>

enum { SOCKETS_MAX = 64, REQUESTS_MAX = 1024, CACHE_SIZE = 1024, TRIES = 3, TIMEOUT_MS = 1500 };

/* Seconds. A name that changes in between is a rebinding, which the guard judges anyway. */
enum { KEPT_AT_LEAST = 5, KEPT_AT_MOST = 300 };

struct ares_watch {
    struct watch watch; /* first */
    struct resolver *resolver;
};

struct cached {
    char name[HOST_NAME_MAX_LENGTH + 1];
    size_t length; /* 0: free */
    uint64_t until;
    struct resolution resolution;
};

struct resolver {
    struct loop *loop;
    ares_channel channel;
    struct hosts hosts;
    struct ares_watch watches[SOCKETS_MAX];
    size_t request_count;
    struct resolve_request *under_way; /* for addresses */
    struct cached cache[CACHE_SIZE];
};

struct resolve_request {
    struct errand errand; /* first: to tell what c-ares knew at once, when the caller is ready to hear it */
    bool is_new;
    struct resolution resolution;
    struct resolver *resolver;
    struct resolve_request *next;      /* under way */
    struct resolve_request *followers; /* the same name, asked for meanwhile */
    char name[HOST_NAME_MAX_LENGTH + 1];
    size_t length;
    void (*done)(void *argument, const struct resolution *resolution); /* both NULL: forgotten */
    void (*raw_done)(void *argument, struct slice answer);
    void *argument;
};

static void ready(struct watch *watch, uint32_t events)
{
    struct resolver *resolver = ((struct ares_watch *)watch)->resolver;
    bool in = (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0;

    ares_process_fd(resolver->channel, in ? watch->fd : ARES_SOCKET_BAD,
                    events & EPOLLOUT ? watch->fd : ARES_SOCKET_BAD);
}

static struct ares_watch *find_watch(struct resolver *resolver, int fd)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (resolver->watches[i].watch.fd == fd)
            return &resolver->watches[i];
    }
    return NULL;
}

/* c-ares closes the descriptor itself, after this was called with neither. */
static void socket_changed(void *argument, ares_socket_t fd, int readable, int writable)
{
    struct resolver *resolver = argument;
    struct ares_watch *found = find_watch(resolver, fd);
    uint32_t events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);

    if (!events) {
        if (found)
            found->watch.fd = -1;
        return;
    }
    if (found) {
        loop_change(resolver->loop, &found->watch, events);
        return;
    }
    found = find_watch(resolver, -1);
    if (!found)
        return; /* the query will time out */
    found->watch = (struct watch){.fd = fd, .ready = ready};
    found->resolver = resolver;
    if (!loop_watch(resolver->loop, &found->watch, events))
        found->watch.fd = -1;
}

struct resolver *resolver_open(struct loop *loop, struct error *err)
{
    struct resolver *resolver = calloc(1, sizeof *resolver);
    char from_dns[] = "b"; /* hosts_read is for the file */

    if (!resolver) {
        error_set(err, "no memory");
        return NULL;
    }
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH,
        .timeout = TIMEOUT_MS,
        .tries = TRIES,
        .lookups = from_dns,
        .sock_state_cb = socket_changed,
        .sock_state_cb_data = resolver,
    };
    resolver->loop = loop;
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        resolver->watches[i].watch.fd = -1;
    hosts_read(&resolver->hosts, "/etc/hosts");
    int status = ares_init_options(&resolver->channel, &options,
                                   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                                       ARES_OPT_SOCK_STATE_CB);
    if (status != ARES_SUCCESS) {
        error_set(err, "cannot prepare name resolution: %s", ares_strerror(status));
        free(resolver);
        return NULL;
    }
    return resolver;
}

static struct cached *cache_slot(struct resolver *resolver, struct slice name)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (uint8_t)name.ptr[i]) * 16777619U;
    return &resolver->cache[hash % CACHE_SIZE];
}

bool resolver_knows(struct resolver *resolver, struct slice name, struct resolution *resolution)
{
    const struct hosts_entry *entry = hosts_find(&resolver->hosts, name);
    const struct cached *cached = cache_slot(resolver, name);

    if (entry) {
        *resolution = (struct resolution){.result = RESOLVED, .count = entry->count};
        memcpy(resolution->addresses, entry->addresses, sizeof entry->addresses);
        return true;
    }
    if (cached->until <= resolver->loop->now || !slice_equal((struct slice){cached->name, cached->length}, name))
        return false;
    *resolution = cached->resolution;
    return true;
}

static void keep(const struct resolve_request *request, const struct resolution *resolution, int seconds)
{
    struct resolver *resolver = request->resolver;
    struct cached *cached = cache_slot(resolver, (struct slice){request->name, request->length});

    if (resolution->result == RESOLVE_FAILED)
        return;
    if (seconds < KEPT_AT_LEAST)
        seconds = KEPT_AT_LEAST;
    if (seconds > KEPT_AT_MOST)
        seconds = KEPT_AT_MOST;
    memcpy(cached->name, request->name, sizeof cached->name);
    cached->length = request->length;
    cached->until = resolver->loop->now + (uint64_t)seconds * 1000;
    cached->resolution = *resolution;
}

static void add_address(struct resolution *resolution, const struct sockaddr *from)
{
    struct address address = {.v6 = from->sa_family == AF_INET6};

    if (resolution->count == NET_ADDRESSES_MAX)
        return;
    if (from->sa_family == AF_INET)
        memcpy(address.bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    else if (from->sa_family == AF_INET6)
        memcpy(address.bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    else
        return;
    resolution->addresses[resolution->count++] = address;
}

static enum resolve_result result_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return RESOLVED;
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
        return RESOLVE_NO_SUCH_NAME;
    default:
        return RESOLVE_FAILED;
    }
}

static void deliver(struct errand *errand)
{
    struct resolve_request *request = (struct resolve_request *)errand;

    request->resolver->request_count--;
    if (request->done)
        request->done(request->argument, &request->resolution);
    if (request->raw_done)
        request->raw_done(request->argument, (struct slice){NULL, 0});
    free(request);
}

static void deliver_now_or_soon(struct resolve_request *request)
{
    if (request->is_new)
        loop_soon(request->resolver->loop, &request->errand);
    else
        deliver(&request->errand);
}

static void take_off(const struct resolve_request *request)
{
    struct resolve_request **place = &request->resolver->under_way;

    while (*place && *place != request)
        place = &(*place)->next;
    if (*place)
        *place = request->next;
}

static void answered(void *argument, int status, int timeouts, struct ares_addrinfo *result)
{
    struct resolve_request *request = argument;
    struct resolution resolution = {.result = result_of(status)};
    int seconds = KEPT_AT_MOST;

    (void)timeouts;
    for (const struct ares_addrinfo_node *node = result ? result->nodes : NULL; node; node = node->ai_next) {
        add_address(&resolution, node->ai_addr);
        if (node->ai_ttl < seconds)
            seconds = node->ai_ttl;
    }
    if (result)
        ares_freeaddrinfo(result);
    if (resolution.result == RESOLVED && resolution.count == 0)
        resolution.result = RESOLVE_NO_SUCH_NAME;
    if (resolution.result != RESOLVED)
        seconds = KEPT_AT_LEAST;
    keep(request, &resolution, seconds);
    take_off(request);
    request->resolution = resolution;
    for (struct resolve_request *next, *follower = request->followers; follower; follower = next) {
        next = follower->followers;
        follower->resolution = resolution;
        deliver(&follower->errand);
    }
    deliver_now_or_soon(request);
}

static struct resolve_request *new_request(struct resolver *resolver, struct slice name, void *argument)
{
    struct resolve_request *request;

    if (resolver->request_count == REQUESTS_MAX || name.len > HOST_NAME_MAX_LENGTH)
        return NULL;
    request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->resolver = resolver;
    request->argument = argument;
    request->errand.run = deliver;
    request->is_new = true;
    memcpy(request->name, name.ptr, name.len);
    request->length = name.len;
    resolver->request_count++;
    return request;
}

struct resolve_request *resolver_ask(struct resolver *resolver, struct slice name,
                                     void (*done)(void *argument, const struct resolution *resolution), void *argument)
{
    struct resolve_request *request = new_request(resolver, name, argument);
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    if (!request)
        return NULL;
    request->done = done;
    for (struct resolve_request *other = resolver->under_way; other; other = other->next) {
        if (other->length != name.len || memcmp(other->name, name.ptr, name.len) != 0)
            continue;
        request->followers = other->followers;
        other->followers = request;
        return request;
    }
    request->next = resolver->under_way;
    resolver->under_way = request;
    ares_getaddrinfo(resolver->channel, request->name, NULL, &hints, answered, request);
    request->is_new = false;
    return request;
}

static void answered_raw(void *argument, int status, int timeouts, unsigned char *bytes, int length)
{
    struct resolve_request *request = argument;
    struct slice answer = {(const char *)bytes, bytes && length > 0 ? (size_t)length : 0};

    (void)status; /* a refusal of the server's is an answer too */
    (void)timeouts;
    if (answer.len && request->raw_done) {
        request->raw_done(request->argument, answer);
        request->raw_done = NULL;
    }
    deliver_now_or_soon(request);
}

struct resolve_request *resolver_ask_raw(struct resolver *resolver, struct slice name, uint16_t type,
                                         void (*done)(void *argument, struct slice answer), void *argument)
{
    struct resolve_request *request = new_request(resolver, name, argument);

    if (!request)
        return NULL;
    request->raw_done = done;
    ares_query(resolver->channel, request->name, 1, type, answered_raw, request);
    request->is_new = false;
    return request;
}

void resolver_forget(struct resolve_request *request)
{
    if (!request)
        return;
    request->done = NULL;
    request->raw_done = NULL;
}

int resolver_patience(struct resolver *resolver)
{
    struct timeval left;

    if (resolver->request_count == 0 || !ares_timeout(resolver->channel, NULL, &left))
        return -1;
    return (int)(left.tv_sec * 1000 + (left.tv_usec + 999) / 1000);
}

void resolver_work(struct resolver *resolver)
{
    if (resolver->request_count > 0)
        ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}
