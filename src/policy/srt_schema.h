/* The grammar of srt's settings file as data. Each node says what a value must
 * be; srt.c walks a file along it. */
#ifndef CLOCHE_POLICY_SRT_SCHEMA_H
#define CLOCHE_POLICY_SRT_SCHEMA_H

#include "base/arena.h"
#include "base/slice.h"

#include <jansson.h>

enum srt_kind {
    SRT_BOOLEAN,
    SRT_STRING,
    SRT_INTEGER,
    SRT_WORD, /* one of `words` */
    SRT_LIST,
    SRT_PAIR, /* exactly two: `item`, then `second` */
    SRT_OBJECT,
    SRT_MAP,        /* any key, each value an `item` */
    SRT_PATH_ENTRY, /* a string by `item`, or {path, literal: true} */
    SRT_FUNCTION    /* for callers of the library: no JSON value will do */
};

struct srt_schema;

struct srt_key {
    const char *name; /* NULL ends the list */
    const struct srt_schema *schema;
    bool required;
};

struct srt_schema {
    enum srt_kind kind;

    /* STRING: UTF-16 units; LIST: items; INTEGER: value. 0: no bound. The texts
     * take the place of the usual ones. */
    int minimum;
    int maximum;
    const char *too_short;
    const char *too_long;

    const char *const *words;        /* WORD; NULL at the end */
    const struct srt_schema *item;   /* LIST, MAP, PAIR, PATH_ENTRY */
    const struct srt_schema *second; /* PAIR; the object form of PATH_ENTRY */
    const struct srt_key *keys;      /* OBJECT */
    bool strict;                     /* OBJECT: other keys are refused, not dropped */

    /* What is wrong with the value, or NULL. Asked after the bounds, even where
     * those were not kept. */
    const char *(*judge_string)(struct arena *arena, struct slice value);
    bool any_when_extended;                    /* STRING: srt_check_extended takes "*" too */
    const char *(*judge)(const json_t *value); /* OBJECT, PAIR */
};

extern const struct srt_schema srt_settings;

#endif
