#include "net/reason.h"

/* Length of the UTF-8 sequence at the start; 0 if there is none. The forms that
 * have two spellings are not told apart here: nothing is decoded. */
static size_t sequence_length(struct slice text)
{
    unsigned char first = (unsigned char)text.ptr[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

    if (length == 0 || length > text.len)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text.ptr[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

/* C0, DEL, and C1 as UTF-8 spells it: what moves a terminal's cursor. */
static bool is_control(struct slice text, size_t length)
{
    unsigned char first = (unsigned char)text.ptr[0];

    return (length == 1 && (first < 0x20 || first == 0x7f)) ||
           (length == 2 && first == 0xc2 && (unsigned char)text.ptr[1] < 0xa0);
}

void reason_put(struct wire_writer *out, struct slice reason, bool ascii, size_t limit)
{
    size_t written = 0;
    bool after_space = true;

    while (reason.len > 0) {
        size_t length = sequence_length(reason);
        struct slice shown = {reason.ptr, length};
        bool space = length > 0 && (reason.ptr[0] == ' ' || is_control(reason, length));

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
