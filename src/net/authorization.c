/* srt's clients send "Basic base64(USER:TOKEN)" in HTTP, USER and TOKEN as they
 * are in SOCKS5. USER is for srt's own records: any will do here. */
#include "net/authorization.h"

#include "net/http.h"

enum { DECODED_MAX = 512 };

bool authorization_same(struct slice given, struct slice token)
{
    unsigned char difference = 0;

    if (given.len != token.len)
        return false;
    for (size_t i = 0; i < token.len; i++)
        difference |= (unsigned char)(given.ptr[i] ^ token.ptr[i]);
    return difference == 0;
}

static int digit_of(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    return byte == '+' ? 62 : byte == '/' ? 63 : -1;
}

/* Strict but for missing padding, which some clients leave out. */
static bool decode(struct slice text, char out[DECODED_MAX], struct slice *decoded)
{
    size_t length = 0;
    unsigned bits = 0;
    unsigned bit_count = 0;

    for (unsigned padding = 0; padding < 2 && text.len > 0 && text.ptr[text.len - 1] == '='; padding++)
        text.len--;
    if (text.len / 4 * 3 + 3 > DECODED_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.ptr[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (unsigned)digit) & 0xffff;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[length++] = (char)(bits >> bit_count);
        }
    }
    *decoded = (struct slice){out, length};
    return text.len % 4 != 1;
}

bool http_token_is(struct slice authorization, const char *token)
{
    char memory[DECODED_MAX];
    struct slice decoded = {"", 0};

    if (!decode(authorization, memory, &decoded))
        return false;
    size_t colon = slice_find(decoded, ':');
    return colon > 0 && colon < decoded.len && authorization_same(slice_from(decoded, colon + 1), slice_of(token));
}
