/* Classes of addresses that a name must not lead to. The list is srt's, so that
 * one policy means the same in both; what an IPv6 address carries of IPv4 is
 * judged as that too. */
#include "net/guard.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>

struct class
{
    bool v6;
    uint8_t prefix[16];
    unsigned length;
    const char *what;
};

static const char loopback[] = "a loopback address";
static const char unspecified[] = "an unspecified address";
static const char link_local[] = "a link-local address";
static const char multicast[] = "a multicast address";
static const char broadcast[] = "the broadcast address";
static const char metadata[] = "a cloud metadata address";

static const struct class classes[] = {
    {false, {127}, 8, loopback},
    {true, {[15] = 1}, 128, loopback},
    {false, {0}, 8, unspecified},
    {true, {0}, 128, unspecified},
    {false, {169, 254}, 16, link_local}, /* with the metadata service of most clouds */
    {true, {0xfe, 0x80}, 10, link_local},
    {true, {0xfe, 0xc0}, 10, link_local},
    {false, {224}, 4, multicast},
    {true, {0xff}, 8, multicast},
    {false, {255, 255, 255, 255}, 32, broadcast},
    {false, {100, 100, 100, 200}, 32, metadata},                                                         /* Alibaba */
    {false, {168, 63, 129, 16}, 32, metadata},                                                           /* Azure */
    {false, {192, 0, 0, 192}, 32, metadata},                                                             /* Oracle */
    {true, {0xfd, 0x00, 0x0e, 0xc2}, 32, metadata},                                                      /* Amazon */
    {true, {0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}, 128, metadata},                           /* Google */
    {true, {0xfd, 0x00, 0x00, 0xc1, [12] = 0xa9, [13] = 0xfe, [14] = 0xa9, [15] = 0xfe}, 128, metadata}, /* Oracle */
    {true, {0xfd, 0x00, 0x00, 0x42, [15] = 0x42}, 128, metadata},                                        /* Scaleway */
    {true, {0xfd, 0x00, 0xa9, 0xfe, 0xa9, 0xfe, [15] = 0x01}, 128, metadata},                            /* Akamai */
    {true, {0xfd, 0x00, 0x01, 0x00, [12] = 0x01, [13] = 0x00, [14] = 0x02, [15] = 0x00}, 128, metadata}, /* Alibaba */
};

static bool has_prefix(const uint8_t *bytes, const uint8_t *prefix, unsigned length)
{
    unsigned whole = length / 8;
    unsigned mask = 0xff00U >> length % 8 & 0xff;

    if (memcmp(bytes, prefix, whole) != 0)
        return false;
    return length % 8 == 0 || (bytes[whole] & mask) == (prefix[whole] & mask);
}

static bool take_v4(const uint8_t *bytes, bool inverted, struct address *inner)
{
    *inner = (struct address){.v6 = false};
    for (int i = 0; i < 4; i++)
        inner->bytes[i] = inverted ? (uint8_t)~bytes[i] : bytes[i];
    return true;
}

bool guard_embedded(const struct address *address, struct address *inner)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t translated[12] = {[8] = 0xff, [9] = 0xff};
    static const uint8_t compatible[12] = {0};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    static const uint8_t nat64_local[6] = {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};
    static const uint8_t six_to_four[2] = {0x20, 0x02};
    static const uint8_t teredo[4] = {0x20, 0x01};
    const uint8_t *bytes = address->bytes;

    if (!address->v6)
        return false;
    if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, translated, 12) == 0 || memcmp(bytes, nat64, 12) == 0 ||
        memcmp(bytes, nat64_local, 6) == 0)
        return take_v4(bytes + 12, false, inner);
    if (memcmp(bytes, compatible, 12) == 0 && (bytes[12] | bytes[13] | bytes[14]) != 0)
        return take_v4(bytes + 12, false, inner);
    if (memcmp(bytes, six_to_four, 2) == 0)
        return take_v4(bytes + 2, false, inner);
    if (memcmp(bytes, teredo, 4) == 0)
        return take_v4(bytes + 12, true, inner);
    /* ISATAP: an interface identifier of 0000:5efe or 0200:5efe. */
    if ((bytes[8] & 0xfd) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe)
        return take_v4(bytes + 12, false, inner);
    return false;
}

/* Only what names addresses: "*" says nothing about this machine. */
static bool matches_any(const struct host_rules *rules, const struct address *address, uint16_t port)
{
    struct host host = {.is_address = true, .address = *address};

    for (size_t i = 0; rules && i < rules->count; i++) {
        const struct host_pattern *pattern = &rules->items[i].pattern;
        if ((pattern->kind == HOST_PATTERN_ADDRESS || pattern->kind == HOST_PATTERN_NETWORK) &&
            host_pattern_matches(pattern, &host, port))
            return true;
    }
    return false;
}

static const char *class_of(const struct guard *guard, const struct address *address, uint16_t port)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].v6 == address->v6 && has_prefix(address->bytes, classes[i].prefix, classes[i].length))
            return classes[i].what;
    }
    if (matches_any(guard->denied_resolved, address, port))
        return "a listed address";
    for (size_t i = 0; i < guard->own_count; i++) {
        if (guard->own[i].v6 == address->v6 && memcmp(guard->own[i].bytes, address->bytes, address->v6 ? 16U : 4U) == 0)
            return "one of this host's addresses";
    }
    return NULL;
}

static const char *denied_by_list(const struct guard *guard, const struct address *address, uint16_t port)
{
    struct address inner;

    if (matches_any(guard->denied, address, port) ||
        (guard_embedded(address, &inner) && matches_any(guard->denied, &inner, port)))
        return "a deny-listed address";
    return NULL;
}

const char *guard_refuses_own(const struct guard *guard, const struct address *address, uint16_t port)
{
    const char *what = denied_by_list(guard, address, port);
    struct host host = {.is_address = true, .address = *address};

    if (what || matches_any(guard->allowed, address, port))
        return what;
    return host_is_loopback(&host) ? NULL : "a non-loopback address";
}

bool guard_names_own(const struct guard *guard, const struct host *host, uint16_t port)
{
    struct slice name = {host->name, host->name_length};

    if (host->is_address || !(slice_is(name, "localhost") || slice_ends(name, SLICE(".localhost"))))
        return false;
    for (size_t i = 0; guard->allowed && i < guard->allowed->count; i++) {
        const struct host_pattern *pattern = &guard->allowed->items[i].pattern;
        if (pattern->kind != HOST_PATTERN_ANY && host_pattern_matches(pattern, host, port))
            return true;
    }
    return false;
}

const char *guard_refuses(const struct guard *guard, const struct address *address, uint16_t port)
{
    struct address inner;
    bool carries = guard_embedded(address, &inner);
    const char *listed = denied_by_list(guard, address, port);

    if (listed)
        return listed;
    /* What it carries earns it nothing: ::1 must not be allowed because 0.0.0.1 is. */
    if (matches_any(guard->allowed, address, port))
        return NULL;
    const char *what = class_of(guard, address, port);
    return what || !carries ? what : class_of(guard, &inner, port);
}

static bool address_of(const struct sockaddr *from, struct address *address)
{
    if (!from)
        return false;
    if (from->sa_family == AF_INET) {
        *address = (struct address){.v6 = false};
        memcpy(address->bytes, &((const struct sockaddr_in *)from)->sin_addr, 4);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        *address = (struct address){.v6 = true};
        memcpy(address->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
        return true;
    }
    return false;
}

static size_t count_addresses(const struct ifaddrs *all)
{
    size_t count = 0;

    for (const struct ifaddrs *one = all; one; one = one->ifa_next)
        count++;
    return count;
}

bool guard_refresh(struct guard *guard, struct error *err)
{
    enum { GOOD_FOR_SECONDS = 5 };
    struct ifaddrs *all;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (guard->own && now.tv_sec - guard->own_read < GOOD_FOR_SECONDS)
        return true;
    if (getifaddrs(&all) < 0)
        return error_set_errno(err, errno, "cannot list this machine's own addresses");
    struct address *own = calloc(count_addresses(all) + 1, sizeof *own);
    size_t count = 0;
    for (const struct ifaddrs *one = own ? all : NULL; one; one = one->ifa_next) {
        if (address_of(one->ifa_addr, &own[count]))
            count++;
    }
    freeifaddrs(all);
    if (!own)
        return error_set(err, "no memory for this machine's own addresses");
    guard_close(guard);
    guard->own = own;
    guard->own_count = count;
    guard->own_read = now.tv_sec;
    return true;
}

void guard_close(struct guard *guard)
{
    free(guard->own);
    guard->own = NULL;
    guard->own_count = 0;
}
