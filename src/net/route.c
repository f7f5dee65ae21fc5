/* Ways out: straight, through a proxy above us (parentProxy), or through one at
 * a unix socket (mitmProxy). */
#include "net/route.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool route_is_mitm(const struct policy *policy, const struct host *host, uint16_t port)
{
    const struct host_rules *domains = &policy->network.mitm_proxy.domains;

    if (policy->network.mitm_proxy.socket_path.len == 0)
        return false;
    for (size_t i = 0; i < domains->count; i++) {
        if (host_pattern_matches(&domains->items[i].pattern, host, port))
            return true;
    }
    return false;
}

int route_mitm_connect(const struct policy *policy)
{
    struct slice path = policy->network.mitm_proxy.socket_path;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path.len >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path.ptr, path.len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_below(const struct host *host, struct slice domain)
{
    struct slice name = {host->name, host->name_length};

    return name.len > domain.len && slice_ends(name, domain) && name.ptr[name.len - domain.len - 1] == '.';
}

static bool entry_matches(struct slice entry, const struct host *host, uint16_t port)
{
    struct host_pattern pattern;

    if (slice_is(entry, "*"))
        return true;
    if (slice_starts(entry, SLICE("*.")))
        entry = slice_from(entry, 2);
    else if (slice_starts(entry, SLICE(".")))
        entry = slice_from(entry, 1);
    if (!host_pattern_parse(entry, &pattern, NULL))
        return false; /* as every reader of NO_PROXY does with what it does not know */
    if (host_pattern_matches(&pattern, host, port))
        return true;
    struct slice domain = {pattern.host.name, pattern.host.name_length};
    return pattern.kind == HOST_PATTERN_NAME && (pattern.port == 0 || pattern.port == port) && !host->is_address &&
           is_below(host, domain);
}

static struct slice trimmed(struct slice text)
{
    while (text.len > 0 && (*text.ptr == ' ' || *text.ptr == '\t'))
        text = slice_from(text, 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

bool route_skips_parent(const struct policy *policy, const struct host *host, uint16_t port)
{
    struct slice rest = policy->network.parent_proxy.no_proxy;

    if (host_is_loopback(host))
        return true;
    for (;;) {
        size_t length = slice_find(rest, ',');
        struct slice entry = trimmed((struct slice){rest.ptr, length});
        if (entry.len && entry_matches(entry, host, port))
            return true;
        if (length == rest.len)
            return false;
        rest = slice_from(rest, length + 1);
    }
}
