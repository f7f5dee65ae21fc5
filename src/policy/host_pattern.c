/* Patterns over hosts: what the lists of allowed and denied domains are made of.
 * A name never matches an address pattern nor the other way round; only `*`
 * covers both. A pattern is read once into canonical form, so that matching is
 * a comparison of bytes. */
#include "policy/host_text.h"

#include <stdio.h>

enum { V4_BITS = 32, V6_BITS = 128, MAPPED_BITS = 96 };

static unsigned address_bits(const struct address *address)
{
    return address->v6 ? V6_BITS : V4_BITS;
}

static struct address masked(const struct address *address, unsigned prefix_length)
{
    struct address result = *address;

    for (unsigned bit = prefix_length; bit < address_bits(address); bit++)
        result.bytes[bit / 8] &= (uint8_t) ~(0x80U >> (bit % 8));
    return result;
}

static bool same_address(const struct address *a, const struct address *b)
{
    return a->v6 == b->v6 && memcmp(a->bytes, b->bytes, a->v6 ? 16 : 4) == 0;
}

static bool parse_prefix_length(struct slice text, struct slice digits, unsigned most, unsigned *length,
                                struct error *err)
{
    unsigned value = 0;
    bool good = digits.len >= 1 && digits.len <= 3 && (digits.len == 1 || digits.ptr[0] != '0');

    if (slice_find(digits, ':') < digits.len)
        return host_refuse(err, text,
                           "has a port behind an IPv6 network; put the network in brackets, as in [2001:db8::/32]:443");
    for (size_t i = 0; good && i < digits.len; i++) {
        good = digits.ptr[i] >= '0' && digits.ptr[i] <= '9';
        value = value * 10 + (unsigned)(digits.ptr[i] - '0');
    }
    if (!good || value > most)
        return host_refuse(err, text, "has a prefix length that is not a number from 0 to %u", most);
    *length = value;
    return true;
}

static bool parse_network(struct slice text, struct slice inner, struct host_pattern *pattern, struct error *err)
{
    size_t slash = slice_find(inner, '/');
    struct slice before = {inner.ptr, slash};
    struct address address;
    unsigned length = 0;

    if (slice_find(before, ':') == before.len && !address_is_number_like(before))
        return host_refuse(err, text, "holds a slash; write only the host, without a path");
    if (!address_parse_unfolded(text, before, &address, err) ||
        !parse_prefix_length(text, slice_from(inner, slash + 1), address_bits(&address), &length, err))
        return false;
    if (address_is_mapped(&address) && length >= MAPPED_BITS) {
        address_fold(&address);
        length -= MAPPED_BITS;
    }

    struct address network = masked(&address, length);
    if (!same_address(&network, &address)) {
        char printed[46];
        address_print(&network, printed);
        return host_refuse(
            err, text,
            "names one host and a prefix length; for the whole network write %s/%u, for the host leave /%u out",
            printed, length, length);
    }
    pattern->kind = HOST_PATTERN_NETWORK;
    pattern->prefix_length = (uint8_t)length;
    host_from_address(&network, &pattern->host);
    return true;
}

static bool parse_subdomains(struct slice text, struct slice name, struct host_pattern *pattern, struct error *err)
{
    pattern->kind = HOST_PATTERN_SUBDOMAINS;
    return host_parse_name(text, name, &pattern->host, err);
}

bool host_pattern_parse(struct slice text, struct host_pattern *pattern, struct error *err)
{
    struct slice inner = {"", 0};

    *pattern = (struct host_pattern){.kind = HOST_PATTERN_ANY};
    if (!host_check_bytes(text, err) || !host_split_port(text, &inner, &pattern->port, err))
        return false;
    if (slice_is(inner, "*"))
        return true;
    if (slice_find(inner, '/') < inner.len)
        return parse_network(text, inner, pattern, err);
    if (slice_starts(inner, SLICE("*.")))
        return parse_subdomains(text, slice_from(inner, 2), pattern, err);
    if (!host_parse_inner(text, inner, &pattern->host, err))
        return false;
    pattern->kind = pattern->host.is_address ? HOST_PATTERN_ADDRESS : HOST_PATTERN_NAME;
    return true;
}

static bool is_subdomain(const struct host *host, const struct host *parent)
{
    struct slice name = {host->name, host->name_length};
    struct slice suffix = {parent->name, parent->name_length};

    return !host->is_address && name.len > suffix.len && slice_ends(name, suffix) &&
           name.ptr[name.len - suffix.len - 1] == '.';
}

static bool host_in_pattern(const struct host_pattern *pattern, const struct host *host)
{
    const struct host *wanted = &pattern->host;

    switch (pattern->kind) {
    case HOST_PATTERN_ANY:
        return true;
    case HOST_PATTERN_NAME:
        return !host->is_address && slice_equal((struct slice){host->name, host->name_length},
                                                (struct slice){wanted->name, wanted->name_length});
    case HOST_PATTERN_SUBDOMAINS:
        return is_subdomain(host, wanted);
    case HOST_PATTERN_ADDRESS:
        return host->is_address && same_address(&host->address, &wanted->address);
    case HOST_PATTERN_NETWORK:
        break;
    }
    if (!host->is_address)
        return false;
    struct address network = masked(&host->address, pattern->prefix_length);
    return same_address(&network, &wanted->address);
}

bool host_pattern_matches(const struct host_pattern *pattern, const struct host *host, uint16_t port)
{
    if (pattern->port != 0 && port != 0 && pattern->port != port)
        return false;
    return host_in_pattern(pattern, host);
}

void host_pattern_print(const struct host_pattern *pattern, char out[300])
{
    char body[270];
    char port[8] = "";

    switch (pattern->kind) {
    case HOST_PATTERN_ANY:
        snprintf(body, sizeof body, "*");
        break;
    case HOST_PATTERN_SUBDOMAINS:
        snprintf(body, sizeof body, "*.%s", pattern->host.name);
        break;
    case HOST_PATTERN_NETWORK:
        snprintf(body, sizeof body, "%s/%u", pattern->host.name, pattern->prefix_length);
        break;
    case HOST_PATTERN_NAME:
    case HOST_PATTERN_ADDRESS:
        snprintf(body, sizeof body, "%s", pattern->host.name);
        break;
    }
    bool brackets = pattern->port != 0 && pattern->host.is_address && pattern->host.address.v6;
    if (pattern->port != 0)
        snprintf(port, sizeof port, ":%u", pattern->port);
    snprintf(out, 300, "%s%s%s%s", brackets ? "[" : "", body, brackets ? "]" : "", port);
}
