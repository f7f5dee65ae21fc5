/* A reader of TOML 1.0, for settings of other programs. It goes through the text
 * once; what it does not understand is an error that names the line, never skipped.
 * Arrays and inline tables nest no deeper than DEPTH_MAX. */
#include "base/toml.h"

#include "base/text.h"

#include <stdlib.h>

enum { DEPTH_MAX = 32 };

struct reader {
    struct arena *arena;
    struct slice rest;
    size_t line;
    size_t depth;
    const char *name;
    struct error *err;
};

static bool wrong(const struct reader *reader, const char *what)
{
    return error_set(reader->err, "%s: line %zu: not valid TOML: %s", reader->name, reader->line, what);
}

static char peek(const struct reader *reader)
{
    return reader->rest.len ? reader->rest.ptr[0] : '\0';
}

static void advance(struct reader *reader, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        reader->line += reader->rest.ptr[i] == '\n';
    reader->rest = slice_from(reader->rest, bytes);
}

static bool take(struct reader *reader, struct slice text)
{
    if (!slice_starts(reader->rest, text))
        return false;
    advance(reader, text.len);
    return true;
}

static void skip_blanks(struct reader *reader)
{
    while (peek(reader) == ' ' || peek(reader) == '\t')
        advance(reader, 1);
}

static void skip_comment(struct reader *reader)
{
    if (peek(reader) == '#')
        advance(reader, slice_find(reader->rest, '\n'));
}

/* Blanks, comments and the ends of lines. */
static void skip_space(struct reader *reader)
{
    for (;;) {
        skip_blanks(reader);
        skip_comment(reader);
        if (!take(reader, SLICE("\n")) && !take(reader, SLICE("\r\n")))
            return;
    }
}

static bool end_of_line(struct reader *reader)
{
    skip_blanks(reader);
    skip_comment(reader);
    return !reader->rest.len || take(reader, SLICE("\n")) || take(reader, SLICE("\r\n")) ||
           wrong(reader, "something follows on the line");
}

/* ---- strings ---- */

static void append_code_point(struct text *out, uint32_t value)
{
    if (value < 0x80) {
        text_append_byte(out, (char)value);
        return;
    }
    if (value < 0x800) {
        text_append_byte(out, (char)(0xc0 | value >> 6));
    } else {
        if (value < 0x10000) {
            text_append_byte(out, (char)(0xe0 | value >> 12));
        } else {
            text_append_byte(out, (char)(0xf0 | value >> 18));
            text_append_byte(out, (char)(0x80 | (value >> 12 & 0x3f)));
        }
        text_append_byte(out, (char)(0x80 | (value >> 6 & 0x3f)));
    }
    text_append_byte(out, (char)(0x80 | (value & 0x3f)));
}

static bool take_code_point(struct reader *reader, size_t digits, struct text *out)
{
    uint32_t value = 0;

    if (reader->rest.len < digits)
        return wrong(reader, "a string is never closed");
    for (size_t i = 0; i < digits; i++) {
        int digit = slice_hex_digit(reader->rest.ptr[i]);
        if (digit < 0)
            return wrong(reader, "\\u and \\U need hexadecimal digits");
        value = value << 4 | (uint32_t)digit;
    }
    if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return wrong(reader, "a character that cannot be");
    append_code_point(out, value);
    advance(reader, digits);
    return true;
}

static bool take_escape(struct reader *reader, bool many_lines, struct text *out)
{
    static const char names[] = "btnfre\"\\";
    static const char meanings[] = "\b\t\n\f\r\x1b\"\\";
    char letter = peek(reader);
    const char *at = letter ? strchr(names, letter) : NULL;

    if (at) {
        text_append_byte(out, meanings[at - names]);
        advance(reader, 1);
        return true;
    }
    if (take(reader, SLICE("u")))
        return take_code_point(reader, 4, out);
    if (take(reader, SLICE("U")))
        return take_code_point(reader, 8, out);
    if (many_lines) {
        skip_blanks(reader);
        if (peek(reader) == '\n' || peek(reader) == '\r') {
            while (peek(reader) == ' ' || peek(reader) == '\t' || peek(reader) == '\n' || peek(reader) == '\r')
                advance(reader, 1);
            return true;
        }
    }
    return wrong(reader, "an escape that is not one");
}

/* What stands between `quote`s, the first of which was taken. */
static bool take_quoted(struct reader *reader, struct slice quote, bool escapes, struct slice *value)
{
    struct text out = text_in(reader->arena);
    bool many_lines = quote.len == 3;

    if (many_lines && !take(reader, SLICE("\n")))
        take(reader, SLICE("\r\n"));
    while (reader->rest.len) {
        char byte = peek(reader);
        if (take(reader, quote)) {
            /* """a"""" ends in a quotation mark of its own. */
            while (many_lines && peek(reader) == quote.ptr[0]) {
                text_append_byte(&out, quote.ptr[0]);
                advance(reader, 1);
            }
            *value = text_slice(&out);
            return true;
        }
        if (byte == '\0' || (byte == '\n' && !many_lines))
            break;
        advance(reader, 1);
        if (byte == '\\' && escapes) {
            if (!take_escape(reader, many_lines, &out))
                return false;
        } else {
            text_append_byte(&out, byte);
        }
    }
    return wrong(reader, "a string is never closed");
}

static bool take_string(struct reader *reader, struct slice *value, bool *found)
{
    static const struct slice quotes[] = {SLICE("\"\"\""), SLICE("'''"), SLICE("\""), SLICE("'")};

    *found = true;
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++)
        if (take(reader, quotes[i]))
            return take_quoted(reader, quotes[i], quotes[i].ptr[0] == '"', value);
    *found = false;
    return true;
}

/* ---- values ---- */

static bool is_bare(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '-';
}

static bool take_value(struct reader *reader, json_t **value);
static bool take_assignment(struct reader *reader, json_t *table);

static json_t *text_value(struct slice text)
{
    return json_stringn(text.ptr, text.len);
}

/* Numbers, booleans, dates: up to what cannot be in one. */
static bool take_word(struct reader *reader, json_t **value)
{
    size_t length = 0;

    while (length < reader->rest.len &&
           (is_bare(reader->rest.ptr[length]) || strchr("+.:", reader->rest.ptr[length])) && reader->rest.ptr[length])
        length++;
    struct slice word = arena_slice(reader->arena, (struct slice){reader->rest.ptr, length});
    if (!length)
        return wrong(reader, "a value is missing");
    advance(reader, length);
    char *end;
    long long number = strtoll(word.ptr, &end, 10);
    if (slice_is(word, "true") || slice_is(word, "false"))
        *value = json_boolean(word.ptr[0] == 't');
    else if (*end == '\0')
        *value = json_integer(number);
    else if ((word.ptr[0] >= '0' && word.ptr[0] <= '9') || word.ptr[0] == '-' || word.ptr[0] == '+' ||
             slice_is(word, "inf") || slice_is(word, "nan"))
        *value = text_value(word);
    else
        return wrong(reader, "text needs quotation marks");
    return true;
}

static bool take_array(struct reader *reader, json_t **value)
{
    *value = json_array();
    for (;;) {
        json_t *item = NULL;
        skip_space(reader);
        if (take(reader, SLICE("]")))
            return true;
        if (!take_value(reader, &item))
            return false;
        json_array_append_new(*value, item);
        skip_space(reader);
        if (!take(reader, SLICE(",")) && peek(reader) != ']')
            return wrong(reader, "a comma or ] is missing in a list");
    }
}

static bool take_inline_table(struct reader *reader, json_t **value)
{
    *value = json_object();
    for (;;) {
        skip_space(reader);
        if (take(reader, SLICE("}")))
            return true;
        if (!take_assignment(reader, *value))
            return false;
        skip_space(reader);
        if (!take(reader, SLICE(",")) && peek(reader) != '}')
            return wrong(reader, "a comma or } is missing in a table");
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by DEPTH_MAX. */
static bool take_value(struct reader *reader, json_t **value)
{
    struct slice text = {0};
    bool is_string;
    bool good;

    if (!take_string(reader, &text, &is_string))
        return false;
    if (is_string) {
        *value = text_value(text);
        return *value || wrong(reader, "a string that is not UTF-8");
    }
    if (++reader->depth > DEPTH_MAX)
        return wrong(reader, "values are nested too deeply");
    JSON_CLEANUP json_t *made = NULL;
    if (take(reader, SLICE("[")))
        good = take_array(reader, &made);
    else if (take(reader, SLICE("{")))
        good = take_inline_table(reader, &made);
    else
        good = take_word(reader, &made);
    reader->depth--;
    *value = good ? json_incref(made) : NULL;
    return good;
}

/* ---- keys ---- */

static bool take_key(struct reader *reader, const char **key)
{
    struct slice text;
    bool is_string;

    if (!take_string(reader, &text, &is_string))
        return false;
    if (!is_string) {
        size_t length = 0;
        while (length < reader->rest.len && is_bare(reader->rest.ptr[length]))
            length++;
        if (!length)
            return wrong(reader, "a name is missing");
        text = (struct slice){reader->rest.ptr, length};
        advance(reader, length);
    }
    *key = arena_slice(reader->arena, text).ptr;
    return true;
}

/* The table called `key` in `table`, made if it is not there; of an array of tables
 * the last. */
static bool enter(struct reader *reader, json_t **table, const char *key)
{
    json_t *next = json_object_get(*table, key);

    if (json_is_array(next))
        next = json_array_get(next, json_array_size(next) - 1);
    if (!next) {
        next = json_object();
        if (json_object_set_new(*table, key, next) < 0)
            return wrong(reader, "a name that is not UTF-8");
    }
    if (!json_is_object(next))
        return wrong(reader, "a name is used for a value and for a table");
    *table = next;
    return true;
}

/* a.b."c" -> the table a.b, and c. */
static bool take_path(struct reader *reader, json_t **table, const char **key)
{
    for (size_t depth = 0; depth < DEPTH_MAX; depth++) {
        skip_blanks(reader);
        if (!take_key(reader, key))
            return false;
        skip_blanks(reader);
        if (!take(reader, SLICE(".")))
            return true;
        if (!enter(reader, table, *key))
            return false;
    }
    return wrong(reader, "a name has too many parts");
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by DEPTH_MAX, as take_value. */
static bool take_assignment(struct reader *reader, json_t *table)
{
    const char *key;
    json_t *value = NULL;

    if (!take_path(reader, &table, &key))
        return false;
    if (!take(reader, SLICE("=")))
        return wrong(reader, "= is missing behind a name");
    skip_blanks(reader);
    if (!take_value(reader, &value))
        return false;
    if (json_object_get(table, key)) {
        json_decref(value);
        return wrong(reader, "a name is set twice");
    }
    return json_object_set_new(table, key, value) == 0 || wrong(reader, "a name that is not UTF-8");
}

/* [a.b] or [[a.b]], behind the first bracket. */
static bool take_header(struct reader *reader, json_t *top, json_t **current)
{
    bool is_list = take(reader, SLICE("["));
    const char *key;

    *current = top;
    if (!take_path(reader, current, &key))
        return false;
    if (!take(reader, is_list ? SLICE("]]") : SLICE("]")))
        return wrong(reader, "] is missing behind the name of a table");
    if (is_list) {
        json_t *list = json_object_get(*current, key);
        if (!list) {
            list = json_array();
            json_object_set_new(*current, key, list);
        }
        if (!json_is_array(list) || (json_array_size(list) && !json_is_object(json_array_get(list, 0))))
            return wrong(reader, "a name is used for a table and for a list of tables");
        json_array_append_new(list, json_object());
    }
    return enter(reader, current, key);
}

bool toml_parse(struct slice text, const char *name, json_t **value, struct error *err)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct reader reader = {.arena = &arena, .rest = text, .line = 1, .name = name, .err = err};
    JSON_CLEANUP json_t *top = json_object();
    json_t *current = top;

    *value = NULL;
    for (;;) {
        skip_space(&reader);
        if (!reader.rest.len)
            break;
        bool good = take(&reader, SLICE("[")) ? take_header(&reader, top, &current) : take_assignment(&reader, current);
        if (!good || !end_of_line(&reader))
            return false;
    }
    *value = json_incref(top);
    return true;
}
