/* Text that carries its length. Everything that comes from outside (policy
 * strings, names, paths, variables) is a slice: a NUL or a newline in it is an
 * ordinary byte until somebody has checked. */
#ifndef CLOCHE_BASE_SLICE_H
#define CLOCHE_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
    const char *ptr;
    size_t len;
};

#define SLICE(literal) ((struct slice){"" literal, sizeof(literal) - 1})

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
    return slice_equal(a, slice_of(text));
}

static inline bool slice_starts(struct slice text, struct slice prefix)
{
    return text.len >= prefix.len && (prefix.len == 0 || memcmp(text.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool slice_ends(struct slice text, struct slice suffix)
{
    return text.len >= suffix.len &&
           (suffix.len == 0 || memcmp(text.ptr + text.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

static inline struct slice slice_from(struct slice text, size_t start)
{
    return (struct slice){text.ptr + start, text.len - start};
}

/* Byte order, shorter first: the order in which things are printed. */
int slice_compare(struct slice a, struct slice b);

/* ASCII only: what a file system or a header means by case. */
static inline char slice_lower(char byte)
{
    if (byte < 'A' || byte > 'Z')
        return byte;
    return (char)(byte + ('a' - 'A'));
}

/* -1: it is no hexadecimal digit. */
static inline int slice_hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = slice_lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool slice_equal_ignoring_case(struct slice a, struct slice b);

/* Position of a byte, or text.len when it is not there. */
size_t slice_find(struct slice text, char byte);

#endif
