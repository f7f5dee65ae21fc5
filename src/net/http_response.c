/* What servers and other proxies answer: the status, where the head ends, and,
 * where that is beyond doubt, where the whole ends. */
#include "net/http.h"

#include "net/wire.h"

enum { RESPONSE_MAX = 16384 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

enum http_result http_response_parse(struct slice input, int *status, size_t *head_length)
{
    struct slice start = SLICE("HTTP/1.");
    size_t compared = input.len < start.len ? input.len : start.len;

    if (!slice_equal((struct slice){input.ptr, compared}, (struct slice){start.ptr, compared}))
        return HTTP_BAD;
    if (input.len > RESPONSE_MAX)
        input.len = RESPONSE_MAX;
    const char *end = input.len ? memmem(input.ptr, input.len, "\r\n\r\n", 4) : NULL;
    if (!end)
        return input.len < RESPONSE_MAX ? HTTP_MORE : HTTP_BAD;

    /* HTTP/1.1 200, then a blank and a phrase, or the end of the line */
    const char *text = input.ptr;
    *head_length = (size_t)(end - text) + 4;
    if (*head_length < 16 || !is_digit(text[7]) || text[8] != ' ' || !is_digit(text[9]) || !is_digit(text[10]) ||
        !is_digit(text[11]) || (text[12] != ' ' && text[12] != '\r'))
        return HTTP_BAD;
    *status = (text[9] - '0') * 100 + (text[10] - '0') * 10 + (text[11] - '0');
    return *status >= 100 ? HTTP_DONE : HTTP_BAD;
}

static struct slice without_blanks(struct slice text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = slice_from(text, 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* The next line of a head as header; false at the empty line, and with `*doubtful`
 * at one that two readers could read in two ways. */
static bool next_header(struct slice *rest, struct http_header *header, bool *doubtful)
{
    size_t length = slice_find(*rest, '\n');
    struct slice line = {rest->ptr, length};

    *doubtful = length == rest->len || length == 0 || line.ptr[length - 1] != '\r';
    if (*doubtful || length == 1)
        return false;
    line.len--;
    *rest = slice_from(*rest, length + 1);
    size_t colon = slice_find(line, ':');
    *doubtful =
        colon == 0 || colon == line.len || slice_find(line, '\r') < line.len || slice_find(line, '\0') < line.len;
    for (size_t i = 0; i < colon && !*doubtful; i++)
        *doubtful = line.ptr[i] <= ' ' || line.ptr[i] == 0x7f;
    header->name = (struct slice){line.ptr, *doubtful ? 0 : colon};
    header->value = *doubtful ? header->name : without_blanks(slice_from(line, colon + 1));
    return !*doubtful;
}

static struct slice after_first_line(struct slice head)
{
    size_t line = slice_find(head, '\n');

    return slice_from(head, line < head.len ? line + 1 : line);
}

static bool parse_length(struct slice text, uint64_t *length)
{
    enum { DIGITS_MAX = 18 };

    *length = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        *length = *length * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0 && text.len <= DIGITS_MAX;
}

bool http_response_frame(struct slice head, bool no_body, struct http_body_reader *reader)
{
    struct slice rest = after_first_line(head);
    struct http_header header;
    unsigned lengths = 0;
    unsigned codings = 0;
    uint64_t length = 0;
    bool doubtful;

    while (next_header(&rest, &header, &doubtful)) {
        if (slice_equal_ignoring_case(header.name, SLICE("Content-Length"))) {
            lengths++;
            if (!parse_length(header.value, &length))
                return false;
        }
        if (slice_equal_ignoring_case(header.name, SLICE("Transfer-Encoding"))) {
            codings++;
            if (!slice_equal_ignoring_case(header.value, SLICE("chunked")))
                return false;
        }
    }
    if (doubtful || head.len < 8 || head.ptr[7] != '1' || lengths + codings > 1)
        return false;
    if (!no_body && lengths + codings == 0)
        return false;
    if (no_body)
        http_body_expect(HTTP_NO_BODY, 0, reader);
    else
        http_body_expect(codings ? HTTP_CHUNKED : HTTP_LENGTH, length, reader);
    return true;
}

size_t http_response_write(struct slice head, char *out, size_t capacity)
{
    struct wire_writer written = wire_into(out, capacity);
    struct slice rest = after_first_line(head);
    struct http_header header;
    bool doubtful;

    wire_put(&written, (struct slice){head.ptr, head.len - rest.len});
    while (next_header(&rest, &header, &doubtful)) {
        if (slice_equal_ignoring_case(header.name, SLICE("Connection")) ||
            slice_equal_ignoring_case(header.name, SLICE("Keep-Alive")) ||
            slice_equal_ignoring_case(header.name, SLICE("Proxy-Connection")))
            continue;
        wire_put(&written, header.name);
        wire_put_string(&written, ": ");
        wire_put(&written, header.value);
        wire_put_string(&written, "\r\n");
    }
    wire_put_string(&written, "Connection: keep-alive\r\n\r\n");
    return wire_written(&written).len;
}
