/* Where a body ends. Its bytes are passed on as they are: here they are counted,
 * and the lines between chunks checked, so that the next request begins for us
 * where it begins for the origin (attack 87). A chunk's size is digits, then
 * perhaps an extension of printable characters, then CRLF; a carriage return or
 * line feed on its own is never taken for an end. */
#include "net/http.h"

enum { LINE_MAX = 256, TRAILER_MAX = 8192, SIZE_DIGITS_MAX = 15 };

enum state {
    COUNTED,
    SIZE,      /* in the digits of a chunk's size */
    EXTENSION, /* behind them */
    SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    TRAILER_BEGIN, /* at the beginning of a line behind the last chunk */
    TRAILER_NAME,
    TRAILER_LF,
    LAST_LF,
    OVER,
    BROKEN
};

void http_body_expect(enum http_body kind, uint64_t length, struct http_body_reader *reader)
{
    *reader = (struct http_body_reader){.kind = kind, .state = COUNTED};
    if (kind == HTTP_LENGTH)
        reader->left = length;
    if (kind == HTTP_CHUNKED)
        reader->state = SIZE;
    else if (reader->left == 0)
        reader->state = OVER;
}

void http_body_begin(const struct http_request *request, struct http_body_reader *reader)
{
    http_body_expect(request->body, request->length, reader);
}

static bool is_text(char byte)
{
    unsigned char value = (unsigned char)byte;

    return value == '\t' || (value >= 0x20 && value != 0x7f);
}

static enum state after_size(struct http_body_reader *reader)
{
    reader->line_length = 0;
    return reader->left > 0 ? CHUNK : TRAILER_BEGIN;
}

static enum state step_size(struct http_body_reader *reader, char byte)
{
    int digit = slice_hex_digit(byte);

    if (reader->line_length++ == 0)
        reader->left = 0;
    if (digit >= 0 && reader->line_length <= SIZE_DIGITS_MAX) {
        reader->left = reader->left << 4 | (uint64_t)digit;
        return SIZE;
    }
    if (reader->line_length == 1 || digit >= 0)
        return BROKEN;
    if (byte == '\r')
        return SIZE_LF;
    return byte == ';' || byte == ' ' || byte == '\t' ? EXTENSION : BROKEN;
}

static enum state step_trailer(struct http_body_reader *reader, char byte)
{
    if (++reader->line_length > TRAILER_MAX)
        return BROKEN;
    if (byte == '\r')
        return reader->named ? TRAILER_LF : BROKEN;
    if (byte == ':')
        reader->named = true;
    return is_text(byte) && (reader->named || (byte != ' ' && byte != '\t')) ? TRAILER_NAME : BROKEN;
}

/* All states but those that count. */
static enum state step(struct http_body_reader *reader, char byte)
{
    switch (reader->state) {
    case SIZE:
        return step_size(reader, byte);
    case EXTENSION:
        if (byte == '\r')
            return SIZE_LF;
        return is_text(byte) && ++reader->line_length <= LINE_MAX ? EXTENSION : BROKEN;
    case SIZE_LF:
        return byte == '\n' ? after_size(reader) : BROKEN;
    case CHUNK_CR:
        return byte == '\r' ? CHUNK_LF : BROKEN;
    case CHUNK_LF:
        reader->line_length = 0;
        return byte == '\n' ? SIZE : BROKEN;
    case TRAILER_BEGIN:
        reader->named = false;
        if (byte == '\r')
            return LAST_LF;
        return byte == ':' ? BROKEN : step_trailer(reader, byte);
    case TRAILER_NAME:
        return step_trailer(reader, byte);
    case TRAILER_LF:
        return byte == '\n' ? TRAILER_BEGIN : BROKEN;
    case LAST_LF:
        return byte == '\n' ? OVER : BROKEN;
    default:
        return BROKEN;
    }
}

enum http_result http_body_take(struct http_body_reader *reader, struct slice input, size_t *taken)
{
    size_t at = 0;

    while (at < input.len && reader->state != OVER && reader->state != BROKEN) {
        if (reader->state != COUNTED && reader->state != CHUNK) {
            reader->state = step(reader, input.ptr[at]);
            at += reader->state != BROKEN;
            continue;
        }
        size_t now = input.len - at < reader->left ? input.len - at : (size_t)reader->left;
        reader->left -= now;
        at += now;
        if (reader->left == 0)
            reader->state = reader->state == COUNTED ? OVER : CHUNK_CR;
    }
    *taken = at;
    if (reader->state == BROKEN)
        return HTTP_BAD;
    return reader->state == OVER ? HTTP_DONE : HTTP_MORE;
}
