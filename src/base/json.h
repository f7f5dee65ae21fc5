/* JSON with comments, on top of jansson. */
#ifndef CLOCHE_BASE_JSON_H
#define CLOCHE_BASE_JSON_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#include <jansson.h>

/* Parses `text`: // and slash-star comments are allowed wherever white space
 * is; duplicate keys and anything after the value are errors (two readers must
 * never disagree on what a file says). Strings may hold \u0000: whoever uses
 * one must check its length. Errors carry line and column. `name` is what
 * messages call the text. */
bool json_parse(struct slice text, const char *name, json_t **value, struct error *err);

/* Puts spaces in the place of comments, byte for byte. */
bool json_blank_comments(char *text, size_t len, const char *name, struct error *err);

/* Builds what tools/embed-presets.py took apart when cloche was built, so that no
 * run has to parse text that never changes: "{" and "}", "[" and "]" around
 * members and entries; a letter for what follows: k(ey), s(tring) and i(nteger)
 * up to a NUL, t(rue), f(alse), n(ull). NULL when memory is exhausted. */
json_t *json_from_tokens(const char *tokens);

/* For programs that read a policy and end: values are made in large pieces of
 * memory that are never given back. */
void json_keep_memory(void);

/* From now on it is given back: for whoever reads without end. What was made before stays. */
void json_give_memory_back(void);

static inline struct slice json_slice(const json_t *string)
{
    return (struct slice){json_string_value(string), json_string_length(string)};
}

void json_cleanup(json_t **value);
#define JSON_CLEANUP __attribute__((cleanup(json_cleanup)))

#endif
