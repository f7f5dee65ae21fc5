#include "base/slice.h"

int slice_compare(struct slice a, struct slice b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool slice_equal_ignoring_case(struct slice a, struct slice b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (slice_lower(a.ptr[i]) != slice_lower(b.ptr[i]))
            return false;
    }
    return true;
}

size_t slice_find(struct slice text, char byte)
{
    const char *found = text.len ? memchr(text.ptr, byte, text.len) : NULL;

    return found ? (size_t)(found - text.ptr) : text.len;
}
