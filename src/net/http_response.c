/* The answer of another proxy to our CONNECT: its status, and where the tunnel
 * begins. */
#include "net/http.h"

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
