/* IP addresses: read strictly, printed in one way.
 *
 * inet_aton and everything built on it also takes octal, hexadecimal and short
 * forms (`010.0.0.1`, `0x7f.1`, `127.1`, `2130706433`). A check that reads such
 * a form in one way and a resolver that reads it in another is a hole, so there
 * is one form here: four decimal numbers without leading zeros, or IPv6 without a
 * zone. IPv4-mapped IPv6 is folded to the IPv4 address it reaches (attack 80). */
#include "policy/host_text.h"

#include <arpa/inet.h>
#include <stdio.h>

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool all_digits(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
    }
    return text.len > 0;
}

static bool is_hexadecimal(struct slice text)
{
    if (text.len < 2 || text.ptr[0] != '0' || (text.ptr[1] != 'x' && text.ptr[1] != 'X'))
        return false;
    for (size_t i = 2; i < text.len; i++) {
        if (slice_hex_digit(text.ptr[i]) < 0)
            return false;
    }
    return true;
}

static bool is_number(struct slice label)
{
    return all_digits(label) || is_hexadecimal(label);
}

/* Takes the text up to the next dot off `*rest`; false when nothing is left.
 * A dot at the very end is not followed by an empty part. */
static bool next_part(struct slice *rest, struct slice *part)
{
    if (rest->len == 0)
        return false;
    *part = (struct slice){rest->ptr, slice_find(*rest, '.')};
    *rest = slice_from(*rest, part->len < rest->len ? part->len + 1 : part->len);
    return true;
}

bool address_is_number_like(struct slice name)
{
    struct slice part = {"", 0};

    while (next_part(&name, &part))
        ;
    return is_number(part);
}

bool address_refuse_number(struct slice text, struct slice name, struct error *err)
{
    static const char fix[] = "write IPv4 addresses as four decimal numbers from 0 to 255";
    struct slice rest = name;
    struct slice part;
    size_t parts = 0;
    bool leading_zero = false;
    bool too_large = false;

    while (next_part(&rest, &part)) {
        parts++;
        if (is_hexadecimal(part))
            return host_refuse(err, text,
                               "has a hexadecimal number, which some programs read as part of an address; %s", fix);
        if (!all_digits(part))
            return host_refuse(err, text, "ends in a number, so that some programs would take it for an address");
        leading_zero = leading_zero || (part.len > 1 && part.ptr[0] == '0');
        too_large = too_large || part.len > 3 || (part.len == 3 && memcmp(part.ptr, "255", 3) > 0);
    }
    if (leading_zero)
        return host_refuse(err, text,
                           "has a number with a leading zero, octal for some programs and decimal for others; %s", fix);
    if (parts != 4)
        return host_refuse(err, text, "has %zu of the four numbers of an IPv4 address; %s", parts, fix);
    if (too_large)
        return host_refuse(err, text, "has a number above 255; %s", fix);
    if (slice_ends(name, SLICE(".")))
        return host_refuse(err, text, "has a dot behind an address; leave it out");
    return host_refuse(err, text,
                       "would be read as an address, where only a name can be; write addresses in plain digits");
}

static bool parse_v4(struct slice text, struct slice digits, struct address *address, struct error *err)
{
    struct slice rest = digits;
    struct slice part;
    size_t count = 0;
    *address = (struct address){.v6 = false};

    while (next_part(&rest, &part)) {
        if (count == 4 || !all_digits(part) || part.len > 3 || (part.len > 1 && part.ptr[0] == '0'))
            return address_refuse_number(text, digits, err);
        unsigned value = 0;
        for (size_t i = 0; i < part.len; i++)
            value = value * 10 + (unsigned)(part.ptr[i] - '0');
        if (value > 255)
            return address_refuse_number(text, digits, err);
        address->bytes[count++] = (uint8_t)value;
    }
    if (count != 4 || digits.ptr[digits.len - 1] == '.')
        return address_refuse_number(text, digits, err);
    return true;
}

static bool parse_v6(struct slice text, struct slice digits, struct address *address, struct error *err)
{
    char copy[INET6_ADDRSTRLEN];

    if (digits.len >= sizeof copy)
        return host_refuse(err, text, "is longer than any IPv6 address");
    for (size_t i = 0; i < digits.len; i++) {
        char byte = digits.ptr[i];
        if (slice_hex_digit(byte) < 0 && byte != ':' && byte != '.')
            return host_refuse(err, text, "is not an IPv6 address: it may hold only hexadecimal digits and colons");
        copy[i] = byte;
    }
    copy[digits.len] = '\0';
    *address = (struct address){.v6 = true};
    if (inet_pton(AF_INET6, copy, address->bytes) != 1)
        return host_refuse(err, text,
                           "is not an IPv6 address; one has eight groups of up to four hexadecimal digits, "
                           "and \"::\" at most once");
    return true;
}

bool address_parse_unfolded(struct slice text, struct slice digits, struct address *address, struct error *err)
{
    if (slice_find(digits, ':') < digits.len)
        return parse_v6(text, digits, address, err);
    if (!address_is_number_like(digits))
        return host_refuse(err, text, "is not an address");
    return parse_v4(text, digits, address, err);
}

bool address_is_mapped(const struct address *address)
{
    return address->v6 && memcmp(address->bytes, mapped_prefix, sizeof mapped_prefix) == 0;
}

void address_fold(struct address *address)
{
    if (!address_is_mapped(address))
        return;
    struct address folded = {.v6 = false};
    memcpy(folded.bytes, address->bytes + sizeof mapped_prefix, 4);
    *address = folded;
}

bool address_parse(struct slice text, struct address *address, struct error *err)
{
    if (!host_check_bytes(text, err) || !address_parse_unfolded(text, text, address, err))
        return false;
    address_fold(address);
    return true;
}

/* The longest run of at least two zero groups, the first of equals: what "::"
 * stands for (RFC 5952). */
static void find_zeros(const unsigned groups[8], unsigned *start, unsigned *length)
{
    *start = 0;
    *length = 1;
    for (unsigned i = 0; i < 8; i++) {
        unsigned run = 0;
        while (i + run < 8 && groups[i + run] == 0)
            run++;
        if (run > *length) {
            *start = i;
            *length = run;
        }
    }
    if (*length < 2)
        *length = 0;
}

/* inet_ntop would print ::1:80 as ::0.1.0.128, which nobody wrote. */
static void print_v6(const uint8_t bytes[16], char out[46])
{
    unsigned groups[8];
    unsigned zeros_start;
    unsigned zeros_length;
    int used = 0;

    for (size_t i = 0; i < 8; i++)
        groups[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
    find_zeros(groups, &zeros_start, &zeros_length);
    for (unsigned i = 0; i < 8; i++) {
        if (zeros_length > 0 && i == zeros_start) {
            used += snprintf(out + used, 46 - (size_t)used, "::");
            i += zeros_length - 1;
            continue;
        }
        bool first = i == 0 || (zeros_length > 0 && i == zeros_start + zeros_length);
        used += snprintf(out + used, 46 - (size_t)used, first ? "%x" : ":%x", groups[i]);
    }
}

void address_print(const struct address *address, char out[46])
{
    const uint8_t *bytes = address->bytes;

    if (address->v6)
        print_v6(bytes, out);
    else
        snprintf(out, 46, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
}
