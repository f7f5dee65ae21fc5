/* The head of a request.
 *
 * Strict, for the origin must not read another request than we do (attack 87):
 * lines end in CRLF and nothing else, names are tokens with the colon right
 * behind them, values hold no control characters, nothing is folded, and of the
 * fields that say where a message goes or ends there is one each. What breaks a
 * rule is refused with the clause that says so, and never repaired. */
#include "net/http.h"

#include "net/target.h"

enum { METHOD_MAX = 32, LENGTH_DIGITS_MAX = 18, PORT_HTTP = 80 };

static enum http_result bad(struct http_request *request, int status, const char *why)
{
    request->status = status;
    request->why = why;
    return HTTP_BAD;
}

static bool is_token_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte));
}

static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_token_byte(text.ptr[i]))
            return false;
    }
    return text.len > 0;
}

static bool is_visible(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte <= 0x20 || byte >= 0x7f)
            return false;
    }
    return text.len > 0;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static struct slice trimmed(struct slice text)
{
    while (text.len > 0 && is_blank(text.ptr[0]))
        text = slice_from(text, 1);
    while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* Takes a line off `rest`, without its CRLF. Every line in a head has one. */
static struct slice next_line(struct slice *rest)
{
    struct slice line = {rest->ptr, 0};
    const char *end = memmem(rest->ptr, rest->len, "\r\n", 2);

    line.len = end ? (size_t)(end - rest->ptr) : rest->len;
    *rest = slice_from(*rest, end ? line.len + 2 : line.len);
    return line;
}

static bool starts_ignoring_case(struct slice text, struct slice prefix)
{
    return text.len >= prefix.len && slice_equal_ignoring_case((struct slice){text.ptr, prefix.len}, prefix);
}

bool http_list_next(struct slice *list, struct slice *word)
{
    if (list->len == 0)
        return false;
    size_t length = slice_find(*list, ',');
    *word = trimmed((struct slice){list->ptr, length});
    *list = slice_from(*list, length < list->len ? length + 1 : length);
    return true;
}

static bool lists(struct slice list, struct slice wanted)
{
    struct slice word;

    while (http_list_next(&list, &word)) {
        if (slice_equal_ignoring_case(word, wanted))
            return true;
    }
    return false;
}

static enum http_result parse_version(struct slice version, struct http_request *request)
{
    if (slice_is(version, "HTTP/1.1") || slice_is(version, "HTTP/1.0")) {
        request->minor = version.ptr[version.len - 1] == '1';
        return HTTP_DONE;
    }
    bool other = version.len == 8 && slice_starts(version, SLICE("HTTP/")) && version.ptr[6] == '.';
    return other ? bad(request, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here")
                 : bad(request, 400, "the request line does not end in a version of HTTP");
}

static enum http_result parse_absolute(struct http_request *request)
{
    struct slice rest = request->target;

    if (starts_ignoring_case(rest, SLICE("https://")))
        return bad(request, 400, "https through a proxy needs CONNECT");
    if (!starts_ignoring_case(rest, SLICE("http://")))
        return bad(request, 400, "the target is not an http URL");
    rest = slice_from(rest, strlen("http://"));
    size_t length = 0;
    while (length < rest.len && !strchr("/?#", rest.ptr[length]))
        length++;
    request->path = slice_from(rest, length);
    if (slice_find(request->path, '#') < request->path.len)
        return bad(request, 400, "the target has a fragment");
    if (!target_host_port((struct slice){rest.ptr, length}, &request->host, &request->port))
        return bad(request, 400, "the host of the target is not one");
    if (request->port == 0)
        request->port = PORT_HTTP;
    request->form = HTTP_ABSOLUTE;
    return HTTP_DONE;
}

static enum http_result parse_target(struct http_request *request)
{
    struct slice target = request->target;

    if (slice_is(request->method, "CONNECT")) {
        request->form = HTTP_AUTHORITY;
        if (!target_host_port(target, &request->host, &request->port) || request->port == 0)
            return bad(request, 400, "CONNECT needs host:port");
        return HTTP_DONE;
    }
    if (target.ptr[0] != '/' && !(slice_is(target, "*") && slice_is(request->method, "OPTIONS")))
        return parse_absolute(request);
    request->form = HTTP_ORIGIN;
    request->path = target;
    if (slice_find(target, '#') < target.len)
        return bad(request, 400, "the target has a fragment");
    return HTTP_DONE;
}

static enum http_result parse_start(struct slice line, struct http_request *request)
{
    request->method = (struct slice){line.ptr, slice_find(line, ' ')};
    if (request->method.len > METHOD_MAX || request->method.len == line.len || !is_token(request->method))
        return bad(request, 400, "the request line does not begin with a method");
    struct slice rest = slice_from(line, request->method.len + 1);
    request->target = (struct slice){rest.ptr, slice_find(rest, ' ')};
    if (request->target.len == rest.len || !is_visible(request->target))
        return bad(request, 400, "the target of the request is not one word");
    if (parse_version(slice_from(rest, request->target.len + 1), request) == HTTP_BAD)
        return HTTP_BAD;
    if (slice_is(request->method, "TRACE") || slice_is(request->method, "TRACK"))
        return bad(request, 405, "TRACE is not passed on");
    return parse_target(request);
}

static enum http_result parse_field(struct slice line, struct http_request *request)
{
    struct http_header header = {.name = {line.ptr, slice_find(line, ':')}};

    if (line.len > 0 && is_blank(line.ptr[0]))
        return bad(request, 400, "a header is folded over two lines");
    if (header.name.len == line.len || !is_token(header.name))
        return bad(request, 400, "a header has no proper name before its colon");
    header.value = trimmed(slice_from(line, header.name.len + 1));
    for (size_t i = 0; i < header.value.len; i++) {
        unsigned char byte = (unsigned char)header.value.ptr[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return bad(request, 400, "a header holds a control character");
    }
    if (request->header_count == HTTP_HEADERS_MAX)
        return bad(request, 431, "there are too many headers");
    request->headers[request->header_count++] = header;
    return HTTP_DONE;
}

/* The one header of that name: 0, 1, or more than one, which is 2. */
static unsigned find_header(const struct http_request *request, struct slice name, struct slice *value)
{
    unsigned count = 0;

    *value = (struct slice){"", 0};
    for (size_t i = 0; i < request->header_count && count < 2; i++) {
        if (slice_equal_ignoring_case(request->headers[i].name, name)) {
            *value = request->headers[i].value;
            count++;
        }
    }
    return count;
}

static enum http_result parse_length(struct slice value, struct http_request *request)
{
    request->body = HTTP_LENGTH;
    if (value.len == 0 || value.len > LENGTH_DIGITS_MAX)
        return bad(request, 400, "Content-Length is not a number");
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return bad(request, 400, "Content-Length is not a number");
        request->length = request->length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    return HTTP_DONE;
}

static enum http_result parse_framing(struct http_request *request)
{
    struct slice length;
    struct slice coding;
    unsigned lengths = find_header(request, SLICE("Content-Length"), &length);
    unsigned codings = find_header(request, SLICE("Transfer-Encoding"), &coding);

    request->body = HTTP_NO_BODY;
    if (lengths > 1 || codings > 1)
        return bad(request, 400, "the length of the body is told twice");
    if (lengths + codings > 1)
        return bad(request, 400, "Content-Length and Transfer-Encoding contradict each other");
    if (lengths && parse_length(length, request) == HTTP_BAD)
        return HTTP_BAD;
    if (codings && request->minor == 0)
        return bad(request, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (codings && !slice_equal_ignoring_case(coding, SLICE("chunked")))
        return bad(request, 501, "the only transfer coding known here is chunked");
    if (codings)
        request->body = HTTP_CHUNKED;
    if (request->form == HTTP_AUTHORITY && (codings || request->length > 0))
        return bad(request, 400, "CONNECT has no body");
    return HTTP_DONE;
}

static enum http_result parse_host(struct http_request *request)
{
    struct slice text;
    struct host host = {.name_length = 0};
    uint16_t port = 0;
    unsigned count = find_header(request, SLICE("Host"), &text);

    if (count > 1)
        return bad(request, 400, "there is more than one Host header");
    if (count == 0 && request->minor == 1 && request->form != HTTP_AUTHORITY)
        return bad(request, 400, "there is no Host header");
    if (text.len > 0 && !target_host_port(text, &host, &port))
        return bad(request, 400, "the Host header does not hold a host");
    if (port == 0)
        port = PORT_HTTP;
    if (request->form == HTTP_ORIGIN) {
        request->host = host;
        request->port = port;
    } else if (request->form == HTTP_ABSOLUTE && count > 0) {
        request->host_differs = strcmp(host.name, request->host.name) != 0 || port != request->port;
    }
    return HTTP_DONE;
}

static enum http_result parse_authorization(struct http_request *request)
{
    struct slice value;
    unsigned count = find_header(request, SLICE("Proxy-Authorization"), &value);

    request->authorization = (struct slice){"", 0};
    if (count > 1)
        return bad(request, 400, "there is more than one Proxy-Authorization header");
    if (starts_ignoring_case(value, SLICE("Basic")) && value.len > 5 && is_blank(value.ptr[5]))
        request->authorization = trimmed(slice_from(value, 5));
    return HTTP_DONE;
}

/* Only to WebSocket. "h2c" would be a way to say things to the origin that we
 * cannot read. */
static void parse_upgrade(struct http_request *request)
{
    struct slice protocol;

    if (find_header(request, SLICE("Upgrade"), &protocol) != 1 || request->minor == 0 ||
        !slice_equal_ignoring_case(protocol, SLICE("websocket")))
        return;
    for (size_t i = 0; i < request->header_count; i++) {
        if (slice_equal_ignoring_case(request->headers[i].name, SLICE("Connection")) &&
            lists(request->headers[i].value, SLICE("upgrade")))
            request->upgrade = true;
    }
}

/* Before the end of the head is there: what can never become one need not be
 * waited for. */
static enum http_result examine_beginning(struct slice input, struct http_request *request)
{
    struct slice rest = input;

    if (input.len > 0 && !is_token_byte(input.ptr[0]))
        return bad(request, 400, "the request line does not begin with a method");
    for (size_t at = slice_find(rest, '\n'); at < rest.len; at = slice_find(rest, '\n')) {
        const char *line_feed = rest.ptr + at;
        if (line_feed == input.ptr || line_feed[-1] != '\r')
            return bad(request, 400, "a line does not end in CR and LF");
        rest = slice_from(rest, at + 1);
    }
    if (input.len < HTTP_HEAD_MAX)
        return HTTP_MORE;
    return rest.len == input.len ? bad(request, 414, "the request line is too long")
                                 : bad(request, 431, "the headers are too long");
}

enum http_result http_request_parse(struct slice input, struct http_request *request)
{
    *request = (struct http_request){.status = 0};
    if (input.len > HTTP_HEAD_MAX)
        input.len = HTTP_HEAD_MAX;
    const char *end = input.len ? memmem(input.ptr, input.len, "\r\n\r\n", 4) : NULL;
    if (!end)
        return examine_beginning(input, request);

    request->head_length = (size_t)(end - input.ptr) + 4;
    struct slice lines = {input.ptr, request->head_length - 2};
    struct slice start = next_line(&lines);
    if (parse_start(start, request) == HTTP_BAD)
        return HTTP_BAD;
    while (lines.len > 0) {
        struct slice line = next_line(&lines);
        if (parse_field(line, request) == HTTP_BAD)
            return HTTP_BAD;
    }
    if (parse_framing(request) == HTTP_BAD || parse_host(request) == HTTP_BAD ||
        parse_authorization(request) == HTTP_BAD)
        return HTTP_BAD;
    parse_upgrade(request);
    return HTTP_DONE;
}
