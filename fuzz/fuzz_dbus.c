/* What somebody on a message bus sends. Whatever is understood lies within what
 * was given, no beginning of a message is taken for one, and reading on after it is
 * bounded. */
#include "base/dbus.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_within(struct slice part, struct slice whole)
{
    require(part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len));
}

static void check_text(struct slice text, struct slice whole)
{
    check_within(text, whole);
    require(!memchr(text.ptr, '\0', text.len));
}

static void read_body(const struct dbus_message *message)
{
    struct dbus_cursor numbers = dbus_body(message);
    struct dbus_cursor texts = dbus_body(message);
    struct slice text;
    uint32_t number;

    while (dbus_take_u32(&numbers, &number))
        require(numbers.at <= message->body.len);
    while (dbus_take_string(&texts, &text))
        check_text(text, message->body);
}

static void check_beginnings(struct slice message)
{
    struct dbus_message part;
    size_t taken;

    for (size_t length = 0; length < message.len; length += 1 + message.len / 64)
        require(dbus_read((struct slice){message.ptr, length}, &part, &taken) == DBUS_MORE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = {(const char *)data, size};
    struct dbus_message message;
    size_t taken;

    while (dbus_read(rest, &message, &taken) == DBUS_WHOLE) {
        require(taken > 0 && taken <= rest.len && taken <= DBUS_MESSAGE_MAX);
        struct slice whole = {rest.ptr, taken};
        check_text(message.interface, whole);
        check_text(message.member, whole);
        check_text(message.error, whole);
        check_text(message.signature, whole);
        check_within(message.body, whole);
        read_body(&message);
        check_beginnings(whole);
        rest = slice_from(rest, taken);
    }
    return 0;
}
