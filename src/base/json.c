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

void json_cleanup(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}
