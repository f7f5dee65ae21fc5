#include "net/reason.h"

#include "base/text.h"

/* C0, DEL and C1: what moves a terminal's cursor. */
static bool is_control(uint32_t value)
{
    return value < 0x20 || (value >= 0x7f && value < 0xa0);
}

void reason_put(struct wire_writer *out, struct slice reason, bool ascii, size_t limit)
{
    size_t written = 0;
    bool after_space = true;

    while (reason.len > 0) {
        uint32_t value = 0;
        size_t length = text_decode(reason, &value);
        struct slice shown = {reason.ptr, length};
        bool space = length > 0 && (value == ' ' || is_control(value));

        if (space)
            shown = SLICE(" ");
        else if (length == 0 || (ascii && length > 1))
            shown = SLICE("?");
        if (!space || !after_space) {
            if (shown.len > limit - written)
                return;
            wire_put(out, shown);
            written += shown.len;
        }
        after_space = space;
        reason = slice_from(reason, length ? length : 1);
    }
}
