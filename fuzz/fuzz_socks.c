/* A SOCKS5 client, the first byte says whether a token is asked for. Given whole
 * or byte by byte, the same is understood and answered. */
#include "net/socks.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct outcome {
    enum socks_result result;
    size_t taken;
    char said[8 * SOCKS_REPLY_MAX];
    size_t said_length;
    struct socks socks;
};

/* `step` bytes at a time become visible. */
static void talk(struct slice input, const char *token, size_t step, struct outcome *outcome)
{
    size_t visible = 0;

    *outcome = (struct outcome){.result = SOCKS_MORE};
    socks_begin(&outcome->socks, token);
    for (unsigned turns = 0; turns < 8;) {
        size_t taken = 0;
        struct slice now = {input.ptr + outcome->taken, visible - outcome->taken};

        outcome->result = socks_take(&outcome->socks, now, &taken);
        require(taken <= now.len && outcome->socks.reply_length <= SOCKS_REPLY_MAX);
        memcpy(outcome->said + outcome->said_length, outcome->socks.reply, outcome->socks.reply_length);
        outcome->said_length += outcome->socks.reply_length;
        outcome->taken += taken;
        if (outcome->result == SOCKS_REQUEST || outcome->result == SOCKS_CLOSE)
            return;
        if (outcome->result == SOCKS_REPLY) {
            turns++;
            continue;
        }
        require(now.len < SOCKS_MESSAGE_MAX);
        if (visible == input.len)
            return;
        visible = input.len - visible < step ? input.len : visible + step;
    }
    require(false); /* there are but three messages */
}

static void check_host(const struct host *host)
{
    require(host->name_length > 0 && strlen(host->name) == host->name_length);
    require(strspn(host->name, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") == host->name_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct outcome whole;
    static struct outcome bytes;

    if (size == 0)
        return 0;
    const char *token = data[0] % 2 ? "0123456789abcdef0123456789abcdef" : "";
    struct slice input = {(const char *)data + 1, size - 1};
    talk(input, token, SIZE_MAX, &whole);
    talk(input, token, 1, &bytes);
    require(whole.result == bytes.result && whole.taken == bytes.taken);
    require(slice_equal((struct slice){whole.said, whole.said_length}, (struct slice){bytes.said, bytes.said_length}));
    if (whole.result == SOCKS_REQUEST) {
        check_host(&whole.socks.host);
        require(whole.socks.port != 0 && strcmp(whole.socks.host.name, bytes.socks.host.name) == 0);
        /* nobody gets here without the token */
        require(!token[0] || memmem(input.ptr, input.len, token, strlen(token)));
    }
    return 0;
}
