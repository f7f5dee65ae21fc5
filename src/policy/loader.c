/* Words about where something stands in a policy file and what was found
 * there. Problems are collected up to PROBLEMS_MAX and counted beyond, so that
 * a hostile file cannot make its own refusal expensive. */
#include "policy/loader.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++) {
        char byte = *at;
        if (!((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
              byte == '_' || byte == '-' || byte == '$'))
            return false;
    }
    return *name != '\0';
}

static void append_place(struct text *out, const struct place *place)
{
    if (!place)
        return;
    append_place(out, place->parent);
    if (place->text) {
        text_append_string(out, place->text);
    } else if (!place->name) {
        text_appendf(out, "[%zu]", place->index);
    } else if (is_plain_name(place->name)) {
        if (out->len)
            text_append_byte(out, '.');
        text_append_string(out, place->name);
    } else {
        text_append_string(out, "[\"");
        text_append_escaped(out, slice_of(place->name));
        text_append_string(out, "\"]");
    }
}

/* The same for the places of rules, of which there may be a thousand: from the
 * end of a buffer to its start, without a single allocation. NULL when it does
 * not fit or a name needs care. */
static char *place_backwards(char *buffer, char *end, const struct place *place)
{
    for (; place; place = place->parent) {
        const char *words = place->text ? place->text : place->name;
        size_t length = words ? strlen(words) : 22;
        if ((size_t)(end - buffer) < length + 1 || (!place->text && place->name && !is_plain_name(place->name)))
            return NULL;
        if (place->text) {
            end -= length;
            memcpy(end, place->text, length);
            continue;
        }
        if (place->name) {
            end -= length;
            memcpy(end, place->name, length);
            if (place->parent)
                *--end = '.';
            continue;
        }
        size_t index = place->index;
        *--end = ']';
        do {
            *--end = (char)('0' + index % 10);
            index /= 10;
        } while (index);
        *--end = '[';
    }
    return end;
}

const char *place_text(struct arena *arena, const struct place *place)
{
    char buffer[256];
    char *end = buffer + sizeof buffer;

    if (place && place->text && !place->parent)
        return place->text; /* it outlives the policy: see whoever puts words there */
    char *start = place_backwards(buffer, end, place);
    if (start)
        return arena_slice(arena, (struct slice){start, (size_t)(end - start)}).ptr;
    struct text out = text_in(arena);
    append_place(&out, place);
    return out.ptr;
}

struct origin loader_origin(struct loader *loader, const struct place *place)
{
    return (struct origin){.file = loader->file, .path = place_text(loader->arena, place)};
}

static __attribute__((format(printf, 2, 0))) const char *format_words(struct arena *arena, const char *format,
                                                                      va_list arguments)
{
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return "";
    char *words = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(words, (size_t)length + 1, format, arguments);
    return words;
}

static bool room_for_more(struct loader *loader)
{
    if (loader->problems->errors - loader->errors_before < PROBLEMS_MAX)
        return true;
    loader->problems_unsaid++;
    return false;
}

void loader_problem(struct loader *loader, const struct place *place, const char *format, ...)
{
    va_list arguments;

    if (!room_for_more(loader))
        return;
    va_start(arguments, format);
    const char *words = format_words(loader->arena, format, arguments);
    va_end(arguments);
    problem_add(loader->problems, loader->file, place_text(loader->arena, place), "%s", words);
}

void loader_warning(struct loader *loader, const struct place *place, const char *format, ...)
{
    va_list arguments;

    if (loader->warnings++ >= PROBLEMS_MAX)
        return;
    va_start(arguments, format);
    const char *words = format_words(loader->arena, format, arguments);
    va_end(arguments);
    warning_add(loader->problems, loader->file, place_text(loader->arena, place), "%s", words);
}

const char *value_words(struct arena *arena, const json_t *value)
{
    enum { SHOWN_MAX = 80 };

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return json_array_size(value) ? "an array" : "an empty array";
    case JSON_STRING: {
        struct slice text = json_slice(value);
        bool cut = text.len > SHOWN_MAX;
        text.len = cut ? SHOWN_MAX : text.len;
        return arena_printf(arena, "\"%s%s\"", escaped(arena, text), cut ? "..." : "");
    }
    case JSON_INTEGER:
        return arena_printf(arena, "%lld", (long long)json_integer_value(value));
    case JSON_REAL:
        return arena_printf(arena, "%g", json_real_value(value));
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        break;
    }
    return "null";
}

bool value_text(struct loader *loader, const struct place *place, const json_t *value, const char *expected,
                struct slice *text)
{
    return value_any_text(loader, place, value, expected, false, text);
}

bool value_any_text(struct loader *loader, const struct place *place, const json_t *value, const char *expected,
                    bool may_be_empty, struct slice *text)
{
    if (!json_is_string(value)) {
        loader_problem(loader, place, "found %s; %s is expected", value_words(loader->arena, value), expected);
        return false;
    }
    *text = json_slice(value);
    if (text->len == 0 && !may_be_empty) {
        loader_problem(loader, place, "found an empty string; %s is expected", expected);
        return false;
    }
    if (slice_find(*text, '\0') < text->len) {
        loader_problem(loader, place, "found %s, which holds a NUL (\\u0000): nothing the kernel knows has one in it",
                       value_words(loader->arena, value));
        return false;
    }
    *text = arena_slice(loader->arena, *text);
    return true;
}

bool value_integer(const json_t *value, int64_t least, int64_t most, int64_t *number)
{
    const double exact = 9007199254740992.0; /* 2^53: below it a double holds every whole number */

    if (json_is_integer(value)) {
        *number = json_integer_value(value);
    } else if (json_is_real(value)) {
        double real = json_real_value(value);
        if (!(real > -exact && real < exact) || (double)(int64_t)real != real)
            return false;
        *number = (int64_t)real;
    } else {
        return false;
    }
    return *number >= least && *number <= most;
}

bool size_parse(struct slice text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    const size_t plain_digits_max = 15;
    const size_t unit_digits_max = 6;
    uint64_t number = 0;
    size_t digits = 0;

    while (digits < text.len && digits < plain_digits_max && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        number = number * 10 + (uint64_t)(text.ptr[digits++] - '0');
    if (digits == 0)
        return false;
    if (digits < text.len) {
        const char *unit = strchr(units, text.ptr[digits] & ~0x20);
        if (digits + 1 != text.len || digits > unit_digits_max || !unit || !*unit)
            return false;
        number <<= 10 * (unit - units + 1);
    }
    *bytes = number;
    return true;
}

void loader_leave_out(struct loader *loader, size_t list, struct slice text)
{
    loader->left_out = arena_grow(loader->arena, loader->left_out, loader->left_out_count, loader->left_out_count + 1,
                                  &loader->left_out_capacity, sizeof *loader->left_out);
    loader->left_out[loader->left_out_count++] = (struct left_out){list, text};
}
