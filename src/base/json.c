/* Comments are replaced by spaces before jansson sees the text, byte for byte,
 * so that line and column in its messages stay those of the file. What jansson
 * says of commas is said again in the words of people: these are the mistakes that
 * nearly everybody makes. */
#include "base/json.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

bool json_blank_comments(char *text, size_t len, const char *name, struct error *err)
{
    size_t line = 1;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            line++;
        if (in_string) {
            if (text[i] == '\\' && i + 1 < len)
                i++;
            else if (text[i] == '"' || text[i] == '\n')
                in_string = false;
            continue;
        }
        if (text[i] == '"') {
            in_string = true;
        } else if (text[i] == '/' && i + 1 < len && text[i + 1] == '/') {
            while (i < len && text[i] != '\n')
                text[i++] = ' ';
            line += i < len;
        } else if (text[i] == '/' && i + 1 < len && text[i + 1] == '*') {
            size_t opened = line;
            text[i] = text[i + 1] = ' ';
            for (i += 2; i + 1 < len && !(text[i] == '*' && text[i + 1] == '/'); i++) {
                if (text[i] == '\n')
                    line++;
                else
                    text[i] = ' ';
            }
            if (i + 1 >= len)
                return error_set(err, "%s: line %zu: a comment opened with /* is never closed", name, opened);
            text[i] = text[i + 1] = ' ';
            i++;
        }
    }
    return true;
}

struct token {
    char *ptr; /* NULL: none */
    size_t len;
};

/* The token that starts at or behind `*at`, which is moved past it. */
static struct token next_token(char *text, size_t len, size_t *at)
{
    size_t i = *at + strspn(text + *at, " \t\r\n");
    size_t start = i;

    if (i >= len)
        return (struct token){0};
    if (text[i] == '"') {
        for (i++; i < len && text[i] != '"' && text[i] != '\n'; i++)
            if (text[i] == '\\' && i + 1 < len)
                i++;
        i += i < len;
    } else if (text[i] == '\0' || strchr("{}[]:,", text[i])) {
        i++;
    } else {
        i += strcspn(text + i, " \t\r\n{}[]:,\"");
    }
    *at = i;
    return (struct token){text + start, i - start};
}

static bool is_in(const char *set, const struct token *token)
{
    return token->ptr && token->ptr[0] != '\0' && strchr(set, token->ptr[0]);
}

/* Names are shown only where they cannot deceive whoever reads them. */
static bool can_be_shown(const struct token *token)
{
    enum { SHOWN_MAX = 40 };

    for (size_t i = 0; i < token->len; i++)
        if (token->ptr[i] < 0x20 || token->ptr[i] > 0x7e)
            return false;
    return token->len <= SHOWN_MAX;
}

/* What is wrong with a comma around the token that the parser stopped at, which
 * ends at problem->position; empty if it is something else. */
static void explain_slip(char *text, size_t len, const json_error_t *problem, char explanation[JSON_ERROR_TEXT_LENGTH])
{
    static const char closing[] = "}]", not_a_value[] = "}]:,";
    struct token before = {0}, found = {0};
    size_t at = 0;

    explanation[0] = '\0';
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        snprintf(explanation, JSON_ERROR_TEXT_LENGTH, "a byte order mark stands before it; save the file without one");
        return;
    }
    while (at < (size_t)problem->position) {
        before = found;
        found = next_token(text, len, &at);
        if (!found.ptr)
            return;
    }
    if (is_in(",", &before) && is_in(closing, &found)) {
        snprintf(explanation, JSON_ERROR_TEXT_LENGTH, "a comma before '%c' is not allowed", found.ptr[0]);
        return;
    }
    bool wants_end = strncmp(problem->text, "'}' expected", 12) == 0 || strncmp(problem->text, "']' expected", 12) == 0;
    if (!wants_end || !before.ptr || is_in(not_a_value, &found) || is_in("{[:,", &before))
        return;
    if (can_be_shown(&found))
        snprintf(explanation, JSON_ERROR_TEXT_LENGTH, "a comma is missing before %.*s", (int)found.len, found.ptr);
    else
        snprintf(explanation, JSON_ERROR_TEXT_LENGTH, "a comma is missing before this");
}

bool json_parse(struct slice text, const char *name, json_t **value, struct error *err)
{
    json_error_t problem;
    char *copy = malloc(text.len + 1);

    if (!copy)
        return error_set(err, "cannot read %s: out of memory", name);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';

    *value = NULL;
    bool good = json_blank_comments(copy, text.len, name, err);
    if (good) {
        *value = json_loadb(copy, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &problem);
        if (!*value) {
            char slip[JSON_ERROR_TEXT_LENGTH];
            explain_slip(copy, text.len, &problem, slip);
            good = error_set(err, "%s: line %d, column %d: not valid JSON: %s", name, problem.line, problem.column,
                             slip[0] ? slip : problem.text);
        }
    }
    free(copy);
    return good;
}

struct builder {
    const char *at;
    bool failed; /* something could not be allocated, and is missing */
};

static json_t *build(struct builder *builder);

static struct slice take_text(struct builder *builder)
{
    struct slice text = slice_of(builder->at);

    builder->at += text.len + 1;
    return text;
}

static json_t *build_object(struct builder *builder)
{
    json_t *object = json_object();

    while (*builder->at == 'k') {
        builder->at++;
        const char *name = take_text(builder).ptr;
        if (json_object_set_new_nocheck(object, name, build(builder)) < 0)
            builder->failed = true;
    }
    builder->at++;
    return object;
}

static json_t *build_array(struct builder *builder)
{
    json_t *array = json_array();

    while (*builder->at != ']') {
        if (json_array_append_new(array, build(builder)) < 0)
            builder->failed = true;
    }
    builder->at++;
    return array;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a preset of our own. */
static json_t *build(struct builder *builder)
{
    struct slice text;

    switch (*builder->at++) {
    case '{':
        return build_object(builder);
    case '[':
        return build_array(builder);
    case 's':
        text = take_text(builder);
        return json_stringn_nocheck(text.ptr, text.len);
    case 'i':
        return json_integer(strtoll(take_text(builder).ptr, NULL, 10));
    case 't':
        return json_true();
    case 'f':
        return json_false();
    default:
        return json_null();
    }
}

json_t *json_from_tokens(const char *tokens)
{
    struct builder builder = {.at = tokens};
    JSON_CLEANUP json_t *value = build(&builder);

    return builder.failed ? NULL : json_incref(value);
}

void json_cleanup(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

/* Global, because the library's hooks are: they are told nothing but a size. */
struct piece {
    struct piece *older;
    size_t used;
    alignas(max_align_t) unsigned char bytes[64 * 1024];
};

static struct piece *newest;

static void *take_kept(size_t size)
{
    const size_t alignment = alignof(max_align_t);

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + alignment - 1) & ~(alignment - 1);
    if (size > sizeof newest->bytes / 2)
        return malloc(size);
    if (!newest || sizeof newest->bytes - newest->used < size) {
        struct piece *piece = malloc(sizeof *piece);
        if (!piece)
            return NULL;
        piece->older = newest;
        piece->used = 0;
        newest = piece;
    }
    void *memory = newest->bytes + newest->used;
    newest->used += size;
    return memory;
}

static void leave_kept(void *memory)
{
    (void)memory;
}

static void give_back(void *memory)
{
    uintptr_t at = (uintptr_t)memory;

    for (const struct piece *piece = newest; piece; piece = piece->older) {
        if (at >= (uintptr_t)piece->bytes && at < (uintptr_t)piece->bytes + sizeof piece->bytes)
            return;
    }
    free(memory);
}

void json_give_memory_back(void)
{
    json_set_alloc_funcs(malloc, give_back);
}

void json_keep_memory(void)
{
    size_t seed;

    json_set_alloc_funcs(take_kept, leave_kept);
    /* The kernel's random bytes for this process; the library would read a file for its own. */
    memcpy(&seed, (const void *)(uintptr_t)getauxval(AT_RANDOM), sizeof seed);
    json_object_seed(seed);
}
