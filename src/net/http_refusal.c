/* What the client gets to read: srt's status lines, headers and bodies, so that
 * what understands srt's refusals understands ours. Of a refused CONNECT most
 * clients show the status line at best, and there srt puts the reason. */
#include "net/http.h"

#include "net/reason.h"

enum { PHRASE_MAX = 500, BODY_MAX = 900 };

static const char *phrase_of(int status)
{
    switch (status) {
    case 403:
        return "Forbidden";
    case 405:
        return "Method Not Allowed";
    case 407:
        return "Proxy Authentication Required";
    case 414:
        return "URI Too Long";
    case 421:
        return "Misdirected Request";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 502:
        return "Bad Gateway";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Bad Request";
    }
}

static int status_of(enum net_refusal refusal, int status)
{
    switch (refusal) {
    case NET_NO_TOKEN:
        return 407;
    case NET_NAME_MISMATCH:
        return 421;
    case NET_UNREACHABLE:
        return 502;
    case NET_BUSY:
        return 503;
    case NET_BAD_REQUEST:
        return status ? status : 400;
    default:
        return 403;
    }
}

/* X-Proxy-Error, by which a program tells our refusals from the origin's. */
static const char *mark_of(enum net_refusal refusal)
{
    switch (refusal) {
    case NET_NOT_ALLOWED:
    case NET_UNASSIGNED:
        return "blocked-by-allowlist";
    case NET_BAD_ADDRESS:
    case NET_OPAQUE:
    case NET_NAME_MISMATCH:
        return "blocked-by-sandbox-runtime";
    case NET_BAD_REQUEST:
        return "bad-request";
    case NET_BUSY:
        return "too-many-tunnels";
    default:
        return NULL;
    }
}

static void put_body(struct wire_writer *body, enum net_refusal refusal, const char *host, struct slice reason,
                     bool connect)
{
    switch (refusal) {
    case NET_NOT_ALLOWED:
    case NET_UNASSIGNED:
        wire_put_string(body, "Connection blocked by network allowlist");
        break;
    case NET_BAD_ADDRESS:
        wire_put_string(body, "Connection to ");
        wire_put_string(body, host);
        wire_put_string(body, " blocked: ");
        reason_put(body, reason, false, PHRASE_MAX);
        break;
    case NET_OPAQUE:
        wire_put_string(body, "this proxy does not tunnel CONNECTs it cannot inspect");
        break;
    case NET_UNREACHABLE:
        if (connect)
            break;
        wire_put_string(body, reason.len ? "Bad Gateway: " : "Bad Gateway");
        reason_put(body, reason, false, PHRASE_MAX);
        break;
    case NET_NO_TOKEN:
        break;
    default:
        reason_put(body, reason, false, PHRASE_MAX);
        break;
    }
}

size_t http_refusal(enum net_refusal refusal, int status, bool connect, const char *host, struct slice reason,
                    char out[HTTP_REPLY_MAX])
{
    char memory[BODY_MAX];
    struct wire_writer body = wire_into(memory, sizeof memory);
    struct wire_writer reply = wire_into(out, HTTP_REPLY_MAX);
    bool told = connect && reason.len > 0 && (refusal == NET_NOT_ALLOWED || refusal == NET_BAD_ADDRESS);

    status = status_of(refusal, status);
    put_body(&body, refusal, host, reason, connect);
    if (!connect && body.len > 0 && (refusal != NET_UNREACHABLE || reason.len > 0))
        wire_put_string(&body, "\n");

    wire_put_string(&reply, "HTTP/1.1 ");
    wire_put_number(&reply, (uint64_t)status);
    wire_put_string(&reply, " ");
    if (told)
        reason_put(&reply, reason, true, PHRASE_MAX);
    else
        wire_put_string(&reply, phrase_of(status));
    wire_put_string(&reply, "\r\n");
    if (status == 407)
        wire_put_string(&reply, "Proxy-Authenticate: Basic realm=\"srt\"\r\n");
    if (body.len > 0)
        wire_put_string(&reply, "Content-Type: text/plain\r\n");
    if (mark_of(refusal)) {
        wire_put_string(&reply, "X-Proxy-Error: ");
        wire_put_string(&reply, mark_of(refusal));
        wire_put_string(&reply, "\r\n");
    }
    wire_put_string(&reply, "Content-Length: ");
    wire_put_number(&reply, body.len);
    wire_put_string(&reply, "\r\nConnection: close\r\n\r\n");
    wire_put(&reply, wire_written(&body));
    return wire_written(&reply).len;
}
