/* Answers to the sandbox. Each repeats the question as it was spelled (some
 * clients check the case of its letters), says that recursion is available (for
 * glibc and Go an empty answer without it is a broken server), and fits what the
 * client can take, or says that it does not. */
#include "net/dns.h"

#include "net/reason.h"

enum { HEADER_LENGTH = 12, CLASS_IN = 1, TYPE_OPT = 41, OPTION_EXTENDED_ERROR = 15, WORDS_MAX = 160 };
enum {
    FLAG_RESPONSE = 0x8000,
    FLAG_TRUNCATED = 0x0200,
    FLAG_RECURSION_DESIRED = 0x0100,
    FLAG_RECURSION_AVAILABLE = 0x0080,
    FLAG_CHECKING_DISABLED = 0x0010,
    CODE_MASK = 0x000f
};
enum { OWNER_IS_QUESTION = 0xc000 | HEADER_LENGTH };

static uint16_t flags_of(const struct dns_query *query, unsigned code)
{
    uint16_t kept = query->flags & (FLAG_RECURSION_DESIRED | FLAG_CHECKING_DISABLED);

    return (uint16_t)(FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | kept | (code & CODE_MASK));
}

static void put_header(struct wire_writer *out, const struct dns_query *query, uint16_t flags, uint16_t answers,
                       uint16_t authorities)
{
    wire_put_u16(out, query->id);
    wire_put_u16(out, flags);
    wire_put_u16(out, query->question_length > 0);
    wire_put_u16(out, answers);
    wire_put_u16(out, authorities);
    wire_put_u16(out, query->has_edns);
    wire_put(out, (struct slice){(const char *)query->question, query->question_length});
}

/* Our own EDNS record, if the client sent one. */
static void put_edns(struct wire_writer *out, const struct dns_query *query, unsigned code, unsigned extended,
                     const char *text)
{
    char memory[WORDS_MAX];
    struct wire_writer words = wire_into(memory, sizeof memory);

    if (!query->has_edns)
        return;
    wire_put_byte(out, 0);
    wire_put_u16(out, TYPE_OPT);
    wire_put_u16(out, DNS_MESSAGE_MAX);
    wire_put_byte(out, (uint8_t)(code >> 4));
    wire_put_byte(out, 0);
    wire_put_u16(out, 0);
    if (extended == DNS_EDE_NONE) {
        wire_put_u16(out, 0);
        return;
    }
    reason_put(&words, slice_of(text ? text : ""), false, sizeof memory);
    wire_put_u16(out, (uint16_t)(4 + 2 + words.len));
    wire_put_u16(out, OPTION_EXTENDED_ERROR);
    wire_put_u16(out, (uint16_t)(2 + words.len));
    wire_put_u16(out, (uint16_t)extended);
    wire_put(out, wire_written(&words));
}

static void put_record_head(struct wire_writer *out, const struct dns_query *query, uint32_t ttl, size_t length)
{
    wire_put_u16(out, OWNER_IS_QUESTION);
    wire_put_u16(out, query->type);
    wire_put_u16(out, CLASS_IN);
    wire_put_u32(out, ttl);
    wire_put_u16(out, (uint16_t)length);
}

size_t dns_answer_code(const struct dns_query *query, unsigned code, unsigned extended, const char *text, uint8_t *out,
                       size_t capacity)
{
    struct wire_writer writer = wire_into((char *)out, capacity);

    put_header(&writer, query, flags_of(query, code), 0, 0);
    put_edns(&writer, query, code, extended, text);
    return wire_written(&writer).len;
}

size_t dns_answer_address(const struct dns_query *query, const struct address *address, uint32_t ttl, uint8_t *out,
                          size_t capacity)
{
    struct wire_writer writer = wire_into((char *)out, capacity);
    size_t length = address->v6 ? 16 : 4;

    if (query->type != (address->v6 ? DNS_TYPE_AAAA : DNS_TYPE_A))
        return dns_answer_code(query, DNS_NOERROR, DNS_EDE_NONE, NULL, out, capacity);
    put_header(&writer, query, flags_of(query, DNS_NOERROR), 1, 0);
    put_record_head(&writer, query, ttl, length);
    wire_put(&writer, (struct slice){(const char *)address->bytes, length});
    put_edns(&writer, query, DNS_NOERROR, DNS_EDE_NONE, NULL);
    return wire_written(&writer).len;
}

static void put_name(struct wire_writer *out, struct slice name)
{
    while (name.len > 0) {
        size_t length = slice_find(name, '.');

        wire_put_byte(out, (uint8_t)length);
        wire_put(out, (struct slice){name.ptr, length});
        name = slice_from(name, length < name.len ? length + 1 : length);
    }
    wire_put_byte(out, 0);
}

size_t dns_answer_name(const struct dns_query *query, struct slice name, uint32_t ttl, uint8_t *out, size_t capacity)
{
    struct wire_writer writer = wire_into((char *)out, capacity);

    put_header(&writer, query, flags_of(query, DNS_NOERROR), 1, 0);
    put_record_head(&writer, query, ttl, name.len + 2);
    put_name(&writer, name);
    put_edns(&writer, query, DNS_NOERROR, DNS_EDE_NONE, NULL);
    return wire_written(&writer).len;
}

/* Over a name in somebody else's message. It may end in a pointer, which must
 * point back: forward ones could make a circle. */
static bool skip_name(struct wire_reader *in, struct slice message)
{
    for (;;) {
        size_t here = message.len - in->rest.len;
        uint8_t length = wire_take_byte(in);

        if (in->broken || (length > 63 && length < 0xc0))
            return false;
        if (length == 0)
            return true;
        if (length >= 0xc0)
            return ((size_t)(length & 0x3f) << 8 | wire_take_byte(in)) < here && !in->broken;
        wire_take(in, length);
    }
}

static bool skip_records(struct wire_reader *in, struct slice message, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!skip_name(in, message))
            return false;
        wire_take(in, 2 + 2 + 4); /* type, class, time to live */
        wire_take(in, wire_take_u16(in));
        if (in->broken)
            return false;
    }
    return true;
}

/* Is the question the one that was asked? Case does not count in a name, nor can
 * it change the lengths of labels, which are no letters. */
static bool is_same_question(const struct dns_query *query, struct slice question)
{
    size_t name_length = query->question_length - 4;
    struct slice asked = {(const char *)query->question, query->question_length};

    return question.len == asked.len &&
           slice_equal_ignoring_case((struct slice){asked.ptr, name_length},
                                     (struct slice){question.ptr, name_length}) &&
           slice_equal(slice_from(asked, name_length), slice_from(question, name_length));
}

bool dns_answer_forward(const struct dns_query *query, struct slice upstream, bool tcp, uint8_t *out, size_t capacity,
                        size_t *length)
{
    struct wire_reader in = {.rest = upstream};

    wire_take_u16(&in); /* an id of ours */
    uint16_t flags = wire_take_u16(&in);
    uint16_t questions = wire_take_u16(&in);
    uint16_t answers = wire_take_u16(&in);
    uint16_t authorities = wire_take_u16(&in);
    wire_take_u16(&in);
    if (in.broken || !(flags & FLAG_RESPONSE) || questions != 1 || query->question_length < 5 ||
        !is_same_question(query, wire_take(&in, query->question_length)))
        return false;
    struct slice records = in.rest;
    if (!skip_records(&in, upstream, answers) || !skip_records(&in, upstream, authorities))
        return false;
    records.len -= in.rest.len; /* the additional ones stay behind: addresses that lead nowhere, their EDNS */

    uint16_t ours = flags_of(query, flags & CODE_MASK);
    if (!tcp && capacity > query->payload)
        capacity = query->payload;
    struct wire_writer writer = wire_into((char *)out, capacity);
    if (!(flags & FLAG_TRUNCATED)) {
        put_header(&writer, query, ours, answers, authorities);
        wire_put(&writer, records);
        put_edns(&writer, query, ours & CODE_MASK, DNS_EDE_NONE, NULL);
    }
    if (writer.full || flags & FLAG_TRUNCATED) {
        writer = wire_into((char *)out, capacity);
        put_header(&writer, query, ours | FLAG_TRUNCATED, 0, 0);
        put_edns(&writer, query, ours & CODE_MASK, DNS_EDE_NONE, NULL);
    }
    *length = wire_written(&writer).len;
    return *length > 0;
}
