/* Requests as the kernel would send them, and as it never would: no answer goes
 * beyond its bounds, and no mask is ever opened. */
#include "watch/tripwire.h"

#include <linux/fuse.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum wire wire_at(const void *argument, size_t number)
{
    require(number < *(const size_t *)argument);
    return (enum wire)(number % 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t count = size > 0 ? data[0] : 0;
    const struct tripwires wires = {.count = count, .at = wire_at, .argument = &count};
    static _Alignas(uint64_t) char answer[TRIPWIRE_ANSWER_MAX];
    struct fuse_in_header head = {0};
    struct fuse_out_header out;
    struct tripped tripped;

    if (size == 0)
        return 0;
    size_t length = tripwire_answer(&wires, data + 1, size - 1, answer, &tripped);
    memcpy(&head, data + 1, size - 1 < sizeof head ? size - 1 : sizeof head);
    require(length <= sizeof answer && (length == 0 || length >= sizeof out));
    /* Who executes a mask is told by a question for its attributes, which gets an answer. */
    require(!tripped.by_somebody || (tripped.number < count && tripped.op &&
                                     (tripped.if_executing ? head.opcode == FUSE_GETATTR : length == sizeof out)));
    require(!tripped.name.len || ((const uint8_t *)tripped.name.ptr > data &&
                                  (const uint8_t *)tripped.name.ptr + tripped.name.len <= data + size));
    if (length > 0) {
        memcpy(&out, answer, sizeof out);
        require(out.len == length && out.unique == head.unique);
        if (head.opcode == FUSE_OPEN || head.opcode == FUSE_READ ||
            ((head.opcode == FUSE_OPENDIR || head.opcode == FUSE_LOOKUP) && head.nodeid != FUSE_ROOT_ID))
            require(out.error != 0);
    }
    return 0;
}
