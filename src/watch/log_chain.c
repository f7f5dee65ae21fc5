/* The chain is judged on bytes, not on parsed JSON: a line that says the same in
 * other words is not the line that was written. */
#include "watch/log_chain.h"

#include <sha2.h>

static const struct slice before_value = SLICE(",\"chain\":\"");
static const struct slice behind_value = SLICE("\"}");

/* Of a body: the object that lacks its closing brace. */
static struct log_chain_value value_of_body(const struct log_chain_value *before, struct slice body)
{
    SHA2_CTX context;
    struct log_chain_value value;
    _Static_assert(sizeof value.text == SHA256_DIGEST_STRING_LENGTH, "the digest does not fit");

    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)before->text, strlen(before->text));
    SHA256Update(&context, (const uint8_t *)body.ptr, body.len);
    SHA256Update(&context, (const uint8_t *)"}", 1);
    SHA256End(&context, value.text);
    return value;
}

struct log_chain_value log_chain_next(const struct log_chain_value *before, struct slice line)
{
    return value_of_body(before, (struct slice){line.ptr, line.len ? line.len - 1 : 0});
}

static bool is_digit(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

bool log_chain_find(struct slice line, struct slice *body, struct log_chain_value *value)
{
    const size_t tail = before_value.len + LOG_CHAIN_DIGITS + behind_value.len;

    if (line.len < tail || !slice_ends(line, behind_value))
        return false;
    struct slice end = slice_from(line, line.len - tail);
    if (!slice_starts(end, before_value))
        return false;
    for (size_t i = 0; i < LOG_CHAIN_DIGITS; i++)
        if (!is_digit(end.ptr[before_value.len + i]))
            return false;
    memcpy(value->text, end.ptr + before_value.len, LOG_CHAIN_DIGITS);
    value->text[LOG_CHAIN_DIGITS] = '\0';
    *body = (struct slice){line.ptr, line.len - tail};
    return true;
}

bool log_chain_follow(struct log_chain *chain, struct slice line, bool older_gone)
{
    struct slice body;
    struct log_chain_value said;

    if (!log_chain_find(line, &body, &said)) {
        chain->outside++;
        return true;
    }
    struct log_chain_value right = value_of_body(&chain->last, body);
    bool holds = memcmp(right.text, said.text, sizeof right.text) == 0;
    if (!holds && !chain->begun && older_gone) {
        chain->headless = true;
        holds = true;
    }
    chain->begun = true;
    chain->chained++;
    chain->last = said;
    return holds;
}
