/* The WHATWG URL parser, as far as it decides whether a text is a URL and what
 * its host is (srt asks `new URL()` both). Percent signs, number forms of IPv4
 * addresses and international names are undone as browsers do. Never used to
 * decide where anything connects. */
#include "policy/srt_host.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <stdint.h>
#include <stdlib.h>

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* strchr() would find the NUL that ends `bytes`. */
static bool is_one_of(char byte, const char *bytes)
{
    return byte != '\0' && strchr(bytes, byte);
}

/* Control characters and spaces at the ends go, tabs and newlines everywhere. */
static struct slice cleaned(struct arena *arena, struct slice text)
{
    struct text out = text_in(arena);

    while (text.len && (unsigned char)text.ptr[0] <= ' ')
        text = slice_from(text, 1);
    while (text.len && (unsigned char)text.ptr[text.len - 1] <= ' ')
        text.len--;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\t' && text.ptr[i] != '\n' && text.ptr[i] != '\r')
            text_append_byte(&out, text.ptr[i]);
    return text_slice(&out);
}

static struct slice percent_decoded(struct arena *arena, struct slice text)
{
    struct text out = text_in(arena);

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%' && i + 2 < text.len && slice_hex_digit(text.ptr[i + 1]) >= 0 &&
            slice_hex_digit(text.ptr[i + 2]) >= 0) {
            text_append_byte(&out, (char)(slice_hex_digit(text.ptr[i + 1]) * 16 + slice_hex_digit(text.ptr[i + 2])));
            i += 2;
        } else {
            text_append_byte(&out, text.ptr[i]);
        }
    }
    return text_slice(&out);
}

/* One part of an IPv4 address: decimal, 0 for octal, 0x for hexadecimal. Values
 * past 32 bits stay past them. */
static bool parse_number(struct slice text, uint64_t *value)
{
    int base = 10;

    if (text.len == 0)
        return false;
    if (text.len >= 2 && text.ptr[0] == '0' && (text.ptr[1] == 'x' || text.ptr[1] == 'X')) {
        base = 16;
        text = slice_from(text, 2);
    } else if (text.len >= 2 && text.ptr[0] == '0') {
        base = 8;
        text = slice_from(text, 1);
    }
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = slice_hex_digit(text.ptr[i]);
        if (digit < 0 || digit >= base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit;
        if (*value > UINT32_MAX)
            *value = (uint64_t)UINT32_MAX + 1;
    }
    return true;
}

static struct slice last_label(struct slice host)
{
    if (slice_ends(host, SLICE(".")))
        host.len--;
    size_t start = host.len;
    while (start > 0 && host.ptr[start - 1] != '.')
        start--;
    return slice_from(host, start);
}

/* A name whose last label is a number is an address or nothing. */
static bool ends_in_number(struct slice host)
{
    struct slice last = last_label(host);
    uint64_t value;
    bool digits = last.len > 0;

    for (size_t i = 0; i < last.len; i++)
        digits = digits && last.ptr[i] >= '0' && last.ptr[i] <= '9';
    return digits || parse_number(last, &value);
}

static bool parse_ipv4(struct arena *arena, struct slice host, struct slice *result)
{
    uint64_t parts[4];
    size_t count = 0;
    uint64_t address = 0;

    if (slice_ends(host, SLICE(".")))
        host.len--;
    for (;;) {
        size_t end = slice_find(host, '.');
        if (count == 4 || !parse_number((struct slice){host.ptr, end}, &parts[count++]))
            return false;
        if (end == host.len)
            break;
        host = slice_from(host, end + 1);
    }
    for (size_t i = 0; i + 1 < count; i++) {
        if (parts[i] > 255)
            return false;
        address |= parts[i] << (8 * (3 - i));
    }
    if (parts[count - 1] >= (uint64_t)1 << (8 * (5 - count)))
        return false;
    address |= parts[count - 1];
    *result = slice_of(arena_printf(arena, "%u.%u.%u.%u", (unsigned)(address >> 24), (unsigned)(address >> 16 & 255),
                                    (unsigned)(address >> 8 & 255), (unsigned)(address & 255)));
    return true;
}

/* Lower case, and IDNA where a name asks for it. */
static bool to_ascii(struct arena *arena, struct slice name, struct slice *result)
{
    bool plain = true;
    char *copy = arena_alloc(arena, name.len + 1);

    for (size_t i = 0; i < name.len; i++) {
        char byte = name.ptr[i];
        plain = plain && (unsigned char)byte < 0x80;
        copy[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
    }
    if (slice_find(name, '\0') < name.len)
        return false;
    if (plain && !strstr(copy, "xn--")) {
        *result = (struct slice){copy, name.len};
        return true;
    }
    char *ascii = NULL;
    if (idn2_to_ascii_8z(copy, &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) != IDN2_OK)
        return false;
    *result = arena_slice(arena, slice_of(ascii));
    free(ascii);
    return true;
}

static bool has_forbidden(struct slice host, const char *forbidden, bool domain)
{
    for (size_t i = 0; i < host.len; i++) {
        unsigned char byte = (unsigned char)host.ptr[i];
        if (byte == 0 || is_one_of(host.ptr[i], forbidden) || (domain && (byte < ' ' || byte == 0x7f || byte == '%')))
            return true;
    }
    return false;
}

static bool parse_host(struct arena *arena, struct slice text, bool special, struct slice *host)
{
    static const char forbidden[] = "\t\n\r #/:<>?@[\\]^|";

    if (slice_starts(text, SLICE("["))) {
        uint8_t bytes[16];
        char *inner = (char *)arena_slice(arena, slice_from(text, 1)).ptr;
        if (!slice_ends(text, SLICE("]")) || slice_find(text, '\0') < text.len)
            return false;
        inner[text.len - 2] = '\0';
        *host = text;
        return inet_pton(AF_INET6, inner, bytes) == 1;
    }
    if (!special) {
        *host = text;
        return !has_forbidden(text, forbidden, false);
    }
    struct slice name;
    if (!to_ascii(arena, percent_decoded(arena, text), &name) || name.len == 0 || has_forbidden(name, forbidden, true))
        return false;
    if (ends_in_number(name))
        return parse_ipv4(arena, name, host);
    *host = name;
    return true;
}

static bool is_port(struct slice text)
{
    unsigned value = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text.ptr[i] - '0');
        if (value > 65535)
            return false;
    }
    return true;
}

/* [user[:password]@]host[:port], up to where the path begins. */
static bool parse_authority(struct arena *arena, struct slice text, bool special, struct slice *host)
{
    size_t end = 0;
    size_t at = 0; /* behind the last '@' */
    size_t colon;
    bool brackets = false;

    while (end < text.len && !is_one_of(text.ptr[end], special ? "/?#\\" : "/?#"))
        end++;
    text.len = end;
    for (size_t i = 0; i < end; i++)
        if (text.ptr[i] == '@')
            at = i + 1;
    text = slice_from(text, at);
    for (colon = 0; colon < text.len && (brackets || text.ptr[colon] != ':'); colon++)
        brackets = text.ptr[colon] == '[' || (brackets && text.ptr[colon] != ']');

    struct slice name = {text.ptr, colon};
    if (name.len == 0 && (special || at > 0 || colon < text.len))
        return false;
    if (colon < text.len && !is_port(slice_from(text, colon + 1)))
        return false;
    return parse_host(arena, name, special, host);
}

static bool is_drive(struct slice text)
{
    return text.len == 2 && is_letter(text.ptr[0]) && (text.ptr[1] == ':' || text.ptr[1] == '|');
}

static bool parse_file(struct arena *arena, struct slice rest, struct slice *host)
{
    size_t end = 0;

    *host = SLICE("");
    if (rest.len < 2 || !is_one_of(rest.ptr[0], "/\\") || !is_one_of(rest.ptr[1], "/\\"))
        return true;
    rest = slice_from(rest, 2);
    while (end < rest.len && !is_one_of(rest.ptr[end], "/\\?#"))
        end++;
    rest.len = end;
    return end == 0 || is_drive(rest) || parse_host(arena, rest, true, host);
}

bool srt_url_parse(struct arena *arena, struct slice text, struct slice *host)
{
    static const char *const special_schemes[] = {"http", "https", "ws", "wss", "ftp"};
    struct slice url = cleaned(arena, text);
    struct slice scheme = {url.ptr, slice_find(url, ':')};
    struct slice found = SLICE("");
    bool special = false;

    if (scheme.len == url.len || scheme.len == 0 || !is_letter(scheme.ptr[0]))
        return false;
    for (size_t i = 0; i < scheme.len; i++)
        if (!is_letter(scheme.ptr[i]) && !is_one_of(scheme.ptr[i], "0123456789+-."))
            return false;
    for (size_t i = 0; i < sizeof(special_schemes) / sizeof(special_schemes[0]); i++)
        special = special || slice_equal_ignoring_case(scheme, slice_of(special_schemes[i]));

    struct slice rest = slice_from(url, scheme.len + 1);
    bool good = true;
    if (slice_equal_ignoring_case(scheme, SLICE("file"))) {
        good = parse_file(arena, rest, &found);
    } else if (special) {
        while (rest.len && (rest.ptr[0] == '/' || rest.ptr[0] == '\\'))
            rest = slice_from(rest, 1);
        good = parse_authority(arena, rest, true, &found);
    } else if (slice_starts(rest, SLICE("//"))) {
        good = parse_authority(arena, slice_from(rest, 2), false, &found);
    }
    if (good && host)
        *host = found;
    return good;
}
