#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

static void reserve(struct text *text, size_t more)
{
    text->ptr = arena_grow(text->arena, text->ptr, text->len, text->len + more + 1, &text->capacity, 1);
}

void text_append(struct text *text, struct slice more)
{
    reserve(text, more.len);
    if (more.len)
        memcpy(text->ptr + text->len, more.ptr, more.len);
    text->len += more.len;
    text->ptr[text->len] = '\0';
}

void text_append_string(struct text *text, const char *more)
{
    text_append(text, slice_of(more));
}

void text_append_byte(struct text *text, char byte)
{
    text_append(text, (struct slice){&byte, 1});
}

void text_appendf(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;

    reserve(text, (size_t)length);
    va_start(arguments, format);
    vsnprintf(text->ptr + text->len, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->len += (size_t)length;
}

size_t text_decode(struct slice text, uint32_t *value)
{
    unsigned char first = (unsigned char)text.ptr[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

    if (length == 0 || length > text.len)
        return 0;
    uint32_t decoded = length == 1 ? first : first & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text.ptr[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        decoded = decoded << 6 | (next & 0x3fU);
    }
    if ((length == 3 && decoded < 0x800) || (length == 4 && (decoded < 0x10000 || decoded > 0x10ffff)) ||
        (decoded >= 0xd800 && decoded <= 0xdfff))
        return 0;
    *value = decoded;
    return length;
}

/* Characters that draw nothing or reorder what is around them. */
static bool is_invisible(uint32_t value)
{
    return value < 0x20 || (value >= 0x7f && value < 0xa0) || value == 0xad || value == 0x61c ||
           (value >= 0x200b && value <= 0x200f) || (value >= 0x2028 && value <= 0x202e) ||
           (value >= 0x2060 && value <= 0x206f) || value == 0xfeff || (value >= 0xfff9 && value <= 0xfffb) ||
           (value >= 0xe0000 && value <= 0xe007f);
}

void text_append_escaped(struct text *text, struct slice name)
{
    while (name.len) {
        uint32_t value = 0;
        size_t length = text_decode(name, &value);

        if (length == 0 || is_invisible(value)) {
            size_t count = length ? length : 1;
            if (value == '\n' && length)
                text_append_string(text, "\\n");
            else if (value == '\t' && length)
                text_append_string(text, "\\t");
            else
                for (size_t i = 0; i < count; i++)
                    text_appendf(text, "\\x%02x", (unsigned)(unsigned char)name.ptr[i]);
            length = count;
        } else if (value == '\\') {
            text_append_string(text, "\\\\");
        } else {
            text_append(text, (struct slice){name.ptr, length});
        }
        name = slice_from(name, length);
    }
}

char *escaped(struct arena *arena, struct slice name)
{
    struct text text = text_in(arena);

    text_append_escaped(&text, name);
    return text.ptr ? text.ptr : arena_string(arena, "");
}

void text_make_safe(char *message)
{
    struct slice rest = slice_of(message);

    while (rest.len) {
        uint32_t value = 0;
        size_t length = text_decode(rest, &value);
        size_t used = length ? length : 1;

        if (length == 0 || is_invisible(value))
            memset(message, '?', used);
        message += used;
        rest = slice_from(rest, used);
    }
}

void text_append_json(struct text *text, struct slice value)
{
    text_append_byte(text, '"');
    while (value.len) {
        uint32_t code = 0;
        size_t length = text_decode(value, &code);

        if (length == 0) {
            text_appendf(text, "\\udc%02x", (unsigned)(unsigned char)value.ptr[0]);
            length = 1;
        } else if (code == '"' || code == '\\') {
            text_append_byte(text, '\\');
            text_append_byte(text, (char)code);
        } else if (is_invisible(code) && code < 0x10000) {
            text_appendf(text, "\\u%04x", (unsigned)code);
        } else {
            text_append(text, (struct slice){value.ptr, length});
        }
        value = slice_from(value, length);
    }
    text_append_byte(text, '"');
}

static bool is_plain_in_a_shell(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("/._-+:@%,", byte));
}

const char *shell_word(struct arena *arena, const char *value)
{
    struct slice text = slice_of(value);
    struct text out = text_in(arena);
    bool plain = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        plain = plain && is_plain_in_a_shell(text.ptr[i]);
    if (plain)
        return value;

    bool printable = strcmp(escaped(arena, text), value) == 0;
    text_append_string(&out, printable ? "'" : "$'");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (printable && byte == '\'')
            text_append_string(&out, "'\\''");
        else if (!printable && (byte < 0x20 || byte > 0x7e || byte == '\'' || byte == '\\'))
            text_appendf(&out, "\\x%02x", byte);
        else
            text_append_byte(&out, (char)byte);
    }
    text_append_string(&out, "'");
    return out.ptr;
}
