/* The server's side of SOCKS5, one message after the other.
 *
 * A client that cannot give the token is not turned away at the greeting, which
 * it would report as a failure of negotiation: like srt we hear where it wants to
 * go and refuse that, for ssh in ssh's own words, so that a person reads why.
 * Nothing leads from there to a connection. */
#include "net/socks.h"

#include "net/authorization.h"
#include "net/target.h"

enum { VERSION = 5, PASSWORD_VERSION = 1, SSH_PORT = 22, METHODS_MAX = 128 };
enum { METHOD_NONE = 0, METHOD_PASSWORD = 2 };
enum { COMMAND_CONNECT = 1, COMMAND_BIND = 2, COMMAND_UDP = 3 };
enum { TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4 };
enum { GRANTED = 0, FAILURE = 1, NOT_ALLOWED = 2, UNREACHABLE = 4, BAD_COMMAND = 7, BAD_TYPE = 8 };

enum state { GREETING, PASSWORD, REQUEST, STRANGER_REQUEST, OVER };

void socks_begin(struct socks *socks, const char *token)
{
    *socks = (struct socks){.token = token, .state = GREETING};
}

static void put_answer(struct wire_writer *out, uint8_t code)
{
    static const char nowhere[] = {0, TYPE_IPV4, 0, 0, 0, 0, 0, 0};

    wire_put_byte(out, VERSION);
    wire_put_byte(out, code);
    wire_put(out, (struct slice){nowhere, sizeof nowhere});
}

static enum socks_result reply(struct socks *socks, uint8_t version, uint8_t code, enum state next)
{
    socks->reply[0] = version;
    socks->reply[1] = code;
    socks->reply_length = 2;
    socks->state = next;
    return SOCKS_REPLY;
}

static enum socks_result give_up(struct socks *socks, enum net_refusal refusal)
{
    socks->refusal = refusal;
    socks->state = OVER;
    return SOCKS_CLOSE;
}

static enum socks_result refuse(struct socks *socks, uint8_t code, enum net_refusal refusal)
{
    struct wire_writer out = wire_into((char *)socks->reply, sizeof socks->reply);

    put_answer(&out, code);
    socks->reply_length = out.len;
    return give_up(socks, refusal);
}

static enum socks_result take_greeting(struct socks *socks, struct wire_reader *in)
{
    if (wire_take_byte(in) != VERSION && !in->broken)
        return give_up(socks, NET_BAD_REQUEST);
    uint8_t count = wire_take_byte(in);
    if (!in->broken && (count == 0 || count > METHODS_MAX))
        return give_up(socks, NET_BAD_REQUEST);
    struct slice methods = wire_take(in, count);
    if (in->broken)
        return SOCKS_MORE;

    bool open = slice_find(methods, METHOD_NONE) < methods.len;
    bool password = slice_find(methods, METHOD_PASSWORD) < methods.len;
    if (password && (socks->token[0] || !open))
        return reply(socks, VERSION, METHOD_PASSWORD, PASSWORD);
    if (open)
        return reply(socks, VERSION, METHOD_NONE, socks->token[0] ? STRANGER_REQUEST : REQUEST);
    reply(socks, VERSION, 0xff, OVER);
    return give_up(socks, NET_NO_TOKEN);
}

static enum socks_result take_password(struct socks *socks, struct wire_reader *in)
{
    if (wire_take_byte(in) != PASSWORD_VERSION && !in->broken)
        return give_up(socks, NET_BAD_REQUEST);
    struct slice user = wire_take(in, wire_take_byte(in));
    struct slice password = wire_take(in, wire_take_byte(in));
    if (in->broken)
        return SOCKS_MORE;
    bool known = slice_equal(user, SLICE("srt")) || slice_starts(user, SLICE("srt."));
    if (!socks->token[0] || (authorization_same(password, slice_of(socks->token)) && known))
        return reply(socks, PASSWORD_VERSION, 0, REQUEST);
    reply(socks, PASSWORD_VERSION, 1, OVER);
    return give_up(socks, NET_NO_TOKEN);
}

/* What a client without the token gets. */
static enum socks_result refuse_stranger(struct socks *socks)
{
    static const struct slice words = SLICE("This proxy requires authentication, and this client did not offer an "
                                            "authentication method, so the connection was refused.");

    if (socks->port != SSH_PORT)
        return refuse(socks, NOT_ALLOWED, NET_NO_TOKEN);
    refuse(socks, GRANTED, NET_NO_TOKEN);
    socks->reply_length += ssh_refusal(words, socks->reply + SOCKS_ANSWER_MAX);
    return SOCKS_CLOSE;
}

static bool take_host(struct wire_reader *in, uint8_t type, struct host *host)
{
    struct address address = {.v6 = type == TYPE_IPV6};
    char text[46];

    if (type == TYPE_NAME)
        return target_host(wire_take(in, wire_take_byte(in)), host);
    struct slice bytes = wire_take(in, address.v6 ? 16 : 4);
    if (bytes.len == 0)
        return false;
    memcpy(address.bytes, bytes.ptr, bytes.len);
    address_print(&address, text);
    return host_parse(slice_of(text), host, NULL);
}

static enum socks_result take_request(struct socks *socks, struct wire_reader *in)
{
    uint8_t version = wire_take_byte(in);
    uint8_t command = wire_take_byte(in);
    wire_take_byte(in); /* reserved */
    uint8_t type = wire_take_byte(in);

    if (in->broken)
        return SOCKS_MORE;
    if (version != VERSION || command < COMMAND_CONNECT || command > COMMAND_UDP)
        return give_up(socks, NET_BAD_REQUEST);
    if (type != TYPE_IPV4 && type != TYPE_NAME && type != TYPE_IPV6)
        return refuse(socks, BAD_TYPE, NET_BAD_REQUEST);

    bool good = take_host(in, type, &socks->host);
    socks->port = wire_take_u16(in);
    if (in->broken)
        return SOCKS_MORE;
    if (!good)
        socks->host = (struct host){.name_length = 0};
    if (command != COMMAND_CONNECT)
        return refuse(socks, BAD_COMMAND, NET_BAD_REQUEST);
    if (!good || socks->port == 0)
        return refuse(socks, NOT_ALLOWED, NET_BAD_REQUEST);
    if (socks->state == STRANGER_REQUEST)
        return refuse_stranger(socks);
    socks->state = OVER;
    return SOCKS_REQUEST;
}

enum socks_result socks_take(struct socks *socks, struct slice input, size_t *taken)
{
    struct wire_reader in = {.rest = input};
    enum socks_result result = SOCKS_CLOSE;

    *taken = 0;
    socks->reply_length = 0;
    switch (socks->state) {
    case GREETING:
        result = take_greeting(socks, &in);
        break;
    case PASSWORD:
        result = take_password(socks, &in);
        break;
    case REQUEST:
    case STRANGER_REQUEST:
        result = take_request(socks, &in);
        break;
    default:
        result = give_up(socks, NET_BAD_REQUEST);
        break;
    }
    if (result == SOCKS_REPLY || result == SOCKS_REQUEST)
        *taken = input.len - in.rest.len;
    return result;
}

size_t socks_answer(enum net_refusal refusal, uint8_t out[SOCKS_ANSWER_MAX])
{
    struct wire_writer writer = wire_into((char *)out, SOCKS_ANSWER_MAX);
    uint8_t code = NOT_ALLOWED;

    if (refusal == NET_NOT_REFUSED)
        code = GRANTED;
    else if (refusal == NET_UNREACHABLE)
        code = UNREACHABLE;
    else if (refusal == NET_OPAQUE || refusal == NET_BUSY)
        code = FAILURE;
    put_answer(&writer, code);
    return writer.len;
}
