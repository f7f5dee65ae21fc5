/* Read strictly: a proxy that is not understood would be a way out that nobody
 * meant. Percent signs in user and password are undone, as clients do. */
#include "policy/proxy_url.h"

#include <nettle/base64.h>

enum { DEFAULT_PORT = 80, CREDENTIALS_MAX = 360 };

_Static_assert(BASE64_ENCODE_RAW_LENGTH(CREDENTIALS_MAX) < PROXY_AUTHORIZATION_MAX, "room for the encoded form");

static bool encode(struct slice credentials, char *out)
{
    uint8_t plain[CREDENTIALS_MAX];
    size_t length = 0;

    for (size_t i = 0; i < credentials.len; i++) {
        unsigned char byte = (unsigned char)credentials.ptr[i];
        if (byte == '%') {
            int high = i + 2 < credentials.len ? slice_hex_digit(credentials.ptr[i + 1]) : -1;
            int low = i + 2 < credentials.len ? slice_hex_digit(credentials.ptr[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            byte = (unsigned char)(high * 16 + low);
            i += 2;
        }
        if (length == sizeof plain || byte < ' ')
            return false;
        plain[length++] = byte;
    }
    /* HTTP knows no user without a password. */
    if (slice_find(credentials, ':') == credentials.len) {
        if (length == sizeof plain)
            return false;
        plain[length++] = ':';
    }
    base64_encode_raw(out, length, plain);
    out[BASE64_ENCODE_RAW_LENGTH(length)] = '\0';
    return true;
}

const char *proxy_url_parse(struct slice text, struct proxy_url *url)
{
    static const struct slice http = {"http://", 7};
    struct error ignored;
    size_t end = 0;
    size_t at;

    *url = (struct proxy_url){0};
    if (slice_starts(text, http))
        text = slice_from(text, http.len);
    else if (slice_starts(text, SLICE("https://")))
        return "a proxy that is spoken to over TLS is not supported: one with http:// is expected";
    else if (slice_starts(text, SLICE("socks")))
        return "a SOCKS proxy cannot be a parent: an HTTP proxy is expected";
    while (end < text.len && !strchr("/?#\\", text.ptr[end]))
        end++;
    text.len = end;
    for (at = text.len; at > 0 && text.ptr[at - 1] != '@'; at--)
        ;
    if (at > 0 && !encode((struct slice){text.ptr, at - 1}, url->authorization))
        return "its user and password cannot be read";
    if (!host_port_parse(slice_from(text, at), &url->host, &url->port, &ignored))
        return "the URL of an HTTP proxy like http://proxy.example.com:3128 is expected";
    if (url->port == 0)
        url->port = DEFAULT_PORT;
    return NULL;
}
