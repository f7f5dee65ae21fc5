/* Comments are replaced by spaces before jansson sees the text, byte for byte,
 * so that line and column in its messages stay those of the file. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static bool blank_comments(char *text, size_t len, const char *name, struct error *err)
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
    bool good = blank_comments(copy, text.len, name, err);
    if (good) {
        *value = json_loadb(copy, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &problem);
        if (!*value)
            good = error_set(err, "%s: line %d, column %d: not valid JSON: %s", name, problem.line, problem.column,
                             problem.text);
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
