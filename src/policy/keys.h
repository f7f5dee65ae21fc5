/* The one table of every key a policy file may hold. Loading, type errors,
 * "did you mean" and the check of the JSON Schema all read it. */
#ifndef CLOCHE_POLICY_KEYS_H
#define CLOCHE_POLICY_KEYS_H

#include "base/json.h"
#include "policy/model.h"

struct loader;
struct place;

enum key_type {
    KEY_OBJECT,  /* `children` */
    KEY_OBJECTS, /* an array of objects with `children`; `apply` sees each */
    KEY_MAP,     /* an object with free member names; `apply` sees it whole */
    KEY_BOOLEAN, /* bool at `offset` */
    KEY_WORD,    /* one of `words`; 1 + its position at `offset` (an enum whose 0 is "unset") */
    KEY_INTEGER, /* `least` to `most`; uint64_t at `offset` */
    KEY_SIZE,    /* bytes, or a number with K, M, G, T; uint64_t at `offset` */
    KEY_TEXT,    /* a string that is not empty; struct slice at `offset` */
    KEY_TEXTS,   /* an array of them that nothing stores */
    KEY_PATHS,   /* path entries, into policy.paths as `list` */
    KEY_NAMES,   /* strings, judged by `check`, into the name_rules at `offset` */
    KEY_FILES,   /* paths without wildcards, made absolute, into the name_rules at `offset` */
    KEY_HOSTS,   /* host patterns, into the host_rules at `offset`; just judged where that is 0 */
    KEY_PORTS,   /* into the port_rules at `offset` */
    KEY_ANY,     /* whatever srt takes for another system */
    KEY_EXTENDS, /* read before everything else: see sources.c */
    KEY_CODE     /* what no file can hold: functions of the library */
};

enum key_flags {
    KEY_IN_SRT = 1,        /* srt 0.0.83 knows it */
    KEY_REQUIRED = 2,      /* the object that may hold it must */
    KEY_STRICT = 4,        /* unknown members are refused by srt too */
    KEY_NOT_EMPTY = 8,     /* a list with at least one entry */
    KEY_MAY_BE_EMPTY = 16, /* a string, or strings, that srt takes when empty too */
    KEY_SRT_IGNORES = 32   /* srt takes it and does nothing with it on Linux */
};

struct key {
    const char *name; /* NULL at the end of a table */
    enum key_type type;
    unsigned flags;
    const char *about; /* what values are allowed, where the type alone does not say it */
    const char *const *words;
    int64_t least;
    int64_t most;
    size_t offset;        /* into struct policy; 0: nowhere */
    size_t origin_offset; /* where the struct origin of the value goes; 0: nowhere */
    enum path_list list;
    const struct key *children;
    /* What is wrong with a string, or NULL. */
    const char *(*check)(struct slice text);
    void (*apply)(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
    /* KEY_OBJECTS: a string "!text" among the objects. */
    void (*remove)(struct loader *loader, const struct key *key, const struct place *place, struct slice text);
    const char *unbuilt;      /* the feature that a value other than false, 0, [] asks for, when no lock holds it yet */
    const char *unbuilt_word; /* only this word asks for it */
    const char *no_effect;    /* why such a value changes nothing: said as a warning */
};

extern const struct key policy_keys[];

const struct key *key_find(const struct key *table, const char *name);

/* Where a key of this name stands in all of the table ("filesystem.allowRead"),
 * or NULL: for people who put one in the wrong object. */
const char *key_path_of(struct arena *arena, const char *name);

/* Calls `found` with the path ("rules[].when.env") of every key. */
void keys_each(struct arena *arena, void (*found)(void *argument, const char *path, const struct key *key),
               void *argument);

#endif
