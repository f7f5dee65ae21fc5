/* Host names: one canonical form, or a refusal that names the problem.
 *
 * Bytes that could end a string early or belong to other parts of a URL are
 * refused before anything is interpreted (attack 76). Names beyond ASCII go
 * through IDNA (UTS 46, nontransitional), and what comes out is checked like
 * ASCII that was written by hand: the mapping turns full-width digits into
 * digits and U+2100 into "a/c". Only idn2_to_ascii_8z is used: it takes UTF-8 as it is,
 * where its siblings load locale and character set tables, which a static
 * binary must not. */
#include "policy/host_text.h"

#include "base/arena.h"
#include "base/text.h"

#include <idn2.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    QUOTED_MAX = 80,
    UNICODE_NAME_MAX = 4 * HOST_NAME_MAX_LENGTH /* bytes: no character of UTF-8 has more than four */
};

bool host_refuse(struct error *err, struct slice text, const char *reason, ...)
{
    struct arena arena ARENA_CLEANUP = {0};
    bool cut = text.len > QUOTED_MAX;
    struct slice shown = {text.ptr, cut ? QUOTED_MAX : text.len};
    char words[512];
    va_list arguments;

    va_start(arguments, reason);
    vsnprintf(words, sizeof words, reason, arguments);
    va_end(arguments);
    return error_set(err, "\"%s%s\" %s", escaped(&arena, shown), cut ? "..." : "", words);
}

bool host_check_bytes(struct slice text, struct error *err)
{
    if (text.len == 0)
        return error_set(err, "the host is empty");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte == '\0')
            return host_refuse(err, text, "holds a NUL, which ends the name for some programs and not for others");
        if (byte == ' ' || (byte >= '\t' && byte <= '\r'))
            return host_refuse(err, text, "holds white space");
        if (byte < 0x20 || byte == 0x7f)
            return host_refuse(err, text, "holds a control character (0x%02x)", byte);
    }
    if (memmem(text.ptr, text.len, "://", 3))
        return host_refuse(err, text, "has a scheme (://); write only the host, and a port if need be");
    if (slice_find(text, '@') < text.len)
        return host_refuse(err, text, "holds a user name (@); write only the host");
    if (slice_find(text, '%') < text.len && slice_find(text, ':') < text.len)
        return host_refuse(err, text, "has a zone id or percent sign (%%); write the address without it");
    if (slice_find(text, '%') < text.len)
        return host_refuse(err, text, "holds a percent sign; write the name itself, not encoded");
    return true;
}

bool host_parse_port(struct slice text, struct slice digits, uint16_t *port, struct error *err)
{
    unsigned value = 0;

    if (digits.len == 0)
        return host_refuse(err, text, "has no port behind its colon; write one, or leave the colon out");
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
            return host_refuse(err, text, "has a port that is not a number from 1 to 65535");
    }
    if (digits.ptr[0] == '0' || digits.len > 5)
        return host_refuse(err, text, "has a port that is not a number from 1 to 65535, without leading zeros");
    for (size_t i = 0; i < digits.len; i++)
        value = value * 10 + (unsigned)(digits.ptr[i] - '0');
    if (value > UINT16_MAX)
        return host_refuse(err, text, "has a port that is not a number from 1 to 65535");
    *port = (uint16_t)value;
    return true;
}

static size_t count_byte(struct slice text, char byte)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == byte;
    return count;
}

bool host_split_port(struct slice text, struct slice *host, uint16_t *port, struct error *err)
{
    size_t close = slice_find(text, ']');
    struct slice behind = {"", 0};

    *port = 0;
    bool bracketed = text.len > 0 && text.ptr[0] == '[';
    if (count_byte(text, '[') != bracketed || count_byte(text, ']') != bracketed)
        return host_refuse(err, text, "has unbalanced or misplaced brackets; write [address] or [address]:port");
    if (bracketed) {
        *host = (struct slice){text.ptr + 1, close - 1};
        behind = slice_from(text, close + 1);
        if (slice_find(*host, ':') == host->len)
            return host_refuse(err, text, "has brackets around something that is not an IPv6 address; leave them out");
        if (behind.len > 0 && behind.ptr[0] == '/')
            return host_refuse(err, text, "has its prefix length outside the brackets; write [address/length]");
        if (behind.len > 0 && behind.ptr[0] != ':')
            return host_refuse(err, text, "has something other than a port behind its brackets");
    } else {
        bool has_port = count_byte(text, ':') == 1; /* more of them: IPv6, whole */
        *host = (struct slice){text.ptr, has_port ? slice_find(text, ':') : text.len};
        behind = slice_from(text, host->len);
    }
    if (behind.len == 0)
        return true;
    return host_parse_port(text, slice_from(behind, 1), port, err);
}

void host_from_address(const struct address *address, struct host *host)
{
    *host = (struct host){.is_address = true, .address = *address};
    address_print(address, host->name);
    host->name_length = strlen(host->name);
}

static const char *idna_reason(int status)
{
    switch (status) {
    case IDN2_ENCODING_ERROR:
        return "it is not UTF-8";
    case IDN2_TOO_BIG_DOMAIN:
        return "the name is too long";
    case IDN2_TOO_BIG_LABEL:
    case IDN2_PUNYCODE_BIG_OUTPUT:
    case IDN2_PUNYCODE_OVERFLOW:
        return "a label is too long";
    case IDN2_HYPHEN_STARTEND:
        return "a label begins or ends with a hyphen";
    case IDN2_2HYPHEN:
        return "a label has hyphens in its third and fourth place";
    case IDN2_LEADING_COMBINING:
        return "a label begins with a combining mark";
    case IDN2_DISALLOWED:
    case IDN2_CONTEXTO:
    case IDN2_CONTEXTO_NO_RULE:
    case IDN2_CONTEXTJ:
    case IDN2_CONTEXTJ_NO_RULE:
        return "it holds a character that host names may not have";
    case IDN2_UNASSIGNED:
        return "it holds a character that Unicode has not assigned";
    case IDN2_BIDI:
        return "it mixes writing directions";
    case IDN2_PUNYCODE_BAD_INPUT:
    case IDN2_INVALID_ALABEL:
    case IDN2_UALABEL_MISMATCH:
    case IDN2_ALABEL_ROUNDTRIP_FAILED:
        return "a label that begins with xn-- does not decode";
    default:
        return idn2_strerror_name(status);
    }
}

/* Leaves the ASCII form in `out`. */
static bool to_ascii(struct slice text, struct slice name, char out[UNICODE_NAME_MAX + 1], struct slice *ascii,
                     struct error *err)
{
    char *converted = NULL;

    memcpy(out, name.ptr, name.len);
    out[name.len] = '\0';
    int status = idn2_to_ascii_8z(out, &converted, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);
    if (status != IDN2_OK)
        return host_refuse(err, text, "is not an international host name: %s", idna_reason(status));
    size_t length = strlen(converted);
    bool fits = length <= UNICODE_NAME_MAX;
    if (fits)
        memcpy(out, converted, length + 1);
    idn2_free(converted);
    *ascii = (struct slice){out, length};
    return fits || host_refuse(err, text, "is longer than the 253 characters of a host name");
}

static bool is_ascii(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    }
    return true;
}

static bool may_be_in_label(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

static bool check_label(struct slice text, struct slice label, struct error *err)
{
    if (label.len == 0)
        return host_refuse(err, text, "has an empty label (two dots in a row, or a dot at the start)");
    for (size_t i = 0; i < label.len; i++) {
        if (label.ptr[i] == '/')
            return host_refuse(err, text, "holds a slash; write only the host, without a path");
        if (label.ptr[i] == '*')
            return host_refuse(err, text, "has a wildcard where none can be; use \"*\" for every host or \"*.name\"");
        if (!may_be_in_label(label.ptr[i]))
            return host_refuse(err, text, "holds the character %c (0x%02x); labels are letters, digits and hyphens",
                               label.ptr[i] > 0x20 && label.ptr[i] < 0x7f ? label.ptr[i] : '?',
                               (unsigned char)label.ptr[i]);
    }
    if (label.len > HOST_LABEL_MAX_LENGTH)
        return host_refuse(err, text, "has a label of %zu characters; %d is the most", label.len,
                           HOST_LABEL_MAX_LENGTH);
    if (label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
        return host_refuse(err, text, "has a label that begins or ends with a hyphen");
    return true;
}

bool host_parse_name(struct slice text, struct slice name, struct host *host, struct error *err)
{
    char ascii[UNICODE_NAME_MAX + 1];

    if (name.len > UNICODE_NAME_MAX)
        return host_refuse(err, text, "is longer than the %d characters of a host name", HOST_NAME_MAX_LENGTH);
    if (!is_ascii(name) && !to_ascii(text, name, ascii, &name, err))
        return false;
    if (name.len == 0)
        return host_refuse(err, text, "has no host name");
    if (address_is_number_like(name))
        return address_refuse_number(text, name, err);
    if (name.len > 1 && name.ptr[name.len - 1] == '.')
        name.len--;
    if (name.len > HOST_NAME_MAX_LENGTH)
        return host_refuse(err, text, "is longer than the %d characters of a host name", HOST_NAME_MAX_LENGTH);

    struct slice rest = name;
    for (;;) {
        struct slice label = {rest.ptr, slice_find(rest, '.')};
        if (!check_label(text, label, err))
            return false;
        if (label.len == rest.len)
            break;
        rest = slice_from(rest, label.len + 1);
    }

    *host = (struct host){.is_address = false, .name_length = name.len};
    for (size_t i = 0; i < name.len; i++)
        host->name[i] = slice_lower(name.ptr[i]);
    return true;
}

bool host_parse_inner(struct slice text, struct slice inner, struct host *host, struct error *err)
{
    struct address address;

    bool v6 = slice_find(inner, ':') < inner.len;
    bool v4 = !v6 && address_is_number_like(inner);
    if (!v6 && !v4)
        return host_parse_name(text, inner, host, err);
    if (!address_parse_unfolded(text, inner, &address, err))
        return false;
    address_fold(&address);
    host_from_address(&address, host);
    return true;
}

bool host_port_parse(struct slice text, struct host *host, uint16_t *port, struct error *err)
{
    struct slice inner = {"", 0};

    return host_check_bytes(text, err) && host_split_port(text, &inner, port, err) &&
           host_parse_inner(text, inner, host, err);
}

bool host_parse(struct slice text, struct host *host, struct error *err)
{
    uint16_t port;
    struct slice inner = {"", 0};

    if (!host_check_bytes(text, err) || !host_split_port(text, &inner, &port, err))
        return false;
    if (port != 0)
        return host_refuse(err, text, "has a port, where only a host belongs");
    return host_parse_inner(text, inner, host, err);
}

bool host_is_loopback(const struct host *host)
{
    static const uint8_t loopback_v6[16] = {[15] = 1};

    if (!host->is_address)
        return slice_is((struct slice){host->name, host->name_length}, "localhost");
    return host->address.v6 ? memcmp(host->address.bytes, loopback_v6, sizeof loopback_v6) == 0
                            : host->address.bytes[0] == 127;
}
