/* A ClientHello is one handshake message, which TLS may cut into records as it
 * likes, a byte each if it wants (attacks 84, 86: what does not see through that
 * can be walked past). So the reader below walks over the record headers as it
 * goes, and no copy is made.
 *
 * Nothing is taken on trust: lengths must add up, an extension may not come
 * twice, the name must be one host name in its canonical bytes. */
#include "net/hello.h"

#include "net/target.h"

enum { RECORD_CHANGE_CIPHER = 20, RECORD_ALERT = 21, RECORD_HANDSHAKE = 22, RECORD_DATA = 23 };
enum { RECORD_HEADER = 5, RECORD_MAX = 16384, RECORD_CIPHERTEXT_MAX = RECORD_MAX + 256 };
enum { MESSAGE_CLIENT_HELLO = 1, MESSAGE_SERVER_HELLO = 2 };
enum { EXTENSION_SERVER_NAME = 0, EXTENSION_ENCRYPTED_HELLO = 0xfe0d, NAME_TYPE_HOST = 0 };

struct reader {
    struct slice rest;  /* of the input */
    size_t record_left; /* of this record's payload */
    bool more;          /* the input ended before the message did */
    bool bad;
};

static void open_record(struct reader *reader)
{
    const unsigned char *header = (const unsigned char *)reader->rest.ptr;

    if (reader->rest.len >= 1 && header[0] != RECORD_HANDSHAKE)
        reader->bad = true;
    if (reader->rest.len >= 2 && header[1] != 3)
        reader->bad = true;
    if (reader->bad)
        return;
    if (reader->rest.len < RECORD_HEADER) {
        reader->more = true;
        return;
    }
    reader->record_left = (size_t)header[3] << 8 | header[4];
    reader->rest = slice_from(reader->rest, RECORD_HEADER);
    if (reader->record_left == 0 || reader->record_left > RECORD_MAX)
        reader->bad = true;
}

static unsigned take(struct reader *reader)
{
    if (!reader->bad && !reader->more && reader->record_left == 0)
        open_record(reader);
    if (reader->bad || reader->more)
        return 0;
    if (reader->rest.len == 0) {
        reader->more = true;
        return 0;
    }
    unsigned byte = (unsigned char)reader->rest.ptr[0];
    reader->rest = slice_from(reader->rest, 1);
    reader->record_left--;
    return byte;
}

/* A piece of the message with a length of its own. Whoever takes more of it than
 * there is has found a message whose lengths do not add up. */
struct part {
    struct reader *reader;
    size_t left;
};

static unsigned part_byte(struct part *part)
{
    if (part->left == 0) {
        part->reader->bad = part->reader->bad || !part->reader->more;
        return 0;
    }
    part->left--;
    return take(part->reader);
}

static unsigned part_u16(struct part *part)
{
    unsigned high = part_byte(part);

    return high << 8 | part_byte(part);
}

static bool part_ended(const struct part *part)
{
    return part->left == 0 || part->reader->bad || part->reader->more;
}

static void part_skip(struct part *part, size_t count)
{
    for (size_t i = 0; i < count && !part->reader->bad && !part->reader->more; i++)
        part_byte(part);
}

static struct part part_of(struct part *outer, size_t length)
{
    if (length > outer->left) {
        outer->reader->bad = outer->reader->bad || !outer->reader->more;
        length = 0;
    }
    outer->left -= length;
    return (struct part){outer->reader, length};
}

static void read_server_name(struct part *extension, struct hello *hello)
{
    char text[HOST_NAME_MAX_LENGTH + 1];
    struct reader *reader = extension->reader;

    size_t list = part_u16(extension);
    unsigned type = part_byte(extension);
    size_t length = part_u16(extension);
    if (reader->more)
        return;
    if (list != length + 3 || length != extension->left || type != NAME_TYPE_HOST || length > sizeof text) {
        reader->bad = true;
        return;
    }
    for (size_t i = 0; i < length; i++)
        text[i] = (char)part_byte(extension);
    if (reader->more || reader->bad)
        return;
    reader->bad = hello->has_name || !target_host((struct slice){text, length}, &hello->name);
    hello->has_name = true;
}

static void read_extensions(struct part *message, struct hello *hello)
{
    struct part extensions = part_of(message, part_u16(message));

    if (message->left != 0)
        message->reader->bad = message->reader->bad || !message->reader->more;
    while (!part_ended(&extensions)) {
        unsigned type = part_u16(&extensions);
        struct part extension = part_of(&extensions, part_u16(&extensions));

        if (type == EXTENSION_SERVER_NAME)
            read_server_name(&extension, hello);
        else if (type == EXTENSION_ENCRYPTED_HELLO)
            hello->encrypted = true;
        part_skip(&extension, extension.left);
    }
}

static void read_message(struct part *message, struct hello *hello)
{
    part_skip(message, 2 + 32);             /* version, random */
    part_skip(message, part_byte(message)); /* session id */
    part_skip(message, part_u16(message));  /* cipher suites */
    part_skip(message, part_byte(message)); /* compression methods */
    if (!part_ended(message))
        read_extensions(message, hello); /* before TLS 1.2 there may be none */
}

static enum hello_kind examine_tls(struct slice input, struct hello *hello)
{
    struct reader reader = {.rest = input};
    struct part whole = {&reader, 4};

    unsigned type = part_byte(&whole);
    if (reader.bad || (!reader.more && type != MESSAGE_CLIENT_HELLO))
        return HELLO_BAD;
    size_t length = (size_t)part_byte(&whole) << 16;
    length |= part_u16(&whole);
    if (!reader.more && !reader.bad) {
        struct part message = {&reader, length};
        if (length > HELLO_MAX)
            return HELLO_BAD;
        read_message(&message, hello);
    }
    /* What else is in the record could be a message to the server (a second ClientHello) that nobody has seen. */
    if (reader.bad || (!reader.more && reader.record_left > 0))
        return HELLO_BAD;
    if (reader.more)
        return input.len < HELLO_MAX ? HELLO_MORE : HELLO_BAD;
    hello->length = input.len - reader.rest.len;
    return HELLO_TLS;
}

enum hello_reply hello_examine_reply(struct slice input)
{
    /* The random number that makes a ServerHello a HelloRetryRequest (RFC 8446, 4.1.3). */
    static const unsigned char retry[32] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                                            0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                                            0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
    struct reader reader = {.rest = input};
    struct part whole = {&reader, 4 + 2 + sizeof retry};

    if (part_byte(&whole) != MESSAGE_SERVER_HELLO && !reader.more)
        return HELLO_REPLY_OTHER;
    part_skip(&whole, 3 + 2); /* length, version */
    for (size_t i = 0; i < sizeof retry && !reader.more; i++) {
        if (part_byte(&whole) != retry[i] && !reader.more)
            return HELLO_REPLY_OTHER;
    }
    if (reader.bad)
        return HELLO_REPLY_OTHER;
    return reader.more ? HELLO_REPLY_MORE : HELLO_REPLY_RETRY;
}

enum hello_kind hello_examine_second(struct slice input, struct hello *hello)
{
    *hello = (struct hello){.has_name = false};
    while (input.len > 0) {
        const unsigned char *header = (const unsigned char *)input.ptr;

        if (header[0] == RECORD_HANDSHAKE) {
            enum hello_kind kind = examine_tls(input, hello);
            if (kind != HELLO_TLS)
                *hello = (struct hello){.has_name = false};
            return kind;
        }
        if (header[0] != RECORD_CHANGE_CIPHER && header[0] != RECORD_ALERT && header[0] != RECORD_DATA)
            return HELLO_BAD;
        if (input.len < RECORD_HEADER)
            break;
        size_t length = (size_t)header[3] << 8 | header[4];
        if (length > RECORD_CIPHERTEXT_MAX)
            return HELLO_BAD;
        if (input.len - RECORD_HEADER < length)
            break;
        input = slice_from(input, RECORD_HEADER + length);
    }
    return HELLO_MORE;
}

/* "GET /path", "OPTIONS *", "GET http://host/": a method, a blank, the beginning
 * of a target. In any case and behind empty lines, which some servers overlook. */
static enum hello_kind examine_text(struct slice input)
{
    enum { METHOD_MAX = 20 }; /* the longest in use has 17 letters */
    size_t method = 0;
    struct slice scheme = SLICE("http");

    while (input.len > 0 && (input.ptr[0] == '\r' || input.ptr[0] == '\n'))
        input = slice_from(input, 1);
    while (method < input.len && method < METHOD_MAX &&
           ((slice_lower(input.ptr[method]) >= 'a' && slice_lower(input.ptr[method]) <= 'z') ||
            (method > 0 && input.ptr[method] == '-')))
        method++;
    if (method == METHOD_MAX)
        return HELLO_OTHER; /* whatever follows: what comes in two parts is judged as if in one */
    if (method == input.len)
        return HELLO_MORE;
    if (method == 0 || input.ptr[method] != ' ')
        return HELLO_OTHER;
    struct slice target = slice_from(input, method + 1);
    if (target.len > 0 && (target.ptr[0] == '/' || target.ptr[0] == '*'))
        return HELLO_HTTP;
    if (target.len < scheme.len)
        scheme.len = target.len;
    if (!slice_equal_ignoring_case((struct slice){target.ptr, scheme.len}, scheme))
        return HELLO_OTHER;
    return target.len < 4 ? HELLO_MORE : HELLO_HTTP;
}

bool hello_may_be_tls(struct slice input)
{
    return input.len == 0 || input.ptr[0] == RECORD_HANDSHAKE;
}

enum hello_kind hello_examine(struct slice input, struct hello *hello)
{
    *hello = (struct hello){.has_name = false};
    if (input.len == 0)
        return HELLO_MORE;
    if (input.ptr[0] != RECORD_HANDSHAKE)
        return examine_text(input);
    if (input.len >= 2 && input.ptr[1] != 3)
        return HELLO_OTHER; /* one byte that happens to be 22 */
    enum hello_kind kind = examine_tls(input, hello);
    if (kind != HELLO_TLS)
        *hello = (struct hello){.has_name = false};
    return kind;
}
