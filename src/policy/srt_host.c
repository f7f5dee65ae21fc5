/* srt's own reading of host patterns. It asks little of a name (a dot inside it)
 * and much of wildcards and IPv6 (brackets). What stands in brackets goes through
 * a URL parser first, so that "[127.1]" is an address and "[a.b/c]" a name. */
#include "policy/srt_host.h"

#include "policy/host.h"

#include <arpa/inet.h>

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static struct slice without_zone(struct slice text)
{
    text.len = slice_find(text, '%');
    return text;
}

/* inet_pton wants a C string, and knows no NUL inside one. */
static bool parse_address(int family, struct slice text, uint8_t bytes[16])
{
    char copy[INET6_ADDRSTRLEN];

    if (text.len >= sizeof(copy) || slice_find(text, '\0') < text.len)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return inet_pton(family, copy, bytes) == 1;
}

/* Node's isIP(): an IPv6 address may carry a zone. */
static bool is_ipv6(struct slice text)
{
    struct slice address = without_zone(text);
    uint8_t bytes[16];

    if (address.len < text.len) {
        struct slice zone = slice_from(text, address.len + 1);
        if (zone.len == 0)
            return false;
        for (size_t i = 0; i < zone.len; i++) {
            char byte = zone.ptr[i];
            bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
            if (!letter && !is_digit(byte) && byte != '-' && byte != '.' && byte != ':')
                return false;
        }
    }
    return parse_address(AF_INET6, address, bytes);
}

static bool is_ipv4(struct slice text)
{
    uint8_t bytes[16];

    return parse_address(AF_INET, text, bytes);
}

static bool is_mapped(const uint8_t bytes[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

/* What srt dials and compares for a host as written; false if no URL can have
 * such a host. */
static bool canonical(struct arena *arena, struct slice text, struct slice *host)
{
    if (is_ipv6(text)) {
        struct address address = {.v6 = true};
        char printed[46];
        if (!parse_address(AF_INET6, text, address.bytes))
            return false; /* it has a zone, which no URL has */
        if (is_mapped(address.bytes)) {
            address.v6 = false;
            memmove(address.bytes, address.bytes + 12, 4);
        }
        address_print(&address, printed);
        *host = arena_slice(arena, slice_of(printed));
        return true;
    }
    struct slice url = slice_of("http://");
    char *whole = arena_alloc(arena, url.len + text.len + 1);
    memcpy(whole, url.ptr, url.len);
    if (text.len)
        memcpy(whole + url.len, text.ptr, text.len);
    whole[url.len + text.len] = '/';
    if (!srt_url_parse(arena, (struct slice){whole, url.len + text.len + 1}, host))
        return false;
    if (slice_ends(*host, SLICE(".")))
        host->len--;
    return true;
}

static bool is_port(struct slice text)
{
    unsigned value = 0;

    if (text.len == 0 || text.len > 5 || text.ptr[0] == '0')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        value = value * 10 + (unsigned)(text.ptr[i] - '0');
    }
    return value <= 65535;
}

/* Position of the second colon, or the length. */
static size_t second_colon(struct slice text)
{
    size_t first = slice_find(text, ':');

    return first == text.len ? first : first + 1 + slice_find(slice_from(text, first + 1), ':');
}

struct slice srt_domain_host(struct arena *arena, struct slice pattern)
{
    size_t colon = slice_find(pattern, ':');
    struct slice host;

    if (slice_starts(pattern, SLICE("["))) {
        size_t close = slice_find(pattern, ']');
        if (close == pattern.len)
            return pattern;
        struct slice rest = slice_from(pattern, close + 1);
        if (rest.len > 0 && (rest.ptr[0] != ':' || !is_port(slice_from(rest, 1))))
            return pattern;
        struct slice inner = without_zone((struct slice){pattern.ptr + 1, close - 1});
        return canonical(arena, inner, &host) ? host : inner;
    }
    if (second_colon(pattern) < pattern.len) {
        struct slice bare = without_zone(pattern);
        return canonical(arena, bare, &host) ? host : bare;
    }
    if (colon < pattern.len && is_port(slice_from(pattern, colon + 1)))
        return (struct slice){pattern.ptr, colon};
    return pattern;
}

bool srt_domain_is_valid(struct slice pattern)
{
    if (is_ipv6(pattern))
        return true;
    if (slice_find(pattern, '/') < pattern.len || slice_find(pattern, ':') < pattern.len)
        return false;
    if (slice_is(pattern, "localhost"))
        return true;
    bool wildcard = slice_starts(pattern, SLICE("*."));
    struct slice name = wildcard ? slice_from(pattern, 2) : pattern;
    if (slice_find(name, '.') == name.len || name.ptr[0] == '.' || name.ptr[name.len - 1] == '.')
        return false;
    if (!wildcard)
        return slice_find(name, '*') == name.len;
    for (size_t i = 1; i < name.len; i++)
        if (name.ptr[i] == '.' && name.ptr[i - 1] == '.')
            return false;
    return true;
}

/* Two colons make an address, which must say where it ends. */
static bool is_bracketed(struct slice pattern)
{
    return second_colon(pattern) == pattern.len || pattern.ptr[0] == '[';
}

bool srt_allowed_domain_is_valid(struct arena *arena, struct slice pattern)
{
    return is_bracketed(pattern) && srt_domain_is_valid(srt_domain_host(arena, pattern));
}

bool srt_denied_domain_is_valid(struct arena *arena, struct slice pattern)
{
    if (!is_bracketed(pattern))
        return false;
    struct slice host = srt_domain_host(arena, pattern);
    return slice_is(host, "*") || srt_domain_is_valid(host);
}

/* Strictly below `base`, label by label. */
static bool is_below(struct slice name, struct slice base)
{
    return name.len > base.len && name.ptr[name.len - base.len - 1] == '.' &&
           slice_equal_ignoring_case(slice_from(name, name.len - base.len), base);
}

bool srt_domain_covered(struct slice pattern, struct slice by)
{
    bool wildcard = slice_starts(by, SLICE("*."));
    struct slice base = wildcard ? slice_from(by, 2) : by;

    if (slice_starts(pattern, SLICE("*."))) {
        struct slice name = slice_from(pattern, 2);
        return wildcard && (slice_equal_ignoring_case(name, base) || is_below(name, base));
    }
    if (slice_is(by, "*"))
        return true;
    if (wildcard)
        return !is_ipv4(pattern) && !is_ipv6(pattern) && is_below(pattern, base);
    return slice_equal_ignoring_case(pattern, by);
}

bool srt_address_range_is_valid(struct slice range)
{
    size_t slash = slice_find(range, '/');
    struct slice address = without_zone((struct slice){range.ptr, slash});
    uint8_t bytes[16];
    bool v4 = is_ipv4(address);

    if (!v4 && !parse_address(AF_INET6, address, bytes))
        return false;
    unsigned prefix = v4 ? 32 : 128;
    if (slash < range.len) {
        struct slice digits = slice_from(range, slash + 1);
        unsigned value = 0;
        if (digits.len == 0 || digits.len > 3)
            return false;
        for (size_t i = 0; i < digits.len; i++) {
            if (!is_digit(digits.ptr[i]))
                return false;
            value = value * 10 + (unsigned)(digits.ptr[i] - '0');
        }
        if (value > prefix)
            return false;
        prefix = value;
    }
    return v4 || !is_mapped(bytes) || prefix >= 96;
}
