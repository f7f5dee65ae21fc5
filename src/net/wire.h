/* Reading and writing bytes of a protocol, in network order and in bounds. A
 * reader that would pass the end of its text turns `broken` and gives zeros; a
 * writer that is full turns `full` and writes no more. Either is looked at once,
 * at the end, and not at every step. */
#ifndef CLOCHE_NET_WIRE_H
#define CLOCHE_NET_WIRE_H

#include "base/slice.h"

#include <stdint.h>

struct wire_reader {
    struct slice rest;
    bool broken;
};

static inline struct slice wire_take(struct wire_reader *reader, size_t count)
{
    struct slice taken = {"", 0};

    if (count > reader->rest.len) {
        reader->broken = true;
        reader->rest.len = 0;
        return taken;
    }
    taken = (struct slice){reader->rest.ptr, count};
    reader->rest = slice_from(reader->rest, count);
    return taken;
}

static inline uint8_t wire_take_byte(struct wire_reader *reader)
{
    struct slice taken = wire_take(reader, 1);

    return taken.len == 1 ? (uint8_t)taken.ptr[0] : 0;
}

static inline uint16_t wire_take_u16(struct wire_reader *reader)
{
    unsigned high = wire_take_byte(reader);

    return (uint16_t)(high << 8 | wire_take_byte(reader));
}

struct wire_writer {
    char *ptr;
    size_t len;
    size_t capacity;
    bool full; /* something did not fit: what is there must not be sent */
};

static inline struct wire_writer wire_into(char *memory, size_t capacity)
{
    return (struct wire_writer){.ptr = memory, .capacity = capacity};
}

static inline void wire_put(struct wire_writer *writer, struct slice bytes)
{
    if (writer->full || bytes.len > writer->capacity - writer->len) {
        writer->full = true;
        return;
    }
    if (bytes.len)
        memcpy(writer->ptr + writer->len, bytes.ptr, bytes.len);
    writer->len += bytes.len;
}

static inline void wire_put_string(struct wire_writer *writer, const char *text)
{
    wire_put(writer, slice_of(text));
}

static inline void wire_put_byte(struct wire_writer *writer, uint8_t byte)
{
    char one = (char)byte;

    wire_put(writer, (struct slice){&one, 1});
}

static inline void wire_put_u16(struct wire_writer *writer, uint16_t value)
{
    char bytes[2] = {(char)(value >> 8), (char)value};

    wire_put(writer, (struct slice){bytes, sizeof bytes});
}

static inline void wire_put_u32(struct wire_writer *writer, uint32_t value)
{
    wire_put_u16(writer, (uint16_t)(value >> 16));
    wire_put_u16(writer, (uint16_t)value);
}

/* Decimal digits. */
static inline void wire_put_number(struct wire_writer *writer, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    wire_put(writer, (struct slice){digits + at, sizeof digits - at});
}

static inline struct slice wire_written(const struct wire_writer *writer)
{
    return (struct slice){writer->ptr, writer->full ? 0 : writer->len};
}

#endif
