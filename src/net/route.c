/* Ways out: straight, through a proxy above us (parentProxy), or through one at
 * a unix socket (mitmProxy). */
#include "net/route.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PROXY_DEFAULT_PORT = 80 };

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

static bool is_this_machine(const struct host *host)
{
    static const uint8_t loopback_v6[16] = {[15] = 1};

    if (!host->is_address)
        return slice_is((struct slice){host->name, host->name_length}, "localhost");
    return host->address.v6 ? memcmp(host->address.bytes, loopback_v6, 16) == 0 : host->address.bytes[0] == 127;
}

bool route_skips_parent(const struct policy *policy, const struct host *host, uint16_t port)
{
    struct slice rest = policy->network.parent_proxy.no_proxy;

    if (is_this_machine(host))
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

static int hex_digit(char byte)
{
    char lower = slice_lower(byte);

    if (lower >= '0' && lower <= '9')
        return lower - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* user%40example:word -> bytes. */
static bool unescape(struct slice text, uint8_t *out, size_t capacity, size_t *length)
{
    *length = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.ptr[i];
        if (byte == '%') {
            int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1;
            int low = i + 2 < text.len ? hex_digit(text.ptr[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            byte = (uint8_t)(high * 16 + low);
            i += 2;
        }
        if (*length == capacity)
            return false;
        out[(*length)++] = byte;
    }
    return true;
}

static void encode_base64(const uint8_t *bytes, size_t length, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < length; i += 3) {
        size_t have = length - i < 3 ? length - i : 3;
        uint32_t group =
            (uint32_t)bytes[i] << 16 | (have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (have > 2 ? bytes[i + 2] : 0U);
        *out++ = digits[group >> 18];
        *out++ = digits[group >> 12 & 63];
        *out++ = have > 1 ? digits[group >> 6 & 63] : '=';
        *out++ = have > 2 ? digits[group & 63] : '=';
    }
    *out = '\0';
}

static bool take_credentials(struct slice *rest, struct net_parent *parent, struct error *err)
{
    uint8_t bytes[(NET_AUTHORIZATION_MAX - 1) / 4 * 3];
    size_t at = rest->len;
    size_t length;

    for (size_t i = 0; i < rest->len; i++)
        if (rest->ptr[i] == '@')
            at = i;
    if (at == rest->len)
        return true;
    if (!unescape((struct slice){rest->ptr, at}, bytes, sizeof bytes, &length))
        return error_set(err, "the user name and password in the proxy's URL are too long or badly escaped");
    encode_base64(bytes, length, parent->authorization);
    *rest = slice_from(*rest, at + 1);
    return true;
}

bool route_parse_parent(struct slice url, struct net_parent *parent, struct error *err)
{
    struct slice rest = url;

    *parent = (struct net_parent){0};
    if (slice_starts(rest, SLICE("http://")))
        rest = slice_from(rest, 7);
    else if (memmem(rest.ptr, rest.len, "://", 3))
        return error_set(err, "a proxy above must be reached by http:// (TLS to the proxy itself is not spoken)");
    size_t slash = slice_find(rest, '/');
    rest.len = slash;
    if (!take_credentials(&rest, parent, err) || !host_port_parse(rest, &parent->host, &parent->port, err))
        return false;
    if (parent->port == 0)
        parent->port = PROXY_DEFAULT_PORT;
    return true;
}
