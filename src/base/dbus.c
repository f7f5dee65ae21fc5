/* The wire format of D-Bus: everything is aligned to its own size, counted from
 * the beginning of the message; strings carry their length and a NUL as well; a
 * header is 12 fixed bytes and an array of numbered fields, padded to 8, and the
 * body follows. We write little-endian and read both.
 *
 * What is read is a stranger's: a length counts only when that many bytes are
 * there, a message that says it is longer than DBUS_MESSAGE_MAX is broken, and so
 * is one whose padding holds anything or whose strings hold a NUL. */
#include "base/dbus.h"

enum { VERSION = 1 };
enum { FIXED_LENGTH = 16, FIELDS_LENGTH_AT = 12, BODY_LENGTH_AT = 4, HEADER_ALIGNMENT = 8 };
enum field {
    FIELD_PATH = 1,
    FIELD_INTERFACE,
    FIELD_MEMBER,
    FIELD_ERROR,
    FIELD_REPLY_SERIAL,
    FIELD_DESTINATION,
    FIELD_SENDER,
    FIELD_SIGNATURE,
    FIELD_DESCRIPTORS
};

static size_t aligned(size_t at, size_t alignment)
{
    return (at + alignment - 1) / alignment * alignment;
}

static void align(struct text *text, size_t alignment)
{
    while (text->len % alignment != 0)
        text_append_byte(text, '\0');
}

static void put_number(struct text *text, uint64_t value, size_t size)
{
    align(text, size);
    for (size_t i = 0; i < size; i++)
        text_append_byte(text, (char)(value >> (8 * i) & 0xff));
}

void dbus_put_u32(struct text *text, uint32_t value)
{
    put_number(text, value, sizeof value);
}

void dbus_put_u64(struct text *text, uint64_t value)
{
    put_number(text, value, sizeof value);
}

void dbus_put_string(struct text *text, struct slice value)
{
    dbus_put_u32(text, (uint32_t)value.len);
    text_append(text, value);
    text_append_byte(text, '\0');
}

void dbus_put_signature(struct text *text, struct slice value)
{
    text_append_byte(text, (char)value.len);
    text_append(text, value);
    text_append_byte(text, '\0');
}

void dbus_put_struct(struct text *text)
{
    align(text, HEADER_ALIGNMENT);
}

static void set_u32(struct text *text, size_t at, size_t value)
{
    for (size_t i = 0; i < sizeof(uint32_t); i++)
        text->ptr[at + i] = (char)(value >> (8 * i) & 0xff);
}

struct dbus_array dbus_array_begin(struct text *text, size_t alignment)
{
    struct dbus_array array;

    dbus_put_u32(text, 0);
    array.length_at = text->len - sizeof(uint32_t);
    align(text, alignment);
    array.start = text->len;
    return array;
}

void dbus_array_end(struct text *text, struct dbus_array array)
{
    set_u32(text, array.length_at, text->len - array.start);
}

static void put_field(struct text *text, enum field field, const char *type, const char *value)
{
    if (!value)
        return;
    dbus_put_struct(text);
    text_append_byte(text, (char)field);
    dbus_put_signature(text, slice_of(type));
    if (*type == 'g')
        dbus_put_signature(text, slice_of(value));
    else
        dbus_put_string(text, slice_of(value));
}

struct slice dbus_call_write(struct arena *arena, const struct dbus_call *call)
{
    struct text text = text_in(arena);

    text_append_byte(&text, 'l');
    text_append_byte(&text, DBUS_CALL);
    text_append_byte(&text, '\0'); /* no flags: a bus that has only just begun waits for whom it starts */
    text_append_byte(&text, VERSION);
    dbus_put_u32(&text, (uint32_t)call->body.len);
    dbus_put_u32(&text, call->serial);
    struct dbus_array fields = dbus_array_begin(&text, HEADER_ALIGNMENT);
    put_field(&text, FIELD_PATH, "o", call->path);
    put_field(&text, FIELD_INTERFACE, "s", call->interface);
    put_field(&text, FIELD_MEMBER, "s", call->member);
    put_field(&text, FIELD_DESTINATION, "s", call->destination);
    put_field(&text, FIELD_SIGNATURE, "g", call->signature[0] ? call->signature : NULL);
    dbus_array_end(&text, fields);
    align(&text, HEADER_ALIGNMENT);
    text_append(&text, call->body);
    return text_slice(&text);
}

static uint32_t u32_at(struct slice bytes, size_t at, bool big_endian)
{
    uint32_t value = 0;

    for (size_t i = 0; i < sizeof value; i++) {
        size_t shift = 8 * (big_endian ? sizeof value - 1 - i : i);
        value |= (uint32_t)(unsigned char)bytes.ptr[at + i] << shift;
    }
    return value;
}

/* Padding holds nothing. */
static bool take_alignment(struct dbus_cursor *cursor, size_t alignment)
{
    size_t end = aligned(cursor->at, alignment);

    if (end > cursor->bytes.len)
        return false;
    for (; cursor->at < end; cursor->at++) {
        if (cursor->bytes.ptr[cursor->at] != '\0')
            return false;
    }
    return true;
}

bool dbus_take_u32(struct dbus_cursor *cursor, uint32_t *value)
{
    if (!take_alignment(cursor, sizeof *value) || cursor->bytes.len - cursor->at < sizeof *value)
        return false;
    *value = u32_at(cursor->bytes, cursor->at, cursor->big_endian);
    cursor->at += sizeof *value;
    return true;
}

/* `length` bytes without a NUL, and one behind them. */
static bool take_text(struct dbus_cursor *cursor, size_t length, struct slice *value)
{
    size_t left = cursor->bytes.len - cursor->at;
    const char *start = cursor->bytes.ptr + cursor->at;

    if (length >= left || start[length] != '\0' || memchr(start, '\0', length))
        return false;
    *value = (struct slice){start, length};
    cursor->at += length + 1;
    return true;
}

bool dbus_take_string(struct dbus_cursor *cursor, struct slice *value)
{
    uint32_t length;

    return dbus_take_u32(cursor, &length) && take_text(cursor, length, value);
}

static bool take_byte(struct dbus_cursor *cursor, unsigned char *value)
{
    if (cursor->at >= cursor->bytes.len)
        return false;
    *value = (unsigned char)cursor->bytes.ptr[cursor->at++];
    return true;
}

static bool take_signature(struct dbus_cursor *cursor, struct slice *value)
{
    unsigned char length;

    return take_byte(cursor, &length) && take_text(cursor, length, value);
}

/* What a field is made of; '\0': whatever simple thing it says it is. */
static char type_of(unsigned char field)
{
    switch (field) {
    case FIELD_PATH:
        return 'o';
    case FIELD_INTERFACE:
    case FIELD_MEMBER:
    case FIELD_ERROR:
    case FIELD_DESTINATION:
    case FIELD_SENDER:
        return 's';
    case FIELD_REPLY_SERIAL:
    case FIELD_DESCRIPTORS:
        return 'u';
    case FIELD_SIGNATURE:
        return 'g';
    default:
        return '\0';
    }
}

static bool take_field(struct dbus_cursor *cursor, struct dbus_message *message)
{
    unsigned char field;
    struct slice type;
    struct slice text = {"", 0};
    uint32_t number = 0;

    if (!take_alignment(cursor, HEADER_ALIGNMENT) || !take_byte(cursor, &field) || !take_signature(cursor, &type) ||
        type.len != 1 || field == 0)
        return false;
    char expected = type_of(field);
    if (expected != '\0' && type.ptr[0] != expected)
        return false;
    bool taken = type.ptr[0] == 'u'                         ? dbus_take_u32(cursor, &number)
                 : type.ptr[0] == 'g'                       ? take_signature(cursor, &text)
                 : type.ptr[0] == 's' || type.ptr[0] == 'o' ? dbus_take_string(cursor, &text)
                                                            : false;
    if (field == FIELD_INTERFACE)
        message->interface = text;
    else if (field == FIELD_MEMBER)
        message->member = text;
    else if (field == FIELD_ERROR)
        message->error = text;
    else if (field == FIELD_SIGNATURE)
        message->signature = text;
    else if (field == FIELD_REPLY_SERIAL)
        message->reply_to = number;
    return taken;
}

enum dbus_result dbus_read(struct slice input, struct dbus_message *message, size_t *taken)
{
    static const struct slice nothing = {"", 0};

    *message = (struct dbus_message){
        .interface = nothing, .member = nothing, .error = nothing, .signature = nothing, .body = nothing};
    if (input.len < FIXED_LENGTH)
        return DBUS_MORE;
    unsigned char kind = (unsigned char)input.ptr[1];
    message->big_endian = input.ptr[0] == 'B';
    if ((input.ptr[0] != 'l' && !message->big_endian) || kind < DBUS_CALL || kind > DBUS_SIGNAL ||
        input.ptr[3] != VERSION)
        return DBUS_BROKEN;
    message->kind = (enum dbus_kind)kind;
    size_t fields = u32_at(input, FIELDS_LENGTH_AT, message->big_endian);
    size_t body = u32_at(input, BODY_LENGTH_AT, message->big_endian);
    if (fields > DBUS_MESSAGE_MAX || body > DBUS_MESSAGE_MAX)
        return DBUS_BROKEN;
    size_t header = aligned(FIXED_LENGTH + fields, HEADER_ALIGNMENT);
    if (header + body > DBUS_MESSAGE_MAX)
        return DBUS_BROKEN;
    if (input.len < header + body)
        return DBUS_MORE;

    struct dbus_cursor cursor = {{input.ptr, FIXED_LENGTH + fields}, FIXED_LENGTH, message->big_endian};
    while (cursor.at < cursor.bytes.len) {
        if (!take_field(&cursor, message))
            return DBUS_BROKEN;
    }
    cursor.bytes.len = header;
    if (!take_alignment(&cursor, HEADER_ALIGNMENT))
        return DBUS_BROKEN;
    message->body = (struct slice){input.ptr + header, body};
    *taken = header + body;
    return DBUS_WHOLE;
}

struct dbus_cursor dbus_body(const struct dbus_message *message)
{
    return (struct dbus_cursor){message->body, 0, message->big_endian};
}
