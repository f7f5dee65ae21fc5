#include "base/columns.h"

#include <stdint.h>

struct range {
    uint32_t first;
    uint32_t last;
};

/* Roughly what terminals agree on; a character more or less costs only a ragged edge. */
static const struct range wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
};
static const struct range combining[] = {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};

static bool is_in(const struct range *ranges, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (value >= ranges[i].first && value <= ranges[i].last)
            return true;
    return false;
}

/* One character: its length in bytes and its width. What is no UTF-8 counts byte by byte. */
static size_t measure(struct slice text, size_t *width)
{
    uint32_t value = 0;
    size_t length = text_decode(text, &value);

    *width = 1;
    if (length > 1 && is_in(wide, sizeof wide / sizeof *wide, value))
        *width = 2;
    else if (length > 1 && is_in(combining, sizeof combining / sizeof *combining, value))
        *width = 0;
    return length ? length : 1;
}

size_t columns_of(struct slice text)
{
    size_t columns = 0;
    size_t width;

    while (text.len) {
        text = slice_from(text, measure(text, &width));
        columns += width;
    }
    return columns;
}

/* How many bytes at the start fit into `columns`. */
static size_t bytes_in(struct slice text, size_t columns)
{
    size_t bytes = 0;
    size_t width;

    while (bytes < text.len) {
        size_t length = measure(slice_from(text, bytes), &width);
        if (width > columns)
            break;
        columns -= width;
        bytes += length;
    }
    return bytes;
}

void columns_append_cut(struct text *out, struct slice text, size_t columns)
{
    size_t all = columns_of(text);

    if (all <= columns) {
        text_append(out, text);
        return;
    }
    if (columns == 0)
        return;
    size_t front = (columns - 1) / 3;
    size_t back = columns - 1 - front;
    size_t width;
    size_t from = bytes_in(text, all - back);
    /* A wide character may lie across the cut: it goes. */
    while (columns_of(slice_from(text, from)) > back)
        from += measure(slice_from(text, from), &width);
    text_append(out, (struct slice){text.ptr, bytes_in(text, front)});
    text_append_string(out, "\xe2\x80\xa6");
    text_append(out, slice_from(text, from));
}

void columns_append_padded(struct text *out, struct slice text, size_t columns)
{
    size_t before = out->len;

    columns_append_cut(out, text, columns);
    for (size_t used = columns_of(slice_from(text_slice(out), before)); used < columns; used++)
        text_append_byte(out, ' ');
}
