/* The first bytes of a connection. What a beginning is taken for, the whole is
 * taken for too; and a ClientHello cut into records of one byte each names the
 * same host. */
#include "net/hello.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool same(const struct hello *a, const struct hello *b)
{
    return a->has_name == b->has_name && a->encrypted == b->encrypted && strcmp(a->name.name, b->name.name) == 0;
}

static void check_cut_up(struct slice input, const struct hello *hello)
{
    static char cut[HELLO_MAX];
    struct hello again;
    size_t length = 0;

    for (size_t at = 0; at + 5 <= input.len;) {
        size_t record = (size_t)(uint8_t)input.ptr[at + 3] << 8 | (uint8_t)input.ptr[at + 4];
        at += 5;
        for (; record > 0 && at < input.len; record--) {
            if (length + 6 > sizeof cut)
                return;
            memcpy(cut + length, "\x16\3\1\0\1", 5);
            cut[length + 5] = input.ptr[at++];
            length += 6;
        }
    }
    enum hello_kind kind = hello_examine((struct slice){cut, length}, &again);
    require(kind == HELLO_TLS ? same(&again, hello) : length == sizeof cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice input = {(const char *)data, size};
    struct hello hello;
    struct hello sooner;

    enum hello_kind kind = hello_examine(input, &hello);
    for (size_t length = 0; length < size; length += 1 + length / 8) {
        enum hello_kind before = hello_examine((struct slice){input.ptr, length}, &sooner);
        require(before == HELLO_MORE || (before == kind && same(&sooner, &hello)));
    }
    if (kind == HELLO_TLS)
        check_cut_up(input, &hello);
    else
        require(!hello.has_name && !hello.encrypted);
    if (hello.has_name)
        require(strlen(hello.name.name) == hello.name.name_length && hello.name.name_length > 0);
    enum hello_reply reply = hello_examine_reply(input);
    enum hello_kind second = hello_examine_second(input, &hello);
    require(second == HELLO_MORE || second == HELLO_BAD || second == HELLO_TLS);
    for (size_t length = 0; length < size; length += 1 + length / 8) {
        struct slice part = {input.ptr, length};
        enum hello_kind before = hello_examine_second(part, &sooner);
        require(before == HELLO_MORE || (before == second && same(&sooner, &hello)));
        require(hello_examine_reply(part) == HELLO_REPLY_MORE || hello_examine_reply(part) == reply);
    }
    return 0;
}
