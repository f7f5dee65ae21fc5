/* TOML, read into the values of base/json.h. */
#ifndef CLOCHE_BASE_TOML_H
#define CLOCHE_BASE_TOML_H

#include "base/json.h"

/* Strings, numbers, booleans, arrays, tables of all three spellings. Dates and numbers
 * that are not decimal integers are given as the text they were written as: nobody
 * here needs their value. Keys that are set twice are errors, which carry the line.
 * `name` is what messages call the text. */
bool toml_parse(struct slice text, const char *name, json_t **value, struct error *err);

#endif
