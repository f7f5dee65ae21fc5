/* A query from inside. One question, no compression in it (there is nothing
 * before it to point to), nothing behind it but EDNS. What does not look like
 * that is answered with an error or, if an answer could make a loop, with
 * nothing. Labels may hold any byte, a dot too: a name is only one that policy
 * can judge if its labels are letters, digits, hyphens and underscores (76, 77). */
#include "net/dns.h"

#include "net/target.h"

enum { HEADER_LENGTH = 12, LABEL_MAX = 63, NAME_MAX_WIRE = 255, CLASS_IN = 1, TYPE_OPT = 41 };
enum { FLAG_RESPONSE = 0x8000, FLAG_OPCODE = 0x7800, FLAG_TRUNCATED = 0x0200 };

static enum dns_result reject(struct dns_query *query, unsigned code)
{
    query->code = code;
    return DNS_REJECT;
}

/* Text of a name: labels with dots between them. Empty for the root. */
struct name_text {
    char bytes[NAME_MAX_WIRE];
    size_t length;
    bool plain; /* every label could be one of a host name */
};

static bool is_plain(char byte)
{
    char lower = slice_lower(byte);

    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

static bool take_name(struct wire_reader *in, struct name_text *text)
{
    size_t wire_length = 1;

    text->length = 0;
    text->plain = true;
    for (uint8_t length = wire_take_byte(in); length != 0; length = wire_take_byte(in)) {
        struct slice label = wire_take(in, length);

        wire_length += 1 + (size_t)length;
        if (length > LABEL_MAX || in->broken || wire_length > NAME_MAX_WIRE)
            return false;
        if (text->length > 0)
            text->bytes[text->length++] = '.';
        for (size_t i = 0; i < label.len; i++) {
            text->plain = text->plain && is_plain(label.ptr[i]);
            text->bytes[text->length++] = label.ptr[i];
        }
    }
    return !in->broken;
}

/* One label off the end. */
static struct slice last_label(struct slice *name)
{
    size_t begin = name->len;

    while (begin > 0 && name->ptr[begin - 1] != '.')
        begin--;
    struct slice label = {name->ptr + begin, name->len - begin};
    name->len = begin > 0 ? begin - 1 : 0;
    return label;
}

static bool parse_octet(struct slice label, uint8_t *octet)
{
    unsigned value = 0;

    if (label.len == 0 || label.len > 3 || (label.len > 1 && label.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < label.len; i++) {
        if (label.ptr[i] < '0' || label.ptr[i] > '9')
            return false;
        value = value * 10 + (unsigned)(label.ptr[i] - '0');
    }
    *octet = (uint8_t)value;
    return value <= UINT8_MAX;
}

static bool parse_nibble(struct slice label, uint8_t *nibble)
{
    int digit = label.len == 1 ? slice_hex_digit(label.ptr[0]) : -1;

    *nibble = (uint8_t)(digit & 0xf);
    return digit >= 0;
}

/* 4.3.2.1.in-addr.arpa, or 32 nibbles before ip6.arpa. */
static bool parse_reverse(struct slice name, struct address *address)
{
    struct slice top = last_label(&name);
    struct slice zone = last_label(&name);

    *address = (struct address){.v6 = slice_equal_ignoring_case(zone, SLICE("ip6"))};
    if (!slice_equal_ignoring_case(top, SLICE("arpa")) ||
        (!address->v6 && !slice_equal_ignoring_case(zone, SLICE("in-addr"))))
        return false;
    for (size_t i = 0; i < (address->v6 ? 32 : 4); i++) {
        uint8_t value = 0;
        struct slice label = last_label(&name);

        if (address->v6 ? !parse_nibble(label, &value) : !parse_octet(label, &value))
            return false;
        if (address->v6)
            address->bytes[i / 2] = (uint8_t)(address->bytes[i / 2] << 4 | value);
        else
            address->bytes[i] = value;
    }
    return name.len == 0;
}

static enum dns_result take_question(struct wire_reader *in, struct dns_query *query)
{
    struct slice start = in->rest;
    struct name_text text;

    if (!take_name(in, &text))
        return reject(query, DNS_FORMERR);
    query->type = wire_take_u16(in);
    uint16_t class = wire_take_u16(in);
    if (in->broken)
        return reject(query, DNS_FORMERR);
    query->question_length = start.len - in->rest.len;
    memcpy(query->question, start.ptr, query->question_length);

    struct slice name = {text.bytes, text.length};
    query->is_host = text.plain && target_host(name, &query->host) && !query->host.is_address;
    query->is_reverse = query->type == DNS_TYPE_PTR && parse_reverse(name, &query->reverse);
    return class == CLASS_IN ? DNS_QUERY : reject(query, DNS_REFUSED);
}

/* RFC 6891: the only record a query may bring along. */
static enum dns_result take_edns(struct wire_reader *in, struct dns_query *query)
{
    uint8_t name = wire_take_byte(in);
    uint16_t type = wire_take_u16(in);
    uint16_t payload = wire_take_u16(in);
    wire_take_byte(in); /* extended code */
    uint8_t version = wire_take_byte(in);
    wire_take_u16(in); /* flags */
    wire_take(in, wire_take_u16(in));

    if (in->broken || name != 0 || type != TYPE_OPT || query->has_edns)
        return reject(query, DNS_FORMERR);
    query->has_edns = true;
    if (payload > DNS_PLAIN_MAX)
        query->payload = payload < DNS_MESSAGE_MAX ? payload : DNS_MESSAGE_MAX;
    return version == 0 ? DNS_QUERY : reject(query, DNS_BADVERS);
}

enum dns_result dns_query_parse(struct slice message, struct dns_query *query)
{
    struct wire_reader in = {.rest = message};

    *query = (struct dns_query){.payload = DNS_PLAIN_MAX};
    query->id = wire_take_u16(&in);
    query->flags = wire_take_u16(&in);
    uint16_t questions = wire_take_u16(&in);
    uint16_t answers = wire_take_u16(&in);
    uint16_t authorities = wire_take_u16(&in);
    uint16_t additional = wire_take_u16(&in);

    if (in.broken || query->flags & FLAG_RESPONSE)
        return DNS_IGNORE;
    if (query->flags & FLAG_OPCODE)
        return reject(query, DNS_NOTIMP);
    if (message.len > DNS_MESSAGE_MAX || query->flags & FLAG_TRUNCATED || questions != 1 || answers != 0 ||
        authorities != 0 || additional > 1)
        return reject(query, DNS_FORMERR);

    enum dns_result asked = take_question(&in, query);
    if (asked == DNS_REJECT && query->code == DNS_FORMERR)
        return DNS_REJECT;
    if (additional == 1 && take_edns(&in, query) == DNS_REJECT)
        return DNS_REJECT;
    if (in.rest.len > 0)
        return reject(query, DNS_FORMERR);
    return asked;
}

enum dns_handling dns_handling_of(const struct dns_query *query)
{
    enum { SVCB = 64, HTTPS = 65, META_FIRST = 128, ANY = 255 };

    if (query->type == DNS_TYPE_A || query->type == DNS_TYPE_AAAA)
        return DNS_SYNTHESIZE;
    if (query->is_reverse)
        return DNS_REVERSE;
    if (query->type == SVCB || query->type == HTTPS || query->type == ANY)
        return DNS_NO_DATA;
    /* 128 to 255 are the types of messages and not of data (RFC 6895), OPT is one by accident. */
    if (query->type == 0 || query->type == TYPE_OPT || (query->type >= META_FIRST && query->type < ANY))
        return DNS_DECLINE;
    return DNS_FORWARD;
}
